//! Claim, kernel lock and mark in one transaction of SQLite.

#![expect(clippy::unwrap_used, reason = "a test that fails here says where")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stanchion_core::{
    Acquire, Begin, Begun, Cond, ErrorKind, Finish, Fused, Grant, Key, LockBackend, Owner, Page, RecordStore, Separate,
    VALUE_MAX_BYTES, Wait,
};
use stanchion_stores::open;
use stanchion_testkit::process::{Child, is_helper};

const PATIENCE: Duration = Duration::from_secs(30);

struct Store {
    records: Arc<dyn RecordStore>,
    locks: Arc<dyn LockBackend>,
    fused: Arc<dyn Fused>,
}

async fn store(folder: &Path) -> Store {
    let opened = open(&format!("sqlite:{}/store.db", folder.display())).await.unwrap();
    Store { records: opened.records.unwrap(), locks: opened.locks, fused: opened.fused.unwrap() }
}

fn lock() -> Acquire {
    Acquire::new(Key::new("the lock").unwrap()).wait(Wait::No)
}

fn begin(claim: &str) -> Begin {
    let key = Key::new(claim).unwrap();
    let (granted, busy) = ("granted".into(), "busy".into());
    Begin { key, cond: Cond::Absent, granted, busy, lock: Some(Arc::new(lock())), owner: Owner::random() }
}

fn finish(begin: &Begin, begun: Begun) -> Finish {
    let Begun::Granted { version, grant } = begun else { panic!("the lock is free, got {begun:?}") };
    Finish { key: begin.key.clone(), cond: Cond::Version(version), value: "done".into(), ttl: None, grant }
}

/// A lock that nobody has, taken and given back.
async fn free(locks: &Arc<dyn LockBackend>) -> Grant {
    let grant = locks.try_acquire(&lock(), Owner::random()).await.unwrap();
    locks.release(&grant).await.unwrap();
    grant
}

/// Every write draws a version, so the versions tell how often was written.
#[tokio::test]
async fn a_beginning_with_a_free_lock_is_one_write_and_the_control_needs_two() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    let separate: Arc<dyn Fused> = Arc::new(Separate::new(store.records.clone(), store.locks.clone()));
    let mut last = store.records.put(&Key::new("a").unwrap(), "".into(), Cond::Absent, None).await.unwrap().get();
    for (fused, writes, name) in [(&store.fused, 1, "one"), (&separate, 2, "one by one"), (&store.fused, 1, "again")] {
        let begin = begin(name);
        let begun = fused.begin(&begin).await.unwrap();
        let finish = finish(&begin, begun);
        let Cond::Version(version) = finish.cond else { panic!("{finish:?}") };
        assert_eq!(version.get() - last, writes, "{name}");
        fused.finish(&finish).await.unwrap();
        last = version.get() + 1;
    }
    free(&store.locks).await;
}

/// The write fails when the lock is already ours: it must not stay so, and nobody would ever release it.
#[tokio::test]
async fn a_lock_whose_claim_cannot_be_written_is_free_again_and_the_control_stays_locked() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    let begin = begin("claim");
    let too_large = Begin { granted: vec![b'x'; VALUE_MAX_BYTES + 1].into(), ..begin.clone() };
    let before = free(&store.locks).await;
    let e = store.fused.begin(&too_large).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
    assert!(store.records.get(&begin.key).await.unwrap().is_none());
    let after = free(&store.locks).await;
    assert!(after.fence.number() > before.fence.number() + 1, "the lock was not even tried: this test is void");

    // Control: lock and claim one after the other, with nobody to clean up.
    store.locks.try_acquire(&lock(), begin.owner).await.unwrap();
    store.records.put(&begin.key, too_large.granted.clone(), Cond::Absent, None).await.unwrap_err();
    let refused = store.locks.try_acquire(&lock(), Owner::random()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Contended);
}

