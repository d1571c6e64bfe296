//! `SingleFlight`: one computes, whoever is killed, stopped, cancelled or cut off.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use stanchion_core::{
    ChaosStore, Cond, Error, ErrorKind, Key, ManualClock, MemoryStore, RecordStore, SingleFlight, Wait,
};
use stanchion_testkit::eventually;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::wire::{Log, PATIENCE, Process, Wire};

const LEASE: Duration = Duration::from_millis(400);

fn key() -> Key {
    Key::new("report").unwrap()
}

fn cache(store: impl RecordStore) -> SingleFlight {
    SingleFlight::new(store).lease(LEASE).unwrap()
}

/// A caller in a task of its own, which would compute `name`.
fn caller(cache: &SingleFlight, log: &Log, name: &'static str) -> JoinHandle<Bytes> {
    let (cache, log) = (cache.clone(), log.clone());
    tokio::spawn(async move {
        let compute = async || {
            log.add(name);
            tokio::task::yield_now().await;
            Ok(name.into())
        };
        cache.get_or_compute(&key(), compute).await.unwrap()
    })
}

/// A leader that computes until it is told what.
fn leader(
    cache: &SingleFlight,
    log: &Log,
) -> (JoinHandle<stanchion_core::Result<Bytes>>, oneshot::Sender<stanchion_core::Result<Bytes>>) {
    let (cache, log) = (cache.clone(), log.clone());
    let (tell, told) = oneshot::channel();
    let task = tokio::spawn(async move {
        let compute = async || {
            log.add("leader");
            told.await.unwrap()
        };
        cache.get_or_compute(&key(), compute).await
    });
    (task, tell)
}

async fn until_computing(log: &Log) {
    eventually(PATIENCE, "the leader computes", || async { !log.lines().is_empty() }).await;
}

#[tokio::test]
async fn fifty_callers_of_five_clients_compute_once() {
    let (store, log) = (MemoryStore::new(), Log::default());
    let clients: Vec<_> = (0..5).map(|_| cache(store.clone())).collect();
    let callers: Vec<_> = (0..50).map(|i| caller(&clients[i % 5], &log, "value")).collect();
    for caller in callers {
        assert_eq!(caller.await.unwrap(), "value");
    }
    assert_eq!(log.lines(), ["value"]);
}

