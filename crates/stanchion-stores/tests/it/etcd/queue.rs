//! The line: nobody is left in it, nobody is forgotten, and it moves as fast as etcd tells.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use stanchion_core::{ErrorKind, LockBackend, Mode, Owner, Page, Released, Wait};
use stanchion_testkit::engines::Etcd;
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, eventually, pause};

use super::{PATIENCE, key, open, request, waiting};
use crate::common::obtain;

/// etcd's own lock service needs 100 ms for each hand-off: eight of them, 25 times, would take 20 s. Its watches begin in the
/// past; ours begin now.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lock_is_handed_on_without_the_pauses_of_a_late_watch() {
    let server = Etcd::start().await;
    let mut tasks = tokio::task::JoinSet::new();
    let start = Instant::now();
    for _ in 0..8 {
        let locks = open(&server.url()).await.locks;
        tasks.spawn(async move {
            for _ in 0..25 {
                let grant = obtain(&*locks, &waiting("k"), Owner::random(), PATIENCE).await;
                assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
            }
        });
    }
    tasks.join_all().await;
    let took = start.elapsed();
    eprintln!("200 hand-offs between 8 clients took {took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
}

/// A watch that begins while others write may be told only every 100 ms; one that is there already is told at once.
#[tokio::test]
async fn all_who_wait_for_a_lock_share_one_watch_which_ends_some_time_after_them() {
    let server = Etcd::start().await;
    let watches = async || {
        let metrics = server.post("/metrics", "").await.unwrap();
        let count = metrics.lines().find_map(|line| line.strip_prefix("etcd_debugging_mvcc_watcher_total "));
        count.expect("etcd counts its watches").to_owned()
    };
    let locks = open(&server.url()).await.locks;
    let held = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let locks = std::sync::Arc::clone(&locks);
        tasks.spawn(async move {
            let grant = obtain(&*locks, &waiting("k"), Owner::random(), PATIENCE).await;
            locks.release(&grant).await.unwrap();
        });
    }
    eventually(PATIENCE, "eight wait", || async {
        locks.list("k", Page::first(1)).await.unwrap()[0].waiters.len() == 8
    })
    .await;
    locks.release(&held).await.unwrap();
    tasks.join_all().await;
    assert_eq!(watches().await, "1", "the watch of the lock, after nine have left");
    let other = open(&server.url()).await.locks;
    eventually(PATIENCE, "what others do ends a watch that nobody needs", || async {
        let grant = other.try_acquire(&request("k"), Owner::random()).await.unwrap();
        other.release(&grant).await.unwrap();
        watches().await == "0"
    })
    .await;
}

#[tokio::test]
async fn a_refused_attempt_that_does_not_wait_leaves_nothing() {
    let server = Etcd::start().await;
    let locks = open(&server.url()).await.locks;
    let two = request("k").mode(Mode::Slots(2)).unwrap();
    let shared = request("s").mode(Mode::Shared).unwrap();
    for _ in 0..2 {
        locks.try_acquire(&two, Owner::random()).await.unwrap();
    }
    locks.try_acquire(&request("s"), Owner::random()).await.unwrap();
    for refused in [&two, &shared, &request("s")] {
        let e = locks.try_acquire(refused, Owner::random()).await.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Contended, "{e}");
    }
    let other = request("k").mode(Mode::Slots(3)).unwrap().wait(Wait::Forever);
    for wanted in [other.clone(), other.wait(Wait::No)] {
        let e = locks.try_acquire(&wanted, Owner::random()).await.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Invalid, "another number of slots: {e}");
    }
    let shown = locks.list("", Page::first(10)).await.unwrap();
    let counts: Vec<_> = shown.iter().map(|info| (info.holders.len(), info.waiters.len())).collect();
    assert_eq!(counts, [(2, 0), (1, 0)], "{shown:?}");
}

/// The session lives on with the process; the entry of one who was dropped must not.
#[tokio::test]
async fn a_dropped_waiter_leaves_the_line_by_its_deadline() {
    let server = Etcd::start().await;
    let (a, b) = (open(&server.url()).await.locks, open(&server.url()).await.locks);
    let held = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let gone = waiting("k").ttl(Duration::from_millis(200)).unwrap();
    b.try_acquire(&gone, Owner::random()).await.unwrap_err();
    eventually(PATIENCE, "its entry is deleted", || async {
        a.list("k", Page::first(1)).await.unwrap()[0].waiters.is_empty()
    })
    .await;
    a.release(&held).await.unwrap();
    a.try_acquire(&request("k"), Owner::random()).await.expect("nobody is in the way");
}

