//! Designs that have no place in ours, as small backends of the same trait. Each is right until its bug is planted.

mod lock_file;
mod queue;
mod sessions;

pub use lock_file::LockFile;
pub use queue::Queue;
pub use sessions::Sessions;

use std::time::Duration;

use stanchion_core::{Capability, Hold, Purpose, Survives};

/// What all of them say of themselves.
const fn capability(backend: &'static str, hold: Hold) -> Capability {
    Capability {
        backend,
        hold,
        clock: false,
        fair: false,
        shared_between_processes: true,
        survives: Survives::Nothing,
        purpose: Purpose::Correctness,
        weak: None,
    }
}

/// How long a lock file may look untouched, as `proper-lockfile` has it.
pub const STALE: Duration = Duration::from_secs(10);
