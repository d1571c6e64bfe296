//! The list. To add a bug: `planted!("its-name")` where the right decision is made, and a line here.

use std::time::Duration;

use super::exhibit::{Exhibit, Finder, Store, Suite};
use super::explore::{Limits, Room};
use super::rooms::{calls, fenced, locks, occ, primitives, redlock};
use super::schedules;

const NOTHING: Limits =
    Limits { cost: 0, losses: 0, deaths: 0, ticks: 0, tick: Duration::ZERO, forgets: 0, slow: false };
/// Interleavings only.
const PLAIN: Limits = Limits { cost: 3, ..NOTHING };
/// An answer is lost.
const LOSSY: Limits = Limits { cost: 3, losses: 1, ..NOTHING };
/// A lease ends, or its holder dies.
const LOCK: Limits = Limits { cost: 3, deaths: 1, ticks: 1, tick: Duration::from_secs(11), ..NOTHING };
/// Half a lease passes.
const HALF: Limits = Limits { cost: 3, ticks: 1, tick: Duration::from_secs(6), ..NOTHING };
/// Leases end.
const FENCED: Limits = Limits { cost: 4, ticks: 2, tick: Duration::from_secs(11), ..NOTHING };
/// Leases end, and somebody dies.
const DEADLY: Limits = Limits { cost: 3, deaths: 1, losses: 1, ticks: 1, tick: Duration::from_secs(11), ..NOTHING };
const LOCKED: Limits = Limits { cost: 4, ticks: 1, tick: Duration::from_secs(11), ..NOTHING };
/// Long enough for whatever should not be forgotten.
const LONG: Limits = Limits { cost: 2, ticks: 1, tick: Duration::from_secs(3600), ..NOTHING };
/// The lock service restarts empty.
const FORGETFUL: Limits = Limits { cost: 4, ticks: 1, tick: Duration::from_secs(11), forgets: 1, ..NOTHING };
/// Time passes between a write and its answer.
const SLOW: Limits = Limits { cost: 3, ticks: 1, tick: Duration::from_secs(11), slow: true, ..NOTHING };
const REDLOCK: Limits = Limits { cost: 4, ticks: 1, tick: Duration::from_secs(10), ..NOTHING };

const fn explore(room: Room, limits: Limits) -> Finder {
    Finder::Explore(room, limits)
}

const fn case(store: Store, suite: Suite, case: &'static str, property: &'static str) -> Finder {
    Finder::Case { store, suite, case, property }
}

