//! Refused logins, lost replies, restarts, and what the settings of the server promise.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stanchion_core::{Cond, ErrorKind, Owner, Ran, Released, Renewal, Survives};
use stanchion_stores::{Durability, OpenOptions};
use stanchion_testkit::engines::Redis;
use stanchion_testkit::{FaultProxy, Protocol};

use super::{PATIENCE, key, open, plain, refused, request};
use crate::common::faults;

#[tokio::test]
async fn a_wrong_password_is_denied_and_never_shown() {
    let server = Redis::options().password("the-right-one").start().await;
    let e = refused(&format!("redis://:not-the-one@127.0.0.1:{}/0", server.port())).await;
    assert_eq!(e.kind(), ErrorKind::Denied, "{e}");
    let shown = format!("{e} {e:?}");
    assert!(!shown.contains("not-the-one") && shown.contains(&server.port().to_string()), "{shown}");
    let e = refused(&format!("redis://127.0.0.1:{}/0", server.port())).await;
    assert_eq!(e.kind(), ErrorKind::Denied, "no password at all: {e}");
    let opened = open(&server.url()).await;
    assert!(!format!("{opened:?}").contains("the-right-one"));
}

#[tokio::test]
async fn nobody_listening_is_unavailable() {
    let server = Redis::start().await;
    let url = server.url();
    server.kill();
    let e = refused(&url).await;
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
}

#[tokio::test]
async fn a_user_without_rights_is_denied() {
    let server = Redis::start().await;
    plain(&server, &["ACL", "SETUSER", "app", "on", ">pw", "~other:*", "+@all"]).await;
    let opened = open(&format!("redis://app:pw@127.0.0.1:{}/0", server.port())).await;
    let e = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Denied, Ran::No), "{e}");
}

#[tokio::test]
async fn scripts_are_loaded_again_after_a_flush() {
    let server = Redis::start().await;
    let opened = open(&server.url()).await;
    let grant = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    plain(&server, &["SCRIPT", "FLUSH"]).await;
    assert_eq!(opened.locks.release(&grant).await.unwrap(), Released::Released);
    plain(&server, &["SCRIPT", "FLUSH"]).await;
    let records = opened.records.unwrap();
    records.put(&key("r"), "v".into(), Cond::Absent, None).await.unwrap();
    assert_eq!(records.get(&key("r")).await.unwrap().unwrap().value, "v");
}

#[tokio::test]
async fn an_idle_connection_that_died_is_replaced_unnoticed() {
    let server = Redis::start().await;
    let locks = open(&server.url()).await.locks;
    locks.try_acquire(&request("a"), Owner::random()).await.unwrap();
    plain(&server, &["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]).await;
    // This answer comes after the end of the killed connection, so that has been noticed by now.
    plain(&server, &["PING"]).await;
    locks.try_acquire(&request("b"), Owner::random()).await.unwrap();
}

#[tokio::test]
async fn a_restarted_server_is_found_again_and_fences_still_grow() {
    let server = Redis::start().await;
    let opened = open(&server.url()).await;
    let before = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    server.kill();
    faults::loss_is_noticed(&*opened.locks, "k", PATIENCE).await;
    server.restart().await;
    // Nothing was kept, the counter neither: time keeps the fence above all earlier ones.
    let after = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    assert!(after.fence.number() > before.fence.number());
    assert!(matches!(opened.locks.renew(&before, Duration::from_secs(5)).await, Renewal::Lost));
}

#[tokio::test]
async fn a_waiter_survives_the_restart_of_the_server() {
    let server = Redis::options().aof(true).start().await;
    faults::waiter_survives(&server.url(), PATIENCE, server.restart()).await;
}

#[tokio::test]
async fn a_lost_reply_of_a_lock_is_outcome_unknown_and_asking_again_tells() {
    let server = Redis::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    let locks = open(&server.url_at(proxy.port())).await.locks;
    faults::lost_replies(&*locks, &proxy, || faults::lose(&proxy, faults::LOST)).await;
}

#[tokio::test]
async fn an_answer_that_does_not_come_ends_by_the_timeout() {
    let server = Redis::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    let url = format!("{}?timeout=200ms&connect_timeout=200ms", server.url_at(proxy.port()));
    let opened = open(&url).await;
    proxy.blackhole(true);
    let e = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::OutcomeUnknown, "{e}");
    let e = opened.records.unwrap().get(&key("k")).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unavailable, "the next one finds no connection: {e}");
    proxy.blackhole(false);
}

/// Many at once, and each ends by its own time-outs: nobody waits for the time-outs of those before it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_server_holds_up_nobody_beyond_its_own_time() {
    let server = Redis::start().await;
    let locks = open(&format!("{}?timeout=1s&connect_timeout=1s", server.url())).await.locks;
    server.pause();
    let mut attempts = tokio::task::JoinSet::new();
    for number in 0..600 {
        let locks = Arc::clone(&locks);
        attempts.spawn(async move {
            let start = Instant::now();
            let e = locks.try_acquire(&request(&format!("k{number}")), Owner::random()).await.unwrap_err();
            (e.kind(), start.elapsed())
        });
    }
    while let Some(attempt) = attempts.join_next().await {
        let (kind, took) = attempt.unwrap();
        assert!(matches!(kind, ErrorKind::OutcomeUnknown | ErrorKind::Unavailable), "{kind:?}");
        assert!(took < Duration::from_secs(5), "somebody waited for the time-outs of others: {took:?}");
    }
    server.resume();
    stanchion_testkit::eventually(PATIENCE, "it is found again", || async {
        locks.try_acquire(&request("another"), Owner::random()).await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn the_settings_of_the_server_decide_what_is_promised() {
    let plain_server = Redis::start().await;
    let capability = open(&plain_server.url()).await.locks.capability();
    assert_eq!(capability.survives, Survives::ProcessCrash);
    assert!(capability.weak.unwrap().contains("appendonly"), "{capability:?}");
    let power = OpenOptions::default().durability(Durability::Power);
    let e = stanchion_stores::open_with(&plain_server.url(), power).await.map(drop).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");

    let strong = Redis::options().aof(true).start().await;
    let capability = stanchion_stores::open_with(&strong.url(), power).await.unwrap().locks.capability();
    assert_eq!((capability.survives, capability.weak), (Survives::PowerLoss, None));

    plain(&strong, &["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]).await;
    assert!(open(&strong.url()).await.locks.capability().weak.unwrap().contains("evict"));
}

#[tokio::test]
async fn too_few_replicas_give_the_lock_back() {
    let server = Redis::start().await;
    let strict = open(&format!("{}?wait=1&timeout=400ms", server.url())).await.locks;
    let e = strict.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    let easy = open(&server.url()).await.locks;
    easy.try_acquire(&request("k"), Owner::random()).await.unwrap();
}

#[tokio::test]
async fn foreign_data_under_our_names_is_damage_not_a_guess() {
    let server = Redis::start().await;
    let opened = open(&server.url()).await;
    plain(&server, &["SET", "{stanchion}:locks", "mine"]).await;
    let e = opened.locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Damaged, "{e}");
    plain(&server, &["HSET", "{stanchion}:r:k", "n", "not a number"]).await;
    let e = opened.records.unwrap().get(&key("k")).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Damaged, "{e}");
}
