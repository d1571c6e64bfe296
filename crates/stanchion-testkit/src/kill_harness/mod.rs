//! Guarded calls under `kill -9`: worker processes, injected faults, and an oracle that knows what must be true after them.
//!
//! The test process drives four workers. Each is given keys to call, several of them the same key at the same time; it is killed
//! or stopped at chosen points of the protocol and at random moments, and started again. Three things outlive every kill: the
//! log of effects, one log per worker of what it did and was told, and the store. From these the oracle judges the invariants.
//!
//! ```no_run
//! use std::sync::Arc;
//! use stanchion_core::{CasLock, MemoryStore};
//! use stanchion_testkit::kill_harness::{self, Setup, Stores};
//! use stanchion_testkit::process;
//!
//! // Not run here: processes do not share the memory of one, and an example cannot be run again by its name.
//! // #[tokio::test]
//! async fn no_call_happens_twice() {
//!     let open = || async {
//!         let store = MemoryStore::new(); // a real test opens a real engine
//!         Stores { records: Arc::new(store.clone()), locks: Arc::new(CasLock::new(store)), fused: None }
//!     };
//!     if process::is_helper() {
//!         return kill_harness::worker(open).await;
//!     }
//!     let report = kill_harness::run(&Setup::faulty("all"), &[], open, None).await;
//!     report.assert_holds();
//! }
//! ```

mod driver;
mod facts;
mod faults;
mod log;
mod oracle;
mod planted;
mod profile;
mod report;
mod seed;
mod slot;
mod slow;
mod tool;
mod watch;
mod wire;
mod worker;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{Fused, LockBackend, RecordStore};

pub use self::planted::Bug;
pub use self::report::{Invariant, Report};

/// An open store, as a worker needs it.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_core::{CasLock, MemoryStore};
/// # use stanchion_testkit::kill_harness::Stores;
/// let store = MemoryStore::new();
/// let stores = Stores { records: Arc::new(store.clone()), locks: Arc::new(CasLock::new(store)), fused: None };
/// assert!(stores.fused.is_none());
/// ```
#[derive(Debug, Clone)]
pub struct Stores {
    /// Where claims stand.
    pub records: Arc<dyn RecordStore>,
    /// The locks beside them.
    pub locks: Arc<dyn LockBackend>,
    /// Both in one trip, where the engine can.
    pub fused: Option<Arc<dyn Fused>>,
}

/// What is put to the test.
///
/// ```
/// # use stanchion_testkit::kill_harness::Design;
/// assert_ne!(Design::Guard, Design::Seed);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// [`stanchion_core::Guard`].
    Guard,
    /// The textbook's: a placeholder row, deleted when the call fails. The control, which must be caught.
    Seed,
    /// The guard with a bug between it and its store. Must be caught as well.
    Planted(Bug),
}

/// Something done to the store while calls run; the number counts up from 0.
///
/// ```
/// # use stanchion_testkit::kill_harness::Disturb;
/// let mut nothing = |_: u32| -> std::pin::Pin<Box<dyn Future<Output = ()>>> { Box::pin(async {}) };
/// let _disturb: Disturb<'_> = &mut nothing;
/// ```
pub type Disturb<'a> = &'a mut dyn FnMut(u32) -> Pin<Box<dyn Future<Output = ()>>>;

/// How large a run is, and what is done to it.
///
/// ```
/// # use stanchion_testkit::kill_harness::Setup;
/// assert_eq!(Setup::quiet("calm").lost_percent, 0);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Setup {
    /// Keeps the keys of this run apart from others in the same store: letters and digits.
    pub name: String,
    /// What is tested.
    pub design: Design,
    /// How many keys are called.
    pub keys: usize,
    /// Kills at each point of the protocol.
    pub kills_per_point: usize,
    /// Kills at random moments.
    pub random_kills: usize,
    /// Pauses longer than the lease at each point where they matter.
    pub pauses_per_point: usize,
    /// How often the store is disturbed.
    pub store_faults: usize,
    /// Of a hundred keys, so many lose the tool's answer.
    pub lost_percent: u64,
    /// Of claims and locks.
    pub lease: Duration,
    /// Everything random comes from here.
    pub seed: u64,
}

