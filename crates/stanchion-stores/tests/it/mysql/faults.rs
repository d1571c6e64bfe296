//! Restarts, crashes, lost replies, cut connections and pauses.

use std::time::Duration;

use stanchion_core::{
    Acquire, Cond, ErrorKind, Grant, Key, LockBackend, Locks, Owner, Ran, RecordStore, Released, Renewal, Wait,
};
use stanchion_testkit::engines::MariaDb;
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, eventually};
use tokio::time::Instant;

use super::{PATIENCE, key, open, request, waiting};
use crate::common::faults;

async fn proxied(server: &MariaDb, options: &str) -> (FaultProxy, String) {
    let proxy = FaultProxy::start(server.addr(), Protocol::Mysql).await;
    let url = format!("{}?ssl-mode=disabled&{options}", server.url_at(proxy.port()));
    (proxy, url)
}

#[tokio::test]
async fn a_lost_grant_can_be_asked_for_again() {
    let server = MariaDb::start().await;
    let (proxy, url) = proxied(&server, "").await;
    let locks = open(&url).await.locks;
    let first = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    locks.release(&first).await.unwrap();
    proxy.set_plan(Plan::first("LAST_INSERT_ID", Fault::LoseReply));
    let owner = Owner::random();
    let e = locks.try_acquire(&request("k"), owner).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::OutcomeUnknown, "{e}");
    let grant = locks.try_acquire(&request("k"), owner).await.unwrap();
    assert!(matches!(locks.renew(&grant, grant.ttl).await, Renewal::Renewed));
    assert_eq!(grant.fence.number(), first.fence.number() + 1, "the lost grant and this one are one");
}

#[tokio::test]
async fn a_silent_server_ends_in_a_timeout_and_another_connection_takes_over() {
    let server = MariaDb::start().await;
    let (proxy, url) = proxied(&server, "timeout=300ms").await;
    let records = open(&url).await.records.unwrap();
    faults::silent_write(&*records, &proxy, "INSERT INTO", PATIENCE).await;
}

#[tokio::test]
async fn leases_records_and_numbers_outlive_the_kill_of_the_server() {
    let server = MariaDb::start().await;
    let store = open(&server.url()).await;
    let records = store.records.unwrap();
    let (mut fence, mut version) = (0, 0);
    for round in 0..3 {
        let held = store.locks.try_acquire(&request(&format!("held{round}")), Owner::random()).await.unwrap();
        let grant = store.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
        assert!(grant.fence.number() > fence, "{} after {fence}", grant.fence.number());
        fence = grant.fence.number();
        store.locks.release(&grant).await.unwrap();
        let written = records.put(&key("r"), "v".into(), Cond::Absent, None).await.unwrap();
        assert!(written.get() > version, "{} after {version}", written.get());
        records.delete(&key("r"), Cond::Version(written)).await.unwrap();
        version = written.get();
        let kept = records.put(&key(&format!("r{round}")), "v".into(), Cond::Absent, None).await.unwrap();
        server.kill();
        server.restart().await;
        let name = key(&format!("r{round}"));
        eventually(PATIENCE, "the store is back", || async { records.get(&name).await.is_ok() }).await;
        assert_eq!(records.get(&name).await.unwrap().unwrap().version, kept);
        assert!(matches!(store.locks.renew(&held, held.ttl).await, Renewal::Renewed), "a lease is a row");
        let e = store.locks.try_acquire(&request(&format!("held{round}")), Owner::random()).await.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Contended);
    }
}

#[tokio::test]
async fn the_server_being_away_is_said_and_passes() {
    let server = MariaDb::start().await;
    let store = open(&format!("{}?timeout=2s&connect_timeout=2s", server.url())).await;
    faults::away(&*store.locks, &server, PATIENCE).await;
}

