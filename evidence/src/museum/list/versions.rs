//! Optimistic concurrency.

use super::{LOSSY, PLAIN, bug, case, explore};
use crate::museum::exhibit::{Exhibit, Store, Suite};
use crate::museum::rooms;

pub(super) const BUGS: &[Exhibit] = &[
    bug(
        "version-not-in-where",
        "a write does not compare the version, on SQLite",
        "crates/stanchion-stores/src/sqlite/rows.rs",
        case(Store::Sqlite, Suite::Records, "put_version_refuses_a_stale_version", "S5"),
    ),
    bug(
        "version-not-compared",
        "the same in the reference store",
        "crates/stanchion-core/src/memory.rs",
        explore(rooms::occ::two_counters, PLAIN),
    ),
    bug(
        "row-count-ignored",
        "a write that changed nothing counts as done",
        "crates/stanchion-core/src/versioned.rs",
        explore(rooms::occ::two_counters, PLAIN),
    ),
    bug(
        "retry-with-old-read",
        "the retry writes what the first read led to",
        "crates/stanchion-core/src/versioned.rs",
        explore(rooms::occ::two_counters, PLAIN),
    ),
    bug(
        "own-write-unknown",
        "a write whose answer was lost is not recognised, and made again",
        "crates/stanchion-core/src/versioned.rs",
        explore(rooms::occ::two_counters, LOSSY),
    ),
    bug(
        "aba",
        "versions begin anew with a new record of the same name",
        "crates/stanchion-core/src/memory.rs",
        explore(rooms::occ::replaced_meanwhile, PLAIN),
    ),
];
