//! Points at which a task stands until the explorer lets it go on, and a store that has one before every operation.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Capability, Cond, Error, ErrorKind, FencingToken, Key, MemoryStore, Page, Record, RecordStore, Result, Version,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// What becomes of an operation that stands at a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    GoOn,
    /// It happens, and its answer stands at a stop of its own.
    AnswerLater,
    /// It happens, and its answer is lost.
    AnswerLost,
    /// It does not happen.
    Refused,
}

#[derive(Debug)]
pub(super) struct Stop {
    pub(super) what: &'static str,
    pub(super) writes: bool,
    fate: oneshot::Sender<Fate>,
}

/// All who stand somewhere, in the order in which they came.
#[derive(Debug, Clone, Default)]
pub(super) struct Stops(Arc<Mutex<(u64, BTreeMap<u64, Stop>)>>);

impl Stops {
    fn inner(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, Stop>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn stop(&self, what: &'static str, writes: bool) -> Fate {
        let (fate, told) = oneshot::channel();
        {
            let (next, standing) = &mut *self.inner();
            standing.insert(*next, Stop { what, writes, fate });
            *next += 1;
        }
        // The explorer has gone: its run is over.
        told.await.unwrap_or(Fate::GoOn)
    }

    /// Who stands where; those who were dropped there stand nowhere.
    pub(super) fn standing(&self) -> Vec<(u64, &'static str, bool)> {
        let (_, standing) = &mut *self.inner();
        standing.retain(|_, stop| !stop.fate.is_closed());
        standing.iter().map(|(number, stop)| (*number, stop.what, stop.writes)).collect()
    }

    pub(super) fn decide(&self, number: u64, fate: Fate) {
        if let Some(stop) = self.inner().1.remove(&number) {
            // Whoever was dropped meanwhile needs no answer.
            stop.fate.send(fate).ok();
        }
    }
}

/// A memory store with a stop before every operation but waiting.
#[derive(Debug, Clone)]
pub(super) struct Stepped {
    pub(super) inner: MemoryStore,
    pub(super) stops: Stops,
}

impl Stepped {
    async fn write<T>(&self, what: &'static str, operation: impl Future<Output = Result<T>>) -> Result<T> {
        let error = |kind, text: &'static str| Err(Error::new(kind, text).with("operation", what));
        match self.stops.stop(what, true).await {
            Fate::GoOn => operation.await,
            Fate::AnswerLater => {
                let answer = operation.await;
                self.stops.stop("answer", false).await;
                answer
            }
            Fate::AnswerLost => {
                operation.await.ok();
                error(ErrorKind::OutcomeUnknown, "the answer is lost")
            }
            Fate::Refused => error(ErrorKind::Unavailable, "refused before sending"),
        }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl RecordStore for Stepped {
    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        self.stops.stop("get", false).await;
        self.inner.get(key).await
    }

    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        self.write("touch", self.inner.touch(key, token)).await
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        self.write("put", self.inner.put(key, value, cond, ttl)).await
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        self.write("delete", self.inner.delete(key, cond)).await
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        self.stops.stop("scan", false).await;
        self.inner.scan(prefix, page).await
    }

    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        self.inner.changed(key, since, until).await
    }
}