/// Every planted bug.
pub const EXHIBITS: &[Exhibit] = &[
    // Locks.
    Exhibit {
        name: "del-without-token",
        about: "a release removes whatever is there",
        place: "crates/stanchion-core/src/cas_lock/mod.rs",
        finder: explore(locks::two_clients, LOCK),
        masked: "",
    },
    Exhibit {
        name: "get-then-del",
        about: "a release compares the owner and then deletes without a condition",
        place: "crates/stanchion-core/src/memory.rs",
        finder: explore(locks::two_clients, LOCK),
        masked: "",
    },
    Exhibit {
        name: "redis-release-without-token",
        about: "the same on Redis",
        place: "crates/stanchion-stores/src/redis/locks.rs",
        finder: case(Store::Redis, Suite::Locks, "release_by_another_owner_changes_nothing", "S3"),
        masked: "",
    },
    Exhibit {
        name: "renew-without-token",
        about: "a renewal of a lease that is not ours says that it worked",
        place: "crates/stanchion-core/src/cas_lock/mod.rs",
        finder: explore(locks::two_renewing_clients, LOCK),
        masked: "",
    },
    Exhibit {
        name: "set-then-expire",
        about: "the lock is set, and its ttl in a second request",
        place: "crates/stanchion-core/src/cas_lock/mod.rs",
        finder: explore(locks::two_clients, LOCK),
        masked: "",
    },
    Exhibit {
        name: "no-ttl",
        about: "the lock of a dead holder never ends",
        place: "crates/stanchion-core/src/cas_lock/state.rs",
        finder: explore(locks::two_clients, LOCK),
        masked: "",
    },
    Exhibit {
        name: "ttl-unit-mix-up",
        about: "seconds are written where milliseconds are read",
        place: "crates/stanchion-core/src/cas_lock/state.rs",
        finder: explore(locks::two_clients, HALF),
        masked: "",
    },
    Exhibit {
        name: "owner-per-process",
        about: "the owner is the process, so two tasks are one",
        place: "crates/stanchion-core/src/key.rs",
        finder: explore(locks::two_clients, LOCK),
        masked: "",
    },
    Exhibit {
        name: "fence-on-write-only",
        about: "the textbook: only writes raise the fence, reads do not",
        place: "crates/stanchion-core/src/memory.rs",
        finder: explore(fenced::two_writers, FENCED),
        masked: "",
    },
    Exhibit {
        name: "fence-not-strict",
        about: "an equal number of another owner is accepted",
        place: "crates/stanchion-core/src/fence.rs",
        finder: explore(fenced::two_writers, FORGETFUL),
        masked: "also with the exact comparison at the write off, which alone keeps it from doing harm",
    },
    Exhibit {
        name: "fence-counter-reset",
        about: "the counter begins anew when a lock was released",
        place: "crates/stanchion-core/src/cas_lock/state.rs",
        finder: explore(locks::two_clients, LOCK),
        masked: "",
    },
    Exhibit {
        name: "fence-dies-with-record",
        about: "deleting a record deletes its fence",
        place: "crates/stanchion-core/src/memory.rs",
        finder: case(Store::Memory, Suite::Records, "fence_outlives_the_record", "S3"),
        masked: "",
    },
    Exhibit {
        name: "floor-ignored",
        about: "the fence after a restart is below what stores have seen",
        place: "crates/stanchion-core/src/cas_lock/mod.rs",
        finder: case(Store::Memory, Suite::Locks, "the_fence_is_above_the_floor", "S3"),
        masked: "",
    },
    Exhibit {
        name: "readers-pass-a-writer",
        about: "shared holders are admitted beside an exclusive one",
        place: "crates/stanchion-core/src/cas_lock/state.rs",
        finder: case(Store::Memory, Suite::Locks, "shared_holders_exclude_an_exclusive_one", "S1"),
        masked: "",
    },
    Exhibit {
        name: "one-slot-too-many",
        about: "`<=` where `<` is right",
        place: "crates/stanchion-core/src/cas_lock/state.rs",
        finder: case(Store::Memory, Suite::Locks, "slots_admit_n_and_no_more", "S1"),
        masked: "",
    },
    Exhibit {
        name: "late-grant-kept",
        about: "a grant that comes after its caller gave up is not given back",
        place: "crates/stanchion-core/src/locks/attempt.rs",
        finder: case(Store::Memory, Suite::Leases, "a_grant_after_giving_up_is_released", "S7"),
        masked: "",
    },
    Exhibit {
        name: "deadline-from-answer",
        about: "the lease counts from the answer, not from before the request",
        place: "crates/stanchion-core/src/locks/mod.rs",
        finder: explore(locks::two_leases, SLOW),
        masked: "",
    },
    Exhibit {
        name: "late-renewal-revives",
        about: "an answer after the deadline makes the lease valid again",
        place: "crates/stanchion-core/src/lease_machine.rs",
        finder: Finder::Schedule(schedules::renewal_is_late),
        masked: "on the machine alone: the front door looks at its clock before it listens",
    },
    Exhibit {
        name: "wall-clock",
        about: "deadlines are counted on a clock that people set",
        place: "crates/stanchion-core/src/clock.rs",
        finder: Finder::Schedule(schedules::wall_clock_is_set_back),
        masked: "",
    },
    Exhibit {
        name: "wait-without-recheck",
        about: "etcd#11456: who comes to the front is not asked whether its session lives",
        place: "evidence/src/museum/exhibits/queue.rs",
        finder: Finder::Schedule(schedules::waiter_without_session),
        masked: "",
    },
    Exhibit {
        name: "redlock-ignores-elapsed",
        about: "the time that the nodes took is not subtracted",
        place: "crates/stanchion-core/src/redlock/attempt.rs",
        finder: explore(redlock::two_clients, REDLOCK),
        masked: "",
    },
    Exhibit {
        name: "redlock-amnesia",
        about: "a node that restarted inside the ttl has a vote at once",
        place: "crates/stanchion-core/src/redlock/trust.rs",
        finder: explore(redlock::a_node_forgets, REDLOCK),
        masked: "",
    },
    Exhibit {
        name: "redlock-late-yes-kept",
        about: "a yes that comes after the attempt was given up is kept",
        place: "crates/stanchion-core/src/redlock/attempt.rs",
        finder: explore(redlock::two_clients, REDLOCK),
        masked: "",
    },
    Exhibit {
        name: "redlock-release-to-minority",
        about: "a release goes to one node of three",
        place: "crates/stanchion-stores/src/redlock/locks.rs",
        finder: Finder::Schedule(schedules::redlock_releases),
        masked: "",
    },
    Exhibit {
        name: "session-lock-through-pool",
        about: "PostgreSQL session locks through a pool in transaction mode",
        place: "evidence/src/museum/exhibits/sessions.rs",
        finder: Finder::Schedule(schedules::two_sessions),
        masked: "",
    },
    Exhibit {
        name: "unlock-on-another-connection",
        about: "the unlock is sent on a connection that does not have the lock",
        place: "evidence/src/museum/exhibits/sessions.rs",
        finder: Finder::Schedule(schedules::session_unlocks),
        masked: "",
    },
    Exhibit {
        name: "stale-lock-file-is-stolen",
        about: "a lock file that looks untouched for 10 s is taken for a leftover",
        place: "evidence/src/museum/exhibits/lock_file.rs",
        finder: Finder::Schedule(schedules::lock_file_looks_old),
        masked: "",
    },
    Exhibit {
        name: "lock-on-renamed-file",
        about: "nobody looks whether the locked file still has its name",
        place: "crates/stanchion-stores/src/file/lockfile.rs",
        finder: Finder::Schedule(schedules::lock_file_is_replaced),
        masked: "",
    },
    Exhibit {
        name: "temp-file-on-another-mount",
        about: "the new file is written elsewhere and cannot be renamed into place",
        place: "crates/stanchion-memory/src/file/place.rs",
        finder: Finder::Schedule(schedules::memory_is_replaced),
        masked: "",
    },
    Exhibit {
        name: "two-leaders",
        about: "leadership is a shared lock",
        place: "crates/stanchion-core/src/election.rs",
        finder: explore(locks::two_candidates, PLAIN),
        masked: "",
    },
    // Optimistic concurrency.
    Exhibit {
        name: "version-not-in-where",
        about: "a write does not compare the version, on SQLite",
        place: "crates/stanchion-stores/src/sqlite/rows.rs",
        finder: case(Store::Sqlite, Suite::Records, "put_version_refuses_a_stale_version", "S5"),
        masked: "",
    },
    Exhibit {
        name: "version-not-compared",
        about: "the same in the reference store",
        place: "crates/stanchion-core/src/memory.rs",
        finder: explore(occ::two_counters, PLAIN),
        masked: "",
    },
    Exhibit {
        name: "row-count-ignored",
        about: "a write that changed nothing counts as done",
        place: "crates/stanchion-core/src/versioned.rs",
        finder: explore(occ::two_counters, PLAIN),
        masked: "",
    },
    Exhibit {
        name: "retry-with-old-read",
        about: "the retry writes what the first read led to",
        place: "crates/stanchion-core/src/versioned.rs",
        finder: explore(occ::two_counters, PLAIN),
        masked: "",
    },
    Exhibit {
        name: "own-write-unknown",
        about: "a write whose answer was lost is not recognised, and made again",
        place: "crates/stanchion-core/src/versioned.rs",
        finder: explore(occ::two_counters, LOSSY),
        masked: "",
    },
    Exhibit {
        name: "aba",
        about: "versions begin anew with a new record of the same name",
        place: "crates/stanchion-core/src/memory.rs",
        finder: explore(occ::replaced_meanwhile, PLAIN),
        masked: "",
    },
    // Idempotency.
    Exhibit {
        name: "check-then-act",
        about: "two callers find nothing, and both claim",
        place: "crates/stanchion-core/src/memory.rs",
        finder: explore(calls::same_call, PLAIN),
        masked: "",
    },
    Exhibit {
        name: "key-deleted-on-timeout",
        about: "no answer came, so the key is free again",
        place: "crates/stanchion-core/src/idempotency/running.rs",
        finder: explore(calls::same_call, LOSSY),
        masked: "",
    },
    Exhibit {
        name: "key-deleted-after-failure",
        about: "the tool has failed half-way, so the key is free again",
        place: "crates/stanchion-core/src/idempotency/running.rs",
        finder: explore(calls::failing_call, PLAIN),
        masked: "",
    },
    Exhibit {
        name: "claim-kept-as-long-as-key",
        about: "a dead caller blocks its key for three days",
        place: "crates/stanchion-core/src/call.rs",
        finder: explore(calls::same_call, DEADLY),
        masked: "",
    },
    Exhibit {
        name: "lease-expiry-re-executes",
        about: "whoever finds the lease over runs the call again",
        place: "crates/stanchion-core/src/claim/ask.rs",
        finder: explore(calls::same_call, DEADLY),
        masked: "",
    },
    Exhibit {
        name: "sent-without-mark",
        about: "nothing says that the call was sent",
        place: "crates/stanchion-core/src/idempotency/enter.rs",
        finder: explore(calls::same_call, DEADLY),
        masked: "",
    },
    Exhibit {
        name: "stale-attempt-writes",
        about: "who lost its claim still changes it",
        place: "crates/stanchion-core/src/claim/step.rs",
        finder: explore(calls::locked_call, LOCKED),
        masked: "",
    },
    Exhibit {
        name: "own-commit-is-a-conflict",
        about: "a result whose answer was lost is reported as lost",
        place: "crates/stanchion-core/src/turn/keep.rs",
        finder: explore(primitives::two_initialisers, LOSSY),
        masked: "",
    },
    Exhibit {
        name: "error-cached-as-success",
        about: "a failure is remembered as a success",
        place: "crates/stanchion-core/src/idempotency/running.rs",
        finder: explore(calls::failing_call, PLAIN),
        masked: "",
    },
    Exhibit {
        name: "key-without-fingerprint",
        about: "another payload under the same key gets the old answer",
        place: "crates/stanchion-core/src/claim/ask.rs",
        finder: explore(calls::other_payload, PLAIN),
        masked: "",
    },
    Exhibit {
        name: "key-without-tenant",
        about: "two tenants with the same key meet",
        place: "crates/stanchion-core/src/call.rs",
        finder: explore(calls::other_tenant, PLAIN),
        masked: "seen as a refusal: a second look at the scope keeps the answer from the other tenant",
    },
    Exhibit {
        name: "response-truncated",
        about: "a long answer is cut where it should be dropped whole",
        place: "crates/stanchion-core/src/claim/response.rs",
        finder: explore(calls::long_answer, PLAIN),
        masked: "",
    },
    Exhibit {
        name: "webhook-without-dedup",
        about: "an event that comes twice is handled twice",
        place: "crates/stanchion-stores/src/inbox.rs",
        finder: Finder::Schedule(schedules::event_comes_twice),
        masked: "",
    },
    Exhibit {
        name: "gateway-key-without-tenant",
        about: "the gateway keeps one space of keys for all who call it",
        place: "crates/stanchion-mcp/src/gate/plan.rs",
        finder: Finder::Schedule(schedules::two_tenants_at_the_gate),
        masked: "",
    },
    Exhibit {
        name: "gateway-fingerprint-without-arguments",
        about: "the gateway compares the tool and not what it is asked for",
        place: "crates/stanchion-mcp/src/tool_call.rs",
        finder: Finder::Schedule(schedules::two_payloads_at_the_gate),
        masked: "",
    },
    Exhibit {
        name: "gateway-drops-the-key",
        about: "the gateway passes a keyed call on as if it had no key",
        place: "crates/stanchion-mcp/src/gate/plan.rs",
        finder: Finder::Schedule(schedules::one_call_twice_at_the_gate),
        masked: "",
    },
    // The rest.
    Exhibit {
        name: "once-does-not-wait",
        about: "a second caller does not wait for the first",
        place: "crates/stanchion-core/src/turn/mod.rs",
        finder: explore(primitives::two_initialisers, PLAIN),
        masked: "",
    },
    Exhibit {
        name: "once-forgets",
        about: "what was initialised once is forgotten after a while",
        place: "crates/stanchion-core/src/once.rs",
        finder: explore(primitives::two_initialisers, LONG),
        masked: "",
    },
    Exhibit {
        name: "limiter-counts-twice",
        about: "a permit whose answer was lost is taken again",
        place: "crates/stanchion-core/src/limiter/mod.rs",
        finder: explore(primitives::enough_permits, LOSSY),
        masked: "",
    },
    Exhibit {
        name: "limiter-window-too-short",
        about: "permits come back after half of the window",
        place: "crates/stanchion-core/src/limiter/window.rs",
        finder: explore(primitives::too_few_permits, HALF),
        masked: "",
    },
    Exhibit {
        name: "enqueue-without-dedup",
        about: "a key that is queued or running can be enqueued again",
        place: "crates/stanchion-core/src/jobs/record.rs",
        finder: explore(primitives::two_workers, PLAIN),
        masked: "",
    },
    Exhibit {
        name: "job-done-twice",
        about: "a worker that lost its job is told that it is done",
        place: "crates/stanchion-core/src/jobs/job.rs",
        finder: explore(primitives::two_workers, FENCED),
        masked: "",
    },
    Exhibit {
        name: "job-never-taken-over",
        about: "the job of a dead worker stays its own",
        place: "crates/stanchion-core/src/jobs/claim.rs",
        finder: explore(primitives::two_workers, DEADLY),
        masked: "",
    },
    Exhibit {
        name: "memory-written-from-an-old-read",
        about: "the memory file is written from what was read before others wrote",
        place: "crates/stanchion-memory/src/file/care.rs",
        finder: Finder::Schedule(schedules::two_memories),
        masked: "also with two later looks off, each of which alone finds that others have written",
    },
];
