//! Lost replies, restarts, silence, refusals for now.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use stanchion_core::{Acquire, Cond, ErrorKind, Locks, LostReason, Owner, Ran, Released, Renewal, Wait};
use stanchion_testkit::engines::Dynalite;
use stanchion_testkit::{FaultProxy, Protocol, eventually};
use tokio::time::Instant;

use super::front::{Front, error};
use super::{PATIENCE, key, open, plain, request, server};
use crate::common::faults;

#[tokio::test]
async fn a_lost_reply_of_a_lock_is_outcome_unknown_and_asking_again_tells() {
    let server = server().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Http).await;
    let locks = open(&server.url_at(proxy.port())).await.locks;
    let lose = || faults::lose(&proxy, faults::LOST);
    let (grant, _) = faults::lost_grant(&*locks, lose).await;
    assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
    // One that we took ourselves is given back without a look, so it is the write whose answer is lost.
    let grant = locks.try_acquire(&request(faults::LOST), grant.owner).await.unwrap();
    faults::lost_release(&*locks, &grant, lose).await;
    assert_eq!(proxy.counts().lost_replies, 2, "void");
}

#[tokio::test]
async fn a_lock_is_one_request_to_take_and_one_to_free_and_a_renewal_looks_first() {
    let server = server().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Http).await;
    let locks = open(&server.url_at(proxy.port())).await.locks;
    let before = proxy.counts().requests;
    for round in 1..=10 {
        let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
        assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
        assert_eq!(proxy.counts().requests - before, 2 * round);
    }
    let (before, grant) = (proxy.counts().requests, locks.try_acquire(&request("r"), Owner::random()).await.unwrap());
    assert!(matches!(locks.renew(&grant, Duration::from_secs(5)).await, Renewal::Renewed));
    assert_eq!(proxy.counts().requests - before, 3, "taken, looked at, renewed");
    assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
    assert_eq!(proxy.counts().requests - before, 5, "looked at, freed");
}

/// The guess that a lock is as we left it must never decide alone.
#[tokio::test]
async fn what_others_did_meanwhile_is_seen_in_spite_of_our_guess() {
    let server = server().await;
    let (a, b) = (open(&server.url()).await.locks, open(&server.url()).await.locks);
    let first = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    assert_eq!(b.evict(&key("k")).await.unwrap(), Released::Released);
    let second = b.try_acquire(&request("k"), Owner::random()).await.unwrap();
    assert!(second.fence.number() > first.fence.number());
    assert!(matches!(a.renew(&first, Duration::from_secs(5)).await, Renewal::Lost));
    assert_eq!(a.release(&first).await.unwrap(), Released::NotHeld);
    assert!(matches!(b.renew(&second, Duration::from_secs(5)).await, Renewal::Renewed), "the late release freed it");
    // A believes that nobody holds it.
    let e = a.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!((e.kind(), e.holder().unwrap().fence), (ErrorKind::Contended, Some(second.fence)));
    b.release(&second).await.unwrap();
    let third = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    assert!(third.fence.number() > second.fence.number());
}

#[tokio::test]
async fn a_killed_and_restarted_server_is_found_again_with_everything_acknowledged() {
    let server = Dynalite::options().on_disk(true).start().await;
    let opened = open(&format!("{}&timeout=2s", server.url())).await;
    let (locks, records) = (opened.locks, opened.records.unwrap());
    let held = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let version = records.put(&key("r"), "kept".into(), Cond::Absent, None).await.unwrap();
    server.kill();
    let e = records.get(&key("r")).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}");
    eventually(PATIENCE, "a write finds no connection", || async {
        let e = records.put(&key("r"), "lost".into(), Cond::Version(version), None).await.unwrap_err();
        e.kind() == ErrorKind::Unavailable
    })
    .await;
    server.restart().await;
    let found = records.get(&key("r")).await.unwrap().unwrap();
    assert_eq!((&found.value[..], found.version), (&b"kept"[..], version));
    assert!(
        matches!(locks.renew(&held, Duration::from_secs(5)).await, Renewal::Renewed),
        "a lease is not a connection"
    );
    faults::still_held(&*locks, &*locks, &held).await;
}

