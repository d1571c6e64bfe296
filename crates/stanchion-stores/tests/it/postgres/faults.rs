//! Wrong passwords, lost replies, restarts and crashes.

use std::time::Duration;

use stanchion_core::{Cond, ErrorKind, Owner, Ran, Renewal};
use stanchion_testkit::engines::Postgres;
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol};

use super::{PATIENCE, key, open, plain, refused, request};
use crate::common::faults;

async fn proxy(server: &Postgres) -> FaultProxy {
    FaultProxy::start(std::net::SocketAddr::from(([127, 0, 0, 1], server.port())), Protocol::Postgres).await
}

#[tokio::test]
async fn a_wrong_password_is_denied_and_never_shown() {
    let server = Postgres::start().await;
    let e = refused(&server.url_with_password("hunter2-not-it")).await;
    assert_eq!(e.kind(), ErrorKind::Denied);
    let all = format!("{e} {e:?} {:?} {:?}", e.next_step(), std::error::Error::source(&e));
    assert!(!all.contains("hunter2") && all.contains(&server.port().to_string()), "{all}");
}

#[tokio::test]
async fn a_role_that_may_not_create_is_told_what_to_run() {
    let server = Postgres::start().await;
    let e = refused(&server.url_with_password("secret")).await;
    assert_eq!(e.kind(), ErrorKind::Denied, "{e}");
    assert!(e.next_step().unwrap().contains("schema.sql"), "{e:?}");
}

#[tokio::test]
async fn a_role_with_grants_alone_can_use_an_installed_schema() {
    let server = Postgres::start().await;
    open(&server.url()).await;
    let grants = "GRANT USAGE ON SCHEMA stanchion TO secret_user;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA stanchion TO secret_user;
        GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA stanchion TO secret_user";
    plain(&server.url()).await.batch_execute(grants).await.unwrap();
    let store = open(&server.url_with_password("secret")).await;
    let floor = 5_000_000_000;
    let grant = store.locks.try_acquire(&request("k").floor(floor), Owner::random()).await.unwrap();
    assert!(grant.fence.number() > floor, "lifting needs the owner's rights, which the function has");
}

#[tokio::test]
async fn nobody_there_is_unavailable() {
    let e = refused("postgres://postgres@127.0.0.1:1/postgres").await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    let server = Postgres::start().await;
    let e = refused(&format!("postgres://postgres@127.0.0.1:{}/nowhere", server.port())).await;
    assert_eq!(e.kind(), ErrorKind::Invalid, "{e}");
}

#[tokio::test]
async fn a_lost_grant_can_be_asked_for_again() {
    let server = Postgres::start().await;
    let proxy = proxy(&server).await;
    let locks = open(&format!("{}?sslmode=disable", server.url_at(proxy.port()))).await.locks;
    proxy.set_plan(Plan::first("lock_acquire", Fault::LoseReply));
    let owner = Owner::random();
    let e = locks.try_acquire(&request("k"), owner).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::OutcomeUnknown, "{e}");
    let grant = locks.try_acquire(&request("k"), owner).await.unwrap();
    assert!(matches!(locks.renew(&grant, grant.ttl).await, Renewal::Renewed));
    assert_eq!(grant.fence.number(), 1, "the lost grant and this one are one");
}

#[tokio::test]
async fn a_silent_network_ends_in_a_timeout() {
    let server = Postgres::start().await;
    let proxy = proxy(&server).await;
    let store = open(&format!("{}?sslmode=disable&timeout=300ms", server.url_at(proxy.port()))).await;
    faults::silent_write(&*store.records.unwrap(), &proxy, "record_put", PATIENCE).await;
}

#[tokio::test]
async fn leases_and_records_outlive_a_restart_of_the_server() {
    let server = Postgres::start().await;
    let store = open(&server.url()).await;
    let grant = store.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let records = store.records.unwrap();
    let version = records.put(&key("r"), "v".into(), Cond::Absent, None).await.unwrap();
    server.restart().await;
    stanchion_testkit::eventually(PATIENCE, "the store is back", || async { records.get(&key("r")).await.is_ok() })
        .await;
    assert_eq!(records.get(&key("r")).await.unwrap().unwrap().version, version);
    assert!(matches!(store.locks.renew(&grant, grant.ttl).await, Renewal::Renewed));
    let again = store.locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Contended);
}

#[tokio::test]
async fn fences_and_acknowledged_records_survive_the_kill_of_the_server() {
    let server = Postgres::start().await;
    let store = open(&server.url()).await;
    let records = store.records.unwrap();
    let mut last = 0;
    for round in 0..3 {
        for i in 0..50 {
            let grant = store.locks.try_acquire(&request(&format!("k{round}/{i}")), Owner::random()).await.unwrap();
            assert!(grant.fence.number() > last, "{} after {last}", grant.fence.number());
            last = grant.fence.number();
        }
        // Committed without waiting for the disk: the kill forgets the newest grants and the counter's newest steps.
        let name = key(&format!("r{round}"));
        store.locks.try_acquire(&request("last"), Owner::random()).await.map(|g| last = g.fence.number()).ok();
        let version = records.put(&name, "v".into(), Cond::Absent, None).await.unwrap();
        let grant = store.locks.try_acquire(&request(&format!("after{round}")), Owner::random()).await.unwrap();
        last = grant.fence.number().max(version.get());
        server.kill();
        server.restart().await;
        stanchion_testkit::eventually(PATIENCE, "the store is back", || async { records.get(&name).await.is_ok() })
            .await;
        assert_eq!(records.get(&name).await.unwrap().unwrap().version, version);
    }
}

#[tokio::test]
async fn the_server_being_away_is_unavailable_and_passes() {
    let server = Postgres::start().await;
    let store = open(&format!("{}?timeout=2s", server.url())).await;
    faults::away(&*store.locks, &server, PATIENCE).await;
}

#[tokio::test]
async fn a_lease_ends_by_the_servers_clock() {
    let server = Postgres::start().await;
    let locks = open(&server.url()).await.locks;
    let short = request("k").ttl(Duration::from_millis(200)).unwrap();
    let old = locks.try_acquire(&short, Owner::random()).await.unwrap();
    stanchion_testkit::eventually(PATIENCE, "it expires", || async {
        locks.try_acquire(&request("k"), Owner::random()).await.is_ok_and(|new| new.fence.number() > old.fence.number())
    })
    .await;
    assert!(matches!(locks.renew(&old, old.ttl).await, Renewal::Lost));
}
