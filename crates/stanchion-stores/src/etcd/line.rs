//! Getting into the line, and looking at it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use stanchion_core::pause::pause_point;
use stanchion_core::{Acquire, Error, ErrorKind, Grant, Key, Owner, Result, contended};
use tokio::time::Instant;

use super::fault::Fault;
use super::link::Hub;
use super::locks::{grant, waits};
use super::names::Names;
use super::place::{Behind, Place};
use super::proto::{Compare, KeyValue, Op, Range, Txn, TxnAnswer};
use super::records::TXN;
use super::session::{Session, Sessions};
use super::watch::Watches;
use crate::line::{Card, Deadlines, Entry, Lift, Standing, Wake, holder, standing};

/// How often an attempt that does not wait looks again because others came in between.
const ROUNDS: usize = 64;

/// The lines of all locks, as one process sees them.
pub(super) struct Line {
    pub(super) hub: Arc<Hub>,
    pub(super) watches: Arc<Watches>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) names: Names,
    pub(super) deadlines: Arc<Deadlines>,
    pub(super) places: Mutex<HashMap<Owner, Place>>,
    /// Names that were given back. Until its next compaction, which nobody may ever ask for, etcd passes every deleted name of a line
    /// when it reads the line: with a name for each grant a busy lock would become slower with every grant.
    pub(super) used: Mutex<HashMap<Key, Vec<Vec<u8>>>>,
}

/// A line as it was at one revision.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) line: Vec<Entry>,
    /// The names of the entries, by their order.
    names: HashMap<u64, Bytes>,
    lift: Lift,
    pub(super) revision: i64,
}

impl Look {
    /// `None` for what we have not written.
    pub(super) fn entry(kv: &KeyValue) -> Option<Entry> {
        Some(Entry { order: u64::try_from(kv.create_revision).ok()?, card: Card::decode(&kv.value)? })
    }

    pub(super) fn name(&self, entry: &Entry) -> Option<&Bytes> {
        self.names.get(&entry.order)
    }
}

impl Line {
    pub(super) fn new(hub: Arc<Hub>, watches: Arc<Watches>, names: Names) -> Self {
        let sessions = Sessions::new(Arc::clone(&hub));
        Self {
            hub,
            watches,
            sessions,
            names,
            deadlines: Arc::default(),
            places: Mutex::default(),
            used: Mutex::default(),
        }
    }

    pub(super) fn fault(&self, fault: Fault) -> Error {
        fault.into_error(&self.hub.options.shown, false)
    }

    pub(super) fn error(&self, fault: Fault, key: &Key, writes: bool) -> Error {
        fault.into_error(&self.hub.options.shown, writes).with("key", key)
    }

    fn damaged(&self, what: &'static str) -> Error {
        Error::new(ErrorKind::Damaged, what)
            .with("store", &self.hub.options.shown)
            .hint("another program has written under this namespace; choose another ns=")
    }

    /// One attempt: comes in if need be, and says where that is.
    pub(super) async fn attempt(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        let end = Instant::now() + req.ttl;
        if let Some(place) = self.place(owner) {
            if !self.deadlines.extend(owner, end) {
                // Its time is over and its entry is on its way out; only after that it may come in again.
                if place.order.is_none() {
                    return Err(Error::new(
                        ErrorKind::Unavailable,
                        "an earlier attempt of this owner is being cleared away",
                    )
                    .with("key", &req.key)
                    .hint("try again, or with another owner"));
                }
                self.leave(&req.key, owner, &place).await?;
            } else if place.session.can_carry(req.ttl)
                && self
                    .sessions
                    .ensure(&place.session, req.ttl)
                    .await
                    .map_err(|fault| self.error(fault, &req.key, false))?
            {
                // Who has been seen in line does not keep a session alive that is to end.
                if place.session.is_tainted() && place.order.is_some() {
                    let fresh = self.sessions.carrying(req.ttl).await.map_err(|f| self.error(f, &req.key, false))?;
                    self.rebind(&req.key, owner, &place, &fresh).await?;
                }
                let look = self.look(&req.key).await?;
                if let Some(decided) = self.judge(req, owner, &look).await? {
                    return decided;
                }
            } else {
                // The entry ended with its session, or has to move to another one.
                self.leave(&req.key, owner, &place).await?;
            }
        }
        // A session that ends in just this moment proves that nothing was written.
        for _ in 0..2 {
            match self.enter(req, owner).await {
                Err(fault) if fault.no_lease() => {
                    if let Some(place) = self.place(owner) {
                        place.session.end();
                    }
                    self.forget(owner);
                }
                Err(fault) if fault.is_unknown() => {
                    if let Some(place) = self.place(owner) {
                        place.session.taint();
                    }
                    return Err(self.error(fault, &req.key, true));
                }
                Err(fault) => {
                    self.forget(owner);
                    return Err(self.error(fault, &req.key, true));
                }
                Ok(decided) => return decided,
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "a fresh lease of etcd is gone at once").with("key", &req.key))
    }

