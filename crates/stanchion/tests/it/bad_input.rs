//! Bad input gets a clear error, a documented exit code, and loses nothing.

use stanchion_testkit::engines::{Postgres, Redis};

use crate::support::Home;

#[test]
fn keys_and_times_outside_their_range_are_refused_with_the_range() {
    let home = Home::new();
    let long = "x".repeat(513);
    for key in ["", long.as_str(), "a\nb", "a\u{7f}"] {
        home.output(&["run", "--lock", key, "--", "true"]).exits(2).says("1 to 512 bytes");
    }
    for ttl in ["0", "0s", "49ms", "25h", "9999999999999h"] {
        let said = home.output(&["run", "--lock", "a", "--ttl", ttl, "--", "true"]);
        assert!(matches!(said.code, Some(2 | 78)), "{said:?}");
    }
    home.output(&["run", "--lock", "a", "--ttl=-5s", "--", "true"]).exits(2).says("whole number and a unit");
    home.output(&["run", "--lock", "a", "--ttl", "10", "--", "true"]).exits(2).says("whole number and a unit");
    home.output(&["run", "--lock", "a", "--slots", "0", "--", "true"]).exits(78).says("1 to 1024");
    home.output(&["run", "--lock", "a", "--durability", "eternal", "--", "true"]).exits(2).says("process, power");
    home.output(&["run", "--lock", "a-b", "--lock", "a_b", "--", "true"]).exits(78).says("STANCHION_FENCE_A_B");
    home.output(&["run", "--lock", "a", "--wiat", "5s", "--", "true"]).exits(2).says("--wiat");
    home.output(&["run", "--", "true"]).exits(2).says("--lock");
    home.output(&["run", "--lock", "a"]).exits(2).says("CMD");
    home.output(&["run", "--status-fd", "99", "--lock", "a", "--", "true"]).exits(78).says("--status-fd");
    home.output(&["--store", "memory:", "run", "--lock", "a", "--", "sh", "-c", "exit 3"]).exits(3);
}

/// Not taken for the command, whose arguments may look like anything.
#[test]
fn a_wrong_flag_before_a_command_is_named_with_the_nearest_one_and_nothing_runs() {
    let home = Home::new();
    let ran = home.path("ran");
    let command = ["touch", ran.to_str().expect("a plain path")];
    for (flags, wrong, near) in [
        (&["run", "--lok", "a"][..], "--lok", "--lock"),
        (&["run", "--lok=a"], "--lok", "--lock"),
        (&["run", "--lock", "a", "--wiat", "5s"], "--wiat", "--wait"),
        (&["run", "--lock", "a", "--sotre", "memory:"], "--sotre", "--store"),
        (&["wrap", "--polcy", "@read-only"], "--polcy", "--policy"),
        (&["wrap", "--name", "a", "--max-hodl=1m"], "--max-hodl", "--max-hold"),
    ] {
        for dashes in [&["--"][..], &[]] {
            let said = home.output(&[flags, dashes, &command].concat());
            said.exits(2).says(&format!("unknown option '{wrong}'")).says(&format!("'{near}'"));
        }
    }
    home.output(&["run", "--lock", "a", "-x", "--", "true"]).exits(2).says("unknown option '-x'");
    assert!(!ran.exists());
    for dashes in [&["--"][..], &[]] {
        let said = home.output(&[&["run", "--lock", "a"], dashes, &["echo", "--lok", "-x", "--help", "--"]].concat());
        assert_eq!(said.exits(0).out, "--lok -x --help --\n");
    }
}

#[test]
fn an_unknown_store_is_refused_with_the_list() {
    let home = Home::new();
    home.output(&["lock", "ls", "--store", "reddis://h"]).exits(78).says("redis:").says("reddis");
    home.output(&["lock", "ls", "--store", "nothing"]).exits(78).says("scheme");
    home.output(&["lock", "ls", "--store", "redis://h/?tyop=1"]).exits(78).says("tyop");
    home.output(&["lock", "ls", "--store", "file:/proc/nowhere/at/all"]).exits(78).says("/proc/nowhere");
}

#[test]
fn a_state_folder_that_cannot_be_made_is_named() {
    let home = Home::new();
    let file = home.path("file");
    std::fs::write(&file, "").expect("a file");
    let inside = file.join("state");
    let mut command = home.command(&["run", "--lock", "a", "--", "true"]);
    let output = command.env("STANCHION_HOME", &inside).output().expect("stanchion starts");
    let said = crate::support::Said::from(output).exits(78).says("STANCHION_HOME");
    said.says(&inside.display().to_string());
}

#[test]
fn an_engine_that_is_not_there_gives_69_without_the_password() {
    let home = Home::new();
    for store in ["redis://app:hunter2@127.0.0.1:1/0", "postgres://app:hunter2@127.0.0.1:1/app"] {
        home.output(&["run", "--lock", "a", "--store", store, "--", "true"])
            .exits(69)
            .says("127.0.0.1")
            .never_says("hunter2");
    }
}

#[tokio::test]
async fn a_wrong_password_gives_78_without_the_password() {
    let redis = Redis::options().password("right").start().await;
    let postgres = Postgres::start().await;
    let home = Home::new();
    let store = format!("redis://:hunter2@127.0.0.1:{}/0", redis.port());
    home.output(&["run", "--lock", "a", "--store", &store, "--", "true"]).exits(78).never_says("hunter2");
    let store = postgres.url_with_password("hunter2");
    home.output(&["run", "--lock", "a", "--store", &store, "--", "true"]).exits(78).never_says("hunter2");
}

#[test]
fn a_damaged_lock_file_is_named_and_left_alone() {
    let home = Home::new();
    home.output(&["run", "--lock", "deploy", "--", "true"]).exits(0);
    let folder = home.path("stanchion.db.locks");
    let entries = std::fs::read_dir(&folder).expect("lock files").filter_map(Result::ok);
    let file = entries
        .map(|entry| entry.path())
        .find(|path| path.to_string_lossy().contains("deploy"))
        .expect("the lock's file");
    let mut bytes = std::fs::read(&file).expect("its content");
    bytes.iter_mut().for_each(|byte| *byte ^= 0x5a);
    std::fs::write(&file, &bytes).expect("the damage");
    home.output(&["run", "--lock", "deploy", "--", "true"]).exits(78).says(&file.display().to_string()).says("hint:");
    assert_eq!(std::fs::read(&file).expect("its content"), bytes, "nothing was changed");
}
