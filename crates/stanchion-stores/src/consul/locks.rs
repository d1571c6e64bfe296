//! The locks: a line of names, each held by its client's session.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{
    Acquire, Capability, Clock as _, Error, ErrorKind, FencingToken, Grant, Key, LockBackend, LockInfo, Owner, Page,
    Released, Renewal, Result, SystemClock, Wait, contended,
};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::api::{OPS_MOST, Op};
use super::evict;
use super::fault::Fault;
use super::name::Names;
use super::place::{Core, Place, Watch};
use super::queue::{self, Line, Orphan, Spot};
use super::records::HEARTBEAT;
use super::shift::Doubt;
use crate::line::{self, Card, Entry, Lift, Standing, Wake};

/// How often one attempt looks again because something has changed.
const TRIES: usize = 64;
/// A waiter may be silent for so long between two looks.
const SILENCE: Duration = Duration::from_secs(10);
/// Nobody tells when a lock-delay is over: it is asked for when it should be, but between so soon and so late.
const AGAIN: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// Leases as entries of a line; the order is the engine's index.
#[derive(Debug)]
pub(crate) struct ConsulLocks {
    core: Arc<Core>,
    names: Names,
    blocked: Arc<Semaphore>,
    capability: Capability,
    alive: Arc<()>,
}

impl Drop for ConsulLocks {
    fn drop(&mut self) {
        self.alive = Arc::new(());
        self.core.close();
    }
}

/// What became of one look.
enum Look {
    /// Its fence, and the index of its entry.
    Granted(FencingToken, u64),
    Behind(Error, Watch),
    /// Something has changed; look again.
    Again,
    /// Our entry is gone, or its session.
    Out,
}

impl ConsulLocks {
    pub(super) fn new(core: Core, names: Names, blocked: Arc<Semaphore>, capability: Capability) -> Self {
        Self { core: Arc::new(core), names, blocked, capability, alive: Arc::new(()) }
    }

    /// The owner's place, or a new one whose session surely lives for the ttl from now.
    async fn place(&self, req: &Acquire, owner: Owner) -> Result<Place> {
        let (start, at) = (SystemClock.now(), Instant::now());
        // Who does not wait holds, or leaves at once.
        let end = at + if req.wait == Wait::No { req.ttl } else { req.ttl.max(SILENCE) };
        if let Some(place) = self.core.place(owner) {
            let kept = self.core.deadlines.extend(owner, end) && place.session.ttl >= req.ttl;
            if kept && place.entered && place.session.is_tainted() {
                if let Some(moved) = self.core.shift(owner, &place, start, req.ttl).await? {
                    return Ok(moved);
                }
            } else if kept && place.session.reach(&self.core.http, start + req.ttl).await? {
                return Ok(place);
            }
            // Another name for the new one: nothing that is still on its way to the old one can meet it.
            if let Some(old) = self.core.leave(owner) {
                self.core.clear_later(old.name);
            }
        }
        let session = self.core.sessions.reaching(start, req.ttl).await?;
        let name = self.core.name(&req.key, &self.names.line(&req.key), owner);
        let card = Card { owner, mode: req.mode, identity: req.identity.clone() }.encode();
        let (moving, granted, watch) = (None, None, None);
        let place = Place { name, session, moving, card, entered: false, index: 0, writes: 0, granted, watch, told: 0 };
        self.core.set(&self.alive, &req.key, owner, place.clone(), end);
        Ok(place)
    }

    /// The refusal of one who does not wait, without a write: only where it was busy a moment ago. Nobody's place is touched for
    /// an attempt that is in vain, and those who ask again and again cost reads only.
    async fn in_vain(&self, req: &Acquire, owner: Owner) -> Result<Option<Error>> {
        if req.wait != Wait::No || self.core.place(owner).is_some() || !self.core.was_busy(&req.key) {
            return Ok(None);
        }
        let mut line = queue::look(&self.core.http, &self.names, &req.key).await?;
        if line.spots.iter().any(|spot| spot.session.is_none()) {
            return Ok(None);
        }
        line.only(owner, "");
        let card = Card { owner, mode: req.mode, identity: req.identity.clone() };
        line.entries.push(Entry { order: u64::MAX, card });
        match line::standing(&req.key, &line.entries, owner)? {
            Standing::Behind { first, .. } => Ok(Some(contended(&req.key, Some(line::holder(first, line.lift))))),
            _ => Ok(None),
        }
    }