/// Looks for a claim that is granted while nobody holds its lock. How often it found one granted, and how often without.
async fn watch(folder: &Path, over: &AtomicBool) -> (u32, u32) {
    let store = store(folder).await;
    let (mut granted, mut without) = (0, 0);
    while !over.load(Ordering::Acquire) {
        let claims = store.records.scan("claim", Page::first(1000)).await.unwrap();
        let Some((key, first)) = claims.into_iter().find(|(_, record)| record.value == "granted") else { continue };
        let held = !store.locks.list("the lock", Page::first(1)).await.unwrap().is_empty();
        // Only if nothing happened in between were both there, or not there, at one moment.
        if store.records.get(&key).await.unwrap().is_some_and(|now| now.version == first.version) {
            granted += 1;
            without += u32::from(!held);
        }
    }
    (granted, without)
}

async fn watched(order: &'static str) -> (u32, u32) {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path()).await;
    let over = Arc::new(AtomicBool::new(false));
    let watcher = std::thread::spawn({
        let (folder, over) = (folder.path().to_owned(), Arc::clone(&over));
        move || tokio::runtime::Runtime::new().unwrap().block_on(watch(&folder, &over))
    });
    let store = store(folder.path()).await;
    for number in 0..300 {
        let begin = begin(&format!("claim {number}"));
        let finish = if order == "fused" {
            finish(&begin, store.fused.begin(&begin).await.unwrap())
        } else {
            let version = store.records.put(&begin.key, begin.granted.clone(), Cond::Absent, None).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
            let grant = store.locks.try_acquire(&lock(), begin.owner).await.unwrap();
            finish(&begin, Begun::Granted { version, grant: Some(grant) })
        };
        tokio::time::sleep(Duration::from_millis(1)).await;
        store.fused.finish(&finish).await.unwrap();
    }
    over.store(true, Ordering::Release);
    watcher.join().unwrap()
}

#[tokio::test]
async fn whoever_sees_a_granted_claim_sees_its_lock_and_the_control_does_not() {
    let (granted, without) = watched("fused").await;
    assert!(granted > 0, "nothing was seen: this test is void");
    assert_eq!(without, 0, "of {granted} granted claims some were without their lock");
    let (granted, without) = watched("mark first").await;
    assert!(without > 0, "the control was not caught: {granted} looks");
}

