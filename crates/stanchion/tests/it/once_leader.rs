//! `run --once KEY` and `run --leader NAME`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use stanchion_testkit::engines::Redis;
use stanchion_testkit::eventually_sync;

use crate::support::{Home, PATIENCE, Running, Said};

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
fn a_shared_lock_beside_it_lets_nobody_run_a_once_only_command_twice() {
    let home = Home::new();
    for (key, mode) in [("a", &["--shared"][..]), ("b", &["--slots", "4"])] {
        let lock = format!("page-{key}");
        let first = home.hold(&lock, &[mode, &["--once", key]].concat());
        let run = |extra: &[&str]| home.output(&[&["run", "--lock", &lock], mode, extra].concat());
        run(&["--once", key, "--wait", "0", "--", "true"]).exits(75);
        // The named lock is shared, as asked.
        run(&["--wait", "0", "--", "true"]).exits(0);
        first.finish().exits(0);
        run(&["--once", key, "--", "false"]).exits(0).says("done before");
    }
}

/// A command that writes each term's fence into `file`, and never ends by itself.
fn term(file: &std::path::Path) -> String {
    format!("echo $STANCHION_FENCE >> {0}; while :; do sleep 0.02; done", file.display())
}

fn terms(file: &std::path::Path) -> Vec<u64> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| line.parse().expect("a fence")).collect()
}

/// Reads what it says until it has said `word`; returns all of it.
fn until_it_says(lines: &mut impl BufRead, word: &str) -> String {
    let mut said = String::new();
    while !said.contains(word) {
        assert!(lines.read_line(&mut said).expect("text") > 0, "it never said {word:?}: {said}");
    }
    said
}

#[tokio::test]
async fn a_leader_outlives_an_outage_of_the_store_and_leads_again() {
    let redis = Redis::options().aof(true).start().await;
    let home = Home::with_store(redis.url());
    let file = home.path("terms");
    let args = ["run", "--ttl", "500ms", "--leader", "reports", "--", "sh", "-c", &term(&file)];
    let mut leader = Running(home.command(&args).stderr(Stdio::piped()).spawn().expect("it starts"));
    let mut lines = BufReader::new(leader.0.stderr.take().expect("its stderr is ours"));
    eventually_sync(PATIENCE, "it leads", || terms(&file).len() == 1);
    redis.kill();
    let said = until_it_says(&mut lines, "again until it is back");
    assert!(said.contains("standing again"), "{said}");
    redis.restart().await;
    eventually_sync(PATIENCE, "it leads again", || terms(&file).len() == 2);
    assert!(terms(&file)[1] > terms(&file)[0], "a later term has a higher fence");

    // Away once more, and now it is told to end while it tries.
    redis.kill();
    let said = until_it_says(&mut lines, "again until it is back");
    assert_eq!(said.matches("until it is back").count(), 1, "once for each outage: {said}");
    crate::support::signal(leader.0.id(), "TERM");
    assert_eq!(leader.0.wait().expect("it ends").code(), Some(143));
}

#[tokio::test]
async fn a_leader_that_is_told_to_end_while_it_loses_does_not_stand_again() {
    let redis = Redis::start().await;
    let home = Home::with_store(redis.url());
    let file = home.path("terms");
    let script = format!("trap '' TERM; {}", term(&file));
    let args = ["run", "--ttl", "6s", "--grace", "2s", "--leader", "reports", "--", "sh", "-c", &script];
    let mut leader = Running(home.command(&args).stderr(Stdio::piped()).spawn().expect("it starts"));
    let mut lines = BufReader::new(leader.0.stderr.take().expect("its stderr is ours"));
    eventually_sync(PATIENCE, "it leads", || terms(&file).len() == 1);
    redis.pause();
    until_it_says(&mut lines, "SIGTERM now");
    crate::support::signal(leader.0.id(), "TERM");
    until_it_says(&mut lines, "the lock is lost");
    redis.resume();
    eventually_sync(PATIENCE, "it ends", || leader.0.try_wait().expect("it can be asked").is_some());
    assert_eq!(leader.0.wait().expect("it ends").code(), Some(143));
    assert_eq!(terms(&file).len(), 1, "it has not led again");
}

#[tokio::test]
async fn a_success_that_cannot_be_recorded_is_said() {
    let redis = Redis::start().await;
    let home = Home::with_store(redis.url());
    let (ready, done) = (home.path("ready"), home.path("done"));
    let script = format!(": > {}; while [ ! -e {} ]; do sleep 0.02; done", ready.display(), done.display());
    let args = ["run", "--ttl", "300ms", "--on-lost", "warn", "--once", "k", "--", "sh", "-c", &script];
    let mut process = Running(home.command(&args).stderr(Stdio::piped()).spawn().expect("it starts"));
    let mut lines = BufReader::new(process.0.stderr.take().expect("its stderr is ours"));
    eventually_sync(PATIENCE, "the command runs", || ready.exists());
    redis.kill();
    until_it_says(&mut lines, "the lock is lost");
    std::fs::write(&done, "").expect("the mark");
    until_it_says(&mut lines, "its success is not recorded");
    assert_eq!(process.0.wait().expect("it ends").code(), Some(0));
}

#[test]
fn bad_combinations_are_refused() {
    let home = Home::new();
    home.output(&["run", "--", "true"]).exits(2);
    home.output(&["run", "--once", "a", "--leader", "b", "--", "true"]).exits(2);
    home.output(&["run", "--leader", "a", "--slots", "2", "--", "true"]).exits(2);
    home.output(&["run", "--once", "a", "--shared", "--", "true"]).exits(2).says("--lock");
    home.output(&["run", "--once", "a", "--slots", "2", "--", "true"]).exits(2).says("--lock");
    home.output(&["run", "--once", "", "--", "true"]).exits(2).says("empty");
    let files = format!("file:{}", home.path("locks").display());
    home.output(&["--store", &files, "run", "--once", "a", "--", "true"]).exits(78).says("keeps no records");
}
