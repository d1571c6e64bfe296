//! The layer `real` in short: what needs no server, with kills and pauses only.

use std::path::Path;
use std::time::Duration;

use stanchion_evidence::budget::Budget;
use stanchion_evidence::real;
use stanchion_evidence::report::Meaning;
use stanchion_testkit::engines::{Postgres, Redis};

#[test]
fn killed_and_stopped_processes_lose_nothing_and_repeat_nothing_and_without_the_guard_they_do() {
    let budget = Budget::new(1, Duration::from_secs(4));
    let program = Path::new(env!("CARGO_BIN_EXE_stanchion-evidence"));
    let report = real::run_on(&budget, &["file", "sqlite"], program);
    let text = report.text();
    assert_eq!(report.meaning(), Meaning::Held, "{text}");
    assert_eq!(report.controls.len(), 2, "{text}");
    let count = |name: &str| report.counts.iter().find(|count| count.name == name).map_or(0, |count| count.value);
    assert!(count("calls") > 100 && count("faults") > 10, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_are_killed_cut_off_and_asked_twice_lose_nothing_and_repeat_nothing() {
    let there = [("redis", Redis::try_start().await.err()), ("postgres", Postgres::try_start().await.err())];
    let (found, missing): (Vec<_>, Vec<_>) = there.into_iter().partition(|(_, skip)| skip.is_none());
    missing.into_iter().filter_map(|(_, skip)| skip).for_each(|skip| skip.report());
    for (engine, _) in found {
        let report = tokio::task::spawn_blocking(move || {
            let program = Path::new(env!("CARGO_BIN_EXE_stanchion-evidence"));
            real::run_on(&Budget::new(1, Duration::from_secs(10)), &[engine], program)
        });
        let report = report.await.unwrap();
        assert_eq!(report.meaning(), Meaning::Held, "{}", report.text());
        eprintln!("{}", report.text());
    }
}

#[test]
fn an_engine_that_nobody_knows_makes_the_run_void() {
    let budget = Budget::new(1, Duration::from_secs(1));
    let report = real::run_on(&budget, &["abacus"], Path::new("/"));
    assert_eq!(report.meaning(), Meaning::Void, "{}", report.text());
}
