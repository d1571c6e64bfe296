//! Lost replies, restarts, cut connections, pauses, and sessions that end.

use std::time::Duration;

use stanchion_core::{Cond, ErrorKind, FencingToken, Owner, Page, Released, Renewal};
use stanchion_testkit::engines::{ZooKeeper, ZooKeeperEnsemble};
use stanchion_testkit::{FaultProxy, Protocol, eventually, pause};
use tokio::time::Instant;
use zookeeper_client::Client;

use super::{PATIENCE, key, lose_write, open, request, waiting};
use crate::common::faults;

async fn proxied() -> (ZooKeeper, FaultProxy) {
    let server = ZooKeeper::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::ZooKeeper).await;
    (server, proxy)
}

#[tokio::test]
async fn a_lost_reply_of_a_lock_is_outcome_unknown_and_asking_again_tells() {
    let (server, proxy) = proxied().await;
    let locks = open(&server.url_at(proxy.port())).await.locks;
    // The first one makes the container and the session.
    let warm = locks.try_acquire(&request(faults::LOST), Owner::random()).await.unwrap();
    locks.release(&warm).await.unwrap();
    let e = faults::lost_replies(&*locks, &proxy, || lose_write(&proxy, &key(faults::LOST))).await;
    assert!(e.next_step().unwrap().contains("may have run"), "{e}");
}

#[tokio::test]
async fn leases_records_and_fences_survive_a_restart_of_the_server() {
    let server = ZooKeeper::start().await;
    let opened = open(&server.url()).await;
    let records = opened.records.unwrap();
    let grant = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let version = records.put(&key("r"), "v".into(), Cond::Absent, None).await.unwrap();
    records.touch(&key("r"), &FencingToken::from_parts(5, 5)).await.unwrap();
    server.kill();
    eventually(PATIENCE, "the loss is noticed", || async {
        match opened.locks.renew(&grant, grant.ttl).await {
            Renewal::Unknown(e) => e.kind() == ErrorKind::Unavailable,
            Renewal::Lost => panic!("a session outlives its server for its own time"),
            Renewal::Renewed => panic!("renewed by a dead server"),
        }
    })
    .await;
    server.restart().await;
    faults::goes_on(&*opened.locks, &grant, grant.ttl, PATIENCE).await;
    let other = open(&server.url()).await;
    assert_eq!(records.get(&key("r")).await.unwrap().unwrap().version, version);
    let e = records.touch(&key("r"), &FencingToken::from_parts(4, 4)).await.unwrap_err();
    assert_eq!((e.kind(), e.floor()), (ErrorKind::FenceRejected, Some(5)));
    faults::still_held(&*opened.locks, &*other.locks, &grant).await;
}

