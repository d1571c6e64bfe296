//! `file:` — kernel locks between real processes, and leases for network file systems.

#![expect(clippy::unwrap_used, reason = "a test that fails here says where")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stanchion_core::{Acquire, ErrorKind, Grant, Key, LockBackend, Owner, Page, Released, Wait};
use stanchion_stores::open;
use stanchion_testkit::conformance::{Client, StoreFactory};
use stanchion_testkit::process::{Child, is_helper};
use stanchion_testkit::{conformance_tests, eventually, process_tests};

const PATIENCE: Duration = Duration::from_secs(20);

async fn locks_in(folder: &Path) -> Arc<dyn LockBackend> {
    open(&format!("file:{}", folder.display())).await.unwrap().locks
}

fn request(key: &str) -> Acquire {
    Acquire::new(Key::new(key).unwrap()).wait(Wait::Forever)
}

fn attempt(key: &str) -> Acquire {
    request(key).wait(Wait::No)
}

/// What `Locks` does: try, wait, try again.
async fn acquire(locks: &dyn LockBackend, req: &Acquire) -> Grant {
    let owner = Owner::random();
    loop {
        match locks.try_acquire(req, owner).await {
            Ok(grant) => return grant,
            Err(e) if e.kind() == ErrorKind::Contended => {
                locks.wait(req, owner, tokio::time::Instant::now() + PATIENCE).await.unwrap();
            }
            Err(e) => panic!("{e}"),
        }
    }
}

async fn client(url: String) -> Client {
    let opened = open(&url).await.unwrap();
    Client::new(opened.locks, opened.records)
}

fn factory(options: &str) -> StoreFactory {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file:{}{options}", folder.path().display());
    let opened = url.clone();
    StoreFactory::new(move || {
        // The folder lives as long as the factory.
        let _ = &folder;
        client(opened.clone())
    })
    .url(url)
}

async fn kernel() -> StoreFactory {
    factory("")
}

async fn heartbeat() -> StoreFactory {
    factory("?mode=heartbeat&stale=600ms&heartbeat=100ms")
}

conformance_tests!(kernel_conformance, kernel, suites: [locks, leases], except: [
    an_expired_lease_is_handed_on, // held until the process dies
    renewal_prolongs,
    evict_frees_and_fences,
    lost_comes_before_the_store_hands_on,
    a_late_renewal_never_revives,
    release_after_loss_says_not_held,
]);

conformance_tests!(heartbeat_conformance, heartbeat, suites: [locks, leases], except: [
    waiters_are_served_in_order, // not fair
]);

process_tests!(kernel_processes, kernel, client, except: [
    a_stopped_holder_cannot_write_past_its_fence, // nobody takes its lock, and there are no records
]);

process_tests!(heartbeat_processes, heartbeat, client, except: [
    a_stopped_holder_cannot_write_past_its_fence, // there are no records
]);

fn helper_folder() -> PathBuf {
    PathBuf::from(std::env::var_os("FOLDER").unwrap())
}

