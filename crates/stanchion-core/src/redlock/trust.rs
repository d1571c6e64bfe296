//! Which nodes have a vote.

use std::time::Duration;

use crate::{BootTime, planted};

/// What we know of one node's memory.
///
/// A restarted node may have forgotten leases that it gave. So it has no vote until a time has passed since its start
/// in which all of them have ended: the longest ttl anybody uses. Its start is told by its own uptime, unless that
/// would be before the last time that we heard its former self: a clock that is set right after a boot makes an
/// uptime long, and then nothing is known but that it runs now.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::BootTime;
/// use stanchion_core::redlock::Trust;
/// let at = |s| BootTime::from_boot(Duration::from_secs(s));
/// let mut trust = Trust::new(Duration::from_secs(60));
/// trust.met("first-life", Duration::from_secs(3600), at(5000), None);
/// assert!(trust.left(at(5000)).is_zero());
/// trust.met("second-life", Duration::from_secs(2), at(6000), Some(at(5990)));
/// assert_eq!(trust.left(at(6000)).as_secs(), 58);
/// assert!(trust.left(at(6058)).is_zero());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    quarantine: Duration,
    run: String,
    from: BootTime,
}

impl Trust {
    /// A node that we have not met, with a quarantine of this length after each start.
    ///
    /// ```
    /// # use std::time::Duration;
    /// use stanchion_core::{BootTime, redlock::Trust};
    /// let stranger = Trust::new(Duration::from_secs(1));
    /// assert!(!stranger.left(BootTime::from_boot(Duration::from_secs(9))).is_zero());
    /// ```
    #[must_use]
    pub const fn new(quarantine: Duration) -> Self {
        Self { quarantine, run: String::new(), from: BootTime::from_boot(Duration::MAX) }
    }

    /// We connected, and had its answer at `answered`: this is its run id and its uptime, which it read before that; `heard`
    /// is when the node last answered us before that connection.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{BootTime, redlock::Trust};
    /// let at = |s| BootTime::from_boot(Duration::from_secs(s));
    /// let mut trust = Trust::new(Duration::from_secs(60));
    /// trust.met("a", Duration::from_secs(3600), at(5000), None);
    /// trust.met("a", Duration::from_secs(3601), at(5001), Some(at(5000))); // only the connection was new
    /// assert!(trust.left(at(5001)).is_zero());
    /// // A new self that claims to be older than the last word of its former self.
    /// trust.met("b", Duration::from_secs(9_999_999), at(5010), Some(at(5005)));
    /// assert_eq!(trust.left(at(5010)).as_secs(), 60);
    /// ```
    pub fn met(&mut self, run: &str, uptime: Duration, answered: BootTime, heard: Option<BootTime>) {
        if self.run == run {
            return;
        }
        let known = if self.run.is_empty() { None } else { heard };
        let age = if known.is_some_and(|heard| uptime > answered - heard) { Duration::ZERO } else { uptime };
        // Not an instant of the past that may lie before boot: what is left counts from now.
        let left = if planted!("redlock-amnesia") { Duration::ZERO } else { self.quarantine.saturating_sub(age) };
        self.from = answered + left;
        run.clone_into(&mut self.run);
    }

    /// How long its vote does not count yet.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{BootTime, redlock::Trust};
    /// let mut trust = Trust::new(Duration::ZERO);
    /// trust.met("a", Duration::ZERO, BootTime::from_boot(Duration::from_secs(1)), None);
    /// assert!(trust.left(BootTime::from_boot(Duration::from_secs(1))).is_zero());
    /// ```
    #[must_use]
    pub fn left(&self, now: BootTime) -> Duration {
        self.from - now
    }
}
