//! Lost replies, revoked leases, restarts, and servers that do not answer.

use std::time::{Duration, Instant};

use stanchion_core::{Cond, ErrorKind, Locks, Owner, Page, Released, Renewal};
use stanchion_testkit::engines::Etcd;
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, eventually};

use super::{PATIENCE, key, leases, open, request, revoke, waiting};
use crate::common::faults;

const TTL: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_lost_reply_of_a_lock_is_outcome_unknown_and_asking_again_tells() {
    let server = Etcd::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Grpc).await;
    let locks = open(&server.url_at(proxy.port())).await.locks;
    let e = faults::lost_replies(&*locks, &proxy, || faults::lose(&proxy, faults::LOST)).await;
    assert!(e.next_step().unwrap().contains("may have run"), "{e}");
}

/// Nobody asks for it again: the entry ends by its own deadline, though the process and its session live.
#[tokio::test]
async fn an_attempt_whose_answer_was_lost_does_not_hold_for_ever() {
    let server = Etcd::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Grpc).await;
    let locks = open(&server.url_at(proxy.port())).await.locks;
    let short = request("lost-key").ttl(Duration::from_millis(300)).unwrap();
    locks.try_acquire(&request("warm"), Owner::random()).await.unwrap();
    proxy.set_plan(Plan::first("lost-key", Fault::LoseReply));
    locks.try_acquire(&short, Owner::random()).await.unwrap_err();
    let other = open(&server.url()).await.locks;
    eventually(PATIENCE, "it is free again", || async {
        other.try_acquire(&request("lost-key"), Owner::random()).await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn a_restarted_server_keeps_leases_records_and_the_order_of_fences() {
    let server = Etcd::start().await;
    let opened = open(&server.url()).await;
    let records = opened.records.unwrap();
    let held = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let version = records.put(&key("r"), "1".into(), Cond::Absent, Some(TTL)).await.unwrap();
    server.kill();
    let e = opened.locks.try_acquire(&request("k2"), Owner::random()).await.unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::OutcomeUnknown), "granted by nobody: {e}");
    assert!(matches!(opened.locks.renew(&held, TTL).await, Renewal::Unknown(_)));
    server.restart().await;
    faults::goes_on(&*opened.locks, &held, TTL, PATIENCE).await;
    let record = records.get(&key("r")).await.unwrap().unwrap();
    assert_eq!((record.value, record.version), ("1".into(), version));
    faults::still_held(&*opened.locks, &*opened.locks, &held).await;
}

#[tokio::test]
async fn a_cut_connection_is_replaced_and_the_lock_is_still_held() {
    let server = Etcd::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Grpc).await;
    let locks = open(&server.url_at(proxy.port())).await.locks;
    faults::cuts(&*locks, &proxy, TTL, PATIENCE).await;
}

#[tokio::test]
async fn a_holder_that_is_cut_off_stops_before_another_one_begins() {
    let server = Etcd::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Grpc).await;
    let url = format!("{}?timeout=300ms&connect_timeout=300ms", server.url_at(proxy.port()));
    let locks = Locks::shared(open(&url).await.locks);
    let lease = locks.acquire(&request("k").ttl(Duration::from_secs(1)).unwrap()).await.unwrap();
    proxy.blackhole(true);
    let other = open(&server.url()).await.locks;
    let owner = Owner::random();
    eventually(PATIENCE, "the session ends and another one holds", || async {
        let granted = other.try_acquire(&waiting("k"), owner).await.is_ok();
        // The look comes after the grant, so a slow machine cannot make it fail.
        assert!(!granted || lease.fence().is_err(), "two holders");
        granted
    })
    .await;
    tokio::time::timeout(PATIENCE, lease.lost()).await.expect("the loss is told");
    proxy.blackhole(false);
}

#[tokio::test]
async fn a_paused_server_costs_a_bounded_time_and_nothing_is_believed() {
    let server = Etcd::start().await;
    let opened = open(&format!("{}?timeout=300ms&connect_timeout=300ms", server.url())).await;
    let (locks, records) = (opened.locks, opened.records.unwrap());
    let held = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    server.pause();
    let start = Instant::now();
    let e = locks.try_acquire(&request("other"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::OutcomeUnknown, "{e}");
    let e = records.get(&key("r")).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}");
    assert!(matches!(locks.renew(&held, TTL).await, Renewal::Unknown(_)));
    assert!(start.elapsed() < PATIENCE / 3, "{:?}", start.elapsed());
    server.resume();
    faults::goes_on(&*locks, &held, TTL, PATIENCE).await;
}