/// The holder is cut off for longer than its ttl. It is told in time, by its own clock; the other one takes over after it.
#[tokio::test]
async fn a_holder_that_is_cut_off_loses_its_lease_before_another_has_it() {
    let server = server().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Http).await;
    let holder = Locks::shared(open(&format!("{}&timeout=300ms", server.url_at(proxy.port()))).await.locks);
    let ttl = Duration::from_millis(900);
    let asked = Acquire::new(key("k")).ttl(ttl).unwrap().wait(Wait::For(PATIENCE));
    let start = Instant::now();
    let lease = holder.acquire(&asked).await.unwrap();
    let fence = lease.fence().unwrap().token();
    proxy.blackhole(true);
    let other = Locks::shared(open(&server.url()).await.locks);
    let taken = other.acquire(&asked).await.unwrap();
    assert_eq!(lease.fence().unwrap_err().kind(), ErrorKind::LeaseLost, "two believe that they hold it");
    assert!(start.elapsed() >= ttl);
    assert!(taken.fence().unwrap().token().number() > fence.number());
    let lost = tokio::time::timeout(PATIENCE, lease.lost()).await.unwrap();
    assert_eq!(lost, LostReason::Expired);
    proxy.blackhole(false);
    assert_eq!(taken.release().await.unwrap(), Released::Released);
}

#[tokio::test]
async fn a_cut_connection_is_replaced_and_the_lease_goes_on() {
    let server = server().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Http).await;
    let locks = open(&server.url_at(proxy.port())).await.locks;
    faults::cuts(&*locks, &proxy, Duration::from_secs(20), PATIENCE).await;
}

#[tokio::test]
async fn a_paused_server_ends_by_the_timeout() {
    let server = server().await;
    let opened = open(&format!("{}&timeout=300ms", server.url())).await;
    let (locks, records) = (opened.locks, opened.records.unwrap());
    server.pause();
    let start = Instant::now();
    let owner = Owner::random();
    let e = locks.try_acquire(&request("k"), owner).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::OutcomeUnknown, "{e}");
    let e = records.get(&key("k")).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "a read has no effect: {e}");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    server.resume();
    let grant = locks.try_acquire(&request("k"), owner).await.unwrap();
    assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
}

/// The connection cannot even be made: nothing ran.
#[tokio::test]
async fn connecting_in_vain_is_unavailable_not_unknown() {
    let server = server().await;
    let records = open(&format!("{}&timeout=2s", server.url())).await.records.unwrap();
    server.kill();
    eventually(PATIENCE, "the dead connection is noticed", || async {
        let e = records.put(&key("k"), "v".into(), Cond::Absent, None).await.unwrap_err();
        (e.kind(), e.ran()) == (ErrorKind::Unavailable, Ran::No)
    })
    .await;
}

#[tokio::test]
async fn a_refusal_for_now_is_tried_again_and_runs_once() {
    let server = server().await;
    let refusals = Arc::new(AtomicU32::new(0));
    let left = Arc::clone(&refusals);
    let front = Front::start(server.addr(), move |operation, _| {
        let codes =
            ["ProvisionedThroughputExceededException", "ThrottlingException", "ReplicatedWriteConflictException"];
        let refuse = operation == "UpdateItem"
            && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        refuse.then(|| error(400, codes[left.load(Ordering::SeqCst) as usize % 3])).flatten()
    })
    .await;
    let records = open(&front.url()).await.records.unwrap();
    refusals.store(3, Ordering::SeqCst);
    let version = records.put(&key("k"), "v".into(), Cond::Absent, None).await.unwrap();
    assert_eq!(version.get(), 1, "it ran once");
    assert_eq!(front.asked().iter().filter(|operation| *operation == "UpdateItem").count(), 4);

    refusals.store(1000, Ordering::SeqCst);
    let e = records.put(&key("k"), "w".into(), Cond::Version(version), None).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    assert!(e.next_step().is_some_and(|step| step.contains("on-demand") || step.contains("another region")), "{e:?}");
    let tries = 1000 - refusals.load(Ordering::SeqCst);
    assert!((2..=11).contains(&tries), "{tries} tries");
    refusals.store(0, Ordering::SeqCst);
    assert_eq!(records.get(&key("k")).await.unwrap().unwrap().version, version);
}

