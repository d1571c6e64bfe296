//! Named points where a test can hold a task or a whole process; nothing at all in release builds.
//!
//! Races live between two lines. A pause point gives the gap a name, and a test can then build the exact schedule
//! instead of hoping for it: hold the first task in the gap, let another one overtake, let the first go on.
//!
//! ```
//! use std::time::Duration;
//! use stanchion_core::pause::{hold, pause_point};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! # if !cfg!(debug_assertions) { return }
//! let held = hold("doc.between-read-and-write");
//! let slow = tokio::spawn(async {
//!     pause_point("doc.between-read-and-write").await; // waits here
//!     "slow"
//! });
//! held.reached(Duration::from_secs(5)).await;
//! pause_point("doc.between-read-and-write").await; // only the first to arrive is held
//! assert!(!slow.is_finished());
//! held.release();
//! assert_eq!(slow.await.unwrap(), "slow");
//! # }
//! ```
//!
//! Other processes are held through files: with `STANCHION_PAUSE_DIR=DIR`, a process that passes the point while
//! `DIR/<name>.hold` exists creates `DIR/<name>.reached` and waits until `.hold` is gone.
//!
//! Names belong to the process: two tests that hold the same name must not share one.

use std::time::Duration;

/// Holds the calling task here if a test asked for it; empty in release builds.
///
/// # Cancel safety
/// Dropping the future leaves the point; the arrival stays counted.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// stanchion_core::pause::pause_point("doc.nobody-holds-this").await; // goes on at once
/// # }
/// ```
#[cfg(debug_assertions)]
pub async fn pause_point(name: &'static str) {
    debug::pass(name).await;
}

