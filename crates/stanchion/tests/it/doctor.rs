//! `stanchion doctor` on real stores: each planted weakness is found, with its fix.

use serde_json::Value;
use stanchion_testkit::engines::{PgBouncer, PoolMode, Postgres, Redis};

use crate::support::{Home, Said};

/// What doctor says of a store, as programs get it.
fn examined(store: &str, options: &[&str]) -> (Value, Option<i32>) {
    let args: Vec<_> = ["doctor", "--json", "--store", store].into_iter().chain(options.iter().copied()).collect();
    let said = Home::new().output(&args);
    (serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}")), said.code)
}

/// The one finding of `topic`: its grade, what it says, and its fix.
#[track_caller]
fn finding(report: &Value, topic: &str) -> (String, String, String) {
    let all = report["findings"].as_array().expect("findings");
    let found = all.iter().find(|finding| finding["topic"] == topic);
    let found = found.unwrap_or_else(|| panic!("nothing about {topic} in {report:#}"));
    let text = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
    (text("grade"), text("says"), text("fix"))
}

#[track_caller]
fn grade(report: &Value, topic: &str) -> String {
    finding(report, topic).0
}

#[test]
fn the_embedded_store_is_sound_and_nothing_of_the_trials_stays() {
    let home = Home::new();
    for _ in 0..3 {
        // Not strict: the test's folder may be on a tmpfs, which is weak.
        home.output(&["doctor"]).exits(0).says("SQLite").says("0 broken").says("higher fence");
    }
    home.output(&["lock", "ls"]).exits(0).never_says("doctor");
    let files = std::fs::read_dir(home.path("stanchion.db.locks")).expect("the folder of locks").count();
    assert!(files <= 1, "one more with every visit: {files}");
}

#[test]
fn a_store_of_files_and_one_of_this_process_alone() {
    let home = Home::new();
    let folder = format!("file:{}", home.path("locks").display());
    home.output(&["doctor", "--store", &folder]).exits(0).says("kernel locks").says("it only locks");
    let (report, code) = examined("memory:", &["--strict"]);
    assert_eq!((code, grade(&report, "sharing").as_str(), &report["backend"]), (Some(3), "weak", &"memory".into()));
    assert_eq!(examined("memory:", &[]).1, Some(0), "weak is an error only if asked for");
}

#[test]
fn a_file_that_everybody_may_read_and_a_damaged_one_are_found() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let store = format!("sqlite:{}", home.path("x.db").display());
    home.output(&["doctor", "--store", &store]).exits(0);
    std::fs::set_permissions(home.path("x.db"), std::fs::Permissions::from_mode(0o644)).expect("our own file");
    home.output(&["doctor", "--store", &store, "--strict"]).exits(3).says("chmod o-r");
    std::fs::write(home.path("y.db"), "this is no database, but long enough to be read as one").expect("our own file");
    let damaged = format!("sqlite:{}", home.path("y.db").display());
    home.output(&["doctor", "--store", &damaged]).exits(78).says("open").says("broken");
}

#[tokio::test]
async fn a_redis_that_forgets_or_evicts_is_found() {
    let sound = Redis::options().aof(true).start().await;
    let (report, code) = examined(&sound.url(), &["--strict"]);
    assert_eq!((code, report["grade"].as_str()), (Some(0), Some("ok")), "{report:#}");
    assert_eq!(report["store"], sound.url());
    for topic in ["version", "role", "persistence", "eviction", "replication", "clock", "latency", "locks", "records"] {
        assert_eq!(grade(&report, topic), "ok", "{report:#}");
    }

    let forgets = Redis::start().await;
    let (report, code) = examined(&forgets.url(), &[]);
    let (grade_, says, fix) = finding(&report, "persistence");
    assert_eq!((code, grade_.as_str()), (Some(0), "weak"));
    assert!(says.contains("forgets") && fix.contains("appendfsync always"), "{says} / {fix}");
    assert_eq!(examined(&forgets.url(), &["--strict"]).1, Some(3));

    let evicts =
        Redis::options().aof(true).arg("--maxmemory").arg("100mb").arg("--maxmemory-policy").arg("allkeys-lru");
    let evicts = evicts.start().await;
    let (report, code) = examined(&evicts.url(), &[]);
    let (grade_, _, fix) = finding(&report, "eviction");
    assert_eq!((code, grade_.as_str()), (Some(1), "broken"), "{report:#}");
    assert!(fix.contains("noeviction"), "{fix}");
}

