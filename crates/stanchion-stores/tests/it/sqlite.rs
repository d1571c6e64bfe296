//! `sqlite:` — one file, many processes, no silent loss.

#![expect(clippy::unwrap_used, reason = "a test that fails here says where")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{Cond, ErrorKind, Key, RecordStore, Version};
use stanchion_stores::open;
use stanchion_testkit::conformance::{Client, StoreFactory};
use stanchion_testkit::process::{Child, is_helper};
use stanchion_testkit::{conformance_tests, process_tests};

const PATIENCE: Duration = Duration::from_secs(30);

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

async fn store(path: &Path) -> Arc<dyn RecordStore> {
    open(&format!("sqlite:{}", path.display())).await.unwrap().records.unwrap()
}

async fn client(url: String) -> Client {
    let opened = open(&url).await.unwrap();
    let client = Client::new(opened.locks, opened.records);
    match opened.fused {
        Some(fused) => client.fused(fused),
        None => client.separate(),
    }
}

fn factory(options: &str) -> StoreFactory {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/store.db{options}", folder.path().display());
    let opened = url.clone();
    StoreFactory::new(move || {
        // The folder lives as long as the factory.
        let _ = &folder;
        client(opened.clone())
    })
    .url(url)
}

async fn kernel_locks() -> StoreFactory {
    factory("")
}

/// The steps one by one, as where every fence is forced to disk.
async fn one_by_one() -> StoreFactory {
    factory("?durability=power")
}

async fn lease_locks() -> StoreFactory {
    factory("?locks=lease")
}

async fn power() -> StoreFactory {
    factory("?durability=power")
}

conformance_tests!(sqlite_conformance, kernel_locks, except: [
    a_lost_reply_is_outcome_unknown, // there is no wire
    an_expired_lease_is_handed_on,   // held until the process dies
    renewal_prolongs,
    evict_frees_and_fences,
    lost_comes_before_the_store_hands_on,
    a_late_renewal_never_revives,
    release_after_loss_says_not_held,
]);

conformance_tests!(sqlite_lease_conformance, lease_locks, suites: [locks, leases], except: [
    waiters_are_served_in_order, // not fair
]);

conformance_tests!(sqlite_fused_conformance, kernel_locks, suites: [fused], except: [
    an_answer_lost_in_begin_is_outcome_unknown, // there is no wire
]);

conformance_tests!(sqlite_separate_conformance, one_by_one, suites: [fused], except: [
    an_answer_lost_in_begin_is_outcome_unknown, // there is no wire
]);

conformance_tests!(sqlite_lease_separate_conformance, lease_locks, suites: [fused], except: [
    an_answer_lost_in_begin_is_outcome_unknown, // there is no wire
]);

conformance_tests!(sqlite_power_conformance, power, suites: [records], except: [
    a_lost_reply_is_outcome_unknown, // there is no wire
]);

process_tests!(sqlite_processes, kernel_locks, client, except: [
    a_stopped_holder_cannot_write_past_its_fence, // nobody takes its lock
]);

process_tests!(sqlite_lease_processes, lease_locks, client);

fn helper_path() -> PathBuf {
    PathBuf::from(std::env::var_os("STORE").unwrap())
}

async fn increment(store: &dyn RecordStore, key: &Key) {
    loop {
        let found = store.get(key).await.unwrap();
        let (count, cond) = found.map_or((0, Cond::Absent), |record| {
            (std::str::from_utf8(&record.value).unwrap().parse::<u32>().unwrap(), Cond::Version(record.version))
        });
        match store.put(key, (count + 1).to_string().into(), cond, None).await {
            Ok(_) => return,
            Err(e) => assert_eq!(e.kind(), ErrorKind::Conflict, "{e}"),
        }
    }
}