/// Whoever is killed anywhere in its calls leaves a lock that is free, and at most one call that may have been sent.
#[tokio::test]
async fn a_killed_caller_leaves_no_lock_and_at_most_one_open_claim() {
    if is_helper() {
        let folder = std::env::var("FOLDER").unwrap();
        let (store, life) = (store(Path::new(&folder)).await, Owner::random().nonce());
        for number in 0.. {
            let begin = begin(&format!("claim {life:016x} {number}"));
            let begun = store.fused.begin(&begin).await.unwrap();
            store.fused.finish(&finish(&begin, begun)).await.unwrap();
            if number == 0 {
                println!("RUNS");
            }
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    let (mut fence, mut interrupted) = (0, 0);
    for round in 0..20 {
        let mut child = Child::rerun_this_test_with(&[("FOLDER", folder.path().to_str().unwrap())]);
        child.expect_line("RUNS", PATIENCE).await;
        tokio::time::sleep(Duration::from_micros(137 * round)).await;
        child.kill();
        child.wait(PATIENCE).await;
        let grant = free(&store.locks).await;
        assert!(grant.fence.number() > fence, "round {round}: the fence went back");
        fence = grant.fence.number();
        let mut claims = Vec::new();
        let mut page = Page::first(1000);
        loop {
            let found = store.records.scan("claim", page).await.unwrap();
            let Some((key, _)) = found.last() else { break };
            page = Page::after(key.clone(), 1000);
            claims.extend(found.into_iter().map(|(_, record)| record.value));
        }
        let open = claims.iter().filter(|value| **value != "done").count();
        assert!(claims.iter().all(|value| value == "granted" || value == "done"), "round {round}");
        assert!(open - interrupted <= 1, "round {round}: {open} open claims after {interrupted}");
        interrupted = open;
    }
}

/// What `Locks` does: try, wait, try again.
async fn acquire(locks: &Arc<dyn LockBackend>) -> Grant {
    let (req, owner) = (lock().wait(Wait::Forever), Owner::random());
    loop {
        match locks.try_acquire(&req, owner).await {
            Ok(grant) => return grant,
            Err(e) => assert_eq!(e.kind(), ErrorKind::Contended, "{e}"),
        }
        locks.wait(&req, owner, tokio::time::Instant::now() + PATIENCE).await.unwrap();
    }
}

/// The lock of the queue, as a process has it that was stopped in the middle.
fn stopped_in_the_queue(folder: &Path) -> std::fs::File {
    let queue = folder.join("store.db.locks/the%20lock.queue");
    assert!(queue.metadata().unwrap().len() > 0, "nobody waits: this test is void");
    let file = std::fs::File::open(queue).unwrap();
    file.lock().unwrap();
    file
}

/// `beginner` begins while the queue is held, and `other` writes something else meanwhile. The claim's version.
async fn busy_while_another_writes(beginner: &Store, other: &Store, name: &str) -> stanchion_core::Version {
    let (fused, claim) = (Arc::clone(&beginner.fused), begin(name));
    let begun = tokio::spawn(async move { fused.begin(&claim).await });
    let another = Key::new(format!("other {name}")).unwrap();
    let written = other.records.put(&another, "".into(), Cond::Absent, None);
    tokio::time::timeout(PATIENCE, written).await.expect("a write that has nothing to do with it hangs").unwrap();
    let begun = tokio::time::timeout(PATIENCE, begun).await.expect("the beginning hangs").unwrap();
    let Ok(Begun::Busy { version, refused }) = begun else { panic!("{name}: {begun:?}") };
    assert_eq!(refused.kind(), ErrorKind::Contended, "{refused}");
    version
}

/// The beginning is in a transaction while it looks at the lock: if it waited there, nobody could write.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_process_that_is_stopped_in_the_locks_queue_holds_up_no_write_of_another_key() {
    let folder = tempfile::tempdir().unwrap();
    let (holder, waiter) = (store(folder.path()).await, store(folder.path()).await);
    let (beginner, other) = (store(folder.path()).await, store(folder.path()).await);
    let held = acquire(&holder.locks).await;
    let waiting = tokio::spawn({
        let locks = Arc::clone(&waiter.locks);
        async move { acquire(&locks).await }
    });
    let file = folder.path().join("store.db.locks/the%20lock.lock");
    stanchion_testkit::eventually(PATIENCE, "the waiter is through the queue", || async {
        crate::file::is_waited_for(&file)
    })
    .await;
    let stopped = stopped_in_the_queue(folder.path());
    busy_while_another_writes(&beginner, &other, "of a bystander").await;

    // The waiter gets the lock; the thread that waited for it now hangs at the queue, in the process of the next beginning.
    holder.locks.release(&held).await.unwrap();
    let held = waiting.await.unwrap();
    let version = busy_while_another_writes(&waiter, &other, "beside a thread that hangs").await;

    stopped.unlock().unwrap();
    waiter.locks.release(&held).await.unwrap();
    let turn = async {
        let mut claim = Begin { cond: Cond::Version(version), ..begin("beside a thread that hangs") };
        // The thread may be at the queue for another moment.
        while let Begun::Busy { version, .. } = waiter.fused.begin(&claim).await.unwrap() {
            claim.cond = Cond::Version(version);
            tokio::task::yield_now().await;
        }
        waiter.records.get(&claim.key).await.unwrap().unwrap().value
    };
    assert_eq!(tokio::time::timeout(PATIENCE, turn).await.expect("it never gets its turn"), "granted");
}
