//! The guard: what makes one call of a tool safe, in the order that makes it so.

mod begin;
mod breaker;
mod limits;

use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use tokio::sync::Semaphore;

pub use self::breaker::Breaker;

use self::begin::{Ready, Start};
use self::limits::Limits;
use crate::pause::pause_point;
use crate::{Answer, Call, ClaimId, Error, ErrorKind, FencingToken, Idempotency, Limiter, Locks, Reply, Result};

/// What happens to calls while the store is away.
///
/// ```
/// use stanchion_core::OnStoreDown;
/// assert_eq!(OnStoreDown::default(), OnStoreDown::Refuse);
/// assert_eq!("read_only".parse::<OnStoreDown>()?, OnStoreDown::ReadOnly);
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnStoreDown {
    /// `Unavailable`: nothing that needs the store runs.
    #[default]
    Refuse,
    /// Calls that change nothing run without their locks; all others are refused.
    ReadOnly,
    /// This process guards alone, in its own memory: other instances are not excluded, calls made before are not remembered,
    /// and a lock that was taken here is unknown to the store when it is back. What ran here is answered from here as long
    /// as this process lives; the store does not learn of it.
    Local,
}

impl FromStr for OnStoreDown {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "refuse" => Ok(Self::Refuse),
            "read_only" => Ok(Self::ReadOnly),
            "local" => Ok(Self::Local),
            _ => Err(Error::new(ErrorKind::Invalid, "unknown policy for a store that is away")
                .with("value", text.chars().take(40).collect::<String>())
                .hint("allowed: refuse, read_only, local")),
        }
    }
}

/// What the work may use while it runs.
///
/// ```
/// let pass = stanchion_core::Pass::default();
/// assert!(pass.fence.is_none());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pass {
    /// The token of the lock, if one is held: hand it to the store you protect. With several locks, that of the first by name.
    pub fence: Option<FencingToken>,
    /// The claim, if the call has a key.
    pub receipt: Option<ClaimId>,
    /// Which attempt this is; 0 without a key.
    pub epoch: u64,
    /// A key for the tool's own use, the same for every attempt of this call.
    pub downstream_key: Option<String>,
}

/// Runs calls: each takes effect at most once per key, and alone where it holds a lock. Clones share everything.
///
/// ```
/// use std::sync::Arc;
/// use stanchion_core::claim::Response;
/// use stanchion_core::{Call, CallKey, CasLock, Fingerprint, Guard, MemoryStore, Policy, Reply, Scope};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
/// let policy = Policy::default().allow_weak(); // this store forgets when the process ends
/// let call = Call::new(Scope::new("alice", "billing", "send_invoice")?, policy)
///     .key(CallKey::new("order-77")?, Fingerprint::of_json(r#"{"order": 77}"#)?);
/// let first = guard.call(&call, |_| async { Reply::Done(Response::new("", "sent")) }).await?;
/// let again = guard.call(&call, |_| async { unreachable!("it is not run again") }).await?;
/// assert_eq!(first.reply, again.reply);
/// assert!(again.replayed);
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Guard {
    idempotency: Idempotency,
    locks: Locks,
    limits: Limits,
    on_store_down: OnStoreDown,
    /// What takes over under [`OnStoreDown::Local`].
    local: Arc<OnceLock<(Idempotency, Locks)>>,
}

impl Guard {
    /// A guard whose claims and locks are in these stores.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Guard, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let _guard = Guard::new(Arc::new(MemoryStore::new()), Arc::new(CasLock::new(MemoryStore::new())));
    /// # });
    /// ```
    #[must_use]
    pub fn new(records: Arc<dyn crate::RecordStore>, locks: Arc<dyn crate::LockBackend>) -> Self {
        Self::with(Idempotency::new(records, Arc::clone(&locks)), Locks::shared(locks))
    }

    /// A guard of parts that were set up before. `locks` must be those of `idempotency`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use stanchion_core::{CasLock, Guard, Idempotency, Locks, MemoryStore};
    /// let store = MemoryStore::new();
    /// let locks = Arc::new(CasLock::new(store.clone()));
    /// let claims = Idempotency::new(Arc::new(store), locks.clone()).cache(1000);
    /// let _guard = Guard::with(claims, Locks::shared(locks));
    /// ```
    #[must_use]
    pub fn with(idempotency: Idempotency, locks: Locks) -> Self {
        Self {
            idempotency,
            locks,
            limits: Limits::default(),
            on_store_down: OnStoreDown::default(),
            local: Arc::default(),
        }
    }

