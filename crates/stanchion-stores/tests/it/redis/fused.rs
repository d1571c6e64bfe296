//! A record and a lock in one step: how many trips it takes, and what it does when something is wrong.

use std::sync::Arc;

use stanchion_core::claim::Response;
use stanchion_core::{
    Acquire, Begin, Begun, Call, CallKey, Cond, ErrorKind, Fingerprint, Finish, Finished, Fused, Guard, Idempotency,
    Locks, Owner, Page, Policy, Ran, Released, Reply, Scope, Separate, Wait,
};
use stanchion_testkit::conformance::{Client, StoreFactory};
use stanchion_testkit::engines::Redis;
use stanchion_testkit::{FaultProxy, Protocol, eventually};

use super::{PATIENCE, key, open, plain, request};

/// The same steps one by one, over the same engine: the contract is the same, and there is a wire to break.
async fn separate() -> StoreFactory {
    let server = Redis::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    let url = server.url_at(proxy.port());
    StoreFactory::new(move || {
        let _ = &server;
        let url = url.clone();
        async move {
            let opened = open(&url).await;
            Client::new(opened.locks, opened.records).separate()
        }
    })
    .faults(proxy)
}

stanchion_testkit::conformance_tests!(redis_separate_conformance, separate, suites: [fused]);

fn begin(claim: &str, cond: Cond, lock: Option<Acquire>) -> Begin {
    let (granted, busy) = ("granted".into(), "busy".into());
    Begin { key: key(claim), cond, granted, busy, lock: lock.map(Arc::new), owner: Owner::random() }
}

fn finish(begun: &Begun, claim: &str) -> Finish {
    let Begun::Granted { version, grant } = begun else { panic!("not granted: {begun:?}") };
    Finish { key: key(claim), cond: Cond::Version(*version), value: "done".into(), ttl: None, grant: grant.clone() }
}

/// Runs one guarded call, and answers how many requests each step took.
async fn trips(proxy: &FaultProxy, fused: &dyn Fused, claim: &str) -> (u64, u64) {
    let start = proxy.counts();
    let begun = fused.begin(&begin(claim, Cond::Absent, Some(request("the lock")))).await.unwrap();
    let middle = proxy.counts();
    let finished = fused.finish(&finish(&begun, claim)).await.unwrap();
    assert!(matches!(finished, Finished::Written { released: Some(Released::Released), .. }), "{finished:?}");
    let end = proxy.counts();
    assert_eq!((end.connections, end.unparsed), (start.connections, 0), "all of it was counted");
    (middle.requests - start.requests, end.requests - middle.requests)
}

#[tokio::test]
async fn each_step_is_one_round_trip() {
    let server = Redis::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    let opened = open(&server.url_at(proxy.port())).await;
    let fused = opened.fused.unwrap();
    trips(&proxy, &*fused, "loads the scripts").await;
    for round in 0..50 {
        assert_eq!(trips(&proxy, &*fused, &format!("call {round}")).await, (1, 1), "round {round}");
    }
    let start = proxy.counts().requests;
    let found = fused.begin(&begin("call 7", Cond::Absent, Some(request("the lock")))).await.unwrap();
    assert!(matches!(found, Begun::Found(Some(record)) if record.value == "done"));
    assert_eq!(proxy.counts().requests - start, 1, "a replay");

    // Control: the same steps one by one are counted, and take more.
    let separate = Separate::new(opened.records.unwrap(), opened.locks);
    trips(&proxy, &separate, "loads the scripts of the other").await;
    assert_eq!(trips(&proxy, &separate, "one by one").await, (3, 2));
}

