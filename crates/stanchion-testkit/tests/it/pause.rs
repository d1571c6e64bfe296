use std::time::Duration;

use stanchion_testkit::pause::{PauseDir, hold, hold_all, pause_point};
use stanchion_testkit::process::{self, Child};

const PATIENCE: Duration = Duration::from_secs(20);
const BLINK: Duration = Duration::from_millis(100);

#[tokio::test]
async fn the_first_task_is_held_and_the_second_overtakes() {
    let held = hold("test.first");
    let first = tokio::spawn(pause_point("test.first"));
    held.reached(PATIENCE).await;
    tokio::time::timeout(PATIENCE, pause_point("test.first")).await.unwrap();
    assert_eq!(held.arrivals(), 1);
    assert!(!first.is_finished());
    held.release();
    tokio::time::timeout(PATIENCE, first).await.unwrap().unwrap();
    tokio::time::timeout(PATIENCE, pause_point("test.first")).await.unwrap();
}

#[tokio::test]
async fn everybody_is_held_until_the_holder_is_dropped() {
    let held = hold_all("test.all");
    let mut tasks: Vec<_> = (0..3).map(|_| tokio::spawn(pause_point("test.all"))).collect();
    stanchion_testkit::eventually(PATIENCE, "all three wait", || async { held.arrivals() == 3 }).await;
    assert!(tokio::time::timeout(BLINK, &mut tasks[0]).await.is_err());
    drop(held);
    for task in tasks {
        tokio::time::timeout(PATIENCE, task).await.unwrap().unwrap();
    }
}

#[tokio::test]
#[should_panic(expected = "nobody reached \"test.never\"")]
async fn waiting_for_nobody_fails_with_the_name() {
    hold("test.never").reached(BLINK).await;
}

#[tokio::test]
async fn another_process_is_held_through_files() {
    if process::is_helper() {
        pause_point("test.free").await;
        pause_point("test.process").await;
        println!("\nPASSED");
        return;
    }
    let pauses = PauseDir::new();
    pauses.hold("test.process");
    let mut helper = Child::rerun_this_test_with(&[pauses.variable()]);
    pauses.reached("test.process", PATIENCE).await;
    let passed = tokio::time::timeout(BLINK, helper.expect_line("PASSED", PATIENCE)).await;
    assert!(passed.is_err());
    pauses.release("test.process");
    helper.expect_line("PASSED", PATIENCE).await;
}
