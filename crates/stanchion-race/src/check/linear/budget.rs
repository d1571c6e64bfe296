//! How long a search may take.

use std::time::{Duration, Instant};

/// Where a search gives up. Whatever it does not decide is [`Unknown`], never "fine".
///
/// ```
/// use std::time::Duration;
/// use stanchion_race::check::linear::Limits;
/// let limits = Limits { time: Duration::from_secs(5), ..Limits::default() };
/// assert!(limits.steps > 1_000_000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The time for the whole check.
    pub time: Duration,
    /// The most steps of the model.
    pub steps: u64,
    /// The most configurations that are kept at once: the memory that a check may take.
    pub configurations: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time: Duration::from_secs(60), steps: u64::MAX, configurations: 1_000_000 }
    }
}

/// Why there is no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// The time was over.
    Time,
    /// The steps were used up.
    Steps,
    /// There were more configurations than may be kept.
    Configurations,
    /// More operations were under way at once than can be told apart.
    Width,
    /// It looks like a violation, but so many outcomes are unknown that not all of them were considered.
    OpenOperations,
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Unknown::Time => "the time for the check was over",
            Unknown::Steps => "the steps for the check were used up",
            Unknown::Configurations => "too many orders were possible at once",
            Unknown::Width => "too many operations were under way at once",
            Unknown::OpenOperations => "too many operations have an unknown outcome",
        })
    }
}

#[derive(Debug, Clone)]
pub(super) struct Budget {
    deadline: Option<Instant>,
    steps: u64,
    spent: u64,
    pub(super) configurations: usize,
}

/// Steps between two looks at the clock.
const LOOK: u64 = 1024;

impl Budget {
    pub(super) fn new(limits: Limits) -> Self {
        // A deadline beyond the end of time is none.
        let deadline = Instant::now().checked_add(limits.time);
        Self { deadline, steps: limits.steps, spent: 0, configurations: limits.configurations }
    }

    /// All steps again, until the same deadline.
    pub(super) fn refill(&mut self) {
        self.spent = 0;
    }

    pub(super) fn spent(&self) -> u64 {
        self.spent
    }

    pub(super) fn step(&mut self) -> Result<(), Unknown> {
        if self.spent >= self.steps {
            return Err(Unknown::Steps);
        }
        self.spent += 1;
        if self.spent.is_multiple_of(LOOK) { self.look() } else { Ok(()) }
    }

    pub(super) fn look(&self) -> Result<(), Unknown> {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) { Err(Unknown::Time) } else { Ok(()) }
    }
}
