//! Locks that the kernel keeps: held until released or until the process dies, never stolen.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{
    Acquire, Capability, Error, ErrorKind, Grant, Hold, Key, LockBackend, LockInfo, Owner, Page, Purpose, Released,
    Renewal, Result, Survives,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::held::Files;
use super::key_lock::KeyLock;
use super::lockfile::Dir;
use super::look;
use crate::Durability;

/// How many keys keep their files open while nobody uses them.
const KEYS_OPEN: usize = 256;

/// Kernel locks on the files of one folder: what flock(1) is, with fences, queues and names.
///
/// A holder keeps its lock until it releases or its process dies; there is no ttl, no loss and no theft
/// while it is paused. Lock files stay in the folder for ever, because each holds its key's fence counter.
///
/// ```
/// use stanchion_core::{Acquire, Key, LockBackend, Owner, Released};
/// use stanchion_stores::{Durability, FileLocks};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let folder = tempfile::tempdir().unwrap();
/// let locks = FileLocks::open(folder.path(), Durability::Process)?;
/// let grant = locks.try_acquire(&Acquire::new(Key::new("deploy")?), Owner::random()).await?;
/// assert_eq!(locks.release(&grant).await?, Released::Released);
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct FileLocks {
    dir: Arc<Dir>,
    keys: Mutex<HashMap<Key, Arc<KeyLock>>>,
}

impl FileLocks {
    /// Locks in `folder`, which is created if only it is missing.
    ///
    /// # If it fails
    /// `Invalid` if the folder is a file or its parent is missing, `Denied` if we may not write there.
    ///
    /// ```
    /// use stanchion_core::ErrorKind;
    /// use stanchion_stores::{Durability, FileLocks};
    /// let error = FileLocks::open("/no/such/parent/locks", Durability::Process).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Invalid);
    /// ```
    pub fn open(folder: impl AsRef<Path>, durability: Durability) -> Result<Self> {
        let dir = Dir::open(folder.as_ref(), durability == Durability::Power)?;
        Ok(Self { dir: Arc::new(dir), keys: Mutex::default() })
    }

    /// The open files of a held lock, duplicated **without** close-on-exec: a child that is started while
    /// they are open holds the lock as well, until it ends.
    ///
    /// From then on [`release`](LockBackend::release) only closes our side. Drop the files once the child runs.
    ///
    /// # If it fails
    /// `LeaseLost` if the grant is not held here any more.
    ///
    /// ```
    /// use stanchion_core::{Acquire, ErrorKind, Key, LockBackend, Owner, Wait};
    /// use stanchion_stores::{Durability, FileLocks};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let folder = tempfile::tempdir().unwrap();
    /// let locks = FileLocks::open(folder.path(), Durability::Process)?;
    /// let request = Acquire::new(Key::new("deploy")?).wait(Wait::No);
    /// let grant = locks.try_acquire(&request, Owner::random()).await?;
    /// let for_the_child = locks.inheritable(&grant)?;
    /// locks.release(&grant).await?;
    /// let refused = locks.try_acquire(&request, Owner::random()).await.unwrap_err();
    /// assert_eq!(refused.kind(), ErrorKind::Contended);   // the "child" still has it
    /// drop(for_the_child);
    /// locks.try_acquire(&request, Owner::random()).await?;
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    #[cfg(unix)]
    pub fn inheritable(&self, grant: &Grant) -> Result<Vec<std::os::fd::OwnedFd>> {
        self.key(&grant.key).lend(grant.owner, |file| Ok(rustix::io::dup(file)?))
    }

