//! `lock ls|show|release` and `why`.

use stanchion_testkit::engines::Redis;
use stanchion_testkit::eventually_sync;

use crate::support::{Home, PATIENCE};

#[test]
fn a_listing_shows_who_holds_what() {
    let home = Home::new();
    home.output(&["lock", "ls"]).exits(0).says("no locks are held");
    let holding = home.hold("deploy", &[]);
    let pid = holding.pid().to_string();
    home.output(&["lock", "ls"]).exits(0).says("deploy").says(&pid).says("exclusive");
    let said = home.output(&["lock", "ls", "--json"]).exits(0);
    let value: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(value[0]["lock"], "deploy");
    assert_eq!(value[0]["holders"][0]["pid"], holding.pid());
    home.output(&["lock", "ls", "other"]).exits(0).says("no locks are held");
    home.output(&["lock", "show", "deploy"]).exits(0).says(&format!("ask pid {pid}"));
    holding.finish().exits(0);
    home.output(&["why", "deploy"]).exits(0).says("is free");
}

#[test]
fn a_kernel_lock_cannot_be_taken_away_and_the_error_says_whom_to_ask() {
    let home = Home::new();
    let holding = home.hold("deploy", &[]);
    home.output(&["lock", "release", "deploy", "--reason", "x"]).exits(78).says(&holding.pid().to_string());
    assert!(holding.child_lives());
}

#[tokio::test]
async fn why_names_those_in_line() {
    let redis = Redis::start().await;
    let home = Home::with_store(redis.url());
    let holding = home.hold("deploy", &[]);
    let mut waiter = home.command(&["run", "-q", "--lock", "deploy", "--", "true"]).spawn().expect("stanchion starts");
    let pid = format!("pid {}", waiter.id());
    eventually_sync(PATIENCE, "the waiter is in line", || home.output(&["why", "deploy"]).out.contains(&pid));
    home.output(&["why", "deploy"]).exits(0).says("in line").says(&format!("pid {}", holding.pid()));
    holding.finish().exits(0);
    assert!(waiter.wait().expect("it ends").success());
}