    /// Sets what happens while the store is away.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Guard, MemoryStore, OnStoreDown};
    /// # let store = MemoryStore::new();
    /// let _guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store))).on_store_down(OnStoreDown::Local);
    /// ```
    #[must_use]
    pub const fn on_store_down(mut self, policy: OnStoreDown) -> Self {
        self.on_store_down = policy;
        self
    }

    /// Limits how often each scope is called.
    ///
    /// ```
    /// use std::{sync::Arc, time::Duration};
    /// use stanchion_core::{CasLock, Guard, Limiter, MemoryStore};
    /// let store = MemoryStore::new();
    /// let rate = Limiter::new(store.clone(), 100, Duration::from_secs(1))?;
    /// let _guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store))).rate(rate);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn rate(mut self, rate: Limiter) -> Self {
        self.limits.rate = Some(Arc::new(rate));
        self
    }

    /// Limits how many calls of this process run at the same time.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Guard, MemoryStore};
    /// # let store = MemoryStore::new();
    /// let _guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store))).concurrency(8);
    /// ```
    #[must_use]
    pub fn concurrency(mut self, most: usize) -> Self {
        self.limits.concurrency = Some(Arc::new(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS))));
        self
    }

    /// Holds calls back when the tool does not answer.
    ///
    /// ```
    /// use std::{sync::Arc, time::Duration};
    /// use stanchion_core::{Breaker, CasLock, Guard, MemoryStore};
    /// # let store = MemoryStore::new();
    /// let _guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)))
    ///     .breaker(Breaker::new(5, Duration::from_secs(10))?);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn breaker(mut self, breaker: Breaker) -> Self {
        self.limits.breaker = Some(Arc::new(breaker));
        self
    }

    /// The claims behind it: to look, to settle, to sweep.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Guard, MemoryStore, Page};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let store = MemoryStore::new();
    /// let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
    /// assert!(guard.claims().list("", Page::first(1)).await?.is_empty());
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    #[must_use]
    pub const fn claims(&self) -> &Idempotency {
        &self.idempotency
    }

    /// Runs `work` once for the call's key, under the call's locks, and remembers what it said.
    ///
    /// # If it fails
    /// **Nothing ran.** Whatever may have run comes as an [`Answer`]: an outcome that is not known is
    /// [`Reply::Unknown`], not an error.
    /// `InProgress`, `KeyReused`, `KeyExpired`, `Limited`, `Contended` (a lock), `Unavailable`, `Damaged`, `Unsupported`
    /// (a weak store, or the class `transactional`, whose work belongs into a transaction of yours).
    ///
    /// # Cancel safety
    /// Dropped before the work began: nothing ran, the claim is given up. Dropped while it runs: the outcome becomes
    /// unknown. To let a call run on without its caller, spawn it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use stanchion_core::{Acquire, Call, CasLock, Guard, Key, MemoryStore, Policy, Reply, Scope, claim::Response};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let store = MemoryStore::new();
    /// let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
    /// let call = Call::new(Scope::new("alice", "notes", "add")?, Policy::default()).lock(Acquire::new(Key::new("notes")?));
    /// let answer = guard.call(&call, |pass| async move {
    ///     assert!(pass.fence.is_some());
    ///     Reply::Done(Response::new("", "added"))
    /// }).await?;
    /// assert!(!answer.replayed);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn call<Work>(&self, call: &Call, work: impl FnOnce(Pass) -> Work) -> Result<Answer>
    where
        Work: Future<Output = Reply>,
    {
        let mut admitted = self.limits.admit(&call.scope, self.locks.clock(), self.on_store_down).await?;
        let Ready { claim, leases, degraded } = match self.begin(call).await? {
            Start::Run(ready) => ready,
            Start::Answer(answer) => return Ok(answer),
        };
        let pass = begin::pass(claim.as_ref(), &leases);
        admitted.called();
        let reply = tokio::select! {
            biased;
            reply = work(pass) => reply,
            (key, reason) = leases.lost() => Reply::Unknown(format!("the lock {key} was lost: {}", reason.as_str())),
            never = begin::keep_alive(claim.as_ref()) => match never {},
        };
        admitted.heard(&reply);
        pause_point("guard.ran").await;
        let (answer, released) = match claim {
            Some(claim) => claim.finish(reply, leases.single()).await,
            None => (Answer::ran(reply), false),
        };
        match released {
            true => leases.given_back(),
            false => begin::release(leases).await,
        }
        Ok(Answer { degraded, ..answer })
    }
}
