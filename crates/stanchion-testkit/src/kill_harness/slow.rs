//! A store that takes its time can cost a lock, as a worker that stands still can: a fault like others, and counted as one.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{Acquire, Capability, Grant, Key, LockBackend, LockInfo, Owner, Page, Released, Renewal, Result};
use tokio::time::Instant;

use super::log::Log;

/// Notes a request that takes longer than `limit`, while it is under way: who waits for it may not wait to its end.
pub(super) async fn timed<T>(log: &Log, limit: Duration, request: impl Future<Output = T>) -> T {
    let mut request = pin!(request);
    match tokio::time::timeout(limit, &mut request).await {
        Ok(done) => done,
        Err(_) => {
            log.line(&format!("slow {}", limit.as_millis()));
            request.await
        }
    }
}

/// Locks whose slow answers are noted.
#[derive(Debug)]
pub(super) struct Slow {
    pub(super) locks: Arc<dyn LockBackend>,
    pub(super) log: Arc<Log>,
    pub(super) limit: Duration,
}

#[async_trait]
impl LockBackend for Slow {
    fn capability(&self) -> Capability {
        self.locks.capability()
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        timed(&self.log, self.limit, self.locks.try_acquire(req, owner)).await
    }

    async fn wait(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<()> {
        self.locks.wait(req, owner, until).await
    }

    async fn withdraw(&self, req: &Acquire, owner: Owner) {
        self.locks.withdraw(req, owner).await;
    }

    async fn renew(&self, grant: &Grant, ttl: Duration) -> Renewal {
        timed(&self.log, self.limit, self.locks.renew(grant, ttl)).await
    }

    async fn release(&self, grant: &Grant) -> Result<Released> {
        self.locks.release(grant).await
    }

    async fn list(&self, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
        self.locks.list(prefix, page).await
    }

    async fn evict(&self, key: &Key) -> Result<Released> {
        self.locks.evict(key).await
    }
}

#[cfg(test)]
mod tests {
    use super::super::log;
    use super::*;
    use crate::eventually;

    #[tokio::test]
    async fn a_late_answer_is_noted_while_it_is_awaited() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let log = Log::open(&path);
        let noted = || log::read(&path).len();
        assert_eq!(timed(&log, Duration::from_secs(60), async { 7 }).await, 7);
        assert_eq!(noted(), 0);
        // It never comes: whoever waits for it gives up.
        tokio::select! {
            () = timed(&log, Duration::from_millis(1), std::future::pending()) => unreachable!("it never comes"),
            () = eventually(Duration::from_secs(10), "the delay is noted", || async { noted() == 1 }) => {}
        }
    }
}