impl Setup {
    /// No faults at all: nothing may be unknown.
    ///
    /// ```
    /// # use stanchion_testkit::kill_harness::Setup;
    /// assert_eq!(Setup::quiet("calm").random_kills, 0);
    /// ```
    #[must_use]
    pub fn quiet(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            design: Design::Guard,
            keys: 100,
            kills_per_point: 0,
            random_kills: 0,
            pauses_per_point: 0,
            store_faults: 0,
            lost_percent: 0,
            lease: Duration::from_secs(20),
            seed: 1,
        }
    }

    /// The full programme: over sixty kills and twenty pauses on 420 keys.
    ///
    /// ```
    /// # use stanchion_testkit::kill_harness::Setup;
    /// assert!(Setup::faulty("all").keys >= 400);
    /// ```
    #[must_use]
    pub fn faulty(name: &str) -> Self {
        Self {
            keys: 420,
            kills_per_point: 4,
            random_kills: 10,
            pauses_per_point: 3,
            lost_percent: 15,
            lease: Duration::from_millis(400),
            ..Self::quiet(name)
        }
    }

    /// The same in short: a kill and a pause at each point, on 100 keys.
    ///
    /// ```
    /// # use stanchion_testkit::kill_harness::Setup;
    /// assert_eq!(Setup::brief("short").kills_per_point, 1);
    /// ```
    #[must_use]
    pub fn brief(name: &str) -> Self {
        Self { keys: 100, kills_per_point: 1, random_kills: 4, pauses_per_point: 1, ..Self::faulty(name) }
    }

    /// A shorter programme around a store that is disturbed so often.
    ///
    /// ```
    /// # use stanchion_testkit::kill_harness::Setup;
    /// assert_eq!(Setup::disturbed("restart", 4).store_faults, 4);
    /// ```
    #[must_use]
    pub fn disturbed(name: &str, store_faults: usize) -> Self {
        Self { keys: 120, store_faults, ..Self::brief(name) }
    }

    /// The control: the same faults on the seed's design.
    ///
    /// ```
    /// # use stanchion_testkit::kill_harness::{Design, Setup};
    /// assert_eq!(Setup::control("control").design, Design::Seed);
    /// ```
    #[must_use]
    pub fn control(name: &str) -> Self {
        Self {
            design: Design::Seed,
            keys: 80,
            kills_per_point: 2,
            random_kills: 4,
            pauses_per_point: 0,
            ..Self::faulty(name)
        }
    }

    /// A short programme on the guard with a planted bug.
    ///
    /// ```
    /// # use stanchion_testkit::kill_harness::{Bug, Design, Setup};
    /// assert_eq!(Setup::planted("bug", Bug::MissingMark).design, Design::Planted(Bug::MissingMark));
    /// ```
    #[must_use]
    pub fn planted(name: &str, bug: Bug) -> Self {
        Self {
            design: Design::Planted(bug),
            keys: 50,
            kills_per_point: 1,
            random_kills: 1,
            pauses_per_point: 2,
            ..Self::faulty(name)
        }
    }
}

/// Runs the programme of `setup` with worker processes that get `variables`, and judges it.
///
/// `open` opens the store for the harness itself: to look at the records while the run goes on, and at its end.
///
/// ```no_run
/// # use stanchion_testkit::kill_harness::{self, Setup, Stores};
/// # async fn open() -> Stores { unimplemented!() }
/// # async fn example() {
/// // Inside a test, which is its own worker: see the module's example.
/// let report = kill_harness::run(&Setup::quiet("calm"), &[], open, None).await;
/// report.assert_holds();
/// # }
/// ```
///
/// # Panics
/// When a worker ends by itself, a call is not answered in time, or a point is never reached: then the run is void.
pub async fn run<'a, Open, Opening>(
    setup: &Setup,
    variables: &'a [(&'a str, &'a str)],
    open: Open,
    disturb: Option<Disturb<'a>>,
) -> Report
where
    Open: Fn() -> Opening,
    Opening: Future<Output = Stores>,
{
    driver::run(setup, variables, open().await, disturb).await
}

/// The worker's side: does what the driver says until it is killed.
///
/// ```no_run
/// # use stanchion_testkit::kill_harness::{self, Stores};
/// # async fn open() -> Stores { unimplemented!() }
/// # async fn example() {
/// // In a helper process only: see the module's example.
/// kill_harness::worker(open).await;
/// # }
/// ```
///
/// # Panics
/// When it was not started by [`run`].
pub async fn worker<Open, Opening>(open: Open)
where
    Open: Fn() -> Opening,
    Opening: Future<Output = Stores>,
{
    // The second connection sees the store as another process does.
    worker::work(open().await, open().await.records).await;
}
