//! The layer `real` in short: what needs no server, with kills and pauses only.

use std::path::Path;
use std::time::Duration;

use stanchion_evidence::budget::Budget;
use stanchion_evidence::real;
use stanchion_evidence::report::Meaning;

#[test]
fn killed_and_stopped_processes_lose_nothing_and_repeat_nothing_and_without_the_guard_they_do() {
    let budget = Budget { seed: 1, time: Duration::from_secs(4) };
    let program = Path::new(env!("CARGO_BIN_EXE_stanchion-evidence"));
    let report = real::run_on(&budget, &["file", "sqlite"], program);
    let text = report.text();
    assert_eq!(report.meaning(), Meaning::Held, "{text}");
    assert_eq!(report.controls.len(), 2, "{text}");
    let count = |name: &str| report.counts.iter().find(|count| count.name == name).map_or(0, |count| count.value);
    assert!(count("calls") > 100 && count("faults") > 10, "{text}");
}

#[test]
fn an_engine_that_nobody_knows_makes_the_run_void() {
    let budget = Budget { seed: 1, time: Duration::from_secs(1) };
    let report = real::run_on(&budget, &["abacus"], Path::new("/"));
    assert_eq!(report.meaning(), Meaning::Void, "{}", report.text());
}