#[tokio::test]
async fn replicas_are_seen_from_both_sides() {
    let primary = Redis::options().aof(true).start().await;
    let port = primary.port().to_string();
    let replica = Redis::options().aof(true).arg("--replicaof").arg("127.0.0.1").arg(&port).start().await;
    let home = Home::new();
    stanchion_testkit::eventually_sync(crate::support::PATIENCE, "the replica is connected", || {
        home.output(&["doctor", "--store", &primary.url()]).out.contains("online 0 bytes behind")
    });
    let (report, _) = examined(&primary.url(), &[]);
    assert_eq!(grade(&report, "replication"), "weak");
    let (report, code) = examined(&replica.url(), &[]);
    let (grade_, _, fix) = finding(&report, "role");
    assert_eq!((code, grade_.as_str()), (Some(1), "broken"), "{report:#}");
    assert!(fix.contains(&port), "{fix}");
    assert_eq!(grade(&report, "locks"), "broken", "the trial is real: a replica takes no writes");
}

#[tokio::test]
async fn a_postgres_without_fsync_and_one_behind_a_pooler_are_found() {
    let sound = Postgres::options().fsync(true).start().await;
    let (report, code) = examined(&sound.url(), &["--strict"]);
    assert_eq!((code, report["grade"].as_str()), (Some(0), Some("ok")), "{report:#}");
    for topic in ["version", "persistence", "replication", "pooler", "timeouts", "clock", "locks", "records"] {
        assert_eq!(grade(&report, topic), "ok", "{report:#}");
    }

    let pooler = PgBouncer::start(&sound, PoolMode::Transaction).await;
    let (report, code) = examined(&pooler.url(), &[]);
    let (grade_, _, fix) = finding(&report, "pooler");
    assert_eq!((code, grade_.as_str()), (Some(0), "weak"), "{report:#}");
    assert!(fix.contains("listen_url"), "{fix}");
    let (report, _) = examined(&format!("{}?listen_url={}", pooler.url(), sound.url()), &[]);
    assert_eq!(grade(&report, "pooler"), "ok", "{report:#}");

    let careless = Postgres::options().setting("statement_timeout=1s").start().await;
    let (report, code) = examined(&careless.url(), &[]);
    let (grade_, says, fix) = finding(&report, "persistence");
    assert_eq!((code, grade_.as_str()), (Some(1), "broken"), "{report:#}");
    assert!(says.contains("fsync=off") && fix.contains("fsync = on"), "{says} / {fix}");
    assert_eq!(grade(&report, "timeouts"), "weak");
}

#[tokio::test]
async fn who_cannot_be_reached_or_refuses_us_has_its_own_code_and_no_secret_is_shown() {
    let redis = Redis::options().password("right").start().await;
    let postgres = Postgres::start().await;
    for (store, code, topic_says) in [
        ("redis://:hunter2@127.0.0.1:1/".to_owned(), 69, "reached"),
        ("postgres://app:hunter2@127.0.0.1:1/app".to_owned(), 69, "reached"),
        (format!("redis://:hunter2@127.0.0.1:{}/", redis.port()), 78, "password"),
        (postgres.url_with_password("hunter2"), 78, "password"),
    ] {
        let human = Home::new().output(&["doctor", "--store", &store]).exits(code).never_says("hunter2");
        human.says("open").says("broken").says("fix:").says(topic_says);
        let (report, ended) = examined(&store, &[]);
        assert_eq!(ended, Some(code));
        assert_eq!((report["grade"].as_str(), grade(&report, "open").as_str()), (Some("broken"), "broken"));
        assert!(!report.to_string().contains("hunter2") && report.to_string().contains("***"), "{report}");
    }
}

#[test]
fn a_store_whose_calls_fail_is_not_called_sound() {
    let home = Home::new();
    let said: Said = home.output(&["--chaos", "error=1,seed=1", "doctor"]).exits(1);
    let said = said.says("broken");
    assert!(said.out.lines().any(|line| line.contains("locks") && line.contains("broken")), "{said:?}");
}

#[test]
fn what_is_wrong_with_the_url_is_said_before_anything_is_tried() {
    let home = Home::new();
    home.output(&["doctor", "--store", "nowhere"]).exits(78).says("scheme");
    home.output(&["doctor", "--store", "redis://h/?tpyo=1"]).exits(78).says("tpyo");
    home.output(&["help", "doctor"]).exits(0).says("--strict").says("Exit codes").says("without secrets");
    home.output(&["help", "exit-codes"]).exits(0).says("doctor --strict");
    home.output(&["help", "stores"]).exits(0).says("START HERE").says("BY NEED").says("etcd:");
}
