//! A lock in somebody's hands.

use std::marker::PhantomData;
use std::sync::Arc;

use super::attempt::give_back;
use super::held::HeldLock;
use super::keeper::Keeper;
use crate::background::Background;
use crate::{
    BootTime, Error, ErrorKind, FencingToken, Grant, Key, LeaseEvent, LockBackend, LostReason, Released, Result,
};

/// A lock that is ours, renewed in the background until it is released, dropped or lost.
///
/// **Release-on-drop is not immediate**: the release is handed to a background task. Call
/// [`release`](Self::release) to know whether we still held it.
///
/// ```
/// use stanchion_core::{Acquire, CasLock, Key, Locks, MemoryStore};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let locks = Locks::new(CasLock::new(MemoryStore::new()));
/// let lease = locks.acquire(&Acquire::new(Key::new("deploy")?)).await?;
/// tokio::select! {
///     reason = lease.lost() => panic!("stop all work: {reason:?}"),
///     () = async { /* the work */ } => {}
/// }
/// lease.release().await?;
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "dropping a lease releases it late; call `release().await`"]
pub struct Lease {
    lock: Arc<HeldLock>,
    keeper: Arc<Keeper>,
    backend: Arc<dyn LockBackend>,
    background: Background,
    released: bool,
}

/// Proof, at this moment, that a lease is ours. It borrows the lease, so it cannot outlive it.
///
/// ```
/// # use stanchion_core::{Acquire, CasLock, Key, Locks, MemoryStore};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let locks = Locks::new(CasLock::new(MemoryStore::new()));
/// let lease = locks.acquire(&Acquire::new(Key::new("deploy")?)).await?;
/// assert_eq!(lease.fence()?.key().as_str(), "deploy");
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Fence<'lease> {
    grant: &'lease Grant,
    lease: PhantomData<&'lease Lease>,
}

impl Fence<'_> {
    /// The token for the protected store.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, CasLock, Key, Locks, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let locks = Locks::new(CasLock::new(MemoryStore::new()));
    /// let lease = locks.acquire(&Acquire::new(Key::new("deploy")?)).await?;
    /// assert!(lease.fence()?.token().number() > 0);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    #[must_use]
    pub const fn token(&self) -> FencingToken {
        self.grant.fence
    }

    /// What is locked.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, CasLock, Key, Locks, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let locks = Locks::new(CasLock::new(MemoryStore::new()));
    /// let lease = locks.acquire(&Acquire::new(Key::new("a")?)).await?;
    /// assert_eq!(lease.fence()?.key().as_str(), "a");
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    #[must_use]
    pub const fn key(&self) -> &Key {
        &self.grant.key
    }
}

impl Lease {
    pub(super) fn new(
        lock: Arc<HeldLock>,
        keeper: Arc<Keeper>,
        backend: Arc<dyn LockBackend>,
        background: Background,
    ) -> Self {
        lock.meter.held.increment(1);
        Self { lock, keeper, backend, background, released: false }
    }

    /// What the store granted.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, CasLock, Key, Locks, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let locks = Locks::new(CasLock::new(MemoryStore::new()));
    /// let lease = locks.acquire(&Acquire::new(Key::new("a")?)).await?;
    /// assert_eq!(lease.grant().key.as_str(), "a");
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    #[must_use]
    pub fn grant(&self) -> &Grant {
        &self.lock.grant
    }

