//! Some hundreds of orders of each scenario; all of them with the binary.

use std::time::Duration;

use stanchion_evidence::budget::Budget;
use stanchion_evidence::report::Meaning;
use stanchion_evidence::schedules::explore;

#[test]
fn callers_that_are_dropped_anywhere_leave_nothing_behind() {
    let report = explore(&Budget::new(1, Duration::from_secs(600)), 300);
    assert_eq!(report.meaning(), Meaning::Held, "{}", report.text());
}
