//! SQLite's own lock on its file. POSIX takes it away when this process closes any other descriptor of the file; then
//! another program that closes the database believes that it was the last one, and removes the log under our feet.

#![expect(clippy::unwrap_used, reason = "a test that fails here says where")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use stanchion_core::{Cond, ErrorKind, Key, RecordStore};
use stanchion_stores::open;
use stanchion_testkit::process::{Child, is_helper};
use stanchion_testkit::{engines::Skip, eventually};

const PATIENCE: Duration = Duration::from_secs(30);

async fn store(path: &Path, durability: &str) -> Arc<dyn RecordStore> {
    open(&format!("sqlite:{}?durability={durability}", path.display())).await.unwrap().records.unwrap()
}

async fn put(store: &Arc<dyn RecordStore>, key: &str) -> bool {
    match store.put(&Key::new(key).unwrap(), "".into(), Cond::Absent, None).await {
        Ok(_) => true,
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::Conflict, "{e}");
            false
        }
    }
}

/// The descriptors that this process has of `path`, by number.
#[cfg(target_os = "linux")]
fn descriptors(path: &Path) -> Vec<String> {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let of_path = open.filter(|fd| std::fs::read_link(fd.path()).is_ok_and(|to| to == path));
    of_path.map(|fd| fd.file_name().into_string().unwrap()).collect()
}

/// Whether the kernel knows of a POSIX lock of this process on the database. Asked of each descriptor: the table of all locks
/// is not read at one moment, and misses lines while other programs lock and unlock.
#[cfg(target_os = "linux")]
fn is_locked(path: &Path) -> bool {
    descriptors(path).iter().any(|fd| {
        let told = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap();
        told.lines().any(|line| line.starts_with("lock:") && line.contains("POSIX"))
    })
}

/// How many descriptors of the log this process has: one for each open connection.
#[cfg(target_os = "linux")]
fn open_logs(path: &Path) -> usize {
    descriptors(Path::new(&format!("{}-wal", path.display()))).len()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn whoever_opens_a_database_keeps_its_lock_and_the_control_loses_it() {
    for durability in ["process", "power"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let first = store(&path, durability).await;
        assert!(put(&first, "one").await);
        assert!(is_locked(&path), "{durability}: opened once");
        let second = store(&path, durability).await;
        assert!(put(&second, "two").await);
        assert!(is_locked(&path), "{durability}: opened twice");
        drop(second);
        eventually(PATIENCE, "the second one is closed", || async { open_logs(&path) == 1 }).await;
        assert!(is_locked(&path), "{durability}: opened twice, closed once");
        assert!(put(&first, "three").await);
        drop(std::fs::File::open(&path).unwrap());
        assert!(!is_locked(&path), "{durability}: the control has kept its lock, so this test is void");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_programs_own_connection_keeps_its_lock_when_the_store_is_opened() {
    for durability in ["process", "power"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        let own = Connection::open(&path).unwrap();
        own.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE mine (id INTEGER)").unwrap();
        stanchion_stores::sqlite::install(&own).unwrap();
        assert!(is_locked(&path));
        let store = store(&path, durability).await;
        assert!(is_locked(&path), "{durability}: the store is open");
        drop(store);
        eventually(PATIENCE, "the store is closed", || async { open_logs(&path) == 1 }).await;
        assert!(is_locked(&path), "{durability}: the store is closed");
    }
}

/// `holder` has the database open while another program opens, reads and closes it; then we open it as well. How many of us
/// two win one claim, and whether what the holder was told last is there after it was killed.
///
/// The program is the system's own: the SQLite inside this one looks twice before it removes a log, older ones do not.
async fn winners_and_kept(holder: &str) -> (usize, bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut holder = Child::rerun_this_test_with(&[("ROLE", holder), ("STORE", path.to_str().unwrap())]);
    holder.expect_line("OPEN", PATIENCE).await;
    let looked = Command::new("sqlite3").arg(&path).arg("SELECT key FROM stanchion_records").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&looked.stdout), "one\n", "{looked:?}");
    let us = store(&path, "process").await;
    holder.write_line("claim");
    let theirs = holder.expect_line("CLAIM", PATIENCE).await == "true";
    let ours = put(&us, "claim").await;
    holder.write_line("last");
    assert_eq!(holder.expect_line("LAST", PATIENCE).await, "true");
    holder.kill();
    let kept = us.get(&Key::new("last").unwrap()).await.unwrap().is_some();
    (usize::from(theirs) + usize::from(ours), kept)
}

#[expect(clippy::print_stdout, reason = "how a helper speaks")]
async fn help() {
    let path = PathBuf::from(std::env::var_os("STORE").unwrap());
    let role = std::env::var("ROLE").unwrap();
    let store = store(&path, if role == "power" { "power" } else { "process" }).await;
    let _second = if role == "twice" { Some(self::store(&path, "process").await) } else { None };
    if role == "careless" {
        drop(std::fs::File::open(&path).unwrap());
    }
    assert!(put(&store, "one").await);
    println!("OPEN");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    println!("CLAIM {}", put(&store, "claim").await);
    std::io::stdin().read_line(&mut String::new()).unwrap();
    println!("LAST {}", put(&store, "last").await);
    std::future::pending().await
}

#[tokio::test]
async fn another_program_that_looks_and_leaves_takes_nothing_away_and_in_the_control_it_does() {
    if is_helper() {
        return help().await;
    }
    if Command::new("sqlite3").arg("-version").output().is_err() {
        return Skip::new("there is no sqlite3 on this machine").report();
    }
    for holder in ["process", "power", "twice"] {
        assert_eq!(winners_and_kept(holder).await, (1, true), "{holder}");
    }
    if winners_and_kept("careless").await != (2, false) {
        Skip::new("the control has lost nothing: the sqlite3 of this machine looks twice before it removes a log")
            .report();
    }
}

/// A database is made without forcing it to disk. Whoever promises more has SQLite do it, by moving the log into the file: we
/// must not open it. What is still read is older than the log's end, and is waited for.
#[tokio::test]
async fn opened_for_power_the_log_is_moved_once_nobody_reads_the_past_and_the_control_leaves_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let size = || std::fs::metadata(&path).unwrap().len();
    let first = store(&path, "process").await;
    assert!(put(&first, "one").await);
    let before = size();
    let reader = Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM stanchion_records").unwrap();
    assert!(put(&first, "two").await);
    drop(store(&path, "process").await);
    assert_eq!(size(), before, "the control has moved the log as well");
    let opening = tokio::spawn({
        let path = path.clone();
        async move { store(&path, "power").await }
    });
    eventually(PATIENCE, "what nobody reads any more is moved", || async { size() > before }).await;
    assert!(put(&first, "three").await, "writers are let through");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!opening.is_finished(), "the rest of the log is not in the database yet");
    reader.execute_batch("COMMIT").unwrap();
    let power = tokio::time::timeout(PATIENCE, opening).await.unwrap().unwrap();
    assert!(put(&power, "four").await && !put(&first, "four").await);
}