    /// One attempt on this thread, for callers that are no task. It takes microseconds and waits for nobody, whatever
    /// `req.wait` says, not even for a stopped process in the middle of the lock's queue: what cannot be seen at once is busy.
    /// Those who share a lock take turns at its table, where such a process can hold them up for a second.
    ///
    /// # If it fails
    /// As [`try_acquire`](LockBackend::try_acquire); the owner stands in no queue. `Contended` does not always name the holder.
    ///
    /// ```
    /// use stanchion_core::{Acquire, Key, Owner, Released, Wait};
    /// use stanchion_stores::{Durability, FileLocks};
    /// # let folder = tempfile::tempdir().unwrap();
    /// let locks = FileLocks::open(folder.path(), Durability::Process)?;
    /// let grant = locks.try_now(&Acquire::new(Key::new("deploy")?).wait(Wait::No), Owner::random())?;
    /// assert_eq!(locks.release_now(&grant), Released::Released);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn try_now(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        self.key(&req.key).try_now(req, owner)
    }

    /// The end of a grant on this thread. See [`try_now`](Self::try_now).
    ///
    /// ```
    /// # use stanchion_core::{Acquire, Key, Owner, Released};
    /// # use stanchion_stores::{Durability, FileLocks};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let locks = FileLocks::open(folder.path(), Durability::Process)?;
    /// let grant = locks.try_now(&Acquire::new(Key::new("deploy")?), Owner::random())?;
    /// locks.release_now(&grant);
    /// assert_eq!(locks.release_now(&grant), Released::NotHeld);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn release_now(&self, grant: &Grant) -> Released {
        self.key(&grant.key).release(grant.owner)
    }

    fn key(&self, key: &Key) -> Arc<KeyLock> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = keys.get(key) {
            return Arc::clone(found);
        }
        if keys.len() >= KEYS_OPEN {
            // Two of them for one key would still exclude each other, in the kernel.
            keys.retain(|_, lock| Arc::strong_count(lock) > 1 || !lock.is_idle());
        }
        let lock = Arc::new(KeyLock::new(Files::new(Arc::clone(&self.dir), key.clone())));
        keys.insert(key.clone(), Arc::clone(&lock));
        lock
    }
}

#[async_trait]
impl LockBackend for FileLocks {
    fn capability(&self) -> Capability {
        Capability {
            backend: "file",
            hold: Hold::Held,
            clock: false,
            fair: true,
            shared_between_processes: true,
            survives: if self.dir.sync { Survives::PowerLoss } else { Survives::ProcessCrash },
            purpose: Purpose::Correctness,
            weak: None,
        }
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        // A free lock is got without waiting, so a busy task would keep its thread from all others.
        tokio::task::consume_budget().await;
        self.key(&req.key).try_acquire(req, owner)
    }

    async fn wait(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<()> {
        if let Some(bell) = self.key(&req.key).bell(req, owner)? {
            // `notify_one` leaves a permit, so a ring before this line is not lost.
            tokio::time::timeout_at(until, bell.notified()).await.ok();
        }
        Ok(())
    }

    async fn withdraw(&self, req: &Acquire, owner: Owner) {
        self.key(&req.key).withdraw(owner);
    }

    async fn renew(&self, grant: &Grant, _: Duration) -> Renewal {
        if self.key(&grant.key).holds(grant.owner) { Renewal::Renewed } else { Renewal::Lost }
    }

    async fn release(&self, grant: &Grant) -> Result<Released> {
        Ok(self.release_now(grant))
    }

    async fn list(&self, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
        let (dir, prefix) = (Arc::clone(&self.dir), prefix.to_owned());
        let (answer, listed) = oneshot::channel();
        // Thousands of files take a while, so not on the runtime's thread.
        std::thread::Builder::new()
            .name("stanchion-list".into())
            .spawn(move || answer.send(look::list(&dir, &prefix, &page)).ok())
            .map_err(|e| Error::new(ErrorKind::Unavailable, "cannot start a thread to list the locks").because(e))?;
        listed.await.map_err(|_| Error::new(ErrorKind::Unexpected, "the listing ended without an answer"))?
    }

    async fn evict(&self, key: &Key) -> Result<Released> {
        let held = self.list(key.as_str(), Page::first(1)).await?.into_iter().find(|info| info.key == *key);
        let Some(holder) = held.and_then(|info| info.holders.into_iter().next()) else {
            return Ok(Released::NotHeld);
        };
        let hint = format!(
            "ask or end the process {} on {}: the kernel frees its lock at once",
            holder.identity.pid, holder.identity.host
        );
        Err(Error::new(ErrorKind::Unsupported, "only the holding process can let go of a kernel lock")
            .with("key", key)
            .held_by(holder)
            .hint(hint))
    }
}
