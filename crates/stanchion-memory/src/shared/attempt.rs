//! The store as one update sees it: what is known already is not read again, and the turn is taken where one is due.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{Capability, Cond, FencingToken, Key, Lease, Page, Record, RecordStore, Result, Version};
use tokio::time::Instant;

use super::turns::Turns;

/// One update's view of the store.
#[derive(Debug)]
pub(super) struct Attempt {
    store: Arc<dyn RecordStore>,
    turns: Option<Arc<Turns>>,
    seen: Mutex<Seen>,
    lease: tokio::sync::Mutex<Option<Lease>>,
}

/// What is taken for the last record.
#[derive(Debug)]
pub(super) struct Assumed {
    pub(super) record: Record,
    /// We wrote it ourselves, and a while ago.
    pub(super) quiet: bool,
}

#[derive(Debug, Default)]
struct Seen {
    /// Taken for what is in the store, until a write on that condition fails.
    assumed: Option<Assumed>,
    /// A write on what was assumed needs no turn.
    quiet: bool,
    read: Option<Record>,
    /// `read` came from the store and was not assumed.
    fresh: bool,
    written: Option<(Version, Bytes)>,
}

impl Attempt {
    pub(super) fn new(store: Arc<dyn RecordStore>, turns: Option<Arc<Turns>>, assumed: Option<Assumed>) -> Arc<Self> {
        let seen = Mutex::new(Seen { assumed, ..Seen::default() });
        Arc::new(Self { store, turns, seen, lease: tokio::sync::Mutex::new(None) })
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
        let Some(turns) = &self.turns else { return };
        let mut lease = self.lease.lock().await;
        let held = lease.as_ref().is_some_and(|lease| lease.fence().is_ok());
        if !held && turns.is_due() {
            *lease = turns.take().await;
        }
    }
}

#[async_trait]
impl RecordStore for Attempt {
    fn capability(&self) -> Capability {
        self.store.capability()
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        let assumed = self.seen().assumed.take();
        let quiet = assumed.as_ref().is_some_and(|assumed| assumed.quiet);
        if !quiet {
            self.take_turn().await;
        }
        let (record, fresh) = match assumed {
            Some(assumed) => (Some(assumed.record), false),
            None => (self.store.get(key).await?, true),
        };
        let mut seen = self.seen();
        (seen.read, seen.fresh, seen.quiet) = (record.clone(), fresh, quiet);
        Ok(record)
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        let version = self.store.put(key, value.clone(), cond, ttl).await?;
        let mut seen = self.seen();
        seen.written = Some((version, value));
        if let Some(turns) = self.turns.as_ref().filter(|_| seen.quiet) {
            turns.be_free();
        }
        Ok(version)
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