#[tokio::test]
async fn a_killed_holder_frees_the_lock_at_once() {
    if is_helper() {
        let locks = locks_in(&helper_folder()).await;
        let _grant = acquire(&*locks, &request("deploy")).await;
        println!("HELD");
        return std::future::pending().await;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut helper = Child::rerun_this_test_with(&[("FOLDER", folder.path().to_str().unwrap())]);
    helper.expect_line("HELD", PATIENCE).await;
    let locks = locks_in(folder.path()).await;
    let refused = locks.try_acquire(&attempt("deploy"), Owner::random()).await.unwrap_err();
    assert_eq!(refused.holder().unwrap().identity.pid, helper.pid());
    let waiting = tokio::spawn({
        let locks = Arc::clone(&locks);
        async move { acquire(&*locks, &request("deploy")).await }
    });
    eventually(PATIENCE, "the waiter is in the queue", || async {
        !locks.list("", Page::first(1)).await.unwrap()[0].waiters.is_empty()
    })
    .await;
    let killed = Instant::now();
    helper.kill();
    waiting.await.unwrap();
    assert!(killed.elapsed() < Duration::from_secs(2), "{:?}", killed.elapsed());
}

#[tokio::test]
async fn a_dead_holder_is_not_listed() {
    if is_helper() {
        let locks = locks_in(&helper_folder()).await;
        let _grant = acquire(&*locks, &request("deploy")).await;
        println!("HELD");
        return std::future::pending().await;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut helper = Child::rerun_this_test_with(&[("FOLDER", folder.path().to_str().unwrap())]);
    helper.expect_line("HELD", PATIENCE).await;
    let locks = locks_in(folder.path()).await;
    assert_eq!(locks.list("", Page::first(9)).await.unwrap()[0].holders[0].identity.pid, helper.pid());
    helper.kill();
    assert!(locks.list("", Page::first(9)).await.unwrap().is_empty());
    locks.try_acquire(&attempt("deploy"), Owner::random()).await.unwrap();
}

#[tokio::test]
async fn a_stopped_holder_keeps_its_lock() {
    if is_helper() {
        let locks = locks_in(&helper_folder()).await;
        let grant = acquire(&*locks, &request("deploy")).await;
        println!("HELD");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
        assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
        println!("RELEASED");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut helper = Child::rerun_this_test_with(&[("FOLDER", folder.path().to_str().unwrap())]);
    helper.expect_line("HELD", PATIENCE).await;
    helper.pause();
    let locks = locks_in(folder.path()).await;
    let req = request("deploy").ttl(Duration::from_millis(50)).unwrap();
    let owner = Owner::random();
    assert_eq!(locks.try_acquire(&req, owner).await.unwrap_err().kind(), ErrorKind::Contended);
    locks.wait(&req, owner, tokio::time::Instant::now() + Duration::from_millis(300)).await.unwrap();
    assert_eq!(locks.try_acquire(&req, owner).await.unwrap_err().kind(), ErrorKind::Contended);
    helper.resume();
    helper.write_line("go on");
    helper.expect_line("RELEASED", PATIENCE).await;
    locks.wait(&req, owner, tokio::time::Instant::now() + PATIENCE).await.unwrap();
    locks.try_acquire(&req, owner).await.unwrap();
}

#[tokio::test]
async fn processes_are_served_in_the_order_of_their_arrival() {
    if is_helper() {
        let locks = locks_in(&helper_folder()).await;
        let (req, owner) = (request("deploy"), Owner::random());
        assert_eq!(locks.try_acquire(&req, owner).await.unwrap_err().kind(), ErrorKind::Contended);
        println!("QUEUED");
        let grant = loop {
            locks.wait(&req, owner, tokio::time::Instant::now() + PATIENCE).await.unwrap();
            if let Ok(grant) = locks.try_acquire(&req, owner).await {
                break grant;
            }
        };
        println!("HELD {}", grant.fence.number());
        locks.release(&grant).await.unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let locks = locks_in(folder.path()).await;
    let grant = acquire(&*locks, &request("deploy")).await;
    let mut helpers = Vec::new();
    for _ in 0..4 {
        let mut helper = Child::rerun_this_test_with(&[("FOLDER", folder.path().to_str().unwrap())]);
        helper.expect_line("QUEUED", PATIENCE).await;
        helpers.push(helper);
    }
    let pids: Vec<u32> = helpers.iter().map(Child::pid).collect();
    let info = locks.list("deploy", Page::first(1)).await.unwrap().remove(0);
    assert_eq!(info.waiters.iter().map(|w| w.0.pid).collect::<Vec<_>>(), pids);
    // A killed waiter does not hold up the rest.
    helpers.remove(1).kill();
    locks.release(&grant).await.unwrap();
    let mut fences = vec![grant.fence.number()];
    for helper in &mut helpers {
        fences.push(helper.expect_line("HELD", PATIENCE).await.parse().unwrap());
        assert!(helper.wait(PATIENCE).await.success());
    }
    // The fence tells who came after whom.
    assert!(fences.is_sorted(), "{fences:?}");
    let next = acquire(&*locks, &request("deploy")).await;
    assert!(next.fence.number() > fences[3]);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("turn")), "tickets are left: {left:?}");
}

#[tokio::test]
async fn a_newcomer_does_not_overtake_a_live_waiter() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (locks_in(folder.path()).await, locks_in(folder.path()).await);
    let grant = acquire(&*first, &request("deploy")).await;
    let (req, owner) = (request("deploy"), Owner::random());
    second.try_acquire(&req, owner).await.unwrap_err();
    first.release(&grant).await.unwrap();
    // Granted or not yet, the lock is the waiter's.
    let refused = first.try_acquire(&attempt("deploy"), Owner::random()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Contended);
    second.wait(&req, owner, tokio::time::Instant::now() + PATIENCE).await.unwrap();
    second.try_acquire(&req, owner).await.unwrap();
}

#[tokio::test]
async fn a_removed_lock_file_does_not_give_two_holders() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (locks_in(folder.path()).await, locks_in(folder.path()).await);
    let grant = acquire(&*first, &request("deploy")).await;
    // The waiter hangs in the kernel on the old file.
    let (req, owner) = (request("deploy"), Owner::random());
    second.try_acquire(&req, owner).await.unwrap_err();
    std::fs::remove_file(folder.path().join("deploy.lock")).unwrap();
    // Who holds the removed file is told so.
    assert!(matches!(first.renew(&grant, PATIENCE).await, stanchion_core::Renewal::Lost));
    assert_eq!(first.release(&grant).await.unwrap(), Released::NotHeld);
    second.wait(&req, owner, tokio::time::Instant::now() + PATIENCE).await.unwrap();
    let next = second.try_acquire(&req, owner).await.unwrap();
    assert!(next.fence.number() > grant.fence.number(), "a new file does not start from old numbers");
    let third = locks_in(folder.path()).await;
    let refused = third.try_acquire(&attempt("deploy"), Owner::random()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Contended);
}

