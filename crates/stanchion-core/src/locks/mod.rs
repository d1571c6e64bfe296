//! The front door: waiting, renewing, metrics, exactly once for all backends.

mod attempt;
mod gate;
mod held;
mod keeper;
mod lease;
mod many;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tracing::Instrument;

pub(crate) use self::attempt::{give_back, unseen};
pub use self::lease::{Fence, Lease};
pub use self::many::Leases;

use self::attempt::{Attempt, Place};
use self::gate::Gates;
use self::held::HeldLock;
use self::keeper::Keeper;
use crate::background::{Background, Open};
use crate::meter::{ClassMeter, Meter};
use crate::{
    Acquire, BootTime, Clock, Error, ErrorKind, Grant, Hold, LeaseMachine, LockBackend, Owner, Page, Result,
    RetryPolicy, SystemClock, Tries, Wait, contended, planted,
};

/// How long the name of a holder is looked for after the end of a wait.
const LOOK: Duration = Duration::from_millis(150);

/// Locks on one store. Clones share everything; keep one per process and store.
///
/// ```
/// use stanchion_core::{Acquire, CasLock, Key, Locks, MemoryStore, Released};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let locks = Locks::new(CasLock::new(MemoryStore::new()));
/// let lease = locks.acquire(&Acquire::new(Key::new("deploy")?)).await?;
/// let token = lease.fence()?.token();   // hand it to the store you protect
/// assert!(token.number() > 0);
/// assert_eq!(lease.release().await?, Released::Released);
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Locks {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    backend: Arc<dyn LockBackend>,
    clock: Arc<dyn Clock>,
    hold: Hold,
    gates: Gates,
    clean_up: Arc<Open>,
    keeper: Arc<Keeper>,
    meter: Meter,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.keeper.wake();
    }
}

impl Locks {
    /// Locks on `backend`.
    ///
    /// ```
    /// use stanchion_core::{CasLock, Locks, MemoryStore};
    /// let _locks = Locks::new(CasLock::new(MemoryStore::new()));
    /// ```
    pub fn new(backend: impl LockBackend) -> Self {
        Self::shared(Arc::new(backend))
    }

    /// Locks on a backend that others use, too.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use stanchion_core::{CasLock, Locks, MemoryStore};
    /// let _locks = Locks::shared(Arc::new(CasLock::new(MemoryStore::new())));
    /// ```
    #[must_use]
    pub fn shared(backend: Arc<dyn LockBackend>) -> Self {
        Self::with_clock(backend, Arc::new(SystemClock))
    }

    /// As [`shared`](Self::shared), with deadlines judged by `clock`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use stanchion_core::{CasLock, Locks, MemoryStore, SystemClock};
    /// let _locks = Locks::with_clock(Arc::new(CasLock::new(MemoryStore::new())), Arc::new(SystemClock));
    /// ```
    #[must_use]
    pub fn with_clock(backend: Arc<dyn LockBackend>, clock: Arc<dyn Clock>) -> Self {
        let capability = backend.capability();
        Self {
            inner: Arc::new(Inner {
                keeper: Arc::new(Keeper::new(Arc::clone(&backend), Arc::clone(&clock))),
                backend,
                clock,
                hold: capability.hold,
                gates: Gates::default(),
                clean_up: Arc::default(),
                meter: Meter::new(capability.backend),
            }),
        }
    }

    /// The backend, for listing and eviction.
    ///
    /// ```
    /// # use stanchion_core::{CasLock, Locks, MemoryStore};
    /// assert_eq!(Locks::new(CasLock::new(MemoryStore::new())).backend().capability().backend, "memory");
    /// ```
    #[must_use]
    pub fn backend(&self) -> &Arc<dyn LockBackend> {
        &self.inner.backend
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.clock
    }

