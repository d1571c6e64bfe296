//! The SQL guard on real tables, from plain SQL and from other languages.

use std::process::Command;

use stanchion_core::Owner;
use stanchion_testkit::engines::Postgres;
use tokio_postgres::Client;

use super::{open, plain, request};
use crate::common::example::guards;

/// A server with one protected account of 100.
async fn account() -> (Postgres, Client) {
    let server = Postgres::start().await;
    let client = plain(&server.url()).await;
    let install = std::fs::read_to_string(guards("postgres").join("install.sql")).unwrap();
    client.batch_execute(&install).await.unwrap();
    client.batch_execute(&install).await.expect("it runs again without harm");
    let setup = "CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL, extra json);
        INSERT INTO accounts VALUES (1, 100, '{}');
        SELECT stanchion_guard.protect('public.accounts')";
    client.batch_execute(setup).await.unwrap();
    (server, client)
}

async fn touch(client: &Client, fence: i64, lease: &str) -> Result<i32, String> {
    let sql = format!("UPDATE accounts SET fence = {fence}, fence_lease = '{lease}' WHERE id = 1 RETURNING balance");
    client.query_one(&sql, &[]).await.map(|row| row.get(0)).map_err(refusal)
}

async fn write(client: &Client, fence: i64, lease: &str, balance: i32) -> Result<(), String> {
    let sql = format!(
        "BEGIN; SELECT stanchion_guard.hold({fence}, '{lease}'); UPDATE accounts SET balance = {balance} WHERE id = 1; COMMIT"
    );
    let done = client.batch_execute(&sql).await.map_err(refusal);
    if done.is_err() {
        client.batch_execute("ROLLBACK").await.unwrap();
    }
    done
}

/// SQLSTATE and detail.
fn refusal(e: tokio_postgres::Error) -> String {
    let e = e.as_db_error().expect("the server answered");
    format!("{} {}", e.code().code(), e.detail().unwrap_or(""))
}

async fn balance(client: &Client) -> i32 {
    client.query_one("SELECT balance FROM accounts WHERE id = 1", &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn a_stale_writer_is_refused_and_told_the_floor() {
    let (_server, client) = account().await;
    // The seven steps: A takes 1 and reads; its lease expires; B takes 2 and reads; A writes; B writes.
    let (a, b) = (touch(&client, 1, "aa").await.unwrap(), touch(&client, 2, "bb").await.unwrap());
    assert_eq!(write(&client, 1, "aa", a - 10).await.unwrap_err(), "SF001 floor=2");
    write(&client, 2, "bb", b - 20).await.unwrap();
    assert_eq!(balance(&client).await, 80);
    assert_eq!(touch(&client, 1, "aa").await.unwrap_err(), "SF001 floor=2");
    assert_eq!(touch(&client, 2, "cc").await.unwrap_err(), "SF001 floor=2", "one number, another owner");
    assert_eq!(touch(&client, 2, "bb").await.unwrap(), 80, "the holder may read again");
}

/// The control: the textbook rule, which compares on writes only, accepts both and loses the first.
#[tokio::test]
async fn the_write_only_guard_loses_an_update() {
    let (_server, client) = account().await;
    client.batch_execute("SELECT stanchion_guard.unprotect('accounts')").await.unwrap();
    let read = || balance(&client);
    let write = |fence: i64, balance: i32| {
        let client = &client;
        async move {
            let sql = "UPDATE accounts SET balance = $1, fence = $2 WHERE id = 1 AND (fence IS NULL OR fence <= $2)";
            client.execute(sql, &[&balance, &fence]).await.unwrap()
        }
    };
    let (a, b) = (read().await, read().await);
    assert_eq!(write(1, a - 10).await, 1, "accepted and acknowledged");
    assert_eq!(write(2, b - 20).await, 1);
    assert_eq!(balance(&client).await, 80, "two acknowledged withdrawals of 30 together, and only 20 are gone");
}

#[tokio::test]
async fn a_write_without_touch_or_without_token_is_refused() {
    let (_server, client) = account().await;
    assert_eq!(write(&client, 5, "aa", 1).await.unwrap_err(), "SF002 floor=0");
    touch(&client, 5, "aa").await.unwrap();
    let bare = client.batch_execute("UPDATE accounts SET balance = 1").await.map_err(refusal);
    assert_eq!(bare.unwrap_err(), "SF003 floor=5");
    let both = "UPDATE accounts SET balance = 1, fence = 6, fence_lease = 'bb' WHERE id = 1";
    assert_eq!(client.batch_execute(both).await.map_err(refusal).unwrap_err(), "SF002 floor=5");
    let erase = "UPDATE accounts SET fence = NULL, fence_lease = NULL";
    assert_eq!(client.batch_execute(erase).await.map_err(refusal).unwrap_err(), "SF003 ");
    assert_eq!(client.batch_execute("DELETE FROM accounts").await.map_err(refusal).unwrap_err(), "SF003 floor=5");
    client.batch_execute("BEGIN; SELECT stanchion_guard.hold(5, 'aa'); DELETE FROM accounts; COMMIT").await.unwrap();
}

#[tokio::test]
async fn other_languages_use_it_with_a_token_of_ours() {
    let (server, client) = account().await;
    let locks = open(&server.url()).await.locks;
    let mut expected = 100;
    for (program, script) in [("python3", "transfer.py"), ("node", "transfer.mjs")] {
        let grant = locks.try_acquire(&request("account:1"), Owner::random()).await.unwrap();
        let run = |fence: u64| {
            let mut command = Command::new(program);
            command.arg(guards("postgres").join("examples").join(script));
            command.args(["1", &fence.to_string(), &grant.fence.lease_id()]).env("DATABASE_URL", server.url());
            let done = command.output().unwrap_or_else(|e| panic!("{program} is needed for this test: {e}"));
            (done.status.success(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
        };
        expected -= 10;
        assert_eq!(run(grant.fence.number()), (true, format!("{expected}\n")), "{program}");
        let (done, said) = run(grant.fence.number() - 1);
        assert!(!done && said.contains("newer holder"), "{program}: {said}");
        locks.release(&grant).await.unwrap();
    }
    assert_eq!(balance(&client).await, expected);
}

#[tokio::test]
async fn it_installs_and_works_through_psql_alone() {
    let server = Postgres::start().await;
    let psql = |arguments: &[&str]| {
        let done =
            Command::new("psql").arg(server.url()).args(["-qtAX", "-v", "ON_ERROR_STOP=1"]).args(arguments).output();
        let done = done.unwrap_or_else(|e| panic!("psql is needed for this test: {e}"));
        String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).trim().to_owned()
    };
    psql(&["-1", "-f", guards("postgres").join("install.sql").to_str().unwrap()]);
    psql(&["-c", "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)"]);
    psql(&["-c", "SELECT stanchion_guard.protect('t')"]);
    assert_eq!(
        psql(&["-c", "SELECT stanchion_guard.touch_sql('t', 'id')"]),
        "UPDATE t SET fence = $2, fence_lease = $3 WHERE id = $1 RETURNING *"
    );
    psql(&["-c", "UPDATE t SET fence = 9, fence_lease = 'x' WHERE id = 1"]);
    let stale = psql(&["-c", "SELECT stanchion_guard.hold(8, 'y'); UPDATE t SET n = 1"]);
    assert!(stale.contains("stale") && stale.contains("floor=9"), "{stale}");
    psql(&["-c", "SELECT stanchion_guard.hold(9, 'x'); UPDATE t SET n = 1"]);
    assert_eq!(psql(&["-c", "SELECT n FROM t"]), "1");
}
