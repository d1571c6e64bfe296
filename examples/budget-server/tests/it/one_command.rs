//! The command in the README.

use std::time::Duration;

use serde_json::json;
use stanchion_testkit::engines::Postgres;
use stanchion_testkit::eventually;
use stanchion_testkit::process::Child;

use crate::site::{Client, PATIENCE, program};

#[tokio::test(flavor = "multi_thread")]
async fn one_command_starts_two_instances_and_they_end_with_it() {
    let postgres = Postgres::start().await;
    let mut command = program();
    command.args(["--instances", "2", "--listen=127.0.0.1:0", "--seed", "a=10", "--seed", "b=0"]);
    let mut all = Child::spawn(command.env("DATABASE_URL", postgres.url()));
    let client = Client::connect(&all.expect_line("READY", PATIENCE).await).await;
    for _ in 0..4 {
        client.call("transfer_budget", json!({ "from": "a", "to": "b", "amount": 1 })).await.done();
    }
    assert_eq!(client.balance("fenced", "b").await, 4);

    let (watcher, connection) = tokio_postgres::connect(&postgres.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let others =
        "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    let count = || async { watcher.query_one(others, &[]).await.unwrap().get::<_, i64>(0) };
    assert!(count().await > 0);
    all.kill();
    eventually(Duration::from_secs(20), "the instances end, too", || async { count().await == 0 }).await;
}

/// What is wrong with the command line is said before anything starts.
#[tokio::test(flavor = "multi_thread")]
async fn bad_options_are_named_and_the_password_is_not() {
    let output = |arguments: &[&str]| {
        let done = program().args(arguments).env_remove("DATABASE_URL").output().unwrap();
        assert!(!done.status.success(), "{arguments:?}");
        String::from_utf8(done.stderr).unwrap()
    };
    assert!(output(&[]).contains("--database"));
    assert!(output(&["--database", "postgres://u:hunter2@h/d", "--lease-ms", "1"]).contains("50..=600000"));
    for url in ["postgres://u:hunter2@127.0.0.1:1/d", "mysql://u:hunter2@h/d", "postgres://u:hunter2@h:x/d"] {
        let said = output(&["--database", url]);
        assert!(said.starts_with("budget-server: ") && !said.contains("hunter2"), "{said}");
    }
    let postgres = Postgres::start().await;
    assert!(output(&["--database", &postgres.url(), "--seed", "lots"]).contains("NAME=CENTS"));
    assert!(output(&["--database", &postgres.url(), "--seed", "lots=-1"]).contains("NAME=CENTS"));
}
