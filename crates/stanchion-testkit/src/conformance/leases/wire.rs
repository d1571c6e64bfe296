//! A backend whose answers can be kept back.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{
    Acquire, Capability, Error, ErrorKind, Grant, Key, LockBackend, LockInfo, Owner, Page, Released, Renewal, Result,
};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// What happens on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Weather {
    #[default]
    Fair,
    /// Requests arrive and are done; their replies wait until the weather changes.
    RepliesWait,
    /// Requests do not arrive.
    NothingArrives,
}

#[derive(Debug)]
pub(super) struct Wire {
    inner: Arc<dyn LockBackend>,
    pub(super) acquiring: watch::Sender<Weather>,
    pub(super) renewing: watch::Sender<Weather>,
    /// Told when an answer begins to wait.
    pub(super) waiting: Notify,
}

impl Wire {
    pub(super) fn new(inner: Arc<dyn LockBackend>) -> Arc<Self> {
        let (acquiring, renewing) = (watch::Sender::default(), watch::Sender::default());
        Arc::new(Self { inner, acquiring, renewing, waiting: Notify::new() })
    }

    async fn reply(&self, weather: &watch::Sender<Weather>) {
        tokio::task::yield_now().await;
        let mut weather = weather.subscribe();
        if *weather.borrow() == Weather::RepliesWait {
            self.waiting.notify_one();
        }
        // The sender lives in `self`.
        weather.wait_for(|weather| *weather != Weather::RepliesWait).await.ok();
    }
}

#[async_trait]
impl LockBackend for Wire {
    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        if *self.acquiring.borrow() == Weather::NothingArrives {
            return Err(Error::new(ErrorKind::Unavailable, "the wire is cut"));
        }
        let answer = self.inner.try_acquire(req, owner).await;
        self.reply(&self.acquiring).await;
        answer
    }

    async fn wait(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<()> {
        self.inner.wait(req, owner, until).await
    }

    async fn withdraw(&self, req: &Acquire, owner: Owner) {
        self.inner.withdraw(req, owner).await;
    }

    async fn renew(&self, grant: &Grant, ttl: Duration) -> Renewal {
        if *self.renewing.borrow() == Weather::NothingArrives {
            return Renewal::Unknown(Error::new(ErrorKind::Unavailable, "the wire is cut"));
        }
        let answer = self.inner.renew(grant, ttl).await;
        self.reply(&self.renewing).await;
        answer
    }

    async fn release(&self, grant: &Grant) -> Result<Released> {
        self.inner.release(grant).await
    }

    async fn list(&self, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
        self.inner.list(prefix, page).await
    }

    async fn evict(&self, key: &Key) -> Result<Released> {
        self.inner.evict(key).await
    }
}