    /// The fence, if the lease is still ours by our own clock. Costs no I/O; ask for it at each use.
    ///
    /// # If it fails
    /// `LeaseLost`: somebody else may hold the lock. Stop.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, CasLock, Key, Locks, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let locks = Locks::new(CasLock::new(MemoryStore::new()));
    /// let lease = locks.acquire(&Acquire::new(Key::new("a")?)).await?;
    /// let fence = lease.fence()?;
    /// # let _ = fence;
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub fn fence(&self) -> Result<Fence<'_>> {
        self.lock.check().map_err(|reason| self.error(reason))?;
        Ok(Fence { grant: &self.lock.grant, lease: PhantomData })
    }

    /// Returns when the lease is lost: from a local timer, before the store can hand the key on.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing; ask again.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, CasLock, Key, Locks, LostReason, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let locks = Locks::new(CasLock::new(MemoryStore::new()));
    /// let limit = std::time::Duration::from_millis(5);
    /// let lease = locks.acquire(&Acquire::new(Key::new("a")?).max_hold(limit)?).await?;
    /// assert_eq!(lease.lost().await, LostReason::MaxHold);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn lost(&self) -> LostReason {
        self.lock.lost().await
    }

    /// Until when the lease is ours without another renewal; `None` once it is lost. A kernel lock
    /// answers with an instant that never comes.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, CasLock, Key, Locks, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let locks = Locks::new(CasLock::new(MemoryStore::new()));
    /// assert!(locks.acquire(&Acquire::new(Key::new("a")?)).await?.valid_until().is_some());
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    #[must_use]
    pub fn valid_until(&self) -> Option<BootTime> {
        self.lock.deadline()
    }

    /// The work is alive. Only needed with [`Acquire::needs_progress`](crate::Acquire::needs_progress).
    ///
    /// ```
    /// # use stanchion_core::{Acquire, CasLock, Key, Locks, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let locks = Locks::new(CasLock::new(MemoryStore::new()));
    /// let lease = locks.acquire(&Acquire::new(Key::new("a")?).needs_progress()).await?;
    /// lease.progress();
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub fn progress(&self) {
        // The renewal that may follow needs a runtime; the caller may be a thread without one.
        let _runtime = self.background.enter();
        self.keeper.tell(&self.lock, LeaseEvent::Progress);
    }

    /// Gives the lock back, and says whether we still held it.
    ///
    /// # If it fails
    /// The store did not answer; we go on trying in the background, and at the latest the lease ends by itself.
    ///
    /// ```
    /// # use stanchion_core::{Acquire, CasLock, Key, Locks, MemoryStore, Released};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let locks = Locks::new(CasLock::new(MemoryStore::new()));
    /// let lease = locks.acquire(&Acquire::new(Key::new("a")?)).await?;
    /// assert_eq!(lease.release().await?, Released::Released);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn release(mut self) -> Result<Released> {
        self.end();
        // Until the store has answered, a dropped future must still end in a release.
        let answer = self.backend.release(&self.lock.grant).await;
        self.released = answer.is_ok();
        answer
    }

    /// The store has released it together with something else.
    pub(crate) fn given_back(mut self) {
        self.end();
        self.released = true;
    }

    pub(super) fn error(&self, reason: LostReason) -> Error {
        lost_error(&self.lock.grant.key, reason.as_str())
    }

    /// Stops the renewals. Runs once: from `release`, or from `drop` without it.
    fn end(&self) {
        if let Some(due) = self.lock.end() {
            self.keeper.forget(due);
            self.lock.meter.held.decrement(1);
            self.lock.meter.hold.record(self.lock.held_for().as_secs_f64());
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.end();
        if !self.released {
            self.background.spawn(give_back(Arc::clone(&self.backend), self.lock.grant.clone()));
        }
    }
}

fn lost_error(key: &Key, reason: &str) -> Error {
    Error::new(ErrorKind::LeaseLost, "the lock was lost while it was held").with("key", key).with("reason", reason)
}

impl Released {
    /// Turns `NotHeld` into the error of a holder that expected to hold.
    ///
    /// # If it fails
    /// `LeaseLost` for `NotHeld`.
    ///
    /// ```
    /// use stanchion_core::{ErrorKind, Key, Released};
    /// let e = Released::NotHeld.still_held(&Key::new("a")?).unwrap_err();
    /// assert_eq!(e.kind(), ErrorKind::LeaseLost);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn still_held(self, key: &Key) -> Result<()> {
        match self {
            Self::Released => Ok(()),
            Self::NotHeld => Err(lost_error(key, "not held at release")),
        }
    }
}
