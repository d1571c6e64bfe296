//! Some hundreds of worlds; more with the binary.

use std::time::Duration;

use stanchion_evidence::budget::Budget;
use stanchion_evidence::gateway::explore;
use stanchion_evidence::report::Meaning;

#[test]
fn gateways_that_are_killed_anywhere_neither_repeat_a_call_nor_lose_a_write() {
    let report = explore(&Budget::new(1, Duration::ZERO), 200);
    assert_eq!(report.meaning(), Meaning::Held, "{}", report.text());
}