    /// Enters the line if need be, and sees who is in it, in one step.
    async fn line(&self, req: &Acquire, owner: Owner, place: &Place) -> Result<Option<Line>> {
        if place.entered {
            return queue::look(&self.core.http, &self.names, &req.key).await.map(Some);
        }
        let (prefix, lift) = (self.names.line(&req.key), self.names.lift());
        let enter = Op::lock(&place.name, place.card.as_bytes(), self.core.http.delay_ms(), &place.session.id);
        if !self.core.count_write(owner, &place.name) {
            return Ok(None);
        }
        let doubt = Doubt::about(&place.name, &place.session);
        let answer = self.core.http.write(&[enter, Op::tree(&prefix), Op::tree(&lift)]).await;
        doubt.settle(&answer);
        match answer? {
            Ok(mut pairs) => {
                // The first one tells of the write, without the value.
                let pairs = if pairs.is_empty() { pairs } else { pairs.split_off(1) };
                if !self.core.update(owner, &place.name, |place| place.entered = true) {
                    // Given up while the answer was on its way, and cleared perhaps before the entry came.
                    self.core.clear_later(place.name.clone());
                    return Ok(None);
                }
                Line::read(&self.core.http, &self.names, &req.key, pairs).map(Some)
            }
            Err(refusal) if refusal.no_session() => {
                place.session.ended();
                Ok(None)
            }
            // Our session was ended after a first attempt whose answer we did not see.
            Err(refusal) if refusal.lock_delay() => Ok(None),
            Err(refusal) => Err(self.core.http.error(Fault::Garbled(refusal.what), false)),
        }
    }

    async fn attempt(&self, req: &Acquire, owner: Owner) -> Result<Look> {
        let place = self.place(req, owner).await?;
        let Some(mut line) = self.line(req, owner, &place).await? else { return Ok(Look::Out) };
        line.only(owner, &place.name);
        let ours = line.at(&place.name).filter(|spot| spot.session.as_ref() == Some(&place.session.id));
        let Some(index) = ours.map(|spot| spot.index) else { return Ok(Look::Out) };
        match line::standing(&req.key, &line.entries, owner)? {
            Standing::Absent => Ok(Look::Out),
            Standing::Granted(entry) => {
                if let Some(token) = place.granted {
                    return Ok(Look::Granted(token, index));
                }
                if let Some(higher) = line.lift.above(req.floor, entry.order)? {
                    self.raise(&line, higher).await?;
                    return Ok(Look::Again);
                }
                Ok(Look::Granted(line.lift.token(entry), index))
            }
            Standing::Behind { first, wake } => {
                let mut until = None;
                match line.orphan(&req.key, &place.name) {
                    Some(Orphan::Waiter(spot)) => {
                        self.remove(&spot).await?;
                        return Ok(Look::Again);
                    }
                    Some(Orphan::Holder(spot)) => match self.pass(&spot, &place).await? {
                        None => return Ok(Look::Again),
                        later => until = later,
                    },
                    None => {}
                }
                let error = contended(&req.key, Some(line::holder(first, line.lift)));
                let watch = match wake {
                    Wake::Leaves(order) => line.with_order(order).map(|spot| (spot.name.clone(), false, spot.index)),
                    Wake::AnyLeaves => None,
                };
                let all = || (self.names.line(&req.key), true, line.newest().max(place.told));
                let (name, tree, index) = watch.unwrap_or_else(all);
                Ok(Look::Behind(error, Watch { name, tree, index, until }))
            }
        }
    }

    /// Lifts all later fences of this store.
    async fn raise(&self, line: &Line, higher: Lift) -> Result<()> {
        let name = self.names.lift();
        let same = line.lift_index.map_or_else(|| Op::absent(&name), |index| Op::unchanged(&name, index));
        let text = higher.encode();
        // Refused if somebody else has raised it; the next look tells whether that is enough.
        self.core.http.write(&[same, Op::set(&name, text.as_bytes(), 0)]).await.map(drop)
    }

