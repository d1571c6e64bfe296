//! `Once` with initialisers that are killed and stopped.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::sync::Arc;

use stanchion_core::{Cond, ErrorKind, Key, Once, RecordStore, Wait};
use stanchion_testkit::pause::PauseDir;
use stanchion_testkit::process::Child;

use super::engine::{LEASE, PATIENCE, Place, answer, helpers_store, key, log, say, told};

on_every_engine!(a_killed_initialiser_is_replaced_by_one_of_those_who_wait, a_stopped_initialiser_cannot_record);

fn once(records: Arc<dyn RecordStore>) -> Once {
    Once::shared(records).lease(LEASE).unwrap().wait(Wait::For(PATIENCE))
}

fn schema() -> Key {
    key("schema")
}

/// The usual recipe, as a control: a mark that is set before the work.
async fn mark(records: &dyn RecordStore) -> bool {
    match records.put(&schema(), "initialised".into(), Cond::Absent, None).await {
        Ok(_) => true,
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::Conflict, "{e}");
            false
        }
    }
}

async fn helper() {
    let records = helpers_store().await.records.unwrap();
    let started = || {
        log("stuck");
        say("STARTED");
    };
    match told("ROLE").as_str() {
        "stuck" => {
            let init = async |_| {
                started();
                std::future::pending().await
            };
            answer(once(records).run(&schema(), init).await);
        }
        "caller" => {
            let init = async |_| {
                log(&told("NAME"));
                Ok(told("NAME").into())
            };
            answer(once(records).run(&schema(), init).await);
        }
        "mark-and-stuck" => {
            assert!(mark(&*records).await);
            started();
            std::future::pending().await
        }
        "claim-and-write-over" => {
            records.put(&schema(), "busy".into(), Cond::Absent, None).await.unwrap();
            say("STARTED");
            std::io::stdin().read_line(&mut String::new()).unwrap();
            let newest = records.get(&schema()).await.unwrap().unwrap().version;
            records.put(&schema(), "stale".into(), Cond::Version(newest), None).await.unwrap();
            say("WRITTEN");
        }
        role => panic!("no role {role}"),
    }
}

/// A caller that has seen whose turn it is, and is held before it waits.
async fn waiting_caller(place: &Place, name: &str) -> (Child, PauseDir) {
    let pauses = PauseDir::new();
    pauses.hold("turn.wait");
    let child = place.helper("caller", "ran", &[("NAME", name), pauses.variable()]);
    pauses.reached("turn.wait", PATIENCE).await;
    (child, pauses)
}

async fn a_killed_initialiser_is_replaced_by_one_of_those_who_wait(place: Place) {
    let mut killed = place.helper("stuck", "ran", &[]);
    killed.expect_line("STARTED", PATIENCE).await;
    let mut callers = Vec::new();
    for name in ["a", "b", "c"] {
        callers.push(waiting_caller(&place, name).await);
    }
    killed.kill();
    let mut values = Vec::new();
    for (_, pauses) in &callers {
        pauses.release("turn.wait");
    }
    for (caller, _) in &mut callers {
        values.push(caller.expect_line("VALUE", PATIENCE).await);
    }

    let once = once(place.records().await);
    let recorded = String::from_utf8(once.get(&schema()).await.unwrap().unwrap().to_vec()).unwrap();
    assert!(values.iter().all(|value| *value == recorded), "{values:?}, but {recorded} is recorded");
    let late = once.run(&schema(), async |_| panic!("it is done")).await.unwrap();
    assert_eq!(late, recorded.as_bytes());
    assert_eq!(place.lines("ran"), ["stuck", recorded.as_str()], "the killed one, and one other to its end");

    let mut killed = place.helper("mark-and-stuck", "control", &[]);
    killed.expect_line("STARTED", PATIENCE).await;
    killed.kill();
    // Longer than what it took above.
    tokio::time::sleep(LEASE * 2).await;
    let finished = mark(&*place.records().await).await || place.lines("control") != ["stuck"];
    assert!(!finished, "void: a mark without a lease was finished by somebody");
}

async fn a_stopped_initialiser_cannot_record(place: Place) {
    let pauses = PauseDir::new();
    pauses.hold("turn.before-record");
    let mut stale = place.helper("caller", "ran", &[("NAME", "stale"), pauses.variable()]);
    pauses.reached("turn.before-record", PATIENCE).await; // its initialiser is done
    stale.pause();
    pauses.release("turn.before-record");
    let mut fresh = place.helper("caller", "ran", &[("NAME", "fresh")]);
    assert_eq!(fresh.expect_line("VALUE", PATIENCE).await, "fresh");
    stale.resume();
    let refused = stale.expect_line("FAILED", PATIENCE).await;
    assert!(refused.starts_with("LEASE_LOST"), "{refused}");
    let records = place.records().await;
    assert_eq!(once(Arc::clone(&records)).get(&schema()).await.unwrap().unwrap(), "fresh");
    assert_eq!(place.lines("ran"), ["stale", "fresh"]);

    let mut stale = place.helper("claim-and-write-over", "control", &[]);
    stale.expect_line("STARTED", PATIENCE).await;
    stale.pause();
    stale.write_line("write"); // it lies in the pipe when it wakes up
    let claimed = records.get(&schema()).await.unwrap().unwrap().version;
    records.put(&schema(), "fresh".into(), Cond::Version(claimed), None).await.unwrap();
    stale.resume();
    stale.expect_line("WRITTEN", PATIENCE).await;
    let kept = records.get(&schema()).await.unwrap().unwrap().value;
    assert_eq!(kept, "stale", "void: a blind write did not replace the result that others got");
}
