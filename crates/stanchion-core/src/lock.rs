//! What a lock backend implements: one attempt each. Waiting, renewing and metrics exist once, in
//! [`Locks`](crate::Locks).

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::{Acquire, Capability, Error, ErrorKind, FencingToken, Identity, Key, Mode, Owner, Page, Result};

/// A lock that a backend has given.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::{FencingToken, Grant, Key, Mode, Owner};
/// let owner = Owner::random();
/// let grant = Grant::new(Key::new("a")?, owner, FencingToken::new(7, owner), Mode::Exclusive, Duration::from_secs(30));
/// assert_eq!(grant.fence.number(), 7);
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grant {
    /// What is locked.
    pub key: Key,
    /// The acquisition that holds it.
    pub owner: Owner,
    /// The token of this lease.
    pub fence: FencingToken,
    /// Alone or together.
    pub mode: Mode,
    /// How long it lives without renewal.
    pub ttl: Duration,
}

impl Grant {
    /// A grant with these parts.
    ///
    /// ```
    /// # use stanchion_core::{FencingToken, Grant, Key, Mode, Owner, TTL_DEFAULT};
    /// let owner = Owner::random();
    /// let grant = Grant::new(Key::new("a")?, owner, FencingToken::new(1, owner), Mode::Shared, TTL_DEFAULT);
    /// assert_eq!(grant.mode, Mode::Shared);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub const fn new(key: Key, owner: Owner, fence: FencingToken, mode: Mode, ttl: Duration) -> Self {
        Self { key, owner, fence, mode, ttl }
    }
}

/// The store's answer to a renewal.
///
/// ```
/// assert!(matches!(stanchion_core::Renewal::Lost, stanchion_core::Renewal::Lost));
/// ```
#[derive(Debug)]
pub enum Renewal {
    /// Ours for another ttl, counted from before the request.
    Renewed,
    /// Not ours any more. Final.
    Lost,
    /// No answer. The lease is still ours until its deadline.
    Unknown(Error),
}

/// The store's answer to a release.
///
/// ```
/// assert_ne!(stanchion_core::Released::Released, stanchion_core::Released::NotHeld);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Released {
    /// It was ours until now.
    Released,
    /// It was not ours any more: it had expired or was taken away.
    NotHeld,
}

/// Who holds a lock, for display only: no decision is made on it.
///
/// ```
/// use stanchion_core::{Holder, Identity};
/// let holder = Holder::new(Identity::new("ci-7", 4123));
/// assert_eq!(holder.to_string(), "held by ci-7 pid 4123");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// Host, pid and label.
    pub identity: Identity,
    /// Alone or together.
    pub mode: Mode,
    /// Its fence.
    pub fence: Option<FencingToken>,
    /// How long it has held.
    pub held_for: Option<Duration>,
    /// When the lease ends without renewal; `None` for a lock that is held until its process ends.
    pub expires_in: Option<Duration>,
}

impl Holder {
    /// A holder of whom only the identity is known.
    ///
    /// ```
    /// # use stanchion_core::{Holder, Identity};
    /// assert!(Holder::new(Identity::current()).held_for.is_none());
    /// ```
    #[must_use]
    pub const fn new(identity: Identity) -> Self {
        Self { identity, mode: Mode::Exclusive, fence: None, held_for: None, expires_in: None }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "held by {}", self.identity)?;
        if let Some(held) = self.held_for {
            write!(f, " for {}", crate::text::duration(held))?;
        }
        if let Some(left) = self.expires_in {
            write!(f, ", expires in {}", crate::text::duration(left))?;
        }
        Ok(())
    }
}

/// One lock as `stanchion lock ls` shows it.
///
/// ```
/// use stanchion_core::{Key, LockInfo};
/// assert!(LockInfo::new(Key::new("a")?).holders.is_empty());
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockInfo {
    /// What is locked.
    pub key: Key,
    /// Who holds it; more than one when shared.
    pub holders: Vec<Holder>,
    /// Who waits, in order, with the time waited so far where it is known. A backend that cannot see
    /// waiters leaves this empty.
    pub waiters: Vec<(Identity, Option<Duration>)>,
}

impl LockInfo {
    /// A lock that nobody holds.
    ///
    /// ```
    /// # use stanchion_core::{Key, LockInfo};
    /// assert!(LockInfo::new(Key::new("a")?).waiters.is_empty());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub const fn new(key: Key) -> Self {
        Self { key, holders: Vec::new(), waiters: Vec::new() }
    }
}