    /// Writes the entry where it may stand.
    async fn enter(&self, req: &Acquire, owner: Owner) -> Result<Result<Grant>, Fault> {
        let session = self.sessions.carrying(req.ttl).await?;
        let name = {
            // Both at once: who clears away an earlier place sees either none of them or both.
            let mut places = self.places();
            self.deadlines.set(&req.key, owner, Instant::now() + req.ttl);
            // An earlier write of this owner may still arrive: what it brings must be this entry and no second one.
            let (name, open) = match places.get(&owner) {
                Some(earlier) => (earlier.name.clone(), earlier.open),
                None => (self.take_name(&req.key).unwrap_or_else(|| self.names.entry(&req.key)), 0),
            };
            let place = Place { name: name.clone(), open, session: Arc::clone(&session), order: None, behind: None };
            places.insert(owner, place);
            name
        };
        let (from, to) = self.names.line(&req.key);
        let card = Card { owner, mode: req.mode, identity: req.identity.clone() };
        let put = || Op::put(&name, card.encode(), session.id);
        let look = [Range::between(&from, &to).into(), Op::read(&self.names.lift())];
        // First as if nobody were there; then, for one who does not wait, as if only those were there who let it in.
        let mut seen = 0;
        for _ in 0..ROUNDS {
            let mut otherwise = look.to_vec();
            if waits(req) {
                otherwise.insert(0, Txn::when(vec![Compare::absent(&name)], vec![put()], Vec::new()).into());
            }
            let success = vec![put(), Op::read(&self.names.lift())];
            let txn = Txn::when(vec![Compare::quiet_since(&from, &to, seen)], success, otherwise);
            let Some(mut answer) = self.write_at::<TxnAnswer>(owner, &name, TXN, &txn).await? else {
                return Err(Fault::NotSent("the place was cleared away".to_owned()));
            };
            if self.place(owner).is_none_or(|place| place.name != name) {
                // While the answer was on its way, and perhaps before the entry came: nobody else deletes it.
                let delete = Txn::always(vec![Op::delete(&name)]);
                if self.hub.write::<TxnAnswer>(TXN, &delete).await.is_err() {
                    session.taint();
                }
                return Err(Fault::NotSent("the place was cleared away".to_owned()));
            }
            if answer.succeeded {
                let entry = Entry { order: u64::try_from(answer.revision()).unwrap_or(0), card };
                return Ok(match self.read_lift(answer.kv(1)) {
                    Ok(lift) => self.granted(req, &entry, lift).await,
                    Err(error) => Err(self.give_back(req, owner, error).await),
                });
            }
            let at = usize::from(waits(req));
            let look = match self.read(&mut answer, at) {
                Ok(look) => look,
                Err(error) => return Ok(Err(self.give_back(req, owner, error).await)),
            };
            match self.judge(req, owner, &look).await {
                Ok(Some(decided)) => return Ok(decided),
                Ok(None) => {}
                Err(error) => return Ok(Err(error)),
            }
            let mut with_us = look.line.clone();
            with_us.push(Entry { order: u64::MAX, card: card.clone() });
            let refused = match standing(&req.key, &with_us, owner) {
                Ok(Standing::Behind { first, .. }) => contended(&req.key, Some(holder(first, look.lift))),
                Ok(_) => {
                    seen = look.revision;
                    continue;
                }
                Err(error) => error,
            };
            self.forget(owner);
            return Ok(Err(refused));
        }
        self.forget(owner);
        Ok(Err(contended(&req.key, None)))
    }

    /// What the line says about an owner; `None` if it does not stand there.
    async fn judge(&self, req: &Acquire, owner: Owner, look: &Look) -> Result<Option<Result<Grant>>> {
        let (first, wake) = match standing(&req.key, &look.line, owner) {
            Ok(Standing::Absent) => return Ok(None),
            Ok(Standing::Granted(entry)) => return Ok(Some(self.granted(req, entry, look.lift).await)),
            Ok(Standing::Behind { first, wake }) => (first, wake),
            Err(error) => return Ok(Some(Err(self.give_back(req, owner, error).await))),
        };
        let busy = contended(&req.key, Some(holder(first, look.lift)));
        if !waits(req) {
            return Ok(Some(Err(self.give_back(req, owner, busy).await)));
        }
        let name = match wake {
            Wake::Leaves(order) => look.names.get(&order).cloned(),
            Wake::AnyLeaves => None,
        };
        let own = look.line.iter().find(|entry| entry.card.owner == owner);
        if let Some(place) = self.places().get_mut(&owner) {
            place.order = own.and_then(|entry| i64::try_from(entry.order).ok());
            place.behind = Some(Behind { wake, name, seen: look.revision });
        }
        Ok(Some(Err(busy)))
    }

    /// It holds; its fence is lifted above the floor.
    async fn granted(&self, req: &Acquire, entry: &Entry, lift: Lift) -> Result<Grant> {
        let owner = entry.card.owner;
        if let Some(place) = self.places().get_mut(&owner) {
            (place.order, place.behind) = (i64::try_from(entry.order).ok(), None);
        }
        match self.lifted(lift, req.floor, entry.order).await {
            Ok(lift) => Ok(grant(req, lift, entry)),
            Err(error) => Err(self.give_back(req, owner, error).await),
        }
    }