#[tokio::test]
async fn a_lease_revoked_under_its_holder_is_lost() {
    let server = Etcd::start().await;
    let locks = open(&server.url()).await.locks;
    let held = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    for lease in leases(&server).await {
        revoke(&server, &lease).await;
    }
    assert!(matches!(locks.renew(&held, TTL).await, Renewal::Lost));
    assert_eq!(locks.release(&held).await.unwrap(), Released::NotHeld);
    let next = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    assert!(next.fence.number() > held.fence.number(), "a fresh session, a higher fence");
}

/// etcd's own lock once granted to a waiter whose lease had ended while it waited. The one before it leaves, so a waiter
/// that does not look at its own entry would believe that it is its turn, beside the one that comes now.
#[tokio::test]
async fn a_waiter_whose_lease_was_revoked_while_it_waited_is_not_granted() {
    let server = Etcd::start().await;
    let (a, b, c) = (open(&server.url()).await.locks, open(&server.url()).await.locks, open(&server.url()).await.locks);
    let held = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let before = leases(&server).await;
    let (waiter, wanted) = (Owner::random(), waiting("k"));
    assert_eq!(b.try_acquire(&wanted, waiter).await.unwrap_err().kind(), ErrorKind::Contended);
    let of_waiter: Vec<_> = leases(&server).await.into_iter().filter(|lease| !before.contains(lease)).collect();
    assert_eq!(of_waiter.len(), 1, "void: {of_waiter:?}");
    let until = tokio::time::Instant::now() + PATIENCE;
    let waits = tokio::spawn({
        let (b, wanted) = (b.clone(), wanted.clone());
        async move { b.wait(&wanted, waiter, until).await }
    });
    revoke(&server, &of_waiter[0]).await;
    eventually(PATIENCE, "its entry is gone", || async {
        a.list("k", Page::first(1)).await.unwrap()[0].waiters.is_empty()
    })
    .await;
    assert_eq!(a.release(&held).await.unwrap(), Released::Released);
    let next = c.try_acquire(&request("k"), Owner::random()).await.unwrap();
    waits.await.unwrap().unwrap();
    let e = b.try_acquire(&wanted, waiter).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended, "two holders: {e}");
    assert!(matches!(c.renew(&next, TTL).await, Renewal::Renewed));
    assert_eq!(c.release(&next).await.unwrap(), Released::Released);
    b.wait(&wanted, waiter, until).await.unwrap();
    b.try_acquire(&wanted, waiter).await.expect("it came in again, and now it is its turn");
}

/// A shared lease of records that somebody revoked is replaced; what it carried is gone, as it would be by its ttl.
#[tokio::test]
async fn a_revoked_lease_of_records_is_replaced() {
    let server = Etcd::start().await;
    let records = open(&server.url()).await.records.unwrap();
    records.put(&key("a"), "1".into(), Cond::Absent, Some(TTL)).await.unwrap();
    let shared = leases(&server).await;
    records.put(&key("b"), "1".into(), Cond::Absent, Some(TTL)).await.unwrap();
    assert_eq!(leases(&server).await, shared, "records of one ttl share a lease for a while");
    for lease in shared {
        revoke(&server, &lease).await;
    }
    assert_eq!(records.get(&key("a")).await.unwrap(), None);
    records.put(&key("c"), "1".into(), Cond::Absent, Some(TTL)).await.unwrap();
    assert!(records.get(&key("c")).await.unwrap().is_some());
}

#[tokio::test]
async fn a_waiter_survives_the_restart_of_the_server() {
    let server = Etcd::start().await;
    faults::waiter_survives(&server.url(), PATIENCE, faults::crash(&server)).await;
}

/// What the lost write may still leave behind ends with the lease that it was sent for. So nobody else may keep that one.
#[tokio::test]
async fn a_holder_that_goes_on_does_not_keep_the_lease_of_a_lost_write() {
    let server = Etcd::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Grpc).await;
    let locks = open(&server.url_at(proxy.port())).await.locks;
    let ttl = Duration::from_secs(1);
    let short = |name: &str| request(name).ttl(ttl).unwrap();
    let held = locks.try_acquire(&short("held"), Owner::random()).await.unwrap();
    let first = leases(&server).await;
    assert_eq!(first.len(), 1, "void: {first:?}");
    proxy.set_plan(Plan::first("lost-key", Fault::LoseReply));
    let e = locks.try_acquire(&short("lost-key"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::OutcomeUnknown, "void: {e}");
    eventually(PATIENCE, "the lease ends", || async {
        let renewal = locks.renew(&held, ttl).await;
        assert!(matches!(renewal, Renewal::Renewed), "{renewal:?}");
        !leases(&server).await.contains(&first[0])
    })
    .await;
    assert!(matches!(locks.renew(&held, ttl).await, Renewal::Renewed));
    assert_eq!(locks.release(&held).await.unwrap(), Released::Released);
}