/// Amazon says of 5xx answers that the write may have happened.
#[tokio::test]
async fn an_internal_error_of_a_write_is_outcome_unknown_and_is_not_repeated() {
    let server = server().await;
    let front = Front::start(server.addr(), |operation, body| match operation {
        "UpdateItem" if body.contains("doomed") => error(500, "InternalServerError"),
        _ => None,
    })
    .await;
    let records = open(&front.url()).await.records.unwrap();
    let e = records.put(&key("doomed"), "v".into(), Cond::Absent, None).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::OutcomeUnknown, "{e}");
    assert_eq!(front.asked().iter().filter(|operation| *operation == "UpdateItem").count(), 1);
}

/// Amazon tells what stands there with the refusal; the emulator does not, and is asked.
#[tokio::test]
async fn a_refusal_that_brings_the_item_saves_the_read() {
    let server = server().await;
    let front = Front::start(server.addr(), |operation, body| {
        (operation == "UpdateItem" && body.contains("told")).then(|| {
            assert!(body.contains(r#""ReturnValuesOnConditionCheckFailure":"ALL_OLD""#), "{body}");
            let item = r#"{"k":{"S":"told"},"ver":{"N":"41"},"len":{"N":"0"},"ends":{"N":"253402300799999"},"fence":{"N":"7"},"lease":{"S":"00000000000000bb"}}"#;
            let code = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
            (400, format!(r#"{{"__type":"{code}","message":"The conditional request failed","Item":{item}}}"#))
        })
    })
    .await;
    let records = open(&front.url()).await.records.unwrap();
    let e = records.put(&key("told"), "v".into(), Cond::Absent, None).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Conflict);
    assert!(e.to_string().contains("found: 41"), "{e}");
    let e = records.touch(&key("told"), &stanchion_core::FencingToken::from_parts(3, 1)).await.unwrap_err();
    assert_eq!((e.kind(), e.floor()), (ErrorKind::FenceRejected, Some(7)));
    assert!(!front.asked().contains(&"GetItem".to_owned()), "{:?}", front.asked());
}

/// What nobody reads again takes no room for ever: a listing frees it, and keeps the version and the fence.
#[tokio::test]
async fn a_listing_removes_the_values_of_ended_records() {
    let server = server().await;
    let records = open(&server.url()).await.records.unwrap();
    let token = stanchion_core::FencingToken::from_parts(7, 1);
    let version = records.put(&key("brief"), "v".into(), Cond::Absent, Some(Duration::from_millis(1))).await.unwrap();
    records.touch(&key("brief"), &token).await.unwrap();
    records.put(&key("stays"), "v".into(), Cond::Absent, Some(Duration::from_secs(600))).await.unwrap();
    let bare = plain(&server);
    let item = || async {
        let get = bare.get_item().table_name("stanchion").key("k", AttributeValue::S("brief".to_owned()));
        get.consistent_read(true).send().await.unwrap().item.unwrap()
    };
    assert!(item().await.contains_key("val"), "void: it was not there");
    eventually(PATIENCE, "the value is gone", || async {
        let listed = records.scan("", stanchion_core::Page::first(9)).await.unwrap();
        assert!(listed.iter().any(|(listed, _)| *listed == key("stays")));
        !item().await.contains_key("val")
    })
    .await;
    let left = item().await;
    assert!(left.contains_key("ver") && left.contains_key("fence") && !left.contains_key("len"), "{left:?}");
    let next = records.put(&key("brief"), "w".into(), Cond::Absent, None).await.unwrap();
    assert!(next > version);
}