#[tokio::test]
async fn a_guarded_call_with_key_and_lock_takes_two_trips_and_its_replay_one() {
    let server = Redis::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    let opened = open(&server.url_at(proxy.port())).await;
    let claims = Idempotency::new(opened.records.unwrap(), opened.locks.clone()).fused(opened.fused.unwrap());
    let guard = Guard::with(claims, Locks::shared(opened.locks));
    let call = |key: &str| {
        let scope = Scope::new("alice", "billing", "send").unwrap();
        let key = (CallKey::new(key).unwrap(), Fingerprint::of_bytes(b""));
        Call::new(scope, Policy::default().allow_weak()).key(key.0, key.1).lock(request("the lock"))
    };
    let done = || async { Reply::Done(Response::new("", "done")) };
    guard.call(&call("loads the scripts"), |_| done()).await.unwrap();
    for round in 0..50 {
        let start = proxy.counts().requests;
        let call = call(&format!("call {round}"));
        assert!(!guard.call(&call, |_| done()).await.unwrap().replayed);
        assert_eq!(proxy.counts().requests - start, 2, "round {round}");
        assert!(guard.call(&call, |_| done()).await.unwrap().replayed);
        assert_eq!(proxy.counts().requests - start, 3, "the replay of round {round}");
    }
}

#[tokio::test]
async fn steps_find_their_scripts_again_after_a_flush() {
    let server = Redis::start().await;
    let fused = open(&server.url()).await.fused.unwrap();
    let begun = fused.begin(&begin("c", Cond::Absent, Some(request("k")))).await.unwrap();
    plain(&server, &["SCRIPT", "FLUSH"]).await;
    let finished = fused.finish(&finish(&begun, "c")).await.unwrap();
    assert!(matches!(finished, Finished::Written { released: Some(Released::Released), .. }), "{finished:?}");
    plain(&server, &["SCRIPT", "FLUSH"]).await;
    assert!(matches!(fused.begin(&begin("c", Cond::Absent, None)).await.unwrap(), Begun::Found(Some(_))));
}

/// The short way inside `begin.lua` and `finish.lua` writes what `locks.lua` writes: the other ways read it.
#[tokio::test]
async fn a_lock_taken_by_a_step_is_passed_on_through_the_queue() {
    let server = Redis::start().await;
    let (a, b) = (open(&server.url()).await, open(&server.url()).await);
    let fused = a.fused.unwrap();
    let begun = fused.begin(&begin("c", Cond::Absent, Some(request("k")))).await.unwrap();
    let (waiting, owner) = (request("k").wait(Wait::Forever), Owner::random());
    assert_eq!(b.locks.try_acquire(&waiting, owner).await.unwrap_err().kind(), ErrorKind::Contended);
    let line = a.locks.list("k", Page::first(1)).await.unwrap();
    assert_eq!((line[0].holders.len(), line[0].waiters.len()), (1, 1));
    fused.finish(&finish(&begun, "c")).await.unwrap();
    // It is the waiter's now, and nobody else's, though it has not come for it.
    let late = fused.begin(&begin("late", Cond::Absent, Some(request("k")))).await.unwrap();
    assert!(matches!(late, Begun::Busy { .. }), "{late:?}");
    eventually(PATIENCE, "the waiter is granted", || async { b.locks.try_acquire(&waiting, owner).await.is_ok() })
        .await;
}

