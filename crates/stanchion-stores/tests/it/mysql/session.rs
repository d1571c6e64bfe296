//! `mode=session`: locks that live as long as a connection.

use std::time::Duration;

use stanchion_core::{Cond, ErrorKind, Mode, Owner, Page, Released, Renewal};
use stanchion_testkit::engines::MariaDb;
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, eventually};
use tokio::time::Instant;

use super::{PATIENCE, key, open, request, waiting};

async fn server() -> (MariaDb, String) {
    let server = MariaDb::start().await;
    let url = format!("{}?mode=session", server.url());
    (server, url)
}

#[tokio::test]
async fn a_lost_connection_is_a_lost_lock_and_the_holder_learns_it() {
    let (server, url) = server().await;
    let locks = open(&url).await.locks;
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    assert!(matches!(locks.renew(&grant, grant.ttl).await, Renewal::Renewed));
    let id = server.ask("SELECT connection FROM stanchion_sessions").unwrap();
    server.ask(&format!("KILL {id}")).unwrap();
    assert!(matches!(locks.renew(&grant, grant.ttl).await, Renewal::Lost));
    assert_eq!(locks.release(&grant).await.unwrap(), Released::NotHeld);
    let free = || async {
        let next = locks.try_acquire(&request("k"), Owner::random()).await;
        next.is_ok_and(|next| next.fence.number() > grant.fence.number())
    };
    eventually(PATIENCE, "the server lets the lock of the ended session go", free).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_runs_out_or_is_given_up_takes_nothing() {
    let (server, url) = server().await;
    let (a, b) = (open(&url).await.locks, open(&url).await.locks);
    let grant = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let owner = Owner::random();
    b.wait(&waiting("k"), owner, Instant::now() + Duration::from_millis(100)).await.unwrap();
    let e = b.try_acquire(&waiting("k"), owner).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended);
    assert_eq!(e.holder().unwrap().fence, Some(grant.fence));
    let waiter = {
        let b = std::sync::Arc::clone(&b);
        tokio::spawn(async move { b.wait(&waiting("k"), owner, Instant::now() + PATIENCE).await })
    };
    let blocked = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT GET_LOCK(%'";
    let blocks = || async { server.ask(blocked).is_ok_and(|count| count.trim() == "1") };
    eventually(PATIENCE, "it waits in the server", blocks).await;
    waiter.abort();
    drop(waiter.await);
    b.withdraw(&waiting("k"), owner).await;
    a.release(&grant).await.unwrap();
    eventually(PATIENCE, "it is free", || async { a.try_acquire(&request("k"), Owner::random()).await.is_ok() }).await;
}

#[tokio::test]
async fn long_names_that_differ_in_case_or_end_are_different_locks() {
    let (_server, url) = server().await;
    let locks = open(&url).await.locks;
    let long = "x".repeat(500);
    for name in ["Deploy", "deploy", "DEPLOY", &format!("{long}1"), &format!("{long}2")] {
        locks.try_acquire(&request(name), Owner::random()).await.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    let e = locks.try_acquire(&request("deploy"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended);
}

#[tokio::test]
async fn shared_locks_are_unsupported_and_listing_shows_live_holders_only() {
    let (_server, url) = server().await;
    let locks = open(&url).await.locks;
    let e = locks.try_acquire(&request("k").mode(Mode::Shared).unwrap(), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported);
    assert!(e.next_step().unwrap().contains("mode=lease"));
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    assert_eq!(locks.list("", Page::first(9)).await.unwrap()[0].holders[0].fence, Some(grant.fence));
    locks.release(&grant).await.unwrap();
    assert!(locks.list("", Page::first(9)).await.unwrap().is_empty());
}

async fn proxied(server: &MariaDb, options: &str) -> (FaultProxy, String) {
    let proxy = FaultProxy::start(server.addr(), Protocol::Mysql).await;
    let url = format!("{}?mode=session&ssl-mode=disabled&{options}", server.url_at(proxy.port()));
    (proxy, url)
}

const STALL: Duration = Duration::from_millis(500);

/// The late answer of a renewal that was given up says what was true before the session ended.
#[tokio::test]
async fn an_answer_that_was_given_up_is_not_taken_for_that_of_the_next_renewal() {
    let (server, direct) = server().await;
    let (proxy, url) = proxied(&server, "").await;
    let (locks, others) = (open(&url).await.locks, open(&direct).await.locks);
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    proxy.set_plan(Plan::first("IS_USED_LOCK", Fault::DelayReply(STALL)));
    let given_up = tokio::time::timeout(STALL / 5, locks.renew(&grant, grant.ttl)).await;
    assert!(given_up.is_err(), "void: it was answered in time");
    let id = server.ask("SELECT connection FROM stanchion_sessions").unwrap();
    server.ask(&format!("KILL {id}")).unwrap();
    eventually(PATIENCE, "another one takes it", || async {
        others.try_acquire(&request("k"), Owner::random()).await.is_ok()
    })
    .await;
    let renewed = locks.renew(&grant, grant.ttl).await;
    assert!(matches!(renewed, Renewal::Lost), "{renewed:?} while another one holds it");
}

#[tokio::test]
async fn a_release_after_a_renewal_that_was_given_up_does_not_say_that_the_lock_was_lost() {
    let (server, direct) = server().await;
    let (proxy, url) = proxied(&server, "").await;
    let (locks, others) = (open(&url).await.locks, open(&direct).await.locks);
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    proxy.set_plan(Plan::first("IS_USED_LOCK", Fault::DelayReply(STALL)));
    let given_up = tokio::time::timeout(STALL / 5, locks.renew(&grant, grant.ttl)).await;
    assert!(given_up.is_err(), "void: it was answered in time");
    let e = locks.release(&grant).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::OutcomeUnknown, "{e}");
    let free = || async { others.try_acquire(&request("k"), Owner::random()).await.is_ok() };
    eventually(PATIENCE, "it ends with its connection", free).await;
}

#[tokio::test]
async fn a_release_whose_reply_is_lost_is_unknown_and_the_lock_is_free() {
    let (server, direct) = server().await;
    let (proxy, url) = proxied(&server, "").await;
    let (locks, others) = (open(&url).await.locks, open(&direct).await.locks);
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    proxy.set_plan(Plan::first("RELEASE_LOCK", Fault::LoseReply));
    let e = locks.release(&grant).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::OutcomeUnknown, "{e}");
    let free = || async { others.try_acquire(&request("k"), Owner::random()).await.is_ok() };
    eventually(PATIENCE, "it is free", free).await;
}

#[tokio::test]
async fn a_session_that_does_not_answer_in_time_is_lost_and_closed() {
    let (server, direct) = server().await;
    let (proxy, url) = proxied(&server, "timeout=300ms").await;
    let (locks, others) = (open(&url).await.locks, open(&direct).await.locks);
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    proxy.set_plan(Plan::first("IS_USED_LOCK", Fault::DelayReply(STALL)));
    let renewed = locks.renew(&grant, grant.ttl).await;
    assert!(matches!(renewed, Renewal::Lost), "{renewed:?}");
    let free = || async { others.try_acquire(&request("k"), Owner::random()).await.is_ok() };
    eventually(PATIENCE, "it is closed", free).await;
    assert_eq!(locks.release(&grant).await.unwrap(), Released::NotHeld);
}

#[tokio::test]
async fn old_records_are_tidied_away_in_this_mode_too() {
    let (server, url) = server().await;
    let records = open(&url).await.records.unwrap();
    server.ask("INSERT INTO stanchion_records (k, version, written) VALUES ('old', 7, 1)").unwrap();
    let mut version = records.put(&key("k"), "v".into(), Cond::Absent, None).await.unwrap();
    for _ in 0..4096 {
        version = records.put(&key("k"), "v".into(), Cond::Version(version), None).await.unwrap();
    }
    eventually(PATIENCE, "the old one is gone", || async {
        server.ask("SELECT COUNT(*) FROM stanchion_records WHERE k = 'old'").is_ok_and(|count| count.trim() == "0")
    })
    .await;
}

/// A look that began before a row was written finds it with a time that is still to come.
#[tokio::test]
async fn a_holder_from_the_near_future_is_shown() {
    let (server, url) = server().await;
    let locks = open(&url).await.locks;
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    server.ask("UPDATE stanchion_sessions SET since = since + 60000000").unwrap();
    assert_eq!(locks.list("", Page::first(9)).await.unwrap()[0].holders[0].fence, Some(grant.fence));
    let e = locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended, "{e}");
}