/// One attempt each. Waiting, backing off, renewing, metrics exist once, in [`Locks`](crate::Locks).
///
/// ```
/// use stanchion_core::{Acquire, CasLock, Key, LockBackend, MemoryStore, Owner, Released};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let locks: Box<dyn LockBackend> = Box::new(CasLock::new(MemoryStore::new()));
/// let request = Acquire::new(Key::new("deploy")?);
/// let first = locks.try_acquire(&request, Owner::random()).await?;
/// assert_eq!(locks.release(&first).await?, Released::Released);
/// let second = locks.try_acquire(&request, Owner::random()).await?;
/// assert!(second.fence.number() > first.fence.number());
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
///
/// A queueing backend remembers `owner` when `try_acquire` with a waiting request answers
/// `Contended`; `wait` then returns when it is that owner's turn, and `withdraw` leaves the queue.
///
/// # Behavior
/// - `one_exclusive_holder`: of many concurrent attempts exactly one is granted.
/// - `contended_names_the_holder`: the refusal is `Contended` and carries the holder's host and pid.
/// - `shared_holders_exclude_an_exclusive_one`: readers together, or one writer.
/// - `slots_admit_n_and_no_more`: `Slots(n)` admits n holders.
/// - `fences_grow_for_ever`: each grant of a key has a higher number than all before, also after release,
///   expiry, and eviction.
/// - `the_fence_is_above_the_floor`: a grant's number is above `req.floor`, and so are all later ones.
/// - `release_tells_whether_we_held`: `Released` once, then `NotHeld`; never an error.
/// - `release_by_another_owner_changes_nothing`: only the owner can release or renew.
/// - `an_expired_lease_is_handed_on`: (leases) after the ttl the next attempt succeeds, and the old
///   owner's renew says `Lost`.
/// - `renewal_prolongs`: (leases) a renewed lease is not handed on before its new deadline.
/// - `wait_wakes_on_release`: `wait` returns soon after a release, at the latest at `until`. May wake early.
/// - `a_withdrawn_waiter_is_never_granted`: after `withdraw` the lock goes to others at once.
/// - `waiters_are_served_in_order`: (fair) the order of the first refused attempts.
/// - `list_shows_holders`: `list` names key, holder and fence.
/// - `evict_frees_and_fences`: (leases) after `evict` the next grant has a higher fence and the old owner's
///   renew says `Lost`.
/// - `attempting_twice_with_one_owner_is_one_grant`: a repeated attempt by a holder answers with the same
///   fence and a full ttl, so a lost reply can be asked for again.
/// - `any_sequence_is_answered_as_one_holder_list_would`: whatever some owners do one after the other, each answer is
///   that of a plain list of holders.
#[async_trait]
pub trait LockBackend: fmt::Debug + Send + Sync + 'static {
    /// What these locks can promise.
    fn capability(&self) -> Capability;

    /// One attempt. `Err(Contended)` with the holder if it is taken.
    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant>;

    /// Returns when it may be worth to try again, without polling where the engine can wake us.
    async fn wait(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<()>;

    /// Gives up waiting. Must not fail loudly: a forgotten waiter ends by its own deadline.
    async fn withdraw(&self, req: &Acquire, owner: Owner);

    /// Another ttl, if it is still ours.
    async fn renew(&self, grant: &Grant, ttl: Duration) -> Renewal;

    /// Gives it back, if it is still ours.
    async fn release(&self, grant: &Grant) -> Result<Released>;

    /// Locks whose key begins with `prefix`, sorted.
    async fn list(&self, prefix: &str, page: Page) -> Result<Vec<LockInfo>>;

    /// Takes the lock away from all its holders; `NotHeld` if nobody held it. `Unsupported` where only
    /// the holding process itself can let go.
    async fn evict(&self, key: &Key) -> Result<Released>;
}

/// The refusal of a lock that is taken: the same words in every backend.
///
/// ```
/// use stanchion_core::{ErrorKind, Key, contended};
/// assert_eq!(contended(&Key::new("deploy")?, None).kind(), ErrorKind::Contended);
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[must_use]
pub fn contended(key: &Key, holder: Option<Holder>) -> Error {
    let error = Error::new(ErrorKind::Contended, "the lock is busy").with("key", key);
    match holder {
        Some(holder) => error.held_by(holder),
        None => error,
    }
}

/// The refusal of a request whose number of slots differs from the present holders'.
///
/// ```
/// use stanchion_core::{ErrorKind, Key, slots_disagree};
/// assert_eq!(slots_disagree(&Key::new("gpu")?, 3, 2).kind(), ErrorKind::Invalid);
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[must_use]
pub fn slots_disagree(key: &Key, asked: u32, held: u32) -> Error {
    Error::new(ErrorKind::Invalid, "all holders of one key must ask for the same number of slots")
        .with("key", key)
        .with("asked", asked)
        .with("held", held)
}

/// A shared backend is a backend.
#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl LockBackend for std::sync::Arc<dyn LockBackend> {
    fn capability(&self) -> Capability {
        (**self).capability()
    }
    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        (**self).try_acquire(req, owner).await
    }
    async fn wait(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<()> {
        (**self).wait(req, owner, until).await
    }
    async fn withdraw(&self, req: &Acquire, owner: Owner) {
        (**self).withdraw(req, owner).await;
    }
    async fn renew(&self, grant: &Grant, ttl: Duration) -> Renewal {
        (**self).renew(grant, ttl).await
    }
    async fn release(&self, grant: &Grant) -> Result<Released> {
        (**self).release(grant).await
    }
    async fn list(&self, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
        (**self).list(prefix, page).await
    }
    async fn evict(&self, key: &Key) -> Result<Released> {
        (**self).evict(key).await
    }
}
