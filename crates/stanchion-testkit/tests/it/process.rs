use std::process::Command;
use std::time::Duration;

use stanchion_testkit::process::{self, Child};

const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_test_can_be_its_own_helper() {
    if process::is_helper() {
        println!("READY {}", std::env::var("WHO").unwrap());
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
        println!("\nGOT {line}");
        return;
    }
    let mut helper = Child::rerun_this_test_with(&[("WHO", "me")]);
    assert_eq!(helper.expect_line("READY", PATIENCE).await, "me");
    helper.write_line("hello");
    assert_eq!(helper.expect_line("GOT", PATIENCE).await, "hello");
    assert!(helper.wait(PATIENCE).await.success());
}

#[tokio::test]
async fn a_frozen_helper_is_silent_until_it_goes_on() {
    let mut cat = Child::spawn(&mut Command::new("cat"));
    cat.pause();
    cat.write_line("a");
    let line = tokio::time::timeout(Duration::from_millis(200), cat.next_line(PATIENCE)).await;
    assert!(line.is_err());
    cat.resume();
    assert_eq!(cat.next_line(PATIENCE).await.as_deref(), Some("a"));
    cat.kill();
    assert_eq!(cat.next_line(PATIENCE).await, None);
    assert!(!cat.wait(PATIENCE).await.success());
}

#[tokio::test]
#[should_panic(expected = "not within 50ms: the moon is made of cheese")]
async fn waiting_in_vain_gives_the_reason() {
    stanchion_testkit::eventually(Duration::from_millis(50), "the moon is made of cheese", || async { false }).await;
}
