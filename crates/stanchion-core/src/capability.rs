//! What a backend can promise. The conformance suite selects its cases by this.

/// How long a lock is held when nobody renews it.
///
/// ```
/// assert_ne!(stanchion_core::Hold::Lease, stanchion_core::Hold::Held);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Until a deadline. A stopped holder loses it, and its token is refused from then on.
    Lease,
    /// Until the holding process dies (kernel locks, database sessions). No deadline, no `lost`, no
    /// theft under a pause: a stopped holder blocks the others.
    Held,
}

/// What is still there after a fault.
///
/// ```
/// use stanchion_core::Survives;
/// assert!(Survives::PowerLoss > Survives::ProcessCrash);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Survives {
    /// Lost with the process that holds it.
    Nothing,
    /// Clients may die at any point; a power cut may lose the newest writes.
    ProcessCrash,
    /// Acknowledged writes are on disk.
    PowerLoss,
}

/// What a backend's locks are good for when machines and clocks misbehave.
///
/// ```
/// use stanchion_core::{LockBackend, CasLock, MemoryStore, Purpose};
/// assert_eq!(CasLock::new(MemoryStore::new()).capability().purpose, Purpose::Correctness);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Its fences grow for ever, so a store that checks them keeps effects apart.
    Correctness,
    /// It saves double work. Its fences may go back when nodes forget or clocks jump: where that would do harm, let the
    /// protected store mint the token.
    Efficiency,
}

/// What a backend can do and promise; one value per opened store.
///
/// ```
/// use stanchion_core::{Hold, MemoryStore, RecordStore};
/// let capability = MemoryStore::new().capability();
/// assert_eq!(capability.hold, Hold::Lease);
/// assert!(capability.clock);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability {
    /// The scheme, as in `redis:`.
    pub backend: &'static str,
    /// How locks end.
    pub hold: Hold,
    /// Reads carry the engine's own time, so expiry is judged by the store's clock.
    pub clock: bool,
    /// Waiters of several processes are served in the order of their arrival.
    pub fair: bool,
    /// Other processes see these locks and records.
    pub shared_between_processes: bool,
    /// What an acknowledged write survives.
    pub survives: Survives,
    /// What its locks are good for.
    pub purpose: Purpose,
    /// Why acknowledged data may still be forgotten, if it may: such a store is *weak*.
    pub weak: Option<&'static str>,
}
