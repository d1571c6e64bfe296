//! The way of one process to the store it shares with others: it takes time, loses questions and answers, and ends with the process.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    BootTime, Capability, Clock, Cond, Error, ErrorKind, FencingToken, Key, MemoryStore, Page, Record, RecordStore,
    Result, Survives, Version,
};
use tokio::time::{Instant, sleep};

use super::fate::{Dice, Event, Life};

/// The clock of the simulated world, which is the runtime's paused one.
#[derive(Debug)]
pub(super) struct Virtual(pub(super) Instant);

impl Clock for Virtual {
    fn now(&self) -> BootTime {
        BootTime::from_boot(self.0.elapsed())
    }
}

#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) store: MemoryStore,
    pub(super) life: Life,
    pub(super) dice: Dice,
}

impl Line {
    async fn trip<T>(&self, writes: bool, operation: impl Future<Output = Result<T>>) -> Result<T> {
        self.life.or_never().await;
        sleep(self.dice.trip()).await;
        // What was sent before a kill still arrives.
        if self.dice.happens(Event::LostQuestion) {
            return Err(Error::new(ErrorKind::Unavailable, "the question is lost, and known to be"));
        }
        let answer = operation.await;
        sleep(self.dice.trip()).await;
        self.life.or_never().await;
        if writes && self.dice.happens(Event::LostAnswer) {
            return Err(Error::new(ErrorKind::OutcomeUnknown, "the answer is lost"));
        }
        answer
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl RecordStore for Line {
    /// The processes of this world share it, and it outlives them.
    fn capability(&self) -> Capability {
        let mut capability = self.store.capability();
        capability.shared_between_processes = true;
        (capability.survives, capability.weak) = (Survives::PowerLoss, None);
        capability
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        self.trip(false, self.store.get(key)).await
    }

    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        self.trip(true, self.store.touch(key, token)).await
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        self.trip(true, self.store.put(key, value, cond, ttl)).await
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        self.trip(true, self.store.delete(key, cond)).await
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        self.trip(false, self.store.scan(prefix, page)).await
    }

    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        self.life.or_never().await;
        self.store.changed(key, since, until).await
    }
}