#[tokio::test]
async fn a_damaged_counter_is_refused_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let locks = locks_in(folder.path()).await;
    let grant = acquire(&*locks, &request("deploy")).await;
    locks.release(&grant).await.unwrap();
    let file = folder.path().join("deploy.lock");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[8] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let error = locks.try_acquire(&attempt("deploy"), Owner::random()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(error.to_string().contains("deploy.lock"), "{error}");
    assert!(error.next_step().unwrap().contains("move the file away"));
    assert_eq!(std::fs::read(&file).unwrap(), bytes, "nothing was changed");
    // What the hint says works.
    std::fs::rename(&file, folder.path().join("damaged")).unwrap();
    let next = acquire(&*locks, &request("deploy")).await;
    assert!(next.fence.number() > grant.fence.number());
}

#[tokio::test]
async fn a_withdrawn_waiter_leaves_no_ticket_and_its_late_grant_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let locks = locks_in(folder.path()).await;
    let grant = acquire(&*locks, &request("deploy")).await;
    for _ in 0..50 {
        let (req, owner) = (request("deploy"), Owner::random());
        locks.try_acquire(&req, owner).await.unwrap_err();
        locks.withdraw(&req, owner).await;
    }
    let threads = std::fs::read_dir("/proc/self/task").unwrap().filter(|task| {
        let name = task.as_ref().unwrap().path().join("comm");
        std::fs::read_to_string(name).is_ok_and(|name| name.starts_with("stanchion-wait"))
    });
    assert!(threads.count() <= 16, "threads of withdrawn waiters pile up");
    assert!(locks.list("", Page::first(1)).await.unwrap()[0].waiters.is_empty());
    locks.release(&grant).await.unwrap();
    let next = locks_in(folder.path()).await;
    tokio::time::timeout(PATIENCE, acquire(&*next, &request("deploy"))).await.unwrap();
}

#[tokio::test]
async fn long_and_strange_keys_have_locks_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let locks = locks_in(folder.path()).await;
    let long = "x".repeat(511);
    let keys = ["Deploy", "deploy", "a/b", "a:b", "..", "ü", &format!("{long}a"), &format!("{long}b")];
    for key in keys {
        acquire(&*locks, &request(key)).await;
    }
    let mut expected = keys.to_vec();
    expected.sort_unstable();
    let mut listed = Vec::new();
    let mut page = Page::first(3);
    loop {
        let part = locks.list("", page).await.unwrap();
        let Some(last) = part.last() else { break };
        page = Page::after(last.key.clone(), 3);
        listed.extend(part.iter().map(|info| info.key.as_str().to_owned()));
    }
    assert_eq!(listed, expected);
}

