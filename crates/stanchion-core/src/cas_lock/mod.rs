//! A lock for every record store: so a new backend needs one file.

mod seen;
mod state;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::Instant;

use self::seen::{Ends, Seen};
use self::state::{Seat, State};
use crate::{
    Acquire, BootTime, Capability, Clock, Cond, Error, ErrorKind, FencingToken, Grant, Key, LockBackend, LockInfo,
    Owner, Page, Record, RecordStore, Released, Renewal, Result, SystemClock, Version, lock, planted,
};

/// Leases on any [`RecordStore`], by compare-and-swap on one record per key.
///
/// Expiry is judged by the store's clock: the record's age against what was left of the lease. Where the
/// store has no readable clock, a lease has ended once its record stood unchanged for the rest of the
/// lease **on our own clock**; then the takeover is a compare-and-swap on that version.
/// Waiters are not queued across processes: whoever is first after a release gets it.
///
/// ```
/// use stanchion_core::{Acquire, CasLock, ErrorKind, Key, LockBackend, MemoryStore, Owner};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let locks = CasLock::new(MemoryStore::new());
/// let request = Acquire::new(Key::new("deploy")?);
/// let grant = locks.try_acquire(&request, Owner::random()).await?;
/// let refused = locks.try_acquire(&request, Owner::random()).await.unwrap_err();
/// assert_eq!(refused.kind(), ErrorKind::Contended);
/// locks.release(&grant).await?;
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct CasLock<S> {
    store: S,
    clock: Arc<dyn Clock>,
    /// When each seat ends at the latest, on our own clock; only for stores without a clock. Kept per seat and
    /// renewal, not per version: others who come and go change the version, and must not keep a dead holder alive.
    seen: Mutex<Seen>,
    /// Records that we wrote with a single seat, ours: while that seat surely lives, the release needs no look.
    ours: Mutex<HashMap<Owner, Ours>>,
}

/// A record as we wrote it.
#[derive(Debug)]
struct Ours {
    version: Version,
    high: u64,
    /// When its seat ends at the earliest, on our own clock.
    until: BootTime,
}

/// What the record is taken for without a look. The compare-and-swap finds out whether that is true.
enum Guess {
    Absent,
    Ours(Version, State),
}

/// Above this floor there would soon be no number left: every grant takes one, and lifts the next floor.
const FLOOR_MOST: u64 = u64::MAX / 4;

/// What a change of the lock record comes to.
enum Change<T> {
    Write(State, T),
    Leave(T),
}

impl<S: RecordStore> CasLock<S> {
    /// Locks kept in `store`.
    ///
    /// ```
    /// let _locks = stanchion_core::CasLock::new(stanchion_core::MemoryStore::new());
    /// ```
    pub fn new(store: S) -> Self {
        Self { store, clock: Arc::new(SystemClock), seen: Mutex::default(), ours: Mutex::default() }
    }