#[tokio::test]
async fn a_holder_that_is_cut_off_stops_before_the_next_one_begins() {
    let server = MariaDb::start().await;
    let (proxy, url) = proxied(&server, "timeout=200ms&connect_timeout=200ms").await;
    let locks = Locks::new(open(&url).await.locks);
    let short = waiting("k").ttl(Duration::from_millis(900)).unwrap();
    let lease = locks.acquire(&short).await.unwrap();
    proxy.blackhole(true);
    let others = Locks::new(open(&server.url()).await.locks);
    let next = tokio::spawn(async move { others.acquire(&short).await.map(|lease| (Instant::now(), lease)) });
    tokio::time::timeout(PATIENCE, lease.lost()).await.expect("it learns by its own clock");
    let lost = Instant::now();
    assert!(lease.fence().is_err(), "nothing is believed any longer");
    let (taken, _lease) = tokio::time::timeout(PATIENCE, next).await.unwrap().unwrap().unwrap();
    assert!(taken >= lost, "the next one began {:?} before the last one stopped", lost - taken);
    proxy.blackhole(false);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_hear_again_after_a_cut_and_after_a_pause() {
    let server = MariaDb::start().await;
    let (proxy, url) = proxied(&server, "").await;
    let (a, b) = (open(&url).await.locks, Locks::new(open(&url).await.locks));
    for round in 0..3 {
        let grant = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
        let b = b.clone();
        let waiter = tokio::spawn(async move { b.acquire(&waiting("k")).await.unwrap().release().await });
        let queued =
            || async { a.list("k", stanchion_core::Page::first(1)).await.is_ok_and(|l| l[0].waiters.len() == 1) };
        eventually(PATIENCE, "it waits", queued).await;
        match round {
            0 => {}
            1 => proxy.cut_all(),
            _ => {
                server.pause();
                let look = a.list("k", stanchion_core::Page::first(1));
                let unanswered = tokio::time::timeout(Duration::from_millis(300), look).await;
                assert!(unanswered.is_err(), "void: it does not stand still");
                server.resume();
            }
        }
        eventually(PATIENCE, "released", || async { a.release(&grant).await.is_ok() }).await;
        tokio::time::timeout(PATIENCE, waiter).await.expect("the waiter gets it").unwrap().unwrap();
    }
}

/// Calls are lost if the caller may not end the statement of the listener: a heartbeat finds out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_users_waiter_is_woken_by_its_heartbeat() {
    let server = MariaDb::start().await;
    open(&server.url()).await;
    let holder = open(&server.url_for("secret_user", "secret")).await.locks;
    let others = Locks::new(open(&server.url_for("reader", "secret")).await.locks);
    let grant = holder.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let waiter = tokio::spawn(async move { others.acquire(&waiting("k")).await.unwrap().release().await });
    let queued =
        || async { holder.list("k", stanchion_core::Page::first(1)).await.is_ok_and(|l| l[0].waiters.len() == 1) };
    eventually(PATIENCE, "it waits", queued).await;
    assert_eq!(holder.release(&grant).await.unwrap(), Released::Released);
    tokio::time::timeout(PATIENCE, waiter).await.expect("the waiter gets it").unwrap().unwrap();
}

/// Two holders, of which the first stands still past its lease, each take their amount from 100. What is left, and what was
/// acknowledged as taken.
async fn take_from(records: &dyn RecordStore, locks: &dyn LockBackend, name: &Key, guarded: bool) -> (i64, i64) {
    let begun = records.put(name, "100".into(), Cond::Absent, None).await.unwrap();
    let read = async |grant: &Grant| -> i64 {
        let record = if guarded { records.touch(name, &grant.fence).await } else { records.get(name).await };
        String::from_utf8(record.unwrap().unwrap().value.to_vec()).unwrap().parse().unwrap()
    };
    let write = async |grant: &Grant, value: i64| -> bool {
        let cond = match records.get(name).await.unwrap() {
            _ if guarded => Cond::Fence(grant.fence),
            found => Cond::Version(found.map_or(begun, |record| record.version)),
        };
        match records.put(name, value.to_string().into(), cond, None).await {
            Ok(_) => true,
            Err(e) if e.kind() == ErrorKind::FenceRejected => false,
            Err(e) => panic!("{e}"),
        }
    };
    let lock = Acquire::new(name.clone()).wait(Wait::No);
    let old = locks.try_acquire(&lock.clone().ttl(Duration::from_millis(50)).unwrap(), Owner::random()).await.unwrap();
    let seen = read(&old).await;
    let new = std::sync::OnceLock::new();
    eventually(PATIENCE, "it expires", || async {
        locks.try_acquire(&lock, Owner::random()).await.is_ok_and(|grant| new.set(grant).is_ok())
    })
    .await;
    let new = new.into_inner().unwrap();
    let newer = read(&new).await;
    let mut taken = if write(&new, newer - 20).await { 20 } else { 0 };
    taken += if write(&old, seen - 10).await { 10 } else { 0 };
    let left = records.get(name).await.unwrap().unwrap().value;
    (String::from_utf8(left.to_vec()).unwrap().parse().unwrap(), taken)
}