#[tokio::test]
async fn unusable_folders_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plain");
    std::fs::write(&file, "").unwrap();
    for (path, kind) in [
        (file.clone(), ErrorKind::Invalid),
        (file.join("below"), ErrorKind::Invalid),
        (folder.path().join("no/such"), ErrorKind::Invalid),
        (PathBuf::from("/proc/stanchion"), ErrorKind::Invalid),
    ] {
        let error = open(&format!("file:{}", path.display())).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
    let error = open("file:").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let error = open(&format!("file:{}?mode=kernel&stale=1s", folder.path().display())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_user_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("locks");
    let locks = locks_in(&folder).await;
    acquire(&*locks, &request("deploy")).await;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("deploy.lock")), 0o600);
}

/// Whether a thread waits for this file in the kernel.
pub(crate) fn is_waited_for(file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let inode = format!(":{}", std::fs::metadata(file).unwrap().ino());
    let table = std::fs::read_to_string("/proc/locks").unwrap();
    table.lines().any(|line| line.contains("->") && line.split_whitespace().any(|word| word.ends_with(&inode)))
}

/// With the queue's lock held, as by a process that was stopped in the middle, and a thread of ours that hangs there too.
#[tokio::test]
async fn a_process_that_is_stopped_in_the_queue_holds_up_an_attempt_for_a_second_at_most_and_try_now_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let locks =
        Arc::new(stanchion_stores::FileLocks::open(folder.path(), stanchion_stores::Durability::Process).unwrap());
    let grant = acquire(&*locks, &request("deploy")).await;
    let (req, owner) = (request("deploy"), Owner::random());
    locks.try_acquire(&req, owner).await.unwrap_err();
    let file = folder.path().join("deploy.lock");
    eventually(PATIENCE, "the waiter is through the queue", || async { is_waited_for(&file) }).await;
    let stopped = std::fs::File::open(folder.path().join("deploy.queue")).unwrap();
    stopped.lock().unwrap();
    locks.release(&grant).await.unwrap();
    locks.wait(&req, owner, tokio::time::Instant::now() + PATIENCE).await.unwrap();
    let grant = locks.try_acquire(&req, owner).await.unwrap();
    let (told, answers) = std::sync::mpsc::channel();
    std::thread::spawn({
        let locks = Arc::clone(&locks);
        move || {
            // Whatever it is asked for: it neither waits nor leaves a place in the queue.
            told.send(locks.try_now(&request("deploy"), Owner::random()).unwrap_err()).unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let tried = runtime.block_on(locks.try_acquire(&attempt("deploy"), Owner::random()));
            told.send(tried.unwrap_err()).unwrap();
        }
    });
    let now = answers.recv_timeout(PATIENCE).expect("try_now hangs");
    assert_eq!((now.kind(), now.holder().unwrap().identity.pid), (ErrorKind::Contended, std::process::id()));
    assert_eq!(answers.recv_timeout(PATIENCE).expect("the attempt hangs").kind(), ErrorKind::Unavailable);
    stopped.unlock().unwrap();
    locks.release(&grant).await.unwrap();
    acquire(&*locks, &request("deploy")).await;
    assert!(locks.list("", Page::first(1)).await.unwrap()[0].waiters.is_empty());
}

#[tokio::test]
async fn two_processes_never_take_over_the_same_stale_lease() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file:{}?mode=heartbeat&stale=400ms&heartbeat=100ms", folder.path().display());
    let short = attempt("deploy").ttl(Duration::from_millis(50)).unwrap();
    let stale = open(&url).await.unwrap().locks.try_acquire(&short, Owner::random()).await.unwrap();
    let mut takers = Vec::new();
    for _ in 0..8 {
        let locks = open(&url).await.unwrap().locks;
        takers.push(tokio::spawn(async move {
            let (req, owner) = (attempt("deploy"), Owner::random());
            let end = tokio::time::Instant::now() + Duration::from_secs(2);
            while tokio::time::Instant::now() < end {
                match locks.try_acquire(&req, owner).await {
                    Ok(grant) => return Some(grant),
                    Err(e) => assert_eq!(e.kind(), ErrorKind::Contended, "{e}"),
                }
                tokio::task::yield_now().await;
            }
            None
        }));
    }
    let mut grants = Vec::new();
    for taker in takers {
        grants.extend(taker.await.unwrap());
    }
    assert_eq!(grants.len(), 1, "{grants:?}");
    assert!(grants[0].fence.number() > stale.fence.number());
}
