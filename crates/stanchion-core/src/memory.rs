//! The reference record store: one process, nothing survives it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::{
    BootTime, Capability, Clock, Cond, Error, ErrorKind, FencingToken, Hold, Key, Page, Purpose, Record, RecordStore,
    Result, Survives, SystemClock, Times, VALUE_MAX_BYTES, Version, planted,
};

/// Records in this process's memory. Clones share the records.
///
/// ```
/// use stanchion_core::{Cond, Key, MemoryStore, RecordStore};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// let key = Key::new("counter")?;
/// let first = store.put(&key, "1".into(), Cond::Absent, None).await?;
/// assert!(store.put(&key, "2".into(), Cond::Absent, None).await.is_err());
/// assert!(store.put(&key, "2".into(), Cond::Version(first), None).await? > first);
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct MemoryStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    written: Notify,
    clock: Arc<dyn Clock>,
    shows_time: bool,
}

#[derive(Debug, Default)]
struct State {
    version: u64,
    entries: BTreeMap<Key, Entry>,
}

/// A key's record and floor. The floor stays when the record goes.
#[derive(Debug, Default)]
struct Entry {
    live: Option<Live>,
    fence: Option<FencingToken>,
}

#[derive(Debug, Clone)]
struct Live {
    value: Bytes,
    version: Version,
    written: BootTime,
    expires: Option<BootTime>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// An empty store.
    ///
    /// ```
    /// let _store = stanchion_core::MemoryStore::new();
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock))
    }

    /// An empty store whose expiry follows `clock`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use stanchion_core::{ManualClock, MemoryStore};
    /// let _store = MemoryStore::with_clock(Arc::new(ManualClock::default()));
    /// ```
    #[must_use]
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self::build(clock, true)
    }

    /// An empty store whose reads carry no time, as with engines that have no readable clock: locks on
    /// it judge expiry by *observed no-change*.
    ///
    /// ```
    /// use stanchion_core::{MemoryStore, RecordStore};
    /// assert!(!MemoryStore::without_clock().capability().clock);
    /// ```
    #[must_use]
    pub fn without_clock() -> Self {
        Self::build(Arc::new(SystemClock), false)
    }

    fn build(clock: Arc<dyn Clock>, shows_time: bool) -> Self {
        Self { inner: Arc::new(Inner { state: Mutex::default(), written: Notify::new(), clock, shows_time }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code of ours panics while it holds this mutex; a poisoned map is still a consistent map.
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, entry: &Entry, now: BootTime) -> Option<Record> {
        let live = entry.live.as_ref().filter(|live| live.expires.is_none_or(|at| now < at))?;
        let ms = |t: BootTime| u64::try_from(t.since_boot().as_millis()).unwrap_or(u64::MAX);
        Some(Record {
            value: live.value.clone(),
            version: live.version,
            fence: entry.fence,
            times: self.inner.shows_time.then(|| Times { written_ms: ms(live.written), now_ms: ms(now) }),
        })
    }
}

fn conflict(key: &Key, found: Option<Version>) -> Error {
    let found = found.map_or_else(|| "absent".to_owned(), |v| v.to_string());
    Error::new(ErrorKind::Conflict, "the record is not what the condition says").with("key", key).with("found", found)
}

impl Entry {
    fn version(&self, now: BootTime) -> Option<Version> {
        self.live.as_ref().filter(|live| live.expires.is_none_or(|at| now < at)).map(|live| live.version)
    }

    fn check(&self, key: &Key, cond: Cond, now: BootTime) -> Result<()> {
        match (cond, self.version(now)) {
            (Cond::Absent, Some(_)) if planted!("check-then-act") => Ok(()),
            (Cond::Version(_), _) if planted!("version-not-compared") => Ok(()),
            (Cond::Fence(token), _) if planted!("fence-on-write-only") && token.supersedes(self.fence.as_ref()) => {
                Ok(())
            }
            (Cond::Fence(token), _) if planted!("fence-not-strict") && token.supersedes(self.fence.as_ref()) => Ok(()),
            (Cond::Absent, None) => Ok(()),
            (Cond::Version(expected), Some(found)) if expected == found => Ok(()),
            (Cond::Absent | Cond::Version(_), found) => Err(conflict(key, found)),
            (Cond::Fence(token), _) if self.fence == Some(token) => Ok(()),
            (Cond::Fence(token), _) => Err(refused(key, token, self.fence)),
        }
    }
}

/// The refusal of `token` by a key whose highest token so far is `seen`: the same words in every store.
///
/// ```
/// use stanchion_core::{ErrorKind, FencingToken, Key, refused};
/// let seen = FencingToken::from_parts(9, 1);
/// let e = refused(&Key::new("a")?, FencingToken::from_parts(4, 2), Some(seen));
/// assert_eq!((e.kind(), e.floor()), (ErrorKind::FenceRejected, Some(9)));
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[must_use]
pub fn refused(key: &Key, token: FencingToken, seen: Option<FencingToken>) -> Error {
    metrics::counter!("stanchion_fence_rejected_total").increment(1);
    let error = match seen {
        Some(seen) if !token.supersedes(Some(&seen)) => {
            Error::new(ErrorKind::FenceRejected, "a newer holder has touched this key").with("seen", seen)
        }
        _ => Error::new(ErrorKind::FenceRejected, "this token has not touched the key").hint("touch before you write"),
    };
    error.with("key", key).with("token", token).at_floor(seen.map_or(0, |seen| seen.number()))
}

#[async_trait]
impl RecordStore for MemoryStore {
    fn capability(&self) -> Capability {
        Capability {
            backend: "memory",
            hold: Hold::Lease,
            clock: self.inner.shows_time,
            fair: false,
            shared_between_processes: false,
            survives: Survives::Nothing,
            purpose: Purpose::Correctness,
            weak: Some("records end with the process"),
        }
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        let now = self.inner.clock.now();
        Ok(self.state().entries.get(key).and_then(|entry| self.record(entry, now)))
    }

    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        let now = self.inner.clock.now();
        let mut state = self.state();
        let entry = state.entries.entry(key.clone()).or_default();
        if !token.supersedes(entry.fence.as_ref()) {
            return Err(refused(key, *token, entry.fence));
        }
        if !planted!("fence-on-write-only") {
            entry.fence = Some(*token);
        }
        Ok(self.record(entry, now))
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        let now = self.inner.clock.now();
        let mut state = self.state();
        let State { version, entries } = &mut *state;
        if value.len() > VALUE_MAX_BYTES {
            return Err(Error::new(ErrorKind::Invalid, "the value is larger than 16 MiB").with("key", key));
        }
        entries.get(key).unwrap_or(&Entry::default()).check(key, cond, now)?;
        // Expired records that nobody asks for must not pile up; a floor stays for ever.
        if *version % 1024 == 1023 {
            entries.retain(|_, entry| entry.fence.is_some() || entry.version(now).is_some());
        }
        let entry = entries.entry(key.clone()).or_default();
        *version += 1;
        let version = Version::new(if planted!("aba") && entry.live.is_none() { 1 } else { *version });
        if let (Cond::Fence(token), true) = (cond, planted!("fence-on-write-only")) {
            entry.fence = Some(token);
        }
        entry.live = Some(Live { value, version, written: now, expires: ttl.map(|ttl| now + ttl) });
        drop(state);
        self.inner.written.notify_waiters();
        Ok(version)
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        let now = self.inner.clock.now();
        let mut state = self.state();
        if !planted!("get-then-del") {
            state.entries.get(key).unwrap_or(&Entry::default()).check(key, cond, now)?;
        }
        let Some(entry) = state.entries.get_mut(key).filter(|entry| entry.version(now).is_some()) else {
            return Err(conflict(key, None));
        };
        entry.live = None;
        if entry.fence.is_none() || planted!("fence-dies-with-record") {
            state.entries.remove(key);
        }
        drop(state);
        self.inner.written.notify_waiters();
        Ok(())
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        let now = self.inner.clock.now();
        let start = page.after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        Ok(self
            .state()
            .entries
            .range::<Key, _>((start, Bound::Unbounded))
            .filter(|(key, _)| key.is_listed_under(prefix))
            .filter_map(|(key, entry)| Some((key.clone(), self.record(entry, now)?)))
            .take(page.limit)
            .collect())
    }

    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        loop {
            // Listening begins before the look, so a write in between is not missed.
            let written = self.inner.written.notified();
            let now = self.inner.clock.now();
            let found = self.state().entries.get(key).and_then(|entry| entry.version(now));
            if found != since || tokio::time::timeout_at(until, written).await.is_err() {
                return Ok(());
            }
        }
    }
}
