//! A lock service with sessions and a line, as etcd has it: who waits stands in line with a session that must be kept
//! alive, and the first of the line holds the lock.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{
    Acquire, BootTime, Capability, Clock, FencingToken, Grant, Hold, Key, LockBackend, LockInfo, ManualClock, Owner,
    Page, Released, Renewal, Result, contended, planted,
};
use tokio::time::Instant;

#[derive(Debug, Clone, Copy)]
struct Session {
    owner: Owner,
    fence: u64,
    ends: BootTime,
}

/// The service, for one key.
#[derive(Debug, Clone)]
pub struct Queue {
    clock: Arc<ManualClock>,
    line: Arc<Mutex<(Vec<Session>, u64)>>,
}

impl Queue {
    #[must_use]
    pub fn new(clock: Arc<ManualClock>) -> Self {
        Self { clock, line: Arc::default() }
    }

    fn line(&self) -> std::sync::MutexGuard<'_, (Vec<Session>, u64)> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl LockBackend for Queue {
    fn capability(&self) -> Capability {
        super::capability("queue", Hold::Lease)
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        let now = self.clock.now();
        let mut line = self.line();
        let waited = line.0.iter().any(|session| session.owner == owner);
        // etcd#11456: a waiter that has come to the front was not asked whether its own session is still alive.
        let alive =
            |session: &Session| now < session.ends || (planted!("wait-without-recheck") && session.owner == owner);
        line.0.retain(alive);
        if !line.0.iter().any(|session| session.owner == owner) {
            if waited {
                return Err(stanchion_core::Error::new(
                    stanchion_core::ErrorKind::Unavailable,
                    "the session has ended",
                ));
            }
            line.1 += 1;
            let session = Session { owner, fence: line.1, ends: now + req.ttl };
            line.0.push(session);
        }
        match line.0.first() {
            Some(first) if first.owner == owner => {
                let fence = FencingToken::new(first.fence, owner);
                Ok(Grant::new(req.key.clone(), owner, fence, req.mode, req.ttl))
            }
            _ => Err(contended(&req.key, None)),
        }
    }

    async fn wait(&self, _: &Acquire, _: Owner, until: Instant) -> Result<()> {
        tokio::time::sleep_until(until.min(Instant::now() + Duration::from_millis(10))).await;
        Ok(())
    }

    async fn withdraw(&self, _: &Acquire, owner: Owner) {
        self.line().0.retain(|session| session.owner != owner);
    }

    async fn renew(&self, grant: &Grant, ttl: Duration) -> Renewal {
        let now = self.clock.now();
        let mut line = self.line();
        match line.0.iter_mut().find(|session| session.owner == grant.owner && now < session.ends) {
            Some(session) => {
                session.ends = now + ttl;
                Renewal::Renewed
            }
            None => Renewal::Lost,
        }
    }

    async fn release(&self, grant: &Grant) -> Result<Released> {
        let mut line = self.line();
        let before = line.0.len();
        line.0.retain(|session| session.owner != grant.owner);
        Ok(if line.0.len() < before { Released::Released } else { Released::NotHeld })
    }

    async fn list(&self, _: &str, _: Page) -> Result<Vec<LockInfo>> {
        Ok(Vec::new())
    }

    async fn evict(&self, _: &Key) -> Result<Released> {
        self.line().0.clear();
        Ok(Released::Released)
    }
}
