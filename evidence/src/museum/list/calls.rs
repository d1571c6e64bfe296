//! Keyed calls.

use super::{DEADLY, LOCKED, LOSSY, PLAIN, bug, explore};
use crate::museum::exhibit::{Exhibit, Finder};
use crate::museum::{rooms, schedules};

pub(super) const BUGS: &[Exhibit] = &[
    bug(
        "check-then-act",
        "two callers find nothing, and both claim",
        "crates/stanchion-core/src/memory.rs",
        explore(rooms::calls::same_call, PLAIN),
    ),
    bug(
        "key-deleted-on-timeout",
        "no answer came, so the key is free again",
        "crates/stanchion-core/src/idempotency/running.rs",
        explore(rooms::calls::same_call, LOSSY),
    ),
    bug(
        "key-deleted-after-failure",
        "the tool has failed half-way, so the key is free again",
        "crates/stanchion-core/src/idempotency/running.rs",
        explore(rooms::calls::failing_call, PLAIN),
    ),
    bug(
        "claim-kept-as-long-as-key",
        "a dead caller blocks its key for three days",
        "crates/stanchion-core/src/call.rs",
        explore(rooms::calls::same_call, DEADLY),
    ),
    bug(
        "lease-expiry-re-executes",
        "whoever finds the lease over runs the call again",
        "crates/stanchion-core/src/claim/ask.rs",
        explore(rooms::calls::same_call, DEADLY),
    ),
    bug(
        "sent-without-mark",
        "nothing says that the call was sent",
        "crates/stanchion-core/src/idempotency/enter.rs",
        explore(rooms::calls::same_call, DEADLY),
    ),
    bug(
        "stale-attempt-writes",
        "who lost its claim still changes it",
        "crates/stanchion-core/src/claim/step.rs",
        explore(rooms::calls::locked_call, LOCKED),
    ),
    bug(
        "own-commit-is-a-conflict",
        "a result whose answer was lost is reported as lost",
        "crates/stanchion-core/src/turn/keep.rs",
        explore(rooms::primitives::two_initialisers, LOSSY),
    ),
    bug(
        "error-cached-as-success",
        "a failure is remembered as a success",
        "crates/stanchion-core/src/idempotency/running.rs",
        explore(rooms::calls::failing_call, PLAIN),
    ),
    bug(
        "key-without-fingerprint",
        "another payload under the same key gets the old answer",
        "crates/stanchion-core/src/claim/ask.rs",
        explore(rooms::calls::other_payload, PLAIN),
    ),
    bug(
        "key-without-tenant",
        "two tenants with the same key meet",
        "crates/stanchion-core/src/call.rs",
        explore(rooms::calls::other_tenant, PLAIN),
    )
    .masked("seen as a refusal: a second look at the scope keeps the answer from the other tenant"),
    bug(
        "response-truncated",
        "a long answer is cut where it should be dropped whole",
        "crates/stanchion-core/src/claim/response.rs",
        explore(rooms::calls::long_answer, PLAIN),
    ),
    bug(
        "webhook-without-dedup",
        "an event that comes twice is handled twice",
        "crates/stanchion-stores/src/inbox.rs",
        Finder::Schedule(schedules::event_comes_twice),
    ),
    bug(
        "gateway-key-without-tenant",
        "the gateway keeps one space of keys for all who call it",
        "crates/stanchion-mcp/src/gate/plan.rs",
        Finder::Schedule(schedules::two_tenants_at_the_gate),
    ),
    bug(
        "gateway-fingerprint-without-arguments",
        "the gateway compares the tool and not what it is asked for",
        "crates/stanchion-mcp/src/tool_call.rs",
        Finder::Schedule(schedules::two_payloads_at_the_gate),
    ),
    bug(
        "gateway-drops-the-key",
        "the gateway passes a keyed call on as if it had no key",
        "crates/stanchion-mcp/src/gate/plan.rs",
        Finder::Schedule(schedules::one_call_twice_at_the_gate),
    ),
];