    /// After a failure nothing half-taken stays behind. If that cannot be confirmed, the deadline sees to it.
    async fn give_back(&self, req: &Acquire, owner: Owner, error: Error) -> Error {
        if let Some(place) = self.place(owner)
            && let Err(failed) = self.leave(&req.key, owner, &place).await
        {
            tracing::debug!(%failed, "could not leave the line; the entry ends by its deadline");
        }
        error
    }

    /// Deletes an entry of ours, and no later one of the same owner.
    pub(super) async fn leave(&self, key: &Key, owner: Owner, place: &Place) -> Result<()> {
        let name = &place.name;
        let ours = place.order.map(|order| Compare::created_at(name, order)).into_iter().collect();
        let txn = Txn::when(ours, vec![Op::delete(name)], Vec::new());
        let left = self.write_at::<TxnAnswer>(owner, name, TXN, &txn).await;
        if left.map_err(|fault| self.error(fault, key, true))?.is_none() {
            return Ok(());
        }
        pause_point("etcd.entry-deleted").await;
        self.forget_place(key, owner, place);
        Ok(())
    }

    /// Moves an entry to another session; `false` if it is gone.
    pub(super) async fn rebind(&self, key: &Key, owner: Owner, place: &Place, session: &Arc<Session>) -> Result<bool> {
        let name = &place.name;
        let ours = place.order.map_or_else(|| Compare::present(name), |order| Compare::created_at(name, order));
        let txn = Txn::when(vec![ours], vec![Op::rebind(name, session.id)], Vec::new());
        let answer = self.write_at::<TxnAnswer>(owner, name, TXN, &txn).await;
        let bound = answer.map_err(|fault| self.error(fault, key, true))?.is_some_and(|answer| answer.succeeded);
        if let Some(place) = self.places().get_mut(&owner).filter(|_| bound) {
            place.session = Arc::clone(session);
        }
        Ok(bound)
    }

    /// The line as it is now, read by the majority.
    pub(super) async fn look(&self, key: &Key) -> Result<Look> {
        let (from, to) = self.names.line(key);
        let txn = Txn::always(vec![Range::between(&from, &to).into(), Op::read(&self.names.lift())]);
        let mut answer = self.hub.read::<TxnAnswer>(TXN, &txn).await.map_err(|fault| self.error(fault, key, false))?;
        self.read(&mut answer, 0).map_err(|error| error.with("key", key))
    }

    fn read(&self, answer: &mut TxnAnswer, at: usize) -> Result<Look> {
        let revision = answer.revision();
        let kvs = answer.kvs(at);
        let line: Option<Vec<Entry>> = kvs.iter().map(Look::entry).collect();
        let mut line = line.ok_or_else(|| self.damaged("an entry of a lock is not as we write it"))?;
        let names = line.iter().map(|entry| entry.order).zip(kvs.into_iter().map(|kv| kv.key)).collect();
        line.sort_unstable_by_key(|entry| entry.order);
        Ok(Look { line, names, lift: self.read_lift(answer.kv(at + 1))?, revision })
    }

    fn read_lift(&self, kv: Option<KeyValue>) -> Result<Lift> {
        let Some(kv) = kv else { return Ok(Lift::default()) };
        Lift::decode(&kv.value).ok_or_else(|| self.damaged("the number added to all fences is not as we write it"))
    }

    /// What is added to all fences, and the revision at which that was written.
    pub(super) async fn lift(&self) -> Result<(Lift, i64)> {
        let read = Txn::always(vec![Op::read(&self.names.lift())]);
        let mut answer = self.hub.read::<TxnAnswer>(TXN, &read).await.map_err(|fault| self.fault(fault))?;
        let kv = answer.kv(0);
        let written = kv.as_ref().map_or(0, |kv| kv.mod_revision);
        Ok((self.read_lift(kv)?, written))
    }

    /// Raises what is added to all fences until `order` is above the floor.
    async fn lifted(&self, lift: Lift, floor: u64, order: u64) -> Result<Lift> {
        if lift.above(floor, order)?.is_none() {
            return Ok(lift);
        }
        for _ in 0..ROUNDS {
            let (now, written) = self.lift().await?;
            let Some(higher) = now.above(floor, order)? else { return Ok(now) };
            let name = self.names.lift();
            let put = vec![Op::put(&name, higher.encode(), 0)];
            let txn = Txn::when(vec![Compare::written_at(&name, written)], put, Vec::new());
            // Raised twice is raised: the loop looks again, so a lost answer does no harm.
            match self.hub.write::<TxnAnswer>(TXN, &txn).await {
                Ok(answer) if answer.succeeded => return Ok(higher),
                Ok(_) => {}
                Err(fault) if fault.is_unknown() => {}
                Err(fault) => return Err(self.fault(fault)),
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "others raise the fences all the time").with("floor", floor))
    }
}
