//! A lock that is a file: whoever creates it holds, and whoever finds it untouched for ten seconds may take it for the
//! leftover of a dead process. That is wrong wherever the age of a file is not what it seems: its holder was stopped, or
//! the file system shows an old time of change, as NFS does from its cache.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use stanchion_core::{
    Acquire, Capability, Error, FencingToken, Grant, Hold, Key, LockBackend, LockInfo, Owner, Page, Released, Renewal,
    Result, contended, planted,
};
use tokio::time::Instant;

/// Without its bug it never takes a file away: a dead holder is for a person to remove.
#[derive(Debug)]
pub struct LockFile {
    path: PathBuf,
    fence: AtomicU64,
}

impl LockFile {
    #[must_use]
    pub const fn new(path: PathBuf) -> Self {
        Self { path, fence: AtomicU64::new(0) }
    }

    fn is_stale(&self) -> bool {
        let touched = std::fs::metadata(&self.path).and_then(|meta| meta.modified());
        #[expect(
            clippy::disallowed_methods,
            reason = "the exhibit compares wall clocks; that is what is wrong with it"
        )]
        let now = SystemTime::now();
        touched.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age > super::STALE))
    }

    fn create(&self) -> std::io::Result<()> {
        OpenOptions::new().write(true).create_new(true).open(&self.path).map(drop)
    }
}

#[async_trait]
impl LockBackend for LockFile {
    fn capability(&self) -> Capability {
        super::capability("lock file", Hold::Held)
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        if planted!("stale-lock-file-is-stolen") && self.is_stale() {
            // Somebody else may be faster; then it is not there any more.
            // stanchion-audit: ignore RC208 -- the bug that this exhibit shows
            std::fs::remove_file(&self.path).ok();
        }
        match self.create() {
            Ok(()) => {
                let fence = FencingToken::new(self.fence.fetch_add(1, Ordering::SeqCst) + 1, owner);
                Ok(Grant::new(req.key.clone(), owner, fence, req.mode, req.ttl))
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(contended(&req.key, None)),
            Err(e) => Err(Error::new(stanchion_core::ErrorKind::Unavailable, "no lock file").because(e)),
        }
    }

    async fn wait(&self, _: &Acquire, _: Owner, until: Instant) -> Result<()> {
        tokio::time::sleep_until(until.min(Instant::now() + Duration::from_millis(10))).await;
        Ok(())
    }

    async fn withdraw(&self, _: &Acquire, _: Owner) {}

    async fn renew(&self, _: &Grant, _: Duration) -> Renewal {
        Renewal::Renewed
    }

    async fn release(&self, _: &Grant) -> Result<Released> {
        let removed = std::fs::remove_file(&self.path);
        Ok(if removed.is_ok() { Released::Released } else { Released::NotHeld })
    }

    async fn list(&self, _: &str, _: Page) -> Result<Vec<LockInfo>> {
        Ok(Vec::new())
    }

    async fn evict(&self, _: &Key) -> Result<Released> {
        Ok(Released::NotHeld)
    }
}
