//! Locks, leases and fences.

use super::{FENCED, FORGETFUL, HALF, LOCK, PLAIN, REDLOCK, SLOW, bug, case, explore};
use crate::museum::exhibit::{Exhibit, Finder, Store, Suite};
use crate::museum::{rooms, schedules};

pub(super) const BUGS: &[Exhibit] = &[
    bug(
        "del-without-token",
        "a release removes whatever is there",
        "crates/stanchion-core/src/cas_lock/mod.rs",
        explore(rooms::locks::two_clients, LOCK),
    ),
    bug(
        "get-then-del",
        "a release compares the owner and then deletes without a condition",
        "crates/stanchion-core/src/memory.rs",
        explore(rooms::locks::two_clients, LOCK),
    ),
    bug(
        "redis-release-without-token",
        "the same on Redis",
        "crates/stanchion-stores/src/redis/locks.rs",
        case(Store::Redis, Suite::Locks, "release_by_another_owner_changes_nothing", "S3"),
    ),
    bug(
        "renew-without-token",
        "a renewal of a lease that is not ours says that it worked",
        "crates/stanchion-core/src/cas_lock/mod.rs",
        explore(rooms::locks::two_renewing_clients, LOCK),
    ),
    bug(
        "set-then-expire",
        "the lock is set, and its ttl in a second request",
        "crates/stanchion-core/src/cas_lock/mod.rs",
        explore(rooms::locks::two_clients, LOCK),
    ),
    bug(
        "no-ttl",
        "the lock of a dead holder never ends",
        "crates/stanchion-core/src/cas_lock/state.rs",
        explore(rooms::locks::two_clients, LOCK),
    ),
    bug(
        "ttl-unit-mix-up",
        "seconds are written where milliseconds are read",
        "crates/stanchion-core/src/cas_lock/state.rs",
        explore(rooms::locks::two_clients, HALF),
    ),
    bug(
        "owner-per-process",
        "the owner is the process, so two tasks are one",
        "crates/stanchion-core/src/key.rs",
        explore(rooms::locks::two_clients, LOCK),
    ),
    bug(
        "fence-on-write-only",
        "the textbook: only writes raise the fence, reads do not",
        "crates/stanchion-core/src/memory.rs",
        explore(rooms::fenced::two_writers, FENCED),
    ),
    bug(
        "fence-not-strict",
        "an equal number of another owner is accepted",
        "crates/stanchion-core/src/fence.rs",
        explore(rooms::fenced::two_writers, FORGETFUL),
    )
    .masked("also with the exact comparison at the write off, which alone keeps it from doing harm"),
    bug(
        "fence-counter-reset",
        "the counter begins anew when a lock was released",
        "crates/stanchion-core/src/cas_lock/state.rs",
        explore(rooms::locks::two_clients, LOCK),
    ),
    bug(
        "fence-dies-with-record",
        "deleting a record deletes its fence",
        "crates/stanchion-core/src/memory.rs",
        case(Store::Memory, Suite::Records, "fence_outlives_the_record", "S3"),
    ),
    bug(
        "floor-ignored",
        "the fence after a restart is below what stores have seen",
        "crates/stanchion-core/src/cas_lock/mod.rs",
        case(Store::Memory, Suite::Locks, "the_fence_is_above_the_floor", "S3"),
    ),
    bug(
        "readers-pass-a-writer",
        "shared holders are admitted beside an exclusive one",
        "crates/stanchion-core/src/cas_lock/state.rs",
        case(Store::Memory, Suite::Locks, "shared_holders_exclude_an_exclusive_one", "S1"),
    ),
    bug(
        "one-slot-too-many",
        "`<=` where `<` is right",
        "crates/stanchion-core/src/cas_lock/state.rs",
        case(Store::Memory, Suite::Locks, "slots_admit_n_and_no_more", "S1"),
    ),
    bug(
        "late-grant-kept",
        "a grant that comes after its caller gave up is not given back",
        "crates/stanchion-core/src/locks/attempt.rs",
        case(Store::Memory, Suite::Leases, "a_grant_after_giving_up_is_released", "S7"),
    ),
    bug(
        "deadline-from-answer",
        "the lease counts from the answer, not from before the request",
        "crates/stanchion-core/src/locks/mod.rs",
        explore(rooms::locks::two_leases, SLOW),
    ),
    bug(
        "late-renewal-revives",
        "an answer after the deadline makes the lease valid again",
        "crates/stanchion-core/src/lease_machine.rs",
        Finder::Schedule(schedules::renewal_is_late),
    )
    .masked("on the machine alone: the front door looks at its clock before it listens"),
    bug(
        "wall-clock",
        "deadlines are counted on a clock that people set",
        "crates/stanchion-core/src/clock.rs",
        Finder::Schedule(schedules::wall_clock_is_set_back),
    ),
    bug(
        "wait-without-recheck",
        "etcd#11456: who comes to the front is not asked whether its session lives",
        "evidence/src/museum/exhibits/queue.rs",
        Finder::Schedule(schedules::waiter_without_session),
    ),
    bug(
        "redlock-ignores-elapsed",
        "the time that the nodes took is not subtracted",
        "crates/stanchion-core/src/redlock/attempt.rs",
        explore(rooms::redlock::two_clients, REDLOCK),
    ),
    bug(
        "redlock-amnesia",
        "a node that restarted inside the ttl has a vote at once",
        "crates/stanchion-core/src/redlock/trust.rs",
        explore(rooms::redlock::a_node_forgets, REDLOCK),
    ),
    bug(
        "redlock-late-yes-kept",
        "a yes that comes after the attempt was given up is kept",
        "crates/stanchion-core/src/redlock/attempt.rs",
        explore(rooms::redlock::two_clients, REDLOCK),
    ),
    bug(
        "redlock-release-to-minority",
        "a release goes to one node of three",
        "crates/stanchion-stores/src/redlock/locks.rs",
        Finder::Schedule(schedules::redlock_releases),
    ),
    bug(
        "session-lock-through-pool",
        "PostgreSQL session locks through a pool in transaction mode",
        "evidence/src/museum/exhibits/sessions.rs",
        Finder::Schedule(schedules::two_sessions),
    ),
    bug(
        "unlock-on-another-connection",
        "the unlock is sent on a connection that does not have the lock",
        "evidence/src/museum/exhibits/sessions.rs",
        Finder::Schedule(schedules::session_unlocks),
    ),
    bug(
        "stale-lock-file-is-stolen",
        "a lock file that looks untouched for 10 s is taken for a leftover",
        "evidence/src/museum/exhibits/lock_file.rs",
        Finder::Schedule(schedules::lock_file_looks_old),
    ),
    bug(
        "lock-on-renamed-file",
        "nobody looks whether the locked file still has its name",
        "crates/stanchion-stores/src/file/lockfile.rs",
        Finder::Schedule(schedules::lock_file_is_replaced),
    ),
    bug(
        "temp-file-on-another-mount",
        "the new file is written elsewhere and cannot be renamed into place",
        "crates/stanchion-memory/src/file/place.rs",
        Finder::Schedule(schedules::memory_is_replaced),
    ),
    bug(
        "two-leaders",
        "leadership is a shared lock",
        "crates/stanchion-core/src/election.rs",
        explore(rooms::locks::two_candidates, PLAIN),
    ),
];