/// All open the new file at the same moment, and none of their increments is lost.
#[tokio::test]
async fn eight_processes_create_one_database_together() {
    if is_helper() {
        println!("READY");
        std::io::stdin().read_line(&mut String::new()).unwrap();
        let store = store(&helper_path()).await;
        for _ in 0..25 {
            increment(&*store, &key("count")).await;
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.db");
    let mut helpers: Vec<_> =
        (0..8).map(|_| Child::rerun_this_test_with(&[("STORE", path.to_str().unwrap())])).collect();
    for helper in &mut helpers {
        helper.expect_line("READY", PATIENCE).await;
    }
    helpers.iter_mut().for_each(|helper| helper.write_line("go"));
    for helper in &mut helpers {
        assert!(helper.wait(PATIENCE).await.success());
    }
    let record = store(&path).await.get(&key("count")).await.unwrap().unwrap();
    assert_eq!(&record.value[..], b"200");
}

/// A new file is made without a journal on disk, so it must not need one.
#[tokio::test]
async fn a_creator_that_is_killed_leaves_a_file_that_opens_and_half_a_page_is_noticed() {
    if is_helper() {
        println!("READY");
        std::io::stdin().read_line(&mut String::new()).unwrap();
        println!("BEGINS");
        store(&helper_path()).await;
        println!("OPEN");
        std::io::stdin().read_line(&mut String::new()).unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut unfinished = 0;
    for round in 0..40 {
        let path = folder.path().join(format!("{round}.db"));
        let mut helper = Child::rerun_this_test_with(&[("STORE", path.to_str().unwrap())]);
        helper.expect_line("READY", PATIENCE).await;
        helper.write_line("go");
        helper.expect_line("BEGINS", PATIENCE).await;
        tokio::time::sleep(Duration::from_micros(50 * round)).await;
        helper.kill();
        unfinished += u32::from(std::fs::metadata(&path).map_or(0, |meta| meta.len()) == 0);
        store(&path).await.put(&key("k"), "v".into(), Cond::Absent, None).await.unwrap();
    }
    // Not asserted, for it is up to the machine: how many were killed before the file was made.
    eprintln!("{unfinished} of 40 were killed before the first page");

    // Control: a first page of which only the second half was written does not open.
    let path = folder.path().join("half.db");
    store(&path).await.put(&key("k"), "v".into(), Cond::Absent, None).await.unwrap();
    let mut page = std::fs::read(&path).unwrap();
    page[..2048].fill(0);
    let torn = folder.path().join("torn.db");
    std::fs::write(&torn, page).unwrap();
    let e = open(&format!("sqlite:{}", torn.display())).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Damaged, "{e}");
}

#[tokio::test]
async fn what_a_killed_writer_was_told_is_kept() {
    if is_helper() {
        let store = store(&helper_path()).await;
        for n in 0.. {
            store.put(&key(&format!("k{n:06}")), "x".into(), Cond::Absent, None).await.unwrap();
            println!("ACK {n}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut helper = Child::rerun_this_test_with(&[("STORE", path.to_str().unwrap())]);
    let mut last = 0;
    while last < 200 {
        last = helper.expect_line("ACK", PATIENCE).await.parse().unwrap();
    }
    helper.kill();
    let store = store(&path).await;
    for n in 0..=last {
        assert!(store.get(&key(&format!("k{n:06}"))).await.unwrap().is_some(), "{n} was acknowledged");
    }
}

#[tokio::test]
async fn changed_wakes_on_another_processs_write() {
    if is_helper() {
        let store = store(&helper_path()).await;
        println!("READY");
        std::io::stdin().read_line(&mut String::new()).unwrap();
        store.put(&key("a"), "2".into(), Cond::Version(Version::new(1)), None).await.unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = store(&path).await;
    let version = store.put(&key("a"), "1".into(), Cond::Absent, None).await.unwrap();
    assert_eq!(version, Version::new(1));
    let mut helper = Child::rerun_this_test_with(&[("STORE", path.to_str().unwrap())]);
    helper.expect_line("READY", PATIENCE).await;
    let start = std::time::Instant::now();
    let until = tokio::time::Instant::now() + PATIENCE;
    let watched = key("a");
    let (woken, ()) = tokio::join!(store.changed(&watched, Some(version), until), async { helper.write_line("go") });
    woken.unwrap();
    assert_ne!(store.get(&key("a")).await.unwrap().unwrap().version, version);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_file_that_is_no_database_is_damaged_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    std::fs::write(&path, "this is a diary, not a database; ".repeat(64)).unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = open(&format!("sqlite:{}", path.display())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
    assert!(error.to_string().contains("store.db") && error.next_step().unwrap().contains(".recover"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

/// SQLite itself has no checksums: whatever byte of the file flips, the right value or `Damaged`, never another value.
#[tokio::test]
async fn a_flipped_byte_is_never_served_as_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let value = "precious ".repeat(40);
    {
        let store = store(&path).await;
        for n in 0..20 {
            store.put(&key(&format!("k{n}")), value.clone().into(), Cond::Absent, None).await.unwrap();
        }
    }
    // The last connection moves the log into the file when it closes.
    let wal = folder.path().join("store.db-wal");
    stanchion_testkit::eventually(PATIENCE, "the worker has closed the database", || async { !wal.exists() }).await;
    let good = std::fs::read(&path).unwrap();
    let mut damaged = 0;
    for at in (0..good.len()).step_by(good.len() / 150) {
        let copy = folder.path().join(format!("copy{at}.db"));
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        std::fs::write(&copy, &bad).unwrap();
        let opened = open(&format!("sqlite:{}", copy.display())).await;
        let store = match opened {
            Ok(opened) => opened.records.unwrap(),
            Err(e) => {
                assert!(
                    matches!(e.kind(), ErrorKind::Damaged | ErrorKind::Unsupported | ErrorKind::Unexpected),
                    "byte {at}: {e}"
                );
                damaged += 1;
                continue;
            }
        };
        for n in 0..20 {
            match store.get(&key(&format!("k{n}"))).await {
                Ok(Some(record)) => assert_eq!(&record.value[..], value.as_bytes(), "byte {at}"),
                // A flipped key is another key: SQLite's own index has lost it.
                Ok(None) => damaged += 1,
                Err(e) => {
                    assert!(matches!(e.kind(), ErrorKind::Damaged | ErrorKind::Unexpected), "byte {at}: {e}");
                    damaged += 1;
                }
            }
        }
    }
    assert!(damaged > 10, "the flips must have been noticed: {damaged}");
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    drop(store(&path).await);
    rusqlite::Connection::open(&path).unwrap().execute("UPDATE stanchion_meta SET schema = 99", []).unwrap();
    let error = open(&format!("sqlite:{}", path.display())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("99"));
}

#[tokio::test]
async fn unusable_paths_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plain");
    std::fs::write(&file, "").unwrap();
    for path in [folder.path().to_owned(), file.join("below.db"), folder.path().join("no/such.db")] {
        let error = open(&format!("sqlite:{}", path.display())).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_to_where_no_file_is_yet_is_followed() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (link, file) = (folder.path().join("link.db"), folder.path().join("file.db"));
    std::os::unix::fs::symlink("file.db", &link).unwrap();
    store(&link).await.put(&key("a"), "1".into(), Cond::Absent, None).await.unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_user_can_read_the_database() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = store(&path).await;
    store.put(&key("a"), "1".into(), Cond::Absent, None).await.unwrap();
    for name in ["store.db", "store.db-wal", "store.db-shm", "store.db.queue"] {
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn another_programs_lock_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = store(&path).await;
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let put = tokio::spawn(async move { store.put(&key("a"), "1".into(), Cond::Absent, None).await });
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert!(!put.is_finished(), "longer than SQLite's own patience");
    other.execute_batch("ROLLBACK").unwrap();
    put.await.unwrap().unwrap();
}

#[tokio::test]
async fn expired_records_are_cleared_away_and_their_fence_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = store(&path).await;
    let token = stanchion_core::FencingToken::from_parts(7, 7);
    store.touch(&key("fenced"), &token).await.unwrap();
    store.put(&key("fenced"), "1".into(), Cond::Fence(token), Some(Duration::from_millis(1))).await.unwrap();
    store.put(&key("plain"), "1".into(), Cond::Absent, Some(Duration::from_millis(1))).await.unwrap();
    let look = rusqlite::Connection::open(&path).unwrap();
    stanchion_testkit::eventually(PATIENCE, "the expired rows are reaped", || {
        let (store, rows) = (
            &store,
            look.query_row(
                "SELECT count(*) FROM stanchion_records WHERE key IN ('fenced', 'plain') AND expires_ms IS NOT NULL",
                [],
                |row| row.get::<_, i64>(0),
            ),
        );
        async move {
            increment(&**store, &key("traffic")).await;
            rows.unwrap() == 0
        }
    })
    .await;
    let stale = stanchion_core::FencingToken::from_parts(6, 6);
    let refused = store.touch(&key("fenced"), &stale).await.unwrap_err();
    assert_eq!((refused.kind(), refused.floor()), (ErrorKind::FenceRejected, Some(7)));
}
