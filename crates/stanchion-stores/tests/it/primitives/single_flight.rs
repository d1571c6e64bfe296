//! `SingleFlight` under a stampede, and with a leader that is killed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use stanchion_core::{Cond, Key, RecordStore, Result, SingleFlight, Wait};
use stanchion_testkit::pause::PauseDir;
use tokio::time::Instant;

use super::engine::{LEASE, PATIENCE, Place, helpers_store, key, log, say, told};

on_every_engine!(fifty_callers_in_five_processes_compute_once, exactly_one_takes_over_from_a_killed_leader);

const TASKS: usize = 10;

fn cache(records: Arc<dyn RecordStore>) -> SingleFlight {
    SingleFlight::shared(records).lease(LEASE).unwrap().wait(Wait::For(PATIENCE))
}

fn report() -> Key {
    key("report")
}

/// What each would compute is its own: equal answers come from one computation.
async fn compute() -> Result<Bytes> {
    let value = format!("by-{}", std::process::id());
    log(&value);
    // The price of the computation: without protection, time enough for all others to miss as well.
    tokio::time::sleep(Duration::from_millis(100)).await;
    Ok(value.into())
}

/// Look, compute, store.
async fn unprotected(records: Arc<dyn RecordStore>) -> Result<Bytes> {
    if let Some(found) = records.get(&report()).await? {
        return Ok(found.value);
    }
    let value = compute().await?;
    records.put(&report(), value.clone(), Cond::Absent, None).await.ok();
    Ok(value)
}

/// A mark without a lease: whoever does not get it waits for the value.
async fn marked(records: Arc<dyn RecordStore>) -> &'static str {
    if records.put(&report(), "computing".into(), Cond::Absent, None).await.is_ok() {
        log("killed");
        say("COMPUTING");
        return std::future::pending().await;
    }
    let end = Instant::now() + LEASE * 3;
    while Instant::now() < end {
        let found = records.get(&report()).await.unwrap().unwrap();
        if found.value != "computing" {
            return "SOMETHING";
        }
        records.changed(&report(), Some(found.version), end).await.unwrap();
    }
    "NOTHING"
}

async fn helper() {
    let records = helpers_store().await.records.unwrap();
    let role = told("ROLE");
    match role.as_str() {
        "stuck" => {
            let stuck = async || {
                log("killed");
                say("COMPUTING");
                std::future::pending().await
            };
            cache(records).get_or_compute(&report(), stuck).await.unwrap();
        }
        "marked" => say(&format!("GOT {}", marked(records).await)),
        "callers" | "unprotected" => {
            say("READY");
            std::io::stdin().read_line(&mut String::new()).unwrap();
            let cache = cache(Arc::clone(&records));
            let callers: Vec<_> = (0..TASKS)
                .map(|_| {
                    let (cache, records) = (cache.clone(), Arc::clone(&records));
                    let protected = role == "callers";
                    tokio::spawn(async move {
                        if protected {
                            cache.get_or_compute(&report(), compute).await
                        } else {
                            unprotected(records).await
                        }
                    })
                })
                .collect();
            let mut values = Vec::new();
            for caller in callers {
                values.push(String::from_utf8(caller.await.unwrap().unwrap().to_vec()).unwrap());
            }
            say(&format!("VALUES {}", values.join(" ")));
        }
        role => panic!("no role {role}"),
    }
}

/// Five processes with ten callers each, all let go at the same moment. What they got.
async fn stampede(place: &Place, role: &str) -> Vec<String> {
    let mut processes: Vec<_> = (0..5).map(|_| place.helper(role, role, &[])).collect();
    for process in &mut processes {
        process.expect_line("READY", PATIENCE).await;
    }
    processes.iter_mut().for_each(|process| process.write_line("go"));
    let mut values = Vec::new();
    for process in &mut processes {
        let line = process.expect_line("VALUES", PATIENCE).await;
        values.extend(line.split(' ').map(str::to_owned));
    }
    values
}

async fn fifty_callers_in_five_processes_compute_once(place: Place) {
    let values = stampede(&place, "callers").await;
    assert_eq!(values.len(), 50);
    assert_eq!(BTreeSet::from_iter(&values).len(), 1, "{values:?}");
    assert_eq!(place.lines("callers"), [values[0].clone()], "computed once");
    stampede(&place, "unprotected").await;
    assert!(place.lines("unprotected").len() > 1, "void: no stampede without protection");
}

async fn exactly_one_takes_over_from_a_killed_leader(place: Place) {
    let mut killed = place.helper("stuck", "ran", &[]);
    killed.expect_line("COMPUTING", PATIENCE).await;
    let mut callers = Vec::new();
    for _ in 0..4 {
        let pauses = PauseDir::new();
        pauses.hold("turn.wait");
        let mut process = place.helper("callers", "ran", &[pauses.variable()]);
        process.expect_line("READY", PATIENCE).await;
        process.write_line("go");
        pauses.reached("turn.wait", PATIENCE).await; // it has seen that somebody computes
        callers.push((process, pauses));
    }
    killed.kill();
    let mut values = Vec::new();
    for (_, pauses) in &callers {
        pauses.release("turn.wait");
    }
    for (process, _) in &mut callers {
        let line = process.expect_line("VALUES", PATIENCE).await;
        values.extend(line.split(' ').map(str::to_owned));
    }
    assert_eq!(values.len(), 4 * TASKS);
    assert_eq!(BTreeSet::from_iter(&values).len(), 1, "{values:?}");
    assert_eq!(place.lines("ran"), ["killed".to_owned(), values[0].clone()], "exactly one other computed");

    let mut killed = place.helper("marked", "control", &[]);
    killed.expect_line("COMPUTING", PATIENCE).await;
    killed.kill();
    let mut waiting = place.helper("marked", "control", &[]);
    let got = waiting.expect_line("GOT", PATIENCE).await;
    assert_eq!(got, "NOTHING", "void: a mark without a lease freed the others");
}
