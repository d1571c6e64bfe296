//! How much a layer may do.

use std::time::Duration;

/// The same budget gives the same work wherever a layer is deterministic.
#[derive(Clone, Debug)]
pub struct Budget {
    pub seed: u64,
    /// A layer ends its last round of work soon after this time.
    pub time: Duration,
}