    /// Takes the lock, waiting as long as the request says.
    ///
    /// # If it fails
    /// `Contended` (with the holder) when the wait is over; `Unavailable` or `Denied` from the store. In all
    /// cases nothing is held: a grant that arrives late is given back.
    ///
    /// # Cancel safety
    /// Dropping the future gives up the place in the queue. A request that is already on its way is seen to
    /// its end in the background, and its grant released.
    ///
    /// ```
    /// use stanchion_core::{Acquire, CasLock, ErrorKind, Key, Locks, MemoryStore, Wait};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let locks = Locks::new(CasLock::new(MemoryStore::new()));
    /// let request = Acquire::new(Key::new("deploy")?).wait(Wait::No);
    /// let _lease = locks.acquire(&request).await?;
    /// assert_eq!(locks.acquire(&request).await.unwrap_err().kind(), ErrorKind::Contended);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn acquire(&self, req: &Acquire) -> Result<Lease> {
        let span =
            tracing::debug_span!("lock.acquire", key = %req.key, backend = self.inner.backend.capability().backend);
        self.acquire_counted(req).instrument(span).await
    }

    /// Runs `work` under the lock and gives it back.
    ///
    /// The work is dropped when the lease is lost: what it has done by then may have taken effect, and the
    /// fence is what protects the store it wrote to.
    ///
    /// # If it fails
    /// As [`acquire`](Self::acquire) if nothing ran; `LeaseLost` if the lease was lost before the work was done.
    ///
    /// ```
    /// use stanchion_core::{Acquire, CasLock, Key, Locks, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let locks = Locks::new(CasLock::new(MemoryStore::new()));
    /// let request = Acquire::new(Key::new("deploy")?);
    /// let number = locks.with_lease(&request, async |fence| fence.token().number()).await?;
    /// assert!(number > 0);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn with_lease<T>(&self, req: &Acquire, work: impl AsyncFnOnce(Fence<'_>) -> T) -> Result<T> {
        let lease = self.acquire(req).await?;
        let done = tokio::select! {
            biased;
            reason = lease.lost() => Err(lease.error(reason)),
            done = work(lease.fence()?) => Ok(done),
        };
        let done = done?;
        // By our own clock, before we let go: what the store says of the release must not hide that the work was done.
        let ours = lease.fence().map(|_| ());
        match lease.release().await {
            Ok(released) => released.still_held(&req.key)?,
            Err(error) => {
                tracing::warn!(key = %req.key, %error, "the release is unanswered and goes on in the background");
                ours?;
            }
        }
        Ok(done)
    }

    /// Returns when nothing is left to do in the background: late grants given back, places in queues given up,
    /// dropped leases released. For a process that is about to end; bound it with a timeout.
    ///
    /// ```
    /// use stanchion_core::{Acquire, CasLock, Key, Locks, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let locks = Locks::new(CasLock::new(MemoryStore::new()));
    /// drop(locks.acquire(&Acquire::new(Key::new("deploy")?)).await?);
    /// locks.settled().await;
    /// let free = locks.backend().list("deploy", stanchion_core::Page::first(1)).await?;
    /// assert!(free.is_empty());
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn settled(&self) {
        self.inner.clean_up.settled().await;
    }

    async fn acquire_counted(&self, req: &Acquire) -> Result<Lease> {
        let meter = self.inner.meter.class(&req.key);
        let started = self.inner.clock.now();
        let outcome = self.acquire_one(req, &meter).await;
        meter.count_acquisition(&outcome);
        meter.wait.record((self.inner.clock.now() - started).as_secs_f64());
        outcome
    }

    async fn acquire_one(&self, req: &Acquire, meter: &Arc<ClassMeter>) -> Result<Lease> {
        let until = match req.wait {
            Wait::No => {
                let mut place = self.place(Arc::new(req.clone()));
                let outcome = self.attempt(&place.req, place.owner, meter).await;
                place.unsure = matches!(&outcome, Err(e) if e.kind() == ErrorKind::OutcomeUnknown);
                return outcome;
            }
            // A wait beyond the end of time is a wait without end.
            Wait::For(wait) => Instant::now().checked_add(wait),
            Wait::Forever => None,
        };
        let _waiting = Waiting::count(meter);
        let Some(_turn) = self.inner.gates.enter(&req.key, until).await else {
            // We never asked the store; who holds the lock is worth one look, and a short one: the time is up.
            let look = self.inner.backend.list(req.key.as_str(), Page::first(1));
            let found = tokio::time::timeout(LOOK, look).await.ok().and_then(Result::ok).unwrap_or_default();
            let holder =
                found.into_iter().filter(|info| info.key == req.key).find_map(|info| info.holders.into_iter().next());
            return Err(contended(&req.key, holder).with("before us", "other tasks of this process"));
        };
        self.acquire_in_turn(Arc::new(req.clone()), until, meter).await
    }

    fn place(&self, req: Arc<Acquire>) -> Place {
        let (backend, owner) = (Arc::clone(&self.inner.backend), Owner::random());
        Place { backend, req, owner, taken: false, unsure: false, background: self.background() }
    }

    fn background(&self) -> Background {
        Background::here(&self.inner.clean_up)
    }

    /// Asks, waits, asks again with the same owner.
    async fn acquire_in_turn(
        &self,
        req: Arc<Acquire>,
        until: Option<Instant>,
        meter: &Arc<ClassMeter>,
    ) -> Result<Lease> {
        let backend = &self.inner.backend;
        let mut place = self.place(Arc::clone(&req));
        let owner = place.owner;
        // Counts from the first failure, and anew after each answer: a long wait is no reason to be impatient.
        let mut unanswered = None;
        loop {
            let refused = match self.attempt(&req, owner, meter).await {
                Ok(lease) => {
                    (place.taken, place.unsure) = (false, false);
                    return Ok(lease);
                }
                Err(e) => e,
            };
            match refused.kind() {
                ErrorKind::Contended => {
                    (place.taken, place.unsure) = (true, false);
                    unanswered = None;
                }
                // The request is safe to repeat: an owner that holds already gets the same grant.
                ErrorKind::OutcomeUnknown => {
                    place.unsure = true;
                    if until.is_none_or(|until| Instant::now() < until) && again(&mut unanswered).await {
                        continue;
                    }
                    return Err(refused);
                }
                // Once we stand in line, a restart of the engine is no reason to give up the wait.
                ErrorKind::Unavailable if place.taken && again(&mut unanswered).await => {}
                _ => return Err(refused),
            }
            let now = Instant::now();
            if until.is_some_and(|until| now >= until) {
                return Err(refused);
            }
            let slice = now + Duration::from_secs(3600);
            if let Err(error) = backend.wait(&req, owner, until.map_or(slice, |until| until.min(slice))).await {
                tracing::debug!(%error, "waiting failed, asking again");
                if !again(&mut unanswered).await {
                    return Err(error);
                }
            }
        }
    }

    /// One request to the store. The deadline counts from before it was sent.
    async fn attempt(&self, req: &Arc<Acquire>, owner: Owner, meter: &Arc<ClassMeter>) -> Result<Lease> {
        let inner = &self.inner;
        let sent = inner.clock.now();
        let grant = Attempt::new(&inner.backend, req, owner, self.background()).await?;
        let sent = if planted!("deadline-from-answer") { inner.clock.now() } else { sent };
        self.hold(req, grant, sent, meter)
    }

    /// A lock that the store gave together with something else, for a request sent at `sent`.
    ///
    /// # If it fails
    /// `OutcomeUnknown`: the answer came after the end of the lease. It is given back in the background.
    pub(crate) fn adopt(&self, req: &Acquire, grant: Grant, sent: BootTime) -> Result<Lease> {
        let meter = self.inner.meter.class(&req.key);
        let lease = self.hold(req, grant.clone(), sent, &meter);
        if lease.is_err() {
            self.background().spawn(give_back(Arc::clone(&self.inner.backend), grant));
        }
        meter.count_acquisition(&lease);
        lease
    }

    fn hold(&self, req: &Acquire, grant: Grant, sent: BootTime, meter: &Arc<ClassMeter>) -> Result<Lease> {
        let inner = &self.inner;
        let machine = match inner.hold {
            Hold::Lease => LeaseMachine::new(sent, grant.ttl, req.max_hold, req.needs_progress),
            Hold::Held => LeaseMachine::held(sent, grant.ttl, req.max_hold),
        };
        if !machine.is_valid(inner.clock.now()) {
            // Not given back here: we may ask again as this owner, and `Place` gives it back if we do not.
            return Err(Error::new(ErrorKind::OutcomeUnknown, "the store's answer came after the end of the lease")
                .with("key", &req.key)
                .hint("the store is slower than the ttl; choose a longer one"));
        }
        let lock = Arc::new(HeldLock::new(grant, machine, sent, Arc::clone(meter), Arc::clone(&inner.clock)));
        inner.keeper.watch(&lock, sent + req.ttl / 3);
        Ok(Lease::new(lock, Arc::clone(&inner.keeper), Arc::clone(&inner.backend), self.background()))
    }
}

async fn again(tries: &mut Option<Tries>) -> bool {
    tries.get_or_insert_with(|| RetryPolicy::default().start()).again().await
}

/// Counts a waiter while it lives.
struct Waiting<'a>(&'a ClassMeter);

impl<'a> Waiting<'a> {
    fn count(meter: &'a ClassMeter) -> Self {
        meter.waiters.increment(1);
        Self(meter)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiters.decrement(1);
    }
}