    fn record_key(key: &Key) -> Key {
        Key::reserved("lock", key.as_str())
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ours(&self) -> std::sync::MutexGuard<'_, HashMap<Owner, Ours>> {
        self.ours.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Grants that end without a release are forgotten once in a while.
    fn remember(&self, owner: Owner, written: Ours) {
        let mut ours = self.ours();
        if ours.len() >= 1024 {
            let now = self.clock.now();
            ours.retain(|_, ours| now < ours.until);
        }
        ours.insert(owner, written);
    }

    fn state(&self, key: &Key, record: Option<&Record>) -> Result<State> {
        let Some(record) = record else {
            self.seen().take(key);
            return Ok(State::default());
        };
        if let Some(times) = record.times {
            return State::decode(key, record, &mut |_, left| left.saturating_sub(times.age()));
        }
        let now = self.clock.now();
        let mut seen = self.seen();
        let before = seen.take(key);
        let mut after = Ends::new();
        // What was left at the write is left at most now: each sight is an upper bound, and the lowest one counts.
        let state = State::decode(key, record, &mut |seat, left| {
            let ends = before.get(&seat).map_or(now + left, |ends| (*ends).min(now + left));
            after.insert(seat, ends);
            ends - now
        });
        seen.keep(key, after, now);
        state
    }

    fn info(&self, key: Key, record: &Record) -> Result<LockInfo> {
        let holders = self.state(&key, Some(record))?.seats.iter().map(Seat::holder).collect();
        let mut info = LockInfo::new(key);
        info.holders = holders;
        Ok(info)
    }

    /// Reads, decides, writes by compare-and-swap; again if somebody was faster. A good guess spares the first read.
    async fn change<T>(
        &self,
        key: &Key,
        mut guess: Option<Guess>,
        decide: impl Fn(State) -> Result<Change<T>> + Sync,
    ) -> Result<(T, Option<Version>)> {
        let record_key = Self::record_key(key);
        // Each lost round means that somebody else's change went through, so the loop as a whole advances;
        // the bound only keeps a broken store from spinning for ever.
        for _ in 0..10_000 {
            let (version, state) = match guess.take() {
                Some(Guess::Absent) => (None, State::default()),
                Some(Guess::Ours(version, state)) => (Some(version), state),
                None => {
                    let found = self.store.get(&record_key).await?;
                    (found.as_ref().map(|record| record.version), self.state(key, found.as_ref())?)
                }
            };
            let (next, answer) = match decide(state)? {
                Change::Leave(answer) => return Ok((answer, None)),
                Change::Write(next, answer) => (next, answer),
            };
            let cond = version.map_or(Cond::Absent, Cond::Version);
            // The store's counter keeps later fences above `high`, unless a floor has lifted it.
            let forget = next.seats.is_empty() && version.is_some_and(|version| next.high <= version.get());
            let written = if forget {
                self.seen().take(key);
                self.store.delete(&record_key, cond).await.map(|()| None)
            } else {
                self.store.put(&record_key, Bytes::from(next.encode()), cond, None).await.map(Some)
            };
            match written {
                Ok(version) => return Ok((answer, version)),
                Err(e) if e.kind() == ErrorKind::Conflict => tokio::task::yield_now().await,
                Err(e) => return Err(e),
            }
        }
        Err(Error::new(ErrorKind::Unexpected, "the lock record changed under us 10000 times").with("key", key))
    }
}

#[async_trait]
impl<S: RecordStore> LockBackend for CasLock<S> {
    fn capability(&self) -> Capability {
        self.store.capability()
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        if req.floor > FLOOR_MOST {
            return Err(Error::new(ErrorKind::Invalid, "no fence can be above this floor").with("floor", req.floor));
        }
        let sent = self.clock.now();
        let (fence, version) = self
            .change(&req.key, Some(Guess::Absent), |mut state| {
                if let Some(seat) = state.seat(owner) {
                    seat.renew(req.ttl);
                    let token = seat.token();
                    return Ok(Change::Write(state, Ok(token)));
                }
                if !state.admits(&req.key, req.mode)? {
                    return Err(lock::contended(&req.key, state.seats.first().map(Seat::holder)));
                }
                state.high = if planted!("floor-ignored") { state.high } else { state.high.max(req.floor) };
                let (high, alone) = (state.high, state.seats.is_empty());
                state.seats.push(Seat::new(req, owner));
                if planted!("set-then-expire") {
                    state.seats[0].left = crate::TTL_RANGE.1;
                }
                Ok(Change::Write(state, Err((high, alone))))
            })
            .await?;
        let token = match (fence, version) {
            (Ok(token), _) => token,
            (Err((high, alone)), Some(version)) => {
                let high = State { high, ..State::default() }.minted(version);
                if alone {
                    self.remember(owner, Ours { version, high, until: sent + req.ttl });
                }
                FencingToken::new(high, owner)
            }
            (Err(_), None) => {
                return Err(Error::new(ErrorKind::Unexpected, "a grant was not written").with("key", &req.key));
            }
        };
        let grant = Grant::new(req.key.clone(), owner, token, req.mode, req.ttl);
        if planted!("set-then-expire") {
            self.renew(&grant, req.ttl).await;
        }
        Ok(grant)
    }

