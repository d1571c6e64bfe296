//! Everything that stands on these.

use super::{DEADLY, FENCED, HALF, LONG, LOSSY, PLAIN, bug, explore};
use crate::museum::exhibit::{Exhibit, Finder};
use crate::museum::{rooms, schedules};

pub(super) const BUGS: &[Exhibit] = &[
    bug(
        "once-does-not-wait",
        "a second caller does not wait for the first",
        "crates/stanchion-core/src/turn/mod.rs",
        explore(rooms::primitives::two_initialisers, PLAIN),
    ),
    bug(
        "once-forgets",
        "what was initialised once is forgotten after a while",
        "crates/stanchion-core/src/once.rs",
        explore(rooms::primitives::two_initialisers, LONG),
    ),
    bug(
        "limiter-counts-twice",
        "a permit whose answer was lost is taken again",
        "crates/stanchion-core/src/limiter/mod.rs",
        explore(rooms::primitives::enough_permits, LOSSY),
    ),
    bug(
        "limiter-window-too-short",
        "permits come back after half of the window",
        "crates/stanchion-core/src/limiter/window.rs",
        explore(rooms::primitives::too_few_permits, HALF),
    ),
    bug(
        "enqueue-without-dedup",
        "a key that is queued or running can be enqueued again",
        "crates/stanchion-core/src/jobs/record.rs",
        explore(rooms::primitives::two_workers, PLAIN),
    ),
    bug(
        "job-done-twice",
        "a worker that lost its job is told that it is done",
        "crates/stanchion-core/src/jobs/job.rs",
        explore(rooms::primitives::two_workers, FENCED),
    ),
    bug(
        "job-never-taken-over",
        "the job of a dead worker stays its own",
        "crates/stanchion-core/src/jobs/claim.rs",
        explore(rooms::primitives::two_workers, DEADLY),
    ),
    bug(
        "memory-written-from-an-old-read",
        "the memory file is written from what was read before others wrote",
        "crates/stanchion-memory/src/file/care.rs",
        Finder::Schedule(schedules::two_memories),
    )
    .masked("also with two later looks off, each of which alone finds that others have written"),
];