/// Foreign data, wherever it lies, is found before the first write.
#[tokio::test]
async fn a_step_that_meets_foreign_data_changes_nothing() {
    let server = Redis::start().await;
    let opened = open(&server.url()).await;
    let (fused, records) = (opened.fused.unwrap(), opened.records.unwrap());
    let begun = fused.begin(&begin("mine", Cond::Absent, Some(request("held")))).await.unwrap();
    plain(&server, &["RENAME", "{stanchion}:index", "kept"]).await;
    plain(&server, &["SET", "{stanchion}:index", "foreign"]).await;
    let e = fused.begin(&begin("c", Cond::Absent, Some(request("k")))).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Damaged, Ran::No), "{e}");
    let e = records.put(&key("c"), "v".into(), Cond::Absent, None).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Damaged, "{e}");
    assert_eq!(records.get(&key("c")).await.unwrap(), None);
    assert_eq!(opened.locks.list("k", Page::first(9)).await.unwrap(), []);
    let mine = records.get(&key("mine")).await.unwrap().unwrap();
    let e = records.delete(&key("mine"), Cond::Version(mine.version)).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Damaged, "{e}");
    assert_eq!(records.get(&key("mine")).await.unwrap().unwrap().version, mine.version);

    plain(&server, &["RENAME", "kept", "{stanchion}:index"]).await;
    plain(&server, &["RENAME", "{stanchion}:locks", "kept"]).await;
    plain(&server, &["SET", "{stanchion}:locks", "foreign"]).await;
    for lock in [Some(request("k")), None] {
        let e = fused.begin(&begin("c", Cond::Absent, lock)).await.unwrap_err();
        assert_eq!((e.kind(), e.ran()), (ErrorKind::Damaged, Ran::No), "{e}");
    }
    let e = fused.finish(&finish(&begun, "mine")).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Damaged, Ran::No), "{e}");
    assert_eq!(records.get(&key("c")).await.unwrap(), None);
    assert_eq!(records.get(&key("mine")).await.unwrap().unwrap().value, "granted");
    plain(&server, &["RENAME", "kept", "{stanchion}:locks"]).await;
    let finished = fused.finish(&finish(&begun, "mine")).await.unwrap();
    assert!(matches!(finished, Finished::Written { released: Some(Released::Released), .. }), "{finished:?}");
}

/// At the end of the counter nothing is locked and nothing written, in the short way and in the long one.
#[tokio::test]
async fn an_exhausted_counter_stops_a_step_before_it_writes() {
    let server = Redis::start().await;
    let opened = open(&server.url()).await;
    let (fused, records) = (opened.fused.unwrap(), opened.records.unwrap());
    plain(&server, &["HSET", "{stanchion}:locks", "", "9007199254740989"]).await;
    for lock in [Some(request("k")), Some(request("k").floor(9)), None] {
        let e = fused.begin(&begin("c", Cond::Absent, lock)).await.unwrap_err();
        assert_eq!((e.kind(), e.ran()), (ErrorKind::Unsupported, Ran::No), "{e}");
        assert_eq!(records.get(&key("c")).await.unwrap(), None);
        assert_eq!(opened.locks.list("k", Page::first(9)).await.unwrap(), []);
    }
}

#[tokio::test]
async fn what_is_too_large_is_refused_before_it_is_sent() {
    let server = Redis::start().await;
    let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    let fused = open(&server.url_at(proxy.port())).await.fused.unwrap();
    let before = proxy.counts().requests;
    let large = bytes::Bytes::from(vec![b'x'; stanchion_core::VALUE_MAX_BYTES + 1]);
    let short = begin("c", Cond::Absent, None);
    for begin in [Begin { granted: large.clone(), ..short.clone() }, Begin { busy: large.clone(), ..short }] {
        assert_eq!(fused.begin(&begin).await.unwrap_err().kind(), ErrorKind::Invalid);
    }
    let finish = Finish { key: key("c"), cond: Cond::Absent, value: large, ttl: None, grant: None };
    assert_eq!(fused.finish(&finish).await.unwrap_err().kind(), ErrorKind::Invalid);
    let floor = begin("c", Cond::Absent, Some(request("k").floor(u64::MAX)));
    assert_eq!(fused.begin(&floor).await.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(proxy.counts().requests, before, "nothing was sent");
}

/// Where a lock counts only once replicas have it, or a namespace lives on one of many nodes, the steps go one by one.
#[tokio::test]
async fn with_replicas_or_in_a_cluster_there_is_no_single_step() {
    let server = Redis::start().await;
    assert!(open(&server.url()).await.fused.is_some());
    assert!(open(&format!("{}?wait=1", server.url())).await.fused.is_none());
    let cluster = Redis::options().arg("--cluster-enabled").arg("yes").start().await;
    assert!(open(&cluster.url()).await.fused.is_none());
}
