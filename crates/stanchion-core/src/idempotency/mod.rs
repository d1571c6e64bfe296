//! A keyed call happens once: the claim machine over any record store.

mod beginning;
mod cache;
mod claimed;
mod enter;
mod grip;
mod running;
mod settle;

use std::fmt;
use std::sync::Arc;

pub(crate) use self::claimed::Claimed;
pub(crate) use self::enter::{Entered, Plan};
pub(crate) use self::running::Running;
pub use self::settle::{Listed, Probe, Reconcile, Settlement, Swept};

use self::cache::Cache;
use crate::background::Open;
use crate::claim::{Claim, Response};
use crate::clock::wall_ms;
use crate::seen::Seen;
use crate::{ClaimId, Clock, Fused, Key, LockBackend, Policy, Record, RecordStore, Result, Separate, SystemClock};

/// Removes secrets from an answer before it is kept.
type Redact = Arc<dyn Fn(&mut Response) + Send + Sync>;

/// Remembers keyed calls in a store. [`Guard`](crate::Guard) runs calls through it; here is what people and programs need
/// besides: to look, to settle what is unknown, to sweep.
///
/// ```
/// use std::sync::Arc;
/// use stanchion_core::{CallKey, CasLock, ClaimId, Idempotency, MemoryStore, Scope};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// let claims = Idempotency::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
/// let id = ClaimId::of(&Scope::new("alice", "billing", "send")?, &CallKey::new("order-77")?);
/// assert!(claims.get(&id).await?.is_none());
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Idempotency {
    records: Arc<dyn RecordStore>,
    fused: Arc<dyn Fused>,
    clock: Arc<dyn Clock>,
    seen: Arc<Seen>,
    cache: Arc<Cache>,
    redact: Option<Redact>,
    reconciler: Option<Arc<dyn Reconcile>>,
    wall: fn() -> u64,
    clean_up: Arc<Open>,
}

impl fmt::Debug for Idempotency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idempotency").field("records", &self.records).finish_non_exhaustive()
    }
}

impl Idempotency {
    /// Claims in `records`, with locks from `locks`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Idempotency, MemoryStore};
    /// let _claims = Idempotency::new(Arc::new(MemoryStore::new()), Arc::new(CasLock::new(MemoryStore::new())));
    /// ```
    #[must_use]
    pub fn new(records: Arc<dyn RecordStore>, locks: Arc<dyn LockBackend>) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        Self {
            fused: Arc::new(Separate::new(Arc::clone(&records), locks)),
            records,
            seen: Arc::default(),
            cache: Arc::new(Cache::new(0, Arc::clone(&clock))),
            clock,
            redact: None,
            reconciler: None,
            wall: wall_ms,
            clean_up: Arc::default(),
        }
    }

    /// Begins and ends calls in one trip each. `fused` must belong to the same engine as records and locks.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Idempotency, MemoryStore, Separate};
    /// let store = MemoryStore::new();
    /// let locks = Arc::new(CasLock::new(store.clone()));
    /// let fused = Separate::new(Arc::new(store.clone()), locks.clone());
    /// let _claims = Idempotency::new(Arc::new(store), locks).fused(Arc::new(fused));
    /// ```
    #[must_use]
    pub fn fused(mut self, fused: Arc<dyn Fused>) -> Self {
        self.fused = fused;
        self
    }

    /// Keeps up to `answers` finished answers of at most 64 KiB in this process: a repetition then needs no trip. Nothing
    /// else is ever kept. Off unless set.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Idempotency, MemoryStore};
    /// # let store = MemoryStore::new();
    /// let _claims = Idempotency::new(Arc::new(store.clone()), Arc::new(CasLock::new(store))).cache(1000);
    /// ```
    #[must_use]
    pub fn cache(mut self, answers: usize) -> Self {
        self.cache = Arc::new(Cache::new(answers, Arc::clone(&self.clock)));
        self
    }

    /// Changes every answer before it is kept, to remove what must not be stored. The first caller gets the answer as it
    /// was; repetitions get what is kept.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Idempotency, MemoryStore};
    /// # let store = MemoryStore::new();
    /// let _claims = Idempotency::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)))
    ///     .redact(|response| response.head.clear());
    /// ```
    #[must_use]
    pub fn redact(mut self, redact: impl Fn(&mut Response) + Send + Sync + 'static) -> Self {
        self.redact = Some(Arc::new(redact));
        self
    }

    /// Asks `reconciler` about calls of the class `reconcilable` whose outcome is unknown.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use async_trait::async_trait;
    /// use stanchion_core::{CasLock, Idempotency, MemoryStore, Probe, Reconcile, claim::Claim};
    /// #[derive(Debug)]
    /// struct AskTheBank;
    /// #[async_trait]
    /// impl Reconcile for AskTheBank {
    ///     async fn probe(&self, _claim: &Claim) -> Probe { Probe::Unknown }
    /// }
    /// # let store = MemoryStore::new();
    /// let _claims = Idempotency::new(Arc::new(store.clone()), Arc::new(CasLock::new(store))).reconciler(Arc::new(AskTheBank));
    /// ```
    #[must_use]
    pub fn reconciler(mut self, reconciler: Arc<dyn Reconcile>) -> Self {
        self.reconciler = Some(reconciler);
        self
    }

    /// Takes wall time from `wall` instead of the system: for tests of clocks that are wrong. Only what people read, and
    /// keys that carry their own time, depend on it.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Idempotency, MemoryStore};
    /// # let store = MemoryStore::new();
    /// let _claims = Idempotency::new(Arc::new(store.clone()), Arc::new(CasLock::new(store))).wall_clock(|| 0);
    /// ```
    #[must_use]
    pub fn wall_clock(mut self, wall: fn() -> u64) -> Self {
        self.wall = wall;
        self
    }

    /// The claim, as it stands.
    ///
    /// # If it fails
    /// From the store, or `Damaged`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CallKey, CasLock, ClaimId, Idempotency, MemoryStore, Scope};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let store = MemoryStore::new();
    /// let claims = Idempotency::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
    /// let id = ClaimId::of(&Scope::new("alice", "billing", "send")?, &CallKey::new("order-77")?);
    /// assert!(claims.get(&id).await?.is_none());
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn get(&self, id: &ClaimId) -> Result<Option<Claim>> {
        let record = self.records.get(&id.record_key()).await?;
        record.map(|record| Claim::decode(&record.value).map_err(|e| e.with("receipt", id))).transpose()
    }

    /// Returns when nothing is left to do in the background: abandoned calls are marked. For a process that is about to
    /// end; bound it with a timeout.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Idempotency, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let store = MemoryStore::new();
    /// Idempotency::new(Arc::new(store.clone()), Arc::new(CasLock::new(store))).settled().await;
    /// # });
    /// ```
    pub async fn settled(&self) {
        self.clean_up.settled().await;
    }
}

impl Idempotency {
    /// Has the claim stood unchanged for longer than its state allows?
    fn lapsed(&self, key: &Key, record: &Record, claim: &Claim) -> bool {
        let limit = claim.lapses_after();
        limit.is_some_and(|limit| self.seen.stood(key, record, self.clock.now()) > limit)
    }
}

/// What is kept of an answer.
fn kept(response: &Response, policy: &Policy, redact: Option<&Redact>) -> Response {
    let mut response = response.clone();
    if let Some(redact) = redact {
        redact(&mut response);
    }
    response.capped(policy.response_cap)
}
