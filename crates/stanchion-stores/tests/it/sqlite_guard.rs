//! The SQLite guard, on a real database: the table itself refuses a holder whose lock has passed on.

#![expect(clippy::unwrap_used, reason = "a test that fails here says where")]

use std::process::Command;

use rusqlite::{Connection, params};
use stanchion_testkit::engines::Skip;

const INSTALL: &str = include_str!("../../guards/sqlite/install.sql");
const README: &str = include_str!("../../guards/sqlite/README.md");

/// A holder's token.
#[derive(Clone, Copy)]
struct Token(i64, &'static str);

const A: Token = Token(1, "00000000000000aa");
const B: Token = Token(2, "00000000000000bb");

fn accounts() -> Connection {
    let db = Connection::open_in_memory().unwrap();
    db.execute_batch(
        "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL); INSERT INTO accounts VALUES (1, 0)",
    )
    .unwrap();
    db
}

fn guarded() -> Connection {
    let db = accounts();
    db.execute_batch(&INSTALL.replace("{table}", "accounts").replace("{key}", "id")).unwrap();
    db
}

/// The README's own statements are the ones that are tested.
fn from_readme(after: &str) -> String {
    let rest = &README[README.find(after).unwrap()..];
    let block = rest.split("```sql\n").nth(1).unwrap();
    block.split("```").next().unwrap().trim().to_owned()
}

/// Whether the touch was accepted, the floor, and the balance.
fn touch(db: &Connection, token: Token) -> (bool, i64, Option<i64>) {
    let named = rusqlite::named_params! { ":id": 1, ":number": token.0, ":nonce": token.1 };
    db.query_row(&from_readme("**Touch"), named, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap()
}

fn write(db: &Connection, token: Token, balance: i64) -> Result<usize, String> {
    let named = rusqlite::named_params! { ":id": 1, ":number": token.0, ":nonce": token.1, ":balance": balance };
    db.execute(&from_readme("**Write"), named).map_err(|e| e.to_string())
}

fn balance(db: &Connection) -> i64 {
    db.query_row("SELECT balance FROM accounts WHERE id = 1", [], |row| row.get(0)).unwrap()
}

/// A acquires and reads; its lease ends; B acquires and reads; A writes; B writes.
/// Returns how many writes were acknowledged, and what is left.
fn seven_steps(
    db: &Connection,
    read: impl Fn(&Connection, Token) -> i64,
    write: impl Fn(&Connection, Token, i64) -> Result<usize, String>,
) -> (i64, i64) {
    let seen_by_a = read(db, A);
    let seen_by_b = read(db, B);
    let acknowledged = [write(db, A, seen_by_a + 1), write(db, B, seen_by_b + 1)];
    (acknowledged.iter().filter(|written| written.is_ok()).count().try_into().unwrap(), balance(db))
}

#[test]
fn the_stale_writer_is_refused_in_the_seven_steps() {
    let db = guarded();
    let (acknowledged, kept) = seven_steps(&db, |db, token| touch(db, token).2.unwrap(), write);
    assert_eq!((acknowledged, kept), (1, 1));
}

/// The control: if this stops losing the update, the schedule no longer shows anything.
#[test]
fn a_guard_on_writes_only_loses_an_update_in_the_seven_steps() {
    let db = accounts();
    db.execute_batch("ALTER TABLE accounts ADD COLUMN fence INTEGER NOT NULL DEFAULT 0").unwrap();
    let (acknowledged, kept) = seven_steps(
        &db,
        |db, _| balance(db),
        |db, token, balance| {
            let sql = "UPDATE accounts SET balance = ?1, fence = ?2 WHERE id = 1 AND fence <= ?2";
            match db.execute(sql, params![balance, token.0]) {
                Ok(1) => Ok(1),
                other => Err(format!("{other:?}")),
            }
        },
    );
    assert_eq!((acknowledged, kept), (2, 1), "two acknowledged, one kept");
}

#[test]
fn a_refused_touch_tells_the_floor() {
    let db = guarded();
    assert_eq!(touch(&db, B), (true, 2, Some(0)));
    assert_eq!(touch(&db, A), (false, 2, Some(0)));
    assert_eq!(touch(&db, B), (true, 2, Some(0)), "the same holder may touch again");
    let same_number = Token(2, "00000000000000cc");
    assert_eq!(touch(&db, same_number), (false, 2, Some(0)), "the nonce counts");
    assert!(write(&db, same_number, 5).unwrap_err().contains("fence rejected"));
    let floor: i64 =
        db.query_row(&from_readme("A refused write"), rusqlite::named_params! { ":id": 1 }, |row| row.get(0)).unwrap();
    assert_eq!(floor, 2);
}

#[test]
fn no_write_passes_without_its_own_token() {
    let db = guarded();
    let refused = |sql: &str| db.execute(sql, []).unwrap_err().to_string();
    assert!(refused("UPDATE accounts SET balance = 5").contains("fence rejected"), "never touched");
    touch(&db, A);
    write(&db, A, 7).unwrap();
    for sql in [
        "UPDATE accounts SET balance = 5",
        "UPDATE accounts SET balance = 5, stanchion_token = NULL",
        "UPDATE accounts SET balance = 5, stanchion_token = 'x'",
        "DELETE FROM accounts",
        "INSERT INTO accounts (id, balance) VALUES (2, 1)",
        "INSERT OR REPLACE INTO accounts (id, balance) VALUES (1, 1)",
        "UPDATE accounts SET id = 2, stanchion_token = '1-00000000000000aa'",
    ] {
        assert!(refused(sql).contains("fence rejected"), "{sql}");
    }
    assert!(refused("DELETE FROM stanchion_fence").contains("cannot be removed"));
    assert!(refused("UPDATE stanchion_fence SET number = 0").contains("cannot be lowered"));
    assert_eq!(balance(&db), 7);
}

#[test]
fn a_delete_is_marked_by_its_holder_and_dies_with_the_mark() {
    let db = guarded();
    let statements = from_readme("**Delete");
    let (mark, delete) = statements.split_once(";\n").unwrap();
    let delete = delete.trim_end_matches(';');
    touch(&db, A);
    db.execute(mark, rusqlite::named_params! { ":id": 1, ":number": A.0, ":nonce": A.1 }).unwrap();
    for sql in ["UPDATE accounts SET balance = 9", "UPDATE accounts SET balance = 9, stanchion_token = NULL"] {
        assert!(db.execute(sql, []).is_err(), "the mark is no pass: {sql}");
    }
    touch(&db, B);
    let named = rusqlite::named_params! { ":id": 1 };
    assert!(db.execute(delete, named).is_err(), "A's mark is worth nothing once B has touched");
    db.execute(mark, rusqlite::named_params! { ":id": 1, ":number": B.0, ":nonce": B.1 }).unwrap();
    assert_eq!(db.execute(delete, named).unwrap(), 1);
    assert_eq!(touch(&db, A), (false, 2, None), "the floor outlives the row");
}

#[test]
fn an_insert_carries_its_token() {
    let db = guarded();
    db.execute("INSERT INTO stanchion_fence VALUES ('accounts:2', 5, '00000000000000aa')", []).unwrap();
    db.execute("INSERT INTO accounts (id, balance, stanchion_token) VALUES (2, 1, '5-00000000000000aa')", []).unwrap();
    let at_rest: Option<String> =
        db.query_row("SELECT stanchion_token FROM accounts WHERE id = 2", [], |row| row.get(0)).unwrap();
    assert_eq!(at_rest, None);
}

/// The README's Python program, with Python's own SQLite. Says so if there is no Python here.
#[test]
fn the_python_example_writes_and_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch("CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL); INSERT INTO accounts VALUES (1, 100)")
        .unwrap();
    db.execute_batch(&INSTALL.replace("{table}", "accounts").replace("{key}", "id")).unwrap();
    let program = README.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    // As `stanchion run` sets them.
    let run = |fence: &str, lease: &str| {
        let mut python = Command::new("python3");
        python.arg("-c").arg(program).env("STANCHION_FENCE", fence).env("STANCHION_LEASE_ID", lease);
        python.current_dir(folder.path()).output()
    };
    let Ok(first) = run("7", "00000000000000aa") else {
        return Skip::new("there is no python3 on this machine").report();
    };
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    assert_eq!(balance(&db), 90);
    let stale = run("6", "00000000000000bb").unwrap();
    assert!(!stale.status.success() && String::from_utf8_lossy(&stale.stderr).contains("be above 7"));
    assert_eq!(balance(&db), 90);
}

/// The README's shell line, with the system's own `sqlite3`. Says so if there is none here.
#[test]
fn the_shell_example_writes_and_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let db = Connection::open(folder.path().join("app.db")).unwrap();
    db.execute_batch("CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL); INSERT INTO accounts VALUES (1, 100)")
        .unwrap();
    db.execute_batch(&INSTALL.replace("{table}", "accounts").replace("{key}", "id")).unwrap();
    if Command::new("sqlite3").arg("-version").output().is_err() {
        return Skip::new("there is no sqlite3 on this machine").report();
    }
    let script = README.split("```sh\n#!/bin/sh\n").nth(1).unwrap().split("\n```").next().unwrap();
    let run = |fence: &str, lease: &str| {
        Command::new("sh")
            .arg("-c")
            .arg(script)
            .env("STANCHION_FENCE", fence)
            .env("STANCHION_LEASE_ID", lease)
            .current_dir(folder.path())
            .output()
            .unwrap()
    };
    let first = run("7", "00000000000000aa");
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    assert_eq!((balance(&db), String::from_utf8_lossy(&first.stdout).trim()), (90, "1|7"));
    let stale = run("6", "00000000000000bb");
    assert!(!stale.status.success() && String::from_utf8_lossy(&stale.stderr).contains("fence rejected"), "{stale:?}");
    assert_eq!((balance(&db), String::from_utf8_lossy(&stale.stdout).trim()), (90, "0|7"));
}