    async fn wait(&self, req: &Acquire, _: Owner, until: Instant) -> Result<()> {
        let record_key = Self::record_key(&req.key);
        let Some(record) = self.store.get(&record_key).await? else {
            return Ok(());
        };
        let state = self.state(&req.key, Some(&record))?;
        let Some(first_end) = state.seats.iter().map(|seat| seat.left).min() else {
            return Ok(());
        };
        if state.admits(&req.key, req.mode)? {
            return Ok(());
        }
        let until = until.min(Instant::now() + first_end + Duration::from_millis(1));
        self.store.changed(&record_key, Some(record.version), until).await
    }

    async fn withdraw(&self, _: &Acquire, _: Owner) {}

    async fn renew(&self, grant: &Grant, ttl: Duration) -> Renewal {
        self.ours().remove(&grant.owner);
        let renewed = self
            .change(&grant.key, None, |mut state| match state.seat(grant.owner) {
                Some(seat) => {
                    seat.renew(ttl);
                    Ok(Change::Write(state, Renewal::Renewed))
                }
                None if planted!("renew-without-token") => Ok(Change::Leave(Renewal::Renewed)),
                None => Ok(Change::Leave(Renewal::Lost)),
            })
            .await;
        renewed.map_or_else(Renewal::Unknown, |(renewal, _)| renewal)
    }

    async fn release(&self, grant: &Grant) -> Result<Released> {
        let known = self.ours().remove(&grant.owner).filter(|ours| self.clock.now() < ours.until);
        let guess = known.map(|ours| Guess::Ours(ours.version, State::held_by(grant, ours.high)));
        let released = self.change(&grant.key, guess, |mut state| {
            if state.seat(grant.owner).is_none() && !planted!("del-without-token") {
                return Ok(Change::Leave(Released::NotHeld));
            }
            state.seats.retain(|seat| seat.owner != grant.owner && !planted!("del-without-token"));
            Ok(Change::Write(state, Released::Released))
        });
        Ok(released.await?.0)
    }

    async fn list(&self, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
        // A key sorts before all that it is a prefix of, and one look is cheap where a listing reads the whole store.
        if page.limit == 1
            && page.after.is_none()
            && let Ok(key) = Key::new(prefix)
            && let Some(record) = self.store.get(&Self::record_key(&key)).await?
        {
            return Ok(vec![self.info(key, &record)?]);
        }
        let space = Key::reserved("lock", "");
        let after = page.after.map(|key| Self::record_key(&key));
        let found = self.store.scan(Key::reserved("lock", prefix).as_str(), Page { after, limit: page.limit }).await?;
        let mut infos = Vec::with_capacity(found.len());
        for (record_key, record) in found {
            let key = Key::new(&record_key.as_str()[space.as_str().len()..])?;
            infos.push(self.info(key, &record)?);
        }
        Ok(infos)
    }

    async fn evict(&self, key: &Key) -> Result<Released> {
        // What cannot be read can still be removed: the way out that the error of a damaged record names.
        let at = Self::record_key(key);
        if let Some(record) = self.store.get(&at).await?
            && self.state(key, Some(&record)).is_err_and(|e| e.kind() == ErrorKind::Damaged)
        {
            self.store.delete(&at, Cond::Version(record.version)).await?;
            return Ok(Released::Released);
        }
        let evicted = self.change(key, None, |mut state| {
            if state.seats.is_empty() {
                return Ok(Change::Leave(Released::NotHeld));
            }
            state.seats.clear();
            Ok(Change::Write(state, Released::Released))
        });
        Ok(evicted.await?.0)
    }
}
