//! The store as one update sees it: what is known already is not read again, and who loses too often takes a turn.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Acquire, Capability, Cond, ErrorKind, FencingToken, Key, Lease, Locks, Page, Record, RecordStore, Result, Version,
    Wait,
};
use tokio::time::Instant;

/// Who lost so many races waits for a turn instead of racing on.
const LOSSES: u32 = 8;
/// The turn is a courtesy, not what keeps the graph whole: nobody waits for a dead holder for long.
const TURN_TTL: Duration = Duration::from_secs(2);
const TURN_WAIT: Duration = Duration::from_secs(5);

/// Where those wait who lose too often.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    pub(super) locks: Locks,
    pub(super) key: Key,
}

/// One update's view of the store.
#[derive(Debug)]
pub(super) struct Attempt {
    store: Arc<dyn RecordStore>,
    turns: Option<Turns>,
    seen: Mutex<Seen>,
    losses: AtomicU32,
    lease: tokio::sync::Mutex<Option<Lease>>,
}

#[derive(Debug, Default)]
struct Seen {
    /// Taken for what is in the store, until a write on that condition fails.
    assumed: Option<Record>,
    read: Option<Record>,
    /// `read` came from the store and was not assumed.
    fresh: bool,
    written: Option<(Version, Bytes)>,
}

impl Attempt {
    pub(super) fn new(store: Arc<dyn RecordStore>, turns: Option<Turns>, assumed: Option<Record>) -> Arc<Self> {
        let seen = Mutex::new(Seen { assumed, ..Seen::default() });
        Arc::new(Self { store, turns, seen, losses: AtomicU32::new(0), lease: tokio::sync::Mutex::new(None) })
    }

    /// What the update works on, and whether that came from the store.
    pub(super) fn read(&self) -> (Option<Record>, bool) {
        let seen = self.seen();
        (seen.read.clone(), seen.fresh)
    }

    /// What was written, if the store itself said so.
    pub(super) fn written(&self) -> Option<(Version, Bytes)> {
        self.seen().written.clone()
    }

    /// Lets the next one have the turn.
    pub(super) async fn end(&self) {
        if let Some(lease) = self.lease.lock().await.take()
            && let Err(error) = lease.release().await
        {
            tracing::debug!(%error, "the turn was not given back; it ends by itself");
        }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn take_turn(&self) {
        let Some(turns) = self.turns.as_ref().filter(|_| self.losses.load(Ordering::Relaxed) >= LOSSES) else { return };
        let mut lease = self.lease.lock().await;
        if lease.is_some() {
            return;
        }
        let request = Acquire::new(turns.key.clone()).wait(Wait::For(TURN_WAIT));
        let taken = match request.ttl(TURN_TTL) {
            Ok(request) => turns.locks.acquire(&request).await,
            Err(error) => Err(error),
        };
        // Without it we race on: the condition of the write keeps the graph whole.
        match taken {
            Ok(taken) => *lease = Some(taken),
            Err(error) => tracing::debug!(%error, "no turn"),
        }
        self.losses.store(0, Ordering::Relaxed);
    }
}

#[async_trait]
impl RecordStore for Attempt {
    fn capability(&self) -> Capability {
        self.store.capability()
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        let assumed = self.seen().assumed.take();
        if assumed.is_some() {
            let mut seen = self.seen();
            (seen.read, seen.fresh) = (assumed.clone(), false);
            return Ok(assumed);
        }
        self.take_turn().await;
        let record = self.store.get(key).await?;
        let mut seen = self.seen();
        (seen.read, seen.fresh) = (record.clone(), true);
        Ok(record)
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        let written = self.store.put(key, value.clone(), cond, ttl).await;
        match &written {
            Ok(version) => self.seen().written = Some((*version, value)),
            // That what was assumed is old is no lost race.
            Err(error) if error.kind() == ErrorKind::Conflict && self.seen().fresh => {
                self.losses.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => {}
        }
        written
    }

    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        self.store.touch(key, token).await
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        self.store.delete(key, cond).await
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        self.store.scan(prefix, page).await
    }

    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        self.store.changed(key, since, until).await
    }
}
