//! Leases for file systems whose kernel locks do not reach the other machines.
//!
//! A holder moves its lock every 10 s. Who wants it watches, on his **own** clock: a lock that has not
//! moved for 60 s is stale. No file's time is compared with any clock. 60 s, because that is how long an NFS
//! client may show an old state (`acregmax`): a shorter watch could take a moving lock for a dead one.
//! Even then nothing is lost but the attempt: the takeover is a compare-and-swap (see `versions`).
//!
//! The holder itself gives up after three beats without success, well before anybody may take over.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{
    Acquire, Capability, CasLock, Error, ErrorKind, Grant, Key, LockBackend, LockInfo, Owner, Page, Released, Renewal,
    Result,
};
use tokio::time::Instant;

use super::versions::Versions;
use crate::Durability;

#[derive(Debug)]
pub(super) struct Heartbeat {
    inner: CasLock<Versions>,
    stale: Duration,
    /// What the holder may believe in, from beat to beat: three of them.
    belief: Duration,
}

impl Heartbeat {
    pub(super) fn open(folder: &Path, stale: Duration, beat: Duration, durability: Durability) -> Result<Self> {
        let belief = beat * 3;
        if beat.is_zero() || belief >= stale {
            return Err(Error::new(ErrorKind::Invalid, "three heartbeats must fit into the stale time")
                .with("heartbeat", format_args!("{beat:?}"))
                .with("stale", format_args!("{stale:?}"))
                .hint("the defaults are heartbeat=10s and stale=60s"));
        }
        let inner = CasLock::new(Versions::open(folder, durability == Durability::Power)?);
        Ok(Self { inner, stale, belief })
    }

    /// What the holder may believe: the ttl it asked for, or the least that is safe here.
    fn believed(&self, ttl: Duration) -> Duration {
        ttl.max(self.belief)
    }

    /// What others must see standing still: always longer than what the holder believes.
    fn lease(&self, ttl: Duration) -> Duration {
        self.believed(ttl) + (self.stale - self.belief)
    }
}

#[async_trait]
impl LockBackend for Heartbeat {
    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        let mut stored = req.clone();
        stored.ttl = self.lease(req.ttl);
        let mut grant = self.inner.try_acquire(&stored, owner).await?;
        grant.ttl = self.believed(req.ttl);
        Ok(grant)
    }

    async fn wait(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<()> {
        self.inner.wait(req, owner, until).await
    }

    async fn withdraw(&self, req: &Acquire, owner: Owner) {
        self.inner.withdraw(req, owner).await;
    }

    async fn renew(&self, grant: &Grant, ttl: Duration) -> Renewal {
        self.inner.renew(grant, self.lease(ttl)).await
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
