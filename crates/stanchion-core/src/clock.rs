//! Time for leases: a clock that never steps and counts suspend.

use std::fmt;
use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[cfg(target_os = "linux")]
use crate::planted;

/// An instant of a [`Clock`]: time since the machine booted, suspend included.
///
/// Only meaningful on the machine that read it; no protocol of ours compares two machines' clocks.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::BootTime;
/// let t = BootTime::from_boot(Duration::from_secs(5));
/// assert_eq!(t + Duration::from_secs(1) - t, Duration::from_secs(1));
/// assert_eq!(t - (t + Duration::from_secs(1)), Duration::ZERO);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BootTime(Duration);

impl BootTime {
    /// The instant this long after boot.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::BootTime;
    /// assert_eq!(BootTime::from_boot(Duration::ZERO).since_boot(), Duration::ZERO);
    /// ```
    #[must_use]
    pub const fn from_boot(since: Duration) -> Self {
        Self(since)
    }

    /// Time since boot.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::BootTime;
    /// assert_eq!(BootTime::from_boot(Duration::from_secs(3)).since_boot().as_secs(), 3);
    /// ```
    #[must_use]
    pub const fn since_boot(self) -> Duration {
        self.0
    }
}

impl Add<Duration> for BootTime {
    type Output = Self;
    fn add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(by))
    }
}

impl Sub for BootTime {
    type Output = Duration;
    /// The time from `earlier` to `self`; zero if `earlier` is later.
    fn sub(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// Where leases read the time.
///
/// # Behavior
/// - `now` never goes back, and goes on while the machine is suspended where the system can count that.
///
/// ```
/// use stanchion_core::{Clock, SystemClock};
/// let (a, b) = (SystemClock.now(), SystemClock.now());
/// assert!(a <= b);
/// ```
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The present instant.
    fn now(&self) -> BootTime;
}

/// The machine's own clock: `CLOCK_BOOTTIME` on Linux, the standard monotonic clock elsewhere
/// (which on Windows and macOS goes on during sleep, too).
///
/// ```
/// use stanchion_core::{Clock, SystemClock};
/// assert!(SystemClock.now() <= SystemClock.now());
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[cfg(target_os = "linux")]
    fn now(&self) -> BootTime {
        if planted!("wall-clock") {
            return BootTime(Duration::from_millis(wall_ms()));
        }
        let t = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let (secs, nanos) = (u64::try_from(t.tv_sec).unwrap_or(0), u32::try_from(t.tv_nsec).unwrap_or(0));
        BootTime(Duration::new(secs, nanos))
    }

    #[cfg(not(target_os = "linux"))]
    fn now(&self) -> BootTime {
        use std::sync::OnceLock;
        use std::time::Instant;
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        BootTime(ORIGIN.get_or_init(Instant::now).elapsed())
    }
}

/// A clock that moves only when told to: for tests, models and simulations.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::{Clock, ManualClock};
/// let clock = ManualClock::default();
/// let before = clock.now();
/// clock.advance(Duration::from_secs(30));
/// assert_eq!(clock.now() - before, Duration::from_secs(30));
/// ```
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// Moves the clock forward.
    ///
    /// ```
    /// # use stanchion_core::{Clock, ManualClock};
    /// let clock = ManualClock::default();
    /// clock.advance(std::time::Duration::from_millis(1));
    /// assert_eq!(clock.now().since_boot().as_millis(), 1);
    /// ```
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> BootTime {
        BootTime(Duration::from_nanos(self.0.load(Ordering::SeqCst)))
    }
}

/// Wall clock in milliseconds of Unix time: for people, and for keys that carry their own time. No lease is judged by it.
#[expect(clippy::disallowed_methods, reason = "what people read, and what callers wrote into their keys, is wall time")]
pub(crate) fn wall_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    #[cfg(stanchion_museum)]
    let ms = ms.saturating_add_signed(crate::museum::wall_jump_ms());
    ms
}