/// A renewal may be longer than the session that carried the grant so far.
#[tokio::test]
async fn a_longer_renewal_moves_to_a_longer_session() {
    let server = Etcd::start().await;
    let locks = open(&server.url()).await.locks;
    let short = request("k").ttl(Duration::from_millis(500)).unwrap();
    let grant = locks.try_acquire(&short, Owner::random()).await.unwrap();
    let renewal = locks.renew(&grant, Duration::from_secs(600)).await;
    assert!(matches!(renewal, stanchion_core::Renewal::Renewed), "{renewal:?}");
    let other = open(&server.url()).await.locks;
    let start = Instant::now();
    // Past the end of the first session, which nobody keeps for this entry any more.
    while start.elapsed() < Duration::from_secs(4) {
        let e = other.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Contended, "{e}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
}

#[tokio::test]
async fn listings_go_on_over_many_entries_and_pages() {
    let server = Etcd::start().await;
    let locks = open(&server.url()).await.locks;
    for n in 0..30 {
        let slots = request(&format!("pool/{n:02}")).mode(Mode::Slots(1024)).unwrap();
        for _ in 0..(if n == 7 { 60 } else { 1 }) {
            locks.try_acquire(&slots, Owner::random()).await.unwrap();
        }
    }
    let (mut seen, mut page) = (Vec::new(), Page::first(8));
    loop {
        let some = locks.list("pool/", page).await.unwrap();
        let Some(last) = some.last() else { break };
        page = Page::after(last.key.clone(), 8);
        seen.extend(some);
    }
    assert_eq!(seen.len(), 30);
    assert!(seen.windows(2).all(|pair| pair[0].key < pair[1].key));
    assert_eq!(seen[7].holders.len(), 60);
    assert_eq!(locks.evict(&key("pool/07")).await.unwrap(), Released::Released);
    assert!(locks.list("pool/07", Page::first(1)).await.unwrap().is_empty());
}

/// The deadline has passed and the entry is deleted; before that is noted, its owner comes in again.
#[tokio::test]
async fn an_owner_that_comes_in_again_while_it_is_swept_keeps_its_new_place() {
    let server = Etcd::start().await;
    let locks = open(&server.url()).await.locks;
    let (owner, short) = (Owner::random(), Duration::from_millis(200));
    let held = pause::hold("etcd.entry-deleted");
    locks.try_acquire(&request("k").ttl(short).unwrap(), owner).await.unwrap();
    held.reached(PATIENCE).await;
    let again = locks.try_acquire(&request("k"), owner).await.unwrap();
    held.release();
    // One thing after the other is swept: when this one is gone, the first is done with.
    locks.try_acquire(&request("later").ttl(short).unwrap(), Owner::random()).await.unwrap();
    eventually(PATIENCE, "the next one is swept", || async {
        locks.list("later", Page::first(1)).await.unwrap().is_empty()
    })
    .await;
    let renewal = locks.renew(&again, again.ttl).await;
    assert!(matches!(renewal, stanchion_core::Renewal::Renewed), "{renewal:?}");
    assert_eq!(locks.release(&again).await.unwrap(), Released::Released);
}

/// The names of all entries that stand now, as etcd writes them: in base64.
async fn names(server: &Etcd) -> Vec<String> {
    // From `stanchion/l/` up to `stanchion/l0`.
    let range = r#"{"key":"c3RhbmNoaW9uL2wv","range_end":"c3RhbmNoaW9uL2ww","keys_only":true}"#;
    let answer = server.post("/v3/kv/range", range).await.unwrap();
    answer.split("\"key\":\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

/// Until it is compacted etcd passes every name that was ever in a line when it reads the line, so there must be few.
#[tokio::test]
async fn a_lock_that_is_taken_again_and_again_has_one_name() {
    let server = Etcd::start().await;
    let locks = open(&server.url()).await.locks;
    let mut seen = HashSet::new();
    for wanted in [request("k"), waiting("k")].iter().cycle().take(20) {
        let grant = locks.try_acquire(wanted, Owner::random()).await.unwrap();
        let stands = names(&server).await;
        assert_eq!(stands.len(), 1, "{stands:?}");
        seen.extend(stands);
        assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
    }
    assert_eq!(seen.len(), 1, "{seen:?}");
}

/// What went unanswered may still arrive: it must not meet the entry of another owner.
#[tokio::test]
async fn a_name_is_not_used_again_after_an_unanswered_release() {
    let server = Etcd::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Grpc).await;
    let locks = open(&server.url_at(proxy.port())).await.locks;
    let first = locks.try_acquire(&request("lost-key"), Owner::random()).await.unwrap();
    let old = names(&server).await;
    assert_eq!(old.len(), 1, "void");
    proxy.set_plan(Plan::first("lost-key", Fault::LoseReply));
    assert_eq!(locks.release(&first).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(locks.release(&first).await.unwrap(), Released::NotHeld, "the first one had arrived");
    for _ in 0..3 {
        let grant = locks.try_acquire(&request("lost-key"), Owner::random()).await.unwrap();
        let new = names(&server).await;
        assert_eq!(new.len(), 1, "{new:?}");
        assert_ne!(new, old);
        assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
    }
}