/// The server ends the session while its client is cut off: the client never says yes again, and is told when it is back.
#[tokio::test]
async fn a_holder_that_is_cut_off_is_taken_over_and_never_renewed_again() {
    let (server, proxy) = proxied().await;
    let cut = open(&format!("{}?timeout=300ms&connect_timeout=300ms", server.url_at(proxy.port()))).await.locks;
    let other = open(&server.url()).await.locks;
    let ttl = Duration::from_millis(800);
    let sent = Instant::now();
    let old = cut.try_acquire(&request("k").ttl(ttl).unwrap(), Owner::random()).await.unwrap();
    assert!(matches!(cut.renew(&old, ttl).await, Renewal::Renewed), "void: it could be renewed before");
    proxy.blackhole(true);
    let (request, owner) = (waiting("k").ttl(ttl).unwrap(), Owner::random());
    let mut new = other.try_acquire(&request, owner).await;
    let until = Instant::now() + PATIENCE;
    while new.is_err() && Instant::now() < until {
        assert!(!matches!(cut.renew(&old, ttl).await, Renewal::Renewed), "renewed without a server");
        other.wait(&request, owner, Instant::now() + Duration::from_millis(100)).await.unwrap();
        new = other.try_acquire(&request, owner).await;
    }
    let new = new.unwrap();
    assert!(sent.elapsed() >= ttl, "handed on after {:?}", sent.elapsed());
    assert!(new.fence.number() > old.fence.number());
    proxy.blackhole(false);
    eventually(PATIENCE, "the old holder is told", || async {
        match cut.renew(&old, ttl).await {
            Renewal::Renewed => panic!("two holders"),
            Renewal::Lost => true,
            Renewal::Unknown(_) => false,
        }
    })
    .await;
    eventually(PATIENCE, "it is back", || async { cut.list("", Page::first(1)).await.is_ok() }).await;
    assert_eq!(cut.release(&old).await.unwrap(), Released::NotHeld);
    // A new session serves what comes later.
    let e = cut.try_acquire(&super::request("k"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended, "{e}");
}

#[tokio::test]
async fn a_cut_connection_is_replaced_and_the_session_goes_on() {
    let (server, proxy) = proxied().await;
    let opened = open(&server.url_at(proxy.port())).await;
    let grant = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    for _ in 0..3 {
        proxy.cut_all();
        faults::goes_on(&*opened.locks, &grant, grant.ttl, PATIENCE).await;
        let records = opened.records.as_ref().unwrap();
        eventually(PATIENCE, "records are read", || async { records.get(&key("r")).await.is_ok() }).await;
    }
}

#[tokio::test]
async fn a_paused_server_is_waited_for_no_longer_than_the_timeout() {
    let server = ZooKeeper::start().await;
    let opened = open(&format!("{}?timeout=400ms&connect_timeout=400ms", server.url())).await;
    let records = opened.records.unwrap();
    let held = opened.locks.try_acquire(&request("held"), Owner::random()).await.unwrap();
    server.pause();
    let asked = Instant::now();
    // Both at once: after the first time-out a connection may be given up, and then nothing would be sent.
    let (wanted, (name, owner)) = (request("k"), (key("r"), Owner::random()));
    let (lock, put) =
        tokio::join!(opened.locks.try_acquire(&wanted, owner), records.put(&name, "v".into(), Cond::Absent, None));
    for e in [lock.unwrap_err(), put.unwrap_err()] {
        assert_eq!(e.kind(), ErrorKind::OutcomeUnknown, "{e}");
    }
    let e = records.get(&key("r")).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unavailable, "the next one finds no connection: {e}");
    assert!(asked.elapsed() < PATIENCE, "{:?}", asked.elapsed());
    server.resume();
    faults::goes_on(&*opened.locks, &held, held.ttl, PATIENCE).await;
    eventually(PATIENCE, "records are read", || async { records.get(&key("r")).await.is_ok() }).await;
}

#[tokio::test]
async fn a_waiter_survives_the_restart_of_the_server() {
    let server = ZooKeeper::start().await;
    faults::waiter_survives(&server.url(), PATIENCE, faults::crash(&server)).await;
}

#[tokio::test]
async fn a_dropped_attempt_and_a_refused_one_leave_no_entry_behind() {
    let server = ZooKeeper::start().await;
    let locks = open(&server.url()).await.locks;
    let held = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    // Dropped in the middle, at its first wait.
    let waits = waiting("k");
    let attempt = locks.try_acquire(&waits, Owner::random());
    assert!(tokio::time::timeout(Duration::ZERO, attempt).await.is_err(), "void: it was not dropped");
    let plain = Client::connect(&format!("127.0.0.1:{}", server.port())).await.unwrap();
    eventually(PATIENCE, "only the holder is in line", || async {
        plain.list_children("/stanchion/locks/k").await.unwrap() == [held.owner.to_hex()]
    })
    .await;
}