/// Holds the calling task here if a test asked for it; empty in release builds.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// stanchion_core::pause::pause_point("doc.nobody-holds-this").await; // goes on at once
/// # }
/// ```
#[cfg(not(debug_assertions))]
#[inline(always)]
pub async fn pause_point(_name: &'static str) {}

/// Holds the first task that arrives at the point, until [`Paused::release`] or the drop of the result.
///
/// # Panics
/// In release builds, which have no pause points.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # if !cfg!(debug_assertions) { return }
/// # use stanchion_core::pause::{hold, hold_all, pause_point};
/// let held = hold("doc.hold");
/// assert_eq!(held.arrivals(), 0);
/// held.release();
/// # }
/// ```
pub fn hold(name: &str) -> Paused {
    Paused::new(name, false)
}

/// Holds every task that arrives at the point.
///
/// # Panics
/// In release builds, which have no pause points.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # if !cfg!(debug_assertions) { return }
/// # use stanchion_core::pause::{hold, hold_all, pause_point};
/// let held = hold_all("doc.hold-all");
/// let tasks: Vec<_> = (0..2).map(|_| tokio::spawn(pause_point("doc.hold-all"))).collect();
/// held.reached(std::time::Duration::from_secs(5)).await;
/// held.release();
/// for task in tasks { task.await.unwrap() }
/// # }
/// ```
pub fn hold_all(name: &str) -> Paused {
    Paused::new(name, true)
}

/// A point that holds its visitors as long as this value lives.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # if !cfg!(debug_assertions) { return }
/// # use stanchion_core::pause::{hold, hold_all, pause_point};
/// drop(hold("doc.held"));
/// pause_point("doc.held").await; // nobody holds it any more
/// # }
/// ```
#[derive(Debug)]
#[must_use = "dropping it lets everybody go on"]
pub struct Paused {
    #[cfg(debug_assertions)]
    point: std::sync::Arc<debug::Point>,
}

#[cfg(debug_assertions)]
impl Paused {
    fn new(name: &str, everybody: bool) -> Paused {
        Paused { point: debug::Point::register(name, everybody) }
    }

    /// Waits until somebody is held here.
    ///
    /// # Panics
    /// When nobody arrives before the deadline.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if !cfg!(debug_assertions) { return }
    /// # use stanchion_core::pause::{hold, hold_all, pause_point};
    /// let held = hold("doc.reached");
    /// let task = tokio::spawn(pause_point("doc.reached"));
    /// held.reached(std::time::Duration::from_secs(5)).await;
    /// drop(held);
    /// task.await.unwrap();
    /// # }
    /// ```
    pub async fn reached(&self, deadline: Duration) {
        let mut arrivals = self.point.arrivals.subscribe();
        let arrived = tokio::time::timeout(deadline, arrivals.wait_for(|count| *count > 0)).await;
        assert!(arrived.is_ok(), "nobody reached {:?} within {deadline:?}", self.point.name);
    }

    /// How many were held here so far.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if !cfg!(debug_assertions) { return }
    /// # use stanchion_core::pause::{hold, hold_all, pause_point};
    /// assert_eq!(hold("doc.arrivals").arrivals(), 0);
    /// # }
    /// ```
    pub fn arrivals(&self) -> usize {
        *self.point.arrivals.borrow()
    }

    /// Lets everybody go on, and holds nobody from now on.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if !cfg!(debug_assertions) { return }
    /// # use stanchion_core::pause::{hold, hold_all, pause_point};
    /// hold("doc.release").release();
    /// pause_point("doc.release").await;
    /// # }
    /// ```
    pub fn release(self) {}
}

#[cfg(debug_assertions)]
impl Drop for Paused {
    fn drop(&mut self) {
        self.point.release();
    }
}

#[cfg(not(debug_assertions))]
impl Paused {
    fn new(name: &str, _everybody: bool) -> Paused {
        panic!("cannot hold {name:?}: pause points exist in debug builds only")
    }

    /// Never called: this build has no pause points.
    pub async fn reached(&self, _deadline: Duration) {}

    /// Never called: this build has no pause points.
    pub fn arrivals(&self) -> usize {
        0
    }

    /// Never called: this build has no pause points.
    pub fn release(self) {}
}

#[cfg(debug_assertions)]
mod debug {
    use std::path::PathBuf;
    use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
    use std::time::Duration;

    use tokio::sync::watch;

    static POINTS: Mutex<Vec<Arc<Point>>> = Mutex::new(Vec::new());

    fn points() -> MutexGuard<'static, Vec<Arc<Point>>> {
        POINTS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[derive(Debug)]
    pub(super) struct Point {
        pub(super) name: String,
        everybody: bool,
        pub(super) arrivals: watch::Sender<usize>,
        released: watch::Sender<bool>,
    }

    impl Point {
        pub(super) fn register(name: &str, everybody: bool) -> Arc<Point> {
            let (arrivals, released) = (watch::Sender::new(0), watch::Sender::new(false));
            let point = Arc::new(Point { name: name.to_owned(), everybody, arrivals, released });
            points().push(Arc::clone(&point));
            point
        }

        pub(super) fn release(self: &Arc<Self>) {
            points().retain(|point| !Arc::ptr_eq(point, self));
            self.released.send_replace(true);
        }

        /// Counts an arrival unless the point already holds the one task that it wants.
        fn arrive(&self) -> bool {
            self.arrivals.send_if_modified(|count| {
                let wanted = self.everybody || *count == 0;
                *count += usize::from(wanted);
                wanted
            })
        }
    }

    pub(super) async fn pass(name: &str) {
        let holding: Vec<_> = points().iter().filter(|p| p.name == name && p.arrive()).cloned().collect();
        for point in holding {
            // The sender lives in `point`, so waiting cannot fail.
            point.released.subscribe().wait_for(|released| *released).await.ok();
        }
        static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
        let folder = FOLDER.get_or_init(|| std::env::var_os("STANCHION_PAUSE_DIR").map(PathBuf::from));
        let Some(folder) = folder else { return };
        let hold = folder.join(format!("{name}.hold"));
        if !hold.exists() {
            return;
        }
        let reached = folder.join(format!("{name}.reached"));
        std::fs::write(&reached, b"").unwrap_or_else(|e| panic!("cannot write {}: {e}", reached.display()));
        while hold.exists() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}
