//! Restarts, crashes, lost replies, cut connections and pauses.

use std::time::Duration;

use stanchion_core::{Cond, ErrorKind, FencingToken, Locks, Owner, RecordStore as _, Released, Renewal};
use stanchion_testkit::engines::MariaDb;
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, eventually};
use tokio::time::Instant;

use super::{PATIENCE, key, open, request, waiting};

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
    proxy.set_plan(Plan::first("INSERT INTO", Fault::DelayReply(PATIENCE)));
    let e = records.put(&key("k"), "v".into(), Cond::Absent, None).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::OutcomeUnknown, "{e}");
    assert_eq!(records.get(&key("k")).await.unwrap().unwrap().value, "v");
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
    server.stop().await;
    let e = store.locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::OutcomeUnknown), "{e}");
    let e = store.locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}");
    assert!(e.next_step().is_some());
    server.restart().await;
    eventually(PATIENCE, "it works again", || async {
        store.locks.try_acquire(&request("k"), Owner::random()).await.is_ok()
    })
    .await;
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

/// The control: without the token the paused holder's write destroys its successor's.
#[tokio::test]
async fn a_stale_holder_is_refused_where_the_token_counts_and_destroys_where_it_does_not() {
    let server = MariaDb::start().await;
    let store = open(&server.url()).await;
    let records = store.records.unwrap();
    let short = request("k").ttl(Duration::from_millis(50)).unwrap();
    let token = |grant: &stanchion_core::Grant| -> FencingToken { grant.fence };
    let old = store.locks.try_acquire(&short, Owner::random()).await.unwrap();
    records.touch(&key("guarded"), &token(&old)).await.unwrap();
    let new = std::sync::OnceLock::new();
    eventually(PATIENCE, "it expires", || async {
        store.locks.try_acquire(&request("k"), Owner::random()).await.is_ok_and(|grant| new.set(grant).is_ok())
    })
    .await;
    let new = new.into_inner().unwrap();
    records.touch(&key("guarded"), &token(&new)).await.unwrap();
    records.put(&key("guarded"), "new".into(), Cond::Fence(token(&new)), None).await.unwrap();
    let late = records.put(&key("guarded"), "old".into(), Cond::Fence(token(&old)), None).await.unwrap_err();
    assert_eq!((late.kind(), late.floor()), (ErrorKind::FenceRejected, Some(new.fence.number())));
    assert_eq!(records.get(&key("guarded")).await.unwrap().unwrap().value, "new");

    server.ask("CREATE TABLE plain (id INT PRIMARY KEY, value TEXT); INSERT INTO plain VALUES (1, 'new')").unwrap();
    server.ask("UPDATE plain SET value = 'old' WHERE id = 1").unwrap();
    assert_eq!(server.ask("SELECT value FROM plain").unwrap().trim(), "old", "void: nothing was lost");
}
