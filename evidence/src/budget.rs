//! How much a layer may do.

use std::time::Duration;

/// The same budget gives the same work wherever a layer is deterministic.
#[derive(Clone, Debug)]
pub struct Budget {
    pub seed: u64,
    /// A layer ends its last round of work soon after this time.
    pub time: Duration,
    /// In place of the time, where there are worlds: as many give the same worlds on every machine.
    pub worlds: Option<u64>,
}

impl Budget {
    #[must_use]
    pub const fn new(seed: u64, time: Duration) -> Budget {
        Budget { seed, time, worlds: None }
    }
}
