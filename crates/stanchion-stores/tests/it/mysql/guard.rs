//! The SQL guard on a real table, through the `mariadb` program: any language can do what it does.

use stanchion_testkit::engines::MariaDb;

use crate::common::example::guards;

fn guard(file: &str) -> String {
    std::fs::read_to_string(guards("mysql").join(file)).unwrap()
}

/// A server with one account of 100.
async fn account() -> MariaDb {
    let server = MariaDb::start().await;
    let setup =
        "CREATE TABLE accounts (id INT PRIMARY KEY, balance INT NOT NULL, fence BIGINT UNSIGNED NOT NULL DEFAULT 0,
        fence_lease CHAR(16) NOT NULL DEFAULT ''); INSERT INTO accounts (id, balance) VALUES (1, 100)";
    server.ask(setup).unwrap();
    server
}

/// Accepted, floor, balance.
fn touch(server: &MariaDb, fence: u64, lease: &str) -> (bool, u64, i64) {
    let script = format!("SET @id = 1, @fence = {fence}, @fence_lease = '{lease}';{}", guard("touch.sql"));
    let said = server.ask(&script).unwrap();
    let fields: Vec<i64> = said.split_whitespace().map(|field| field.parse().unwrap()).collect();
    (fields[0] == 1, fields[1].unsigned_abs(), fields[2])
}

fn write(server: &MariaDb, fence: u64, lease: &str, balance: i64) -> bool {
    let set = format!("SET @id = 1, @fence = {fence}, @fence_lease = '{lease}', @balance = {balance};");
    server.ask(&format!("{set}{}", guard("write.sql"))).unwrap().trim() == "1"
}

fn balance(server: &MariaDb) -> i64 {
    server.ask("SELECT balance FROM accounts WHERE id = 1").unwrap().trim().parse().unwrap()
}

#[tokio::test]
async fn a_stale_writer_is_refused_and_told_the_floor() {
    let server = account().await;
    // A takes 1 and reads; its lease expires; B takes 2 and reads; A writes; B writes.
    let ((_, _, a), (_, _, b)) = (touch(&server, 1, "aa"), touch(&server, 2, "bb"));
    assert!(!write(&server, 1, "aa", a - 10));
    assert!(write(&server, 2, "bb", b - 20));
    assert_eq!(balance(&server), 80);
    assert_eq!(touch(&server, 1, "aa"), (false, 2, 80));
    assert_eq!(touch(&server, 2, "cc"), (false, 2, 80), "one number, another owner");
    assert_eq!(touch(&server, 2, "bb"), (true, 2, 80), "the holder may read again");
    assert!(write(&server, 2, "bb", 80), "a write that changes nothing is written");
}

/// The control: the textbook rule, which compares on writes only, accepts both and loses the first.
#[tokio::test]
async fn the_write_only_guard_loses_an_update() {
    let server = account().await;
    let (a, b) = (balance(&server), balance(&server));
    for (fence, new) in [(1, a - 10), (2, b - 20)] {
        let sql = format!(
            "UPDATE accounts SET balance = {new}, fence = {fence} WHERE id = 1 AND fence <= {fence}; SELECT ROW_COUNT()"
        );
        assert_eq!(server.ask(&sql).unwrap().trim(), "1", "accepted");
    }
    assert_eq!(balance(&server), 80, "void: nothing was lost, where 70 would be right");
}

#[tokio::test]
async fn the_trigger_refuses_writes_without_the_token() {
    let server = account().await;
    server.ask(&guard("install.sql")).unwrap();
    server.ask("UPDATE accounts SET balance = 99 WHERE id = 1").expect("nobody has touched it yet");
    assert_eq!(touch(&server, 5, "aa"), (true, 5, 99));
    let e = server.ask("UPDATE accounts SET balance = 1 WHERE id = 1").unwrap_err();
    assert!(e.contains("1048"), "{e}");
    let e = server.ask("UPDATE accounts SET fence = 4, fence_lease = 'aa' WHERE id = 1").unwrap_err();
    assert!(e.contains("1048"), "a fence cannot sink: {e}");
    assert!(write(&server, 5, "aa", 90));
    assert_eq!(touch(&server, 6, "bb"), (true, 6, 90));
    assert!(!write(&server, 5, "aa", 1));
    assert_eq!(balance(&server), 90);
}

#[tokio::test]
async fn the_examples_read_and_write_and_are_refused_when_they_are_late() {
    for (program, example, split) in [("python3", "transfer.py", &["--"][..]), ("sh", "transfer.sh", &[])] {
        let server = account().await;
        let script = guards("mysql").join("examples").join(example);
        let run = |fence: &str, lease: &str| {
            let mut command = std::process::Command::new(program);
            command.arg(&script).arg("10").args(split).args(server.client()).env("STANCHION_FENCE", fence);
            let done = command.env("STANCHION_LEASE_ID", lease).output().unwrap();
            (done.status.success(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
        };
        assert_eq!(run("7", "aa"), (true, "written\n".to_owned()), "{example}");
        assert_eq!(balance(&server), 90);
        let (done, said) = run("6", "bb");
        assert!(!done && said.contains("be above 7"), "{example}: {said}");
        assert_eq!(balance(&server), 90);
    }
}

/// As the guide says: without its first and last line a touch is part of the caller's own transaction.
#[tokio::test]
async fn a_touch_without_its_own_transaction_is_undone_with_the_callers() {
    let server = account().await;
    let touch = guard("touch.sql");
    let inner = touch.replace("START TRANSACTION;", "").replace("COMMIT;", "");
    let script = |touch: &str| {
        let set = "SET @id = 1, @fence = 3, @fence_lease = 'aa'";
        format!("{set}; START TRANSACTION; INSERT INTO accounts (id, balance) VALUES (2, 5); {touch} ROLLBACK")
    };
    let rows = || server.ask("SELECT COUNT(*), MAX(fence) FROM accounts").unwrap();
    server.ask(&script(&inner)).unwrap();
    assert_eq!(rows().split_whitespace().collect::<Vec<_>>(), ["1", "0"]);
    server.ask(&script(&touch)).unwrap();
    assert_eq!(rows().split_whitespace().collect::<Vec<_>>(), ["2", "3"], "the whole file commits the caller's work");
}
