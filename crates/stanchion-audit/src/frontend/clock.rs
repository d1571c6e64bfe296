//! How long a thread has worked: time in which others had the processor does not count.

use std::time::Duration;
#[cfg(not(unix))]
use std::time::Instant;

/// Since when.
pub(super) struct Clock {
    #[cfg(unix)]
    start: Duration,
    #[cfg(not(unix))]
    start: Instant,
}

#[cfg(unix)]
impl Clock {
    pub(super) fn start() -> Self {
        Self { start: now() }
    }

    /// What this thread has worked since then. Whoever asks must be the thread that started it.
    pub(super) fn spent(&self) -> Duration {
        now().saturating_sub(self.start)
    }
}

#[cfg(unix)]
fn now() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

#[cfg(not(unix))]
impl Clock {
    pub(super) fn start() -> Self {
        Self { start: Instant::now() }
    }

    pub(super) fn spent(&self) -> Duration {
        self.start.elapsed()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_work_of_other_threads_does_not_count() {
        const WORK: Duration = Duration::from_millis(40);
        let clock = Clock::start();
        let other = std::thread::spawn(|| {
            let clock = Clock::start();
            while clock.spent() < WORK {}
        });
        other.join().unwrap();
        assert!(clock.spent() < WORK, "{:?}", clock.spent());
    }
}