/// Versions grow over the removal of a node, and a node with a fence is never removed.
#[tokio::test]
async fn what_is_gone_is_cleared_away_but_never_a_fence() {
    let server = ZooKeeper::start().await;
    let records = open(&format!("{}?tidy=100ms", server.url())).await.records.unwrap();
    let plain = Client::connect(&format!("127.0.0.1:{}", server.port())).await.unwrap();
    let deleted = records.put(&key("deleted"), "v".into(), Cond::Absent, None).await.unwrap();
    records.delete(&key("deleted"), Cond::Version(deleted)).await.unwrap();
    let short = Some(Duration::from_millis(50));
    records.put(&key("expired"), "v".into(), Cond::Absent, short).await.unwrap();
    let token = FencingToken::from_parts(9, 9);
    let fenced = records.put(&key("fenced"), "v".into(), Cond::Absent, None).await.unwrap();
    records.touch(&key("fenced"), &token).await.unwrap();
    records.delete(&key("fenced"), Cond::Version(fenced)).await.unwrap();
    let kept = records.put(&key("kept"), "v".into(), Cond::Absent, None).await.unwrap();
    eventually(PATIENCE, "the two are removed", || async {
        let mut names = plain.list_children("/stanchion/records").await.unwrap();
        names.sort();
        names == ["fenced", "kept"]
    })
    .await;
    // This one read before the removal, and writes after it.
    records.put(&key("kept"), "w".into(), Cond::Version(kept), None).await.unwrap();
    let again = records.put(&key("deleted"), "v".into(), Cond::Absent, None).await.unwrap();
    assert!(again > deleted, "{again} after {deleted}");
    let e = records.put(&key("deleted"), "w".into(), Cond::Version(deleted), None).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Conflict);
    let e = records.touch(&key("fenced"), &FencingToken::from_parts(8, 8)).await.unwrap_err();
    assert_eq!(e.floor(), Some(9), "{e}");
}

/// The leader is killed with leases and records in the ensemble: what was acknowledged is there under the next leader.
#[tokio::test]
async fn an_ensemble_that_loses_its_leader_keeps_leases_records_and_fences() {
    let ensemble = stanchion_testkit::start_or_skip!(ZooKeeperEnsemble);
    let opened = open(&ensemble.url()).await;
    let records = opened.records.unwrap();
    let grant = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let version = records.put(&key("r"), "v".into(), Cond::Absent, None).await.unwrap();
    records.touch(&key("r"), &FencingToken::from_parts(5, 5)).await.unwrap();
    ensemble.leader().await.unwrap().kill();
    faults::goes_on(&*opened.locks, &grant, grant.ttl, PATIENCE).await;
    assert!(ensemble.leader().await.is_some(), "void: nobody leads");
    eventually(PATIENCE, "records are read", || async { records.get(&key("r")).await.is_ok() }).await;
    assert_eq!(records.get(&key("r")).await.unwrap().unwrap().version, version);
    let e = records.touch(&key("r"), &FencingToken::from_parts(4, 4)).await.unwrap_err();
    assert_eq!((e.kind(), e.floor()), (ErrorKind::FenceRejected, Some(5)));
    let other = open(&ensemble.url()).await.locks;
    faults::still_held(&*opened.locks, &*other, &grant).await;
    let after = records.put(&key("r"), "w".into(), Cond::Version(version), None).await.unwrap();
    assert!(after > version);
}

/// A waiter has glanced at the line when the one before it is granted above a floor, and leaves.
#[tokio::test]
async fn a_fence_is_above_the_last_one_though_that_was_raised_behind_a_glance() {
    let server = ZooKeeper::start().await;
    let (first, raiser) = (open(&server.url()).await.locks, open(&server.url()).await.locks);
    let late = open(&server.url()).await.locks;
    let held = first.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let (high, raised) = (waiting("k").floor(1_000_000), Owner::random());
    assert_eq!(raiser.try_acquire(&high, raised).await.unwrap_err().kind(), ErrorKind::Contended);
    let glanced = pause::hold("zookeeper.line-glanced");
    let waiter = tokio::spawn(async move { late.try_acquire(&waiting("k"), Owner::random()).await });
    glanced.reached(PATIENCE).await;
    first.release(&held).await.unwrap();
    let before = raiser.try_acquire(&high, raised).await.unwrap();
    assert!(before.fence.number() > 1_000_000, "void: {}", before.fence);
    raiser.release(&before).await.unwrap();
    glanced.release();
    let after = waiter.await.unwrap().unwrap();
    assert!(after.fence.number() > before.fence.number(), "{} after {}", after.fence, before.fence);
}