/// The control of the one above: look, compute, store.
#[tokio::test]
async fn control_without_it_fifty_callers_compute_many_times() {
    let (store, log) = (MemoryStore::new(), Log::default());
    let callers: Vec<_> = (0..50)
        .map(|_| {
            let (store, log) = (store.clone(), log.clone());
            tokio::spawn(async move {
                if store.get(&key()).await.unwrap().is_none() {
                    log.add("value");
                    tokio::task::yield_now().await;
                    store.put(&key(), "value".into(), Cond::Absent, None).await.ok();
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    assert!(log.lines().len() > 1, "void: no stampede without protection");
}

#[tokio::test]
async fn callers_of_one_process_share_one_trip_to_the_store() {
    let (wire, log) = (Wire::to(&MemoryStore::new()), Log::default());
    let cache = cache(wire.clone());
    let callers: Vec<_> = (0..50).map(|_| caller(&cache, &log, "value")).collect();
    for caller in callers {
        assert_eq!(caller.await.unwrap(), "value");
    }
    let trips = (wire.reads.load(Ordering::SeqCst), wire.writes.load(Ordering::SeqCst));
    assert_eq!(trips, (1, 2), "one look, one claim, one value");
}

async fn a_killed_leader_is_replaced(store: MemoryStore) {
    let log = Log::default();
    let mut process = Process::run({
        let (cache, log) = (cache(store.clone()), log.clone());
        async move {
            let compute = async || {
                log.add("killed");
                std::future::pending().await
            };
            cache.get_or_compute(&key(), compute).await
        }
    });
    until_computing(&log).await;
    let clients = [cache(store.clone()), cache(store.clone()), cache(store.clone())];
    let callers: Vec<_> = (0..30).map(|i| caller(&clients[i % 3], &log, ["a", "b", "c"][i % 3])).collect();
    process.kill();
    let refused =
        cache(store.clone()).wait(Wait::No).get_or_compute(&key(), async || panic!("it is not our turn")).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Contended, "nothing was given back");
    let mut values = Vec::new();
    for caller in callers {
        values.push(tokio::time::timeout(PATIENCE, caller).await.unwrap().unwrap());
    }
    let ran = log.lines();
    assert_eq!(ran.len(), 2, "the killed one, and exactly one other: {ran:?}");
    assert!(values.iter().all(|value| value == ran[1].as_bytes()), "{values:?}");
}

#[tokio::test]
async fn exactly_one_takes_over_from_a_killed_leader() {
    a_killed_leader_is_replaced(MemoryStore::new()).await;
}

#[tokio::test]
async fn exactly_one_takes_over_also_where_the_store_shows_no_clock() {
    a_killed_leader_is_replaced(MemoryStore::without_clock()).await;
}

#[tokio::test]
async fn an_error_is_not_cached_and_one_waiter_is_next() {
    let (store, log) = (MemoryStore::new(), Log::default());
    // A lease that outlasts the test: only giving back can free the others.
    let clients = [SingleFlight::new(store.clone()), SingleFlight::new(store)];
    let (failing, tell) = leader(&clients[0], &log);
    until_computing(&log).await;
    let callers: Vec<_> = (0..20).map(|i| caller(&clients[i % 2], &log, "value")).collect();
    tell.send(Err(Error::new(ErrorKind::Denied, "no rights"))).unwrap();
    assert_eq!(failing.await.unwrap().unwrap_err().to_string(), "no rights");
    for caller in callers {
        assert_eq!(tokio::time::timeout(PATIENCE, caller).await.unwrap().unwrap(), "value");
    }
    assert_eq!(log.lines(), ["leader", "value"]);
}

#[tokio::test]
async fn a_cancelled_leader_lets_a_follower_of_its_own_process_compute() {
    let log = Log::default();
    let cache = SingleFlight::new(MemoryStore::new());
    let (cancelled, _tell) = leader(&cache, &log);
    until_computing(&log).await;
    let follower = caller(&cache, &log, "value");
    tokio::task::yield_now().await;
    cancelled.abort();
    assert_eq!(tokio::time::timeout(PATIENCE, follower).await.unwrap().unwrap(), "value");
}

#[tokio::test]
async fn a_value_lives_for_its_ttl_by_the_stores_clock() {
    let (clock, log) = (Arc::new(ManualClock::default()), Log::default());
    let cache = cache(MemoryStore::with_clock(Arc::clone(&clock) as _)).ttl(Duration::from_secs(300)).unwrap();
    assert_eq!(caller(&cache, &log, "first").await.unwrap(), "first");
    clock.advance(Duration::from_secs(299));
    assert_eq!(caller(&cache, &log, "second").await.unwrap(), "first");
    clock.advance(Duration::from_secs(1));
    assert_eq!(cache.get(&key()).await.unwrap(), None);
    assert_eq!(caller(&cache, &log, "third").await.unwrap(), "third");
}

#[tokio::test]
async fn what_a_dead_leader_left_is_cleared_away_by_the_store() {
    let (clock, log) = (Arc::new(ManualClock::default()), Log::default());
    let store = MemoryStore::with_clock(Arc::clone(&clock) as _);
    let (cache, computing) = (cache(store.clone()), log.clone());
    let mut process = Process::run(async move {
        let compute = async || {
            computing.add("killed");
            std::future::pending().await
        };
        cache.get_or_compute(&key(), compute).await
    });
    until_computing(&log).await;
    process.kill();
    let left = Key::from_store("\u{1}flight/report").unwrap();
    clock.advance(LEASE);
    assert!(store.get(&left).await.unwrap().is_some(), "who comes soon sees whom it follows");
    clock.advance(Duration::from_secs(60));
    assert_eq!(store.get(&left).await.unwrap(), None);
}

#[tokio::test]
async fn a_stale_leader_gets_its_value_but_does_not_replace_the_newer_one() {
    let (store, log) = (MemoryStore::new(), Log::default());
    let wire = Wire::to(&store);
    let (stale, tell) = leader(&cache(wire.clone()), &log);
    until_computing(&log).await;
    wire.cut();
    tell.send(Ok("stale".into())).unwrap();
    assert_eq!(caller(&cache(store.clone()), &log, "fresh").await.unwrap(), "fresh");
    assert!(!stale.is_finished(), "void: its write was not held back");
    wire.mend();
    assert_eq!(stale.await.unwrap().unwrap(), "stale");
    assert_eq!(cache(store).get(&key()).await.unwrap().unwrap(), "fresh");
}

#[tokio::test]
async fn after_forget_nobody_joins_what_was_begun_before() {
    let (store, log) = (MemoryStore::new(), Log::default());
    let cache = cache(store);
    let (old, tell) = leader(&cache, &log);
    until_computing(&log).await;
    assert!(cache.forget(&key()).await.unwrap());
    assert_eq!(caller(&cache, &log, "new").await.unwrap(), "new");
    tell.send(Ok("old".into())).unwrap();
    assert_eq!(old.await.unwrap().unwrap(), "old");
    assert_eq!(cache.get(&key()).await.unwrap().unwrap(), "new");
}

#[tokio::test]
async fn the_wait_of_a_follower_is_bounded_in_its_own_process_and_elsewhere() {
    let (store, log) = (MemoryStore::new(), Log::default());
    let here = cache(store.clone());
    let (_leader, _tell) = leader(&here, &log);
    until_computing(&log).await;
    for cache in [here, cache(store)] {
        let impatient = cache.wait(Wait::For(LEASE * 2));
        let error = impatient.get_or_compute(&key(), async || panic!("it is not our turn")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Contended);
        assert_eq!(error.holder().unwrap().identity.pid, std::process::id());
    }
}

/// 40 schedules in which answers are lost and requests refused: everybody who gets a value gets a computed one, and
/// a lost answer costs no second computation.
#[tokio::test]
async fn lost_answers_cost_no_second_computation() {
    let mut acknowledged = 0;
    for seed in 0..40 {
        let (store, log) = (MemoryStore::new(), Log::default());
        let chaos = format!("lost=0.4,seed={seed}").parse().unwrap();
        let cache = SingleFlight::new(ChaosStore::new(store, chaos));
        let callers: Vec<_> = (0..10).map(|_| caller(&cache, &log, "value")).collect();
        for caller in callers {
            assert_eq!(caller.await.unwrap(), "value", "seed {seed}");
            acknowledged += 1;
        }
        assert_eq!(log.lines(), ["value"], "seed {seed}");
    }
    assert_eq!(acknowledged, 400);
}
