//! A fair lock for one process: `CasLock` behind a queue. It gives the cases about order something to hold on to.

#![expect(clippy::unwrap_used, reason = "helpers of tests, though not tests themselves")]

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{
    Acquire, Capability, CasLock, ErrorKind, Grant, Key, LockBackend, LockInfo, MemoryStore, Owner, Page, Released,
    Renewal, Result, Wait, contended,
};
use tokio::sync::Notify;
use tokio::time::Instant;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueueBug {
    None,
    WithdrawIgnored,
    LastComeFirstServed,
}

#[derive(Debug, Clone)]
pub(super) struct Queue {
    inner: Arc<CasLock<MemoryStore>>,
    lines: Arc<Mutex<HashMap<Key, VecDeque<Owner>>>>,
    moved: Arc<Notify>,
    bug: QueueBug,
}

impl Queue {
    pub(super) fn new(store: MemoryStore, bug: QueueBug) -> Self {
        Self { inner: Arc::new(CasLock::new(store)), lines: Arc::default(), moved: Arc::default(), bug }
    }

    fn is_next(&self, key: &Key, owner: Owner) -> bool {
        let lines = self.lines.lock().unwrap();
        let next = lines.get(key).and_then(|line| match self.bug {
            QueueBug::LastComeFirstServed => line.back(),
            _ => line.front(),
        });
        next.is_none_or(|next| *next == owner)
    }

    fn join(&self, key: &Key, owner: Owner) {
        let mut lines = self.lines.lock().unwrap();
        let line = lines.entry(key.clone()).or_default();
        if !line.contains(&owner) {
            line.push_back(owner);
        }
    }

    fn leave(&self, key: &Key, owner: Owner) {
        self.lines.lock().unwrap().entry(key.clone()).or_default().retain(|other| *other != owner);
        self.moved.notify_waiters();
    }
}

#[async_trait]
impl LockBackend for Queue {
    fn capability(&self) -> Capability {
        Capability { fair: true, ..self.inner.capability() }
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        let answer = if self.is_next(&req.key, owner) {
            self.inner.try_acquire(req, owner).await
        } else {
            Err(contended(&req.key, None))
        };
        match &answer {
            Ok(_) => self.leave(&req.key, owner),
            Err(e) if e.kind() == ErrorKind::Contended && req.wait != Wait::No => self.join(&req.key, owner),
            Err(_) => {}
        }
        answer
    }

    async fn wait(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<()> {
        loop {
            let moved = self.moved.notified();
            if self.is_next(&req.key, owner) {
                return self.inner.wait(req, owner, until).await;
            }
            if tokio::time::timeout_at(until, moved).await.is_err() {
                return Ok(());
            }
        }
    }

    async fn withdraw(&self, req: &Acquire, owner: Owner) {
        if self.bug != QueueBug::WithdrawIgnored {
            self.leave(&req.key, owner);
        }
    }

    async fn renew(&self, grant: &Grant, ttl: Duration) -> Renewal {
        self.inner.renew(grant, ttl).await
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
