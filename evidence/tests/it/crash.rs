//! A sample of the crash points, and of the damage; all of them: `stanchion-evidence crash`.

use std::time::{Duration, Instant};

use stanchion_evidence::budget::Budget;
use stanchion_evidence::crash::damage;
use stanchion_evidence::crash::embedded::Embedded;
use stanchion_evidence::crash::memory::MemoryServer;
use stanchion_evidence::crash::points::{Harm, Sample, Scenario, Swept, sweep};
use stanchion_evidence::report::Report;
use stanchion_testkit::engines::Skip;

/// `None`, and why is said, where programs may not be traced.
fn sample(scenario: &dyn Scenario, every: usize, with_errors: bool) -> Option<Swept> {
    let until = Instant::now() + Duration::from_secs(300);
    match sweep(scenario, Sample { every, from: every / 2, with_errors, until }) {
        Ok(swept) => Some(swept),
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            Skip::new(e.to_string()).report();
            None
        }
        Err(e) => panic!("{e}"),
    }
}

fn assert_holds(swept: &Swept) {
    assert!(swept.wrong.is_empty(), "{:#?}", swept.wrong);
    assert!(swept.tried >= 5 && swept.untried == 0, "void: {swept:?}");
}

#[test]
fn a_worker_on_the_embedded_store_loses_nothing_wherever_it_dies() {
    let Some(swept) = sample(&Embedded::ours("process"), 151, true) else { return };
    assert_holds(&swept);
}

#[test]
fn control_a_store_that_is_written_in_place_repeats_calls_and_gets_stuck() {
    let Some(swept) = sample(&Embedded::naive(), 5, false) else { return };
    assert!(swept.harm(Harm::Extra) > 0, "void: no call was repeated ({swept:?})");
    assert!(swept.harm(Harm::Stuck) > 0, "void: a lock that is a file outlives nobody ({swept:?})");
}

#[test]
fn the_memory_server_loses_nothing_wherever_it_dies() {
    // Built with the tests of the workspace; alone, this package has only the library of it.
    let server = match MemoryServer::ours(&["--durability", "power"]) {
        Ok(server) => server,
        Err(e) => return Skip::new(e.to_string()).report(),
    };
    let Some(swept) = sample(&server, 61, true) else { return };
    assert_holds(&swept);
}

#[test]
fn control_a_memory_that_is_written_in_place_loses_calls() {
    let server = MemoryServer::naive().unwrap();
    let Some(swept) = sample(&server, 6, false) else { return };
    assert!(swept.harm(Harm::Lost) > 0, "void: the harness finds nothing wrong ({swept:?})");
}

#[test]
fn damaged_files_are_told_or_recovered() {
    let mut report = Report::new("crash", 1);
    damage::run(&Budget::new(1, Duration::from_secs(240)), 53, &mut report).unwrap();
    assert_eq!(report.void, Vec::<String>::new());
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
    assert!(report.counts[0].value > 60, "void: {:?}", report.counts);
}
