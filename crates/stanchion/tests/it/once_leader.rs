//! `run --once KEY` and `run --leader NAME`.

use std::process::Stdio;

use stanchion_testkit::engines::Redis;
use stanchion_testkit::eventually_sync;

use crate::support::{Home, PATIENCE, Said};

#[test]
fn of_many_commands_with_one_key_one_runs_and_all_succeed() {
    let home = Home::new();
    let log = home.path("log");
    let script = format!("echo ran >> {}", log.display());
    let args = ["run", "-q", "--once", "migrate", "--", "sh", "-c", &script];
    let racing: Vec<_> =
        (0..5).map(|_| home.command(&args).stderr(Stdio::piped()).spawn().expect("it starts")).collect();
    for process in racing {
        Said::from(process.wait_with_output().expect("it ends")).exits(0);
    }
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "ran\n");
    home.output(&["run", "--once", "migrate", "--", "false"]).exits(0).says("done before");
    home.output(&["run", "--once", "other", "--", "true"]).exits(0).never_says("done before");
}

#[test]
fn a_command_that_fails_or_is_killed_half_way_is_run_again() {
    let home = Home::new();
    let (log, mark) = (home.path("log"), home.path("mark"));
    home.output(&["run", "--once", "k", "--", "sh", "-c", "exit 3"]).exits(3);
    let script = format!("echo half >> {}; touch {}; exec sleep 100", log.display(), mark.display());
    let mut first = home.command(&["run", "-q", "--once", "k", "--", "sh", "-c", &script]).spawn().expect("it starts");
    eventually_sync(PATIENCE, "the first is half-way", || mark.exists());
    first.kill().expect("kill -9");
    first.wait().expect("it ends");
    let script = format!("echo whole >> {}", log.display());
    home.output(&["run", "-q", "--once", "k", "--", "sh", "-c", &script]).exits(0);
    home.output(&["run", "-q", "--once", "k", "--", "sh", "-c", &script]).exits(0);
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "half\nwhole\n");
}

#[tokio::test]
async fn a_leader_that_was_stopped_loses_its_command_and_stands_again() {
    let redis = Redis::start().await;
    let home = Home::with_store(redis.url());
    let script = |name: &str| {
        let term = home.path(name);
        format!("echo $STANCHION_FENCE >> {0}; while :; do sleep 0.02; done", term.display())
    };
    let terms = |name: &str| -> Vec<u64> {
        let text = std::fs::read_to_string(home.path(name)).unwrap_or_default();
        text.lines().map(|line| line.parse().expect("a fence")).collect()
    };
    let start = |name: &str| {
        let args = ["run", "-q", "--ttl", "500ms", "--leader", "reports", "--", "sh", "-c", &script(name)];
        home.command(&args).stderr(Stdio::null()).spawn().expect("it starts")
    };
    let mut first = start("first");
    eventually_sync(PATIENCE, "the first leads", || terms("first").len() == 1);
    let mut second = start("second");
    crate::support::signal(first.id(), "STOP");
    eventually_sync(PATIENCE, "the second leads", || terms("second").len() == 1);
    assert!(terms("second")[0] > terms("first")[0], "a later term has a higher fence");
    crate::support::signal(first.id(), "CONT");
    home.output(&["lock", "ls"]).exits(0).says("leader:reports");
    second.kill().expect("kill -9");
    second.wait().expect("it ends");
    eventually_sync(PATIENCE, "the first leads again", || terms("first").len() == 2);
    assert!(terms("first")[1] > terms("second")[0]);
    first.kill().expect("kill -9");
    first.wait().expect("it ends");
}

#[test]
fn bad_combinations_are_refused() {
    let home = Home::new();
    home.output(&["run", "--", "true"]).exits(2);
    home.output(&["run", "--once", "a", "--leader", "b", "--", "true"]).exits(2);
    home.output(&["run", "--leader", "a", "--slots", "2", "--", "true"]).exits(2);
    home.output(&["run", "--once", "", "--", "true"]).exits(2).says("empty");
    let files = format!("file:{}", home.path("locks").display());
    home.output(&["--store", &files, "run", "--once", "a", "--", "true"]).exits(78).says("keeps no records");
}
