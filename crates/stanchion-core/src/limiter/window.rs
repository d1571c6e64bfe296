//! The sliding window, sans-IO: it reads no clock and no store.

use std::collections::VecDeque;
use std::time::Duration;

use crate::{Error, ErrorKind, Result, planted};

/// How many permits a window may give at most.
///
/// ```
/// assert_eq!(stanchion_core::PERMITS_MAX, 10_000);
/// ```
pub const PERMITS_MAX: u32 = 10_000;

/// The shortest and the longest window.
///
/// ```
/// assert_eq!(stanchion_core::WINDOW_RANGE.1, std::time::Duration::from_secs(24 * 60 * 60));
/// ```
pub const WINDOW_RANGE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(24 * 60 * 60));

/// What asking for permits came to.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::Taken;
/// assert!(Taken::Allowed { left: 0 }.is_allowed());
/// assert!(!Taken::Refused { retry_after: Duration::from_secs(1) }.is_allowed());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a refused caller must not go on"]
pub enum Taken {
    /// Go on.
    Allowed {
        /// How many more there were at that moment.
        left: u32,
    },
    /// Do not go on; nothing was taken.
    Refused {
        /// After exactly this long, as many permits as were asked for are free, unless others take them first.
        retry_after: Duration,
    },
}

impl Taken {
    /// Whether the caller may go on.
    ///
    /// ```
    /// # use stanchion_core::Taken;
    /// assert!(Taken::Allowed { left: 3 }.is_allowed());
    /// ```
    #[must_use]
    pub const fn is_allowed(self) -> bool {
        matches!(self, Self::Allowed { .. })
    }
}

/// A log of permits: at most `limit` in **any** window of the given length, not only in windows that begin at a
/// round time.
///
/// A permit given at `t` counts at every `now` with `t <= now < t + length`, in whole milliseconds. The log is in
/// the order of time. A `now` before the newest permit means that the clock was set back: permits from the future
/// are then taken as given now, so that they are neither forgotten too early nor kept for as long as the clock lags.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::{Taken, Window};
/// let mut window = Window::new(2, Duration::from_millis(100))?;
/// assert!(window.take(990, 1).is_allowed());
/// assert!(window.take(1010, 1).is_allowed());
/// assert_eq!(window.take(1020, 1), Taken::Refused { retry_after: Duration::from_millis(70) });
/// assert!(!window.take(1089, 1).is_allowed());
/// assert!(window.take(1090, 1).is_allowed());
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    limit: u32,
    length_ms: u64,
    /// When, and how many at that time. Strictly increasing times.
    runs: VecDeque<(u64, u32)>,
    used: u32,
}

impl Window {
    /// An empty window.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`] outside of 1 to [`PERMITS_MAX`] and of [`WINDOW_RANGE`], or for parts of a millisecond.
    ///
    /// ```
    /// use std::time::Duration;
    /// assert!(stanchion_core::Window::new(0, Duration::from_secs(1)).is_err());
    /// assert!(stanchion_core::Window::new(1, Duration::from_micros(1500)).is_err());
    /// ```
    pub fn new(limit: u32, length: Duration) -> Result<Self> {
        if !(1..=PERMITS_MAX).contains(&limit) {
            return Err(Error::new(ErrorKind::Invalid, "a limit is 1 to 10000 permits").with("limit", limit));
        }
        if !(WINDOW_RANGE.0..=WINDOW_RANGE.1).contains(&length) || !length.subsec_nanos().is_multiple_of(1_000_000) {
            return Err(Error::new(ErrorKind::Invalid, "a window is 1ms to 24h, in whole milliseconds")
                .with("window", format_args!("{length:?}")));
        }
        let length_ms = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        Ok(Self { limit, length_ms, runs: VecDeque::new(), used: 0 })
    }

    /// Takes `n` permits at `now_ms` of some clock, all or none. More than the limit are never free.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{Taken, Window};
    /// let mut window = Window::new(3, Duration::from_secs(1))?;
    /// assert_eq!(window.take(0, 2), Taken::Allowed { left: 1 });
    /// assert_eq!(window.take(5, 2), Taken::Refused { retry_after: Duration::from_millis(995) });
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn take(&mut self, now_ms: u64, n: u32) -> Taken {
        self.advance(now_ms);
        let taken = self.ask(now_ms, n);
        if taken.is_allowed() {
            self.push(now_ms, n);
        }
        taken
    }

    /// Adds permits of the past, not earlier than those before; used to read a log.
    pub(super) fn push(&mut self, at_ms: u64, n: u32) {
        match self.runs.back_mut() {
            Some((last, count)) if *last >= at_ms => *count += n,
            _ if n == 0 => {}
            _ => self.runs.push_back((at_ms, n)),
        }
        self.used += n;
    }

    /// Forgets what has ended, and moves what lies in the future to now. Returns whether anything was moved.
    pub(super) fn advance(&mut self, now_ms: u64) -> bool {
        let mut moved = 0;
        while let Some((_, count)) = self.runs.back().copied().filter(|(at, _)| *at > now_ms) {
            moved += count;
            self.runs.pop_back();
        }
        self.used -= moved;
        self.push(now_ms, moved);
        while let Some((_, count)) = self.runs.front().copied().filter(|(at, _)| self.end(*at) <= now_ms) {
            self.used -= count;
            self.runs.pop_front();
        }
        moved > 0
    }

    /// The answer to a wish for `n`, after [`advance`](Self::advance) to the same time.
    pub(super) fn ask(&self, now_ms: u64, n: u32) -> Taken {
        let wanted = self.used.saturating_add(n);
        if wanted <= self.limit {
            return Taken::Allowed { left: self.limit - wanted };
        }
        let mut too_many = wanted - self.limit;
        for (at, count) in &self.runs {
            if too_many <= *count {
                return Taken::Refused { retry_after: Duration::from_millis(self.end(*at).saturating_sub(now_ms)) };
            }
            too_many -= count;
        }
        Taken::Refused { retry_after: Duration::MAX }
    }

    fn end(&self, at_ms: u64) -> u64 {
        let length_ms = if planted!("limiter-window-too-short") { self.length_ms / 2 } else { self.length_ms };
        at_ms.saturating_add(length_ms)
    }

    pub(super) const fn used(&self) -> u32 {
        self.used
    }

    pub(super) const fn runs(&self) -> &VecDeque<(u64, u32)> {
        &self.runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_of_one_moment_are_one_run_and_earlier_ones_count_with_the_last() {
        let mut window = Window::new(9, Duration::from_millis(100)).unwrap();
        for (at, n) in [(10, 1), (10, 2), (7, 3), (11, 0), (12, 1)] {
            window.push(at, n);
        }
        assert_eq!((window.runs(), window.used()), (&VecDeque::from([(10, 6), (12, 1)]), 7));
    }
}