    /// Deletes an entry that nobody holds.
    async fn remove(&self, spot: &Spot) -> Result<()> {
        self.core.http.write(&[Op::unchanged(&spot.name, spot.index), Op::delete(&spot.name)]).await.map(drop)
    }

    /// Passes a holder whose session was ended, if its lock-delay is over: the server knows that, whoever asks. `Some` is when to try
    /// again.
    ///
    /// A server that restarts begins the delay anew with its log; it forgets it only if a snapshot was taken within the delay.
    async fn pass(&self, spot: &Spot, place: &Place) -> Result<Option<Instant>> {
        let same = Op::unchanged(&spot.name, spot.index);
        let take = Op::lock(&spot.name, b"", 0, &place.session.id);
        match self.core.http.write(&[same, take, Op::delete(&spot.name)]).await? {
            Err(refusal) if refusal.lock_delay() => {
                let delay = Duration::from_millis(spot.delay_ms.min(60_000));
                let (now, over) = (Instant::now(), self.core.orphaned_since(&spot.name, spot.index) + delay);
                Ok(Some(over.clamp(now + AGAIN[0], now + AGAIN[1])))
            }
            Err(refusal) if refusal.no_session() => {
                place.session.ended();
                Ok(None)
            }
            _ => {
                self.core.orphan_gone(&spot.name, spot.index);
                Ok(None)
            }
        }
    }

    /// Ends a place that was refused or has failed.
    async fn give_up(&self, key: &Key, owner: Owner) {
        let Some(mut place) = self.core.leave(owner) else { return };
        match self.core.http.write(&[Op::delete(&place.name)]).await {
            Ok(Ok(_)) => {
                place.writes += 1;
                self.core.give_name(key, place);
            }
            Ok(Err(refusal)) => tracing::debug!(?refusal, "could not leave the line"),
            Err(error) => {
                tracing::debug!(%error, "could not leave the line at once");
                self.core.clear_later(place.name);
            }
        }
    }

    fn grant(&self, req: &Acquire, owner: Owner, start: Instant, token: FencingToken, index: u64) -> Option<Grant> {
        // First the question whether it is kept, then its own deadline instead of a waiter's.
        if !self.core.deadlines.extend(owner, start + req.ttl) {
            return None;
        }
        self.core.deadlines.set(&req.key, owner, start + req.ttl);
        let name = self.core.place(owner)?.name;
        self.core.update(owner, &name, |place| {
            (place.granted, place.watch, place.index) = (Some(token), None, index);
        });
        Some(Grant::new(req.key.clone(), owner, token, req.mode, req.ttl))
    }

    async fn renewed(&self, grant: &Grant, ttl: Duration) -> Result<bool> {
        let (start, at) = (SystemClock.now(), Instant::now());
        let Some(place) = self.core.place(grant.owner) else { return Ok(false) };
        if !self.core.deadlines.extend(grant.owner, at + ttl) {
            return Ok(false);
        }
        if place.session.is_tainted() {
            return Ok(self.core.shift(grant.owner, &place, start, ttl).await?.is_some());
        }
        if place.session.ttl < ttl {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "a lease of Consul cannot be renewed for longer than its session",
            )
            .with("ttl", format_args!("{ttl:?}"))
            .with("most", format_args!("{:?}", place.session.ttl)));
        }
        if !place.session.reach(&self.core.http, start + ttl).await? {
            return Ok(false);
        }
        let pairs = self.core.http.read_all(&[Op::tree(&place.name)]).await?;
        Ok(pairs.iter().any(|pair| pair.session.as_ref() == Some(&place.session.id)))
    }
}

