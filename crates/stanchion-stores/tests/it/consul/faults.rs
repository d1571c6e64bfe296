//! Restarts, cuts, lost replies, a server that stands still.

use std::time::Duration;

use stanchion_core::{Cond, ErrorKind, Locks, Owner, Released, Renewal};
use stanchion_testkit::engines::Consul;
use stanchion_testkit::{FaultProxy, Protocol, eventually};

use super::{PATIENCE, end_sessions, key, open, plain, request, sessions, waiting};
use crate::common::faults;

#[tokio::test]
async fn a_restarted_server_is_found_again_with_everything_it_had() {
    let server = Consul::options().disk(true).start().await;
    let opened = open(&format!("{}?timeout=1s", server.url())).await;
    let records = opened.records.unwrap();
    let version = records.put(&key("r"), "kept".into(), Cond::Absent, None).await.unwrap();
    let held = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    server.kill();
    faults::loss_is_noticed(&*opened.locks, "other", PATIENCE).await;
    server.restart().await;
    assert!(matches!(opened.locks.renew(&held, held.ttl).await, Renewal::Renewed), "the log was on disk");
    faults::still_held(&*opened.locks, &*opened.locks, &held).await;
    let record = records.get(&key("r")).await.unwrap().unwrap();
    assert_eq!((&record.value[..], record.version), (&b"kept"[..], version));
    let later = records.put(&key("r"), "kept".into(), Cond::Version(version), None).await.unwrap();
    assert!(later > version, "the same value again is another version");
}

#[tokio::test]
async fn a_waiter_survives_the_restart_of_the_server() {
    let server = Consul::options().disk(true).start().await;
    faults::waiter_survives(&server.url(), PATIENCE, faults::crash(&server)).await;
}

#[tokio::test]
async fn a_session_that_is_ended_under_its_holder_is_lost_at_the_next_renewal() {
    let server = Consul::start().await;
    let backend = open(&server.url()).await.locks;
    let locks = Locks::shared(backend.clone());
    let lease = locks.acquire(&request("k").ttl(Duration::from_secs(3)).unwrap()).await.unwrap();
    end_sessions(&server).await;
    tokio::time::timeout(PATIENCE, lease.lost()).await.expect("lost is signalled");
    assert_eq!(lease.fence().map(drop).unwrap_err().kind(), ErrorKind::LeaseLost);
    // The same client goes on with a session of its own.
    backend.try_acquire(&request("other"), Owner::random()).await.unwrap();
}

/// A holder that is cut off believes nothing beyond its own deadline, and the next one comes after that only.
#[tokio::test]
async fn a_holder_that_is_cut_off_stops_before_the_next_one_begins() {
    let server = Consul::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Http).await;
    let cut_off = Locks::shared(open(&format!("{}?lock_delay=0s&timeout=1s", server.url_at(proxy.port()))).await.locks);
    let other = open(&format!("{}?lock_delay=0s", server.url())).await.locks;
    let lease = cut_off.acquire(&request("k").ttl(Duration::from_secs(1)).unwrap()).await.unwrap();
    proxy.blackhole(true);
    let owner = Owner::random();
    eventually(PATIENCE, "the session ends and the next one holds", || async {
        match other.try_acquire(&waiting("k"), owner).await {
            Ok(_) => {
                assert!(lease.fence().is_err(), "two believe that they hold it");
                true
            }
            Err(_) => false,
        }
    })
    .await;
    proxy.blackhole(false);
}

#[tokio::test]
async fn connections_that_were_cut_are_replaced_unnoticed() {
    let server = Consul::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Http).await;
    let opened = open(&server.url_at(proxy.port())).await;
    let records = opened.records.unwrap();
    let held = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let mut version = records.put(&key("r"), "0".into(), Cond::Absent, None).await.unwrap();
    for round in 0..20 {
        proxy.cut_all();
        // A read is asked again, and has seen that the connections are gone.
        assert_eq!(records.get(&key("r")).await.unwrap().unwrap().version, version, "round {round}");
        version = records.put(&key("r"), "1".into(), Cond::Version(version), None).await.unwrap();
        assert!(matches!(opened.locks.renew(&held, held.ttl).await, Renewal::Renewed));
    }
    assert_eq!(opened.locks.release(&held).await.unwrap(), Released::Released);
}