/// With its control: the same steps without the token lose an acknowledged write.
#[tokio::test]
async fn a_stale_holder_is_refused_where_the_token_counts_and_destroys_where_it_does_not() {
    let server = MariaDb::start().await;
    let store = open(&server.url()).await;
    let records = store.records.unwrap();
    assert_eq!(take_from(&*records, &*store.locks, &key("guarded"), true).await, (80, 20));
    let (left, taken) = take_from(&*records, &*store.locks, &key("plain"), false).await;
    assert_eq!(taken, 30, "both were acknowledged");
    assert_ne!(left, 100 - taken, "void: nothing was lost");
}

#[tokio::test]
async fn a_write_counts_although_nobody_can_be_told_of_it() {
    let server = MariaDb::start().await;
    let records = open(&server.url()).await.records.unwrap();
    server.ask("DROP TABLE stanchion_watches").unwrap();
    let first = records.put(&key("k"), "1".into(), Cond::Absent, None).await.unwrap();
    let second = records.put(&key("k"), "2".into(), Cond::Version(first), None).await.unwrap();
    assert!(second > first);
    assert_eq!(records.get(&key("k")).await.unwrap().unwrap().version, second);
    records.delete(&key("k"), Cond::Version(second)).await.unwrap();
    assert!(records.get(&key("k")).await.unwrap().is_none());
    let third = records.put(&key("k"), "3".into(), Cond::Absent, None).await.unwrap();
    assert!(third > second);
}

#[tokio::test]
async fn a_write_does_not_wait_for_the_calls_to_all_who_watch() {
    let server = MariaDb::start().await;
    let (proxy, url) = proxied(&server, "").await;
    let records = open(&url).await.records.unwrap();
    let first = records.put(&key("k"), "1".into(), Cond::Absent, None).await.unwrap();
    let gone = "INSERT INTO stanchion_watches SELECT 'k', seq, ~0 FROM seq_1_to_50";
    server.ask(gone).unwrap();
    let call = Duration::from_millis(200);
    proxy.set_plan(Plan::on(move |request| if request.contains("KILL") { Fault::Delay(call) } else { Fault::Deliver }));
    let begun = Instant::now();
    records.put(&key("k"), "2".into(), Cond::Version(first), None).await.unwrap();
    assert!(begun.elapsed() >= call, "void: nobody was called");
    assert!(begun.elapsed() < 10 * call, "{:?} for a write that 50 watch", begun.elapsed());
}

/// A server of a cluster says so of a transaction that another node was faster than.
#[tokio::test]
async fn a_touch_that_was_rolled_back_is_tried_again_and_not_for_ever() {
    let server = MariaDb::start().await;
    let store = open(&server.url()).await;
    let records = store.records.unwrap();
    let token = store.locks.try_acquire(&request("k"), Owner::random()).await.unwrap().fence;
    records.put(&key("k"), "v".into(), Cond::Absent, None).await.unwrap();
    let trigger = "CREATE TABLE rollbacks (n INT) ENGINE=MyISAM; INSERT INTO rollbacks VALUES (3);
        DELIMITER //
        CREATE TRIGGER fail BEFORE UPDATE ON stanchion_records FOR EACH ROW BEGIN
          UPDATE rollbacks SET n = n - 1;
          IF (SELECT n FROM rollbacks) >= 0 THEN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; END IF;
        END //";
    server.ask(trigger).unwrap();
    assert_eq!(records.touch(&key("k"), &token).await.unwrap().unwrap().value, "v");
    assert_eq!(server.ask("SELECT n FROM rollbacks").unwrap().trim(), "-1", "three failures and one success");
    server.ask("UPDATE rollbacks SET n = 1000").unwrap();
    let e = records.touch(&key("k"), &token).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
}

#[tokio::test]
async fn a_damaged_row_can_be_cleared_and_its_fences_go_on() {
    let server = MariaDb::start().await;
    let locks = open(&server.url()).await.locks;
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    server.ask("UPDATE stanchion_locks SET queue = 'no queue of ours'").unwrap();
    let e = locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Damaged, "{e}");
    assert!(e.next_step().unwrap().contains("lock release"), "{e}");
    assert_eq!(locks.evict(&key("k")).await.unwrap(), Released::Released);
    let next = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    assert!(next.fence.number() > grant.fence.number());
    assert!(matches!(locks.renew(&grant, grant.ttl).await, Renewal::Lost));
}