#[async_trait]
impl LockBackend for ConsulLocks {
    fn capability(&self) -> Capability {
        self.capability
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        if let Some(refusal) = self.in_vain(req, owner).await? {
            return Err(refusal);
        }
        for _ in 0..TRIES {
            let start = Instant::now();
            match self.attempt(req, owner).await {
                Ok(Look::Granted(token, index)) => {
                    if let Some(grant) = self.grant(req, owner, start, token, index) {
                        return Ok(grant);
                    }
                }
                Ok(Look::Again) => {}
                Ok(Look::Out) => self.give_up(&req.key, owner).await,
                Ok(Look::Behind(error, watch)) => {
                    if req.wait == Wait::No {
                        self.core.busy(&req.key);
                        self.give_up(&req.key, owner).await;
                    } else if let Some(place) = self.core.place(owner) {
                        self.core.update(owner, &place.name, |place| place.watch = Some(watch));
                    }
                    return Err(error);
                }
                Err(error) => {
                    let error = error.with("key", &req.key);
                    // Asked again, the same owner finds its place; what nobody asks for ends by its deadline.
                    if !matches!(error.kind(), ErrorKind::OutcomeUnknown | ErrorKind::Unavailable) {
                        self.give_up(&req.key, owner).await;
                    }
                    return Err(error);
                }
            }
        }
        self.give_up(&req.key, owner).await;
        Err(self.core.http.restless(&req.key))
    }

    async fn wait(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<()> {
        let Some(watch) = self.core.place(owner).and_then(|place| place.watch) else {
            // Not in line, so nothing will happen: an early return lets the caller look.
            tokio::time::sleep_until(until.min(Instant::now() + Duration::from_millis(50))).await;
            return Ok(());
        };
        let end = until.min(watch.until.unwrap_or(until)).min(Instant::now() + HEARTBEAT);
        self.core.deadlines.extend(owner, end + req.ttl.max(SILENCE));
        let Ok(_permit) = timeout_at(end, self.blocked.acquire()).await else { return Ok(()) };
        // From the index of our look on, so that what happened since is not missed.
        let looked = self.core.http.look(&watch.name, watch.tree, Some(watch.index), end).await;
        if let Some((index, _)) = looked.map_err(|e| e.with("key", &req.key))?.filter(|_| watch.tree)
            && let Some(place) = self.core.place(owner)
        {
            self.core.update(owner, &place.name, |place| place.told = index);
        }
        Ok(())
    }

    async fn withdraw(&self, req: &Acquire, owner: Owner) {
        self.give_up(&req.key, owner).await;
    }

    async fn renew(&self, grant: &Grant, ttl: Duration) -> Renewal {
        match self.renewed(grant, ttl).await {
            Ok(true) => Renewal::Renewed,
            Ok(false) => Renewal::Lost,
            Err(error) => Renewal::Unknown(error.with("key", &grant.key)),
        }
    }

    async fn release(&self, grant: &Grant) -> Result<Released> {
        self.core.release(grant).await
    }

    async fn list(&self, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
        let http = &self.core.http;
        let mut keys = Vec::new();
        for name in http.names(&self.names.lines(prefix), true).await? {
            let key = self.names.key('l', &name).and_then(Result::ok).ok_or_else(|| http.damaged(&name))?;
            if key.is_listed_under(prefix) && page.after.as_ref().is_none_or(|after| key > *after) {
                keys.push(key);
            }
        }
        keys.sort();
        keys.dedup();
        let (mut infos, lift) = (BTreeMap::new(), self.names.lift());
        for piece in keys.chunks(OPS_MOST - 1) {
            let lines: Vec<String> = piece.iter().map(|key| self.names.line(key)).collect();
            let ops: Vec<Op<'_>> = lines.iter().map(|line| Op::tree(line)).chain([Op::tree(&lift)]).collect();
            let pairs = http.read_all(&ops).await?;
            for key in piece {
                let line = Line::read(http, &self.names, key, pairs.clone())?;
                if !line.entries.is_empty() {
                    infos.insert(key.clone(), line.info(key));
                }
            }
            if infos.len() >= page.limit {
                break;
            }
        }
        Ok(infos.into_values().take(page.limit).collect())
    }

    async fn evict(&self, key: &Key) -> Result<Released> {
        evict::evict(&self.core.http, &self.names, key).await
    }
}