#[tokio::test]
async fn a_lost_reply_of_a_lock_is_outcome_unknown_and_asking_again_tells() {
    let server = Consul::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Http).await;
    let locks = open(&server.url_at(proxy.port())).await.locks;
    let warm = locks.try_acquire(&request("warm"), Owner::random()).await.unwrap();
    locks.release(&warm).await.unwrap();
    faults::lost_replies(&*locks, &proxy, || faults::lose(&proxy, faults::LOST)).await;
}

#[tokio::test]
async fn a_server_that_stands_still_ends_by_the_timeout() {
    let server = Consul::start().await;
    let opened = open(&format!("{}?timeout=300ms&connect_timeout=300ms", server.url())).await;
    let records = opened.records.unwrap();
    records.put(&key("warm"), "v".into(), Cond::Absent, None).await.unwrap();
    server.pause();
    let e = records.put(&key("k"), "v".into(), Cond::Absent, None).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::OutcomeUnknown, "{e}");
    let e = records.get(&key("k")).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}");
    server.resume();
    eventually(PATIENCE, "it answers again", || async { records.get(&key("k")).await.is_ok() }).await;
}

#[tokio::test]
async fn a_dropped_store_leaves_neither_entries_nor_sessions_behind() {
    let server = Consul::start().await;
    let opened = open(&server.url()).await;
    let short = request("k").ttl(Duration::from_millis(500)).unwrap();
    let grant = opened.locks.try_acquire(&short, Owner::random()).await.unwrap();
    assert!(!sessions(&server).await.is_empty(), "void");
    drop(opened);
    let listed = plain(&server, "GET", "/v1/kv/stanchion/l/?keys", "").await;
    assert!(listed.contains(&grant.owner.to_hex()), "somebody may still believe in it: {listed}");
    eventually(PATIENCE, "entry and session are gone", || async {
        plain(&server, "GET", "/v1/kv/stanchion/l/?keys", "").await.is_empty() && sessions(&server).await.is_empty()
    })
    .await;
}

/// Consul's index goes on across delete and across another key's life, also when the tombstones are gone.
#[tokio::test]
async fn versions_and_fences_come_from_one_index_that_never_goes_back() {
    let server = Consul::start().await;
    let opened = open(&server.url()).await;
    let records = opened.records.unwrap();
    let mut last = 0;
    for round in 0..20 {
        let name = format!("k{}", round % 3);
        let version = records.put(&key(&name), "same".into(), Cond::Absent, None).await.unwrap();
        assert!(version.get() > last, "{version} after {last}");
        records.delete(&key(&name), Cond::Version(version)).await.unwrap();
        let grant = opened.locks.try_acquire(&request(&name), Owner::random()).await.unwrap();
        assert!(grant.fence.number() > version.get(), "{} after {version}", grant.fence);
        opened.locks.release(&grant).await.unwrap();
        last = grant.fence.number();
    }
}

/// A record with a ttl, and a lock; then the agent's node is taken out of the catalog. Are they still there?
async fn after_the_node_left(server: &Consul, url: &str) -> (bool, Renewal) {
    let opened = open(url).await;
    let records = opened.records.unwrap();
    let held = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    records.put(&key("r"), "v".into(), Cond::Absent, Some(Duration::from_secs(3600))).await.unwrap();
    let itself = plain(server, "GET", "/v1/agent/self", "").await;
    let node = itself.split("\"NodeName\": \"").nth(1).unwrap().split('"').next().unwrap();
    plain(server, "PUT", "/v1/catalog/deregister", &format!("{{\"Node\":\"{node}\"}}")).await;
    (records.get(&key("r")).await.unwrap().is_some(), opened.locks.renew(&held, held.ttl).await)
}

#[tokio::test]
async fn a_node_of_their_own_keeps_sessions_when_the_agents_node_leaves() {
    let server = Consul::start().await;
    let own = r#"{"Node":"stanchion","Address":"127.0.0.1"}"#;
    plain(&server, "PUT", "/v1/catalog/register", own).await;
    let (record, lock) = after_the_node_left(&server, &format!("{}?node=stanchion", server.url())).await;
    assert!(record, "the record must stay for its hour");
    assert!(matches!(lock, Renewal::Renewed), "{lock:?}");
    // The control: what hangs on the agent's node is lost with it, and the holder is told.
    let server = Consul::start().await;
    let (record, lock) = after_the_node_left(&server, &server.url()).await;
    assert!(!record, "void: the record has survived its node");
    assert!(matches!(lock, Renewal::Lost), "{lock:?}");
}
