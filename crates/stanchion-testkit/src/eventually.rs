//! Waiting for a condition, with a deadline and a reason.
//!
//! The only place in the tests that sleeps: everywhere else a fixed sleep is either too short (flaky) or too long
//! (slow), and says nothing when it was wrong.

use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Waits until `condition` holds; panics with `reason` after `deadline`.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use std::time::Duration;
/// use stanchion_testkit::eventually;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let looked = AtomicU32::new(0);
/// eventually(Duration::from_secs(5), "the third look succeeds", || async {
///     looked.fetch_add(1, Ordering::Relaxed) >= 2
/// })
/// .await;
/// # }
/// ```
///
/// # Panics
/// When the condition still does not hold after `deadline`.
#[track_caller]
pub fn eventually<F, Fut>(deadline: Duration, reason: &str, condition: F) -> impl Future<Output = ()>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = bool>,
{
    let caller = std::panic::Location::caller();
    async move {
        assert!(within(deadline, condition).await, "not within {deadline:?}: {reason} (waited at {caller})");
    }
}

/// Like [`eventually`], for code without a runtime; it blocks the thread.
///
/// ```
/// use std::time::Duration;
/// let file = std::env::temp_dir();
/// stanchion_testkit::eventually_sync(Duration::from_secs(1), "the folder exists", || file.exists());
/// ```
///
/// # Panics
/// When the condition still does not hold after `deadline`.
#[track_caller]
pub fn eventually_sync(deadline: Duration, reason: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + deadline;
    let mut pause = FIRST_PAUSE;
    while !condition() {
        assert!(Instant::now() < end, "not within {deadline:?}: {reason}");
        #[expect(clippy::disallowed_methods, reason = "the back-off of the one polling loop for threads")]
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Whether `condition` came true before the deadline; for callers that have more to say than one line.
pub(crate) async fn within<F, Fut>(deadline: Duration, mut condition: F) -> bool
where
    F: FnMut() -> Fut,
    Fut: Future<Output = bool>,
{
    // Real time on purpose: under `tokio::time::pause` a virtual deadline would pass before another process moved.
    let end = Instant::now() + deadline;
    let mut pause = FIRST_PAUSE;
    while !condition().await {
        if Instant::now() >= end {
            return false;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    true
}
