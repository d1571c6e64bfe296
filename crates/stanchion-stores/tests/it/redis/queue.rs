//! Who is next, and what a dead one costs the others.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stanchion_core::{ErrorKind, Grant, LockBackend, Mode, Owner, Page, Released};
use stanchion_testkit::engines::Redis;
use stanchion_testkit::process::{self, Child};

use super::{PATIENCE, key, open, request, waiting};
use crate::common::obtain;

type Locks = Arc<dyn LockBackend>;

async fn take(locks: &Locks, name: &str) -> Grant {
    locks.try_acquire(&request(name), Owner::random()).await.unwrap()
}

/// Joins the queue and listens, as a waiter that has waited for a while.
async fn join(locks: &Locks, name: &str) -> Owner {
    let (request, owner) = (waiting(name), Owner::random());
    let soon = tokio::time::Instant::now() + Duration::from_millis(1);
    for _ in 0..2 {
        let refusal = locks.try_acquire(&request, owner).await.unwrap_err();
        assert_eq!(refusal.kind(), ErrorKind::Contended);
        locks.wait(&request, owner, soon + Duration::from_secs(1)).await.unwrap();
        if locks.try_acquire(&request, owner).await.is_ok() {
            panic!("granted while it was held");
        }
    }
    owner
}

#[tokio::test]
async fn a_newcomer_does_not_pass_the_queue() {
    let server = Redis::start().await;
    let (a, b, c) = (open(&server.url()).await.locks, open(&server.url()).await.locks, open(&server.url()).await.locks);
    let held = take(&a, "k").await;
    let first = join(&b, "k").await;
    assert_eq!(a.release(&held).await.unwrap(), Released::Released);
    // Free, but promised: neither somebody who does not wait nor somebody who does gets in between.
    assert_eq!(c.try_acquire(&request("k"), Owner::random()).await.unwrap_err().kind(), ErrorKind::Contended);
    assert_eq!(c.try_acquire(&waiting("k"), Owner::random()).await.unwrap_err().kind(), ErrorKind::Contended);
    let granted = obtain(&*b, &waiting("k"), first, PATIENCE).await;
    assert!(granted.fence.number() > held.fence.number());
}

#[tokio::test]
async fn readers_behind_a_waiting_writer_wait() {
    let server = Redis::start().await;
    let locks = open(&server.url()).await.locks;
    let shared = |wait: bool| if wait { waiting("k") } else { request("k") }.mode(Mode::Shared).unwrap();
    let reader = locks.try_acquire(&shared(false), Owner::random()).await.unwrap();
    let writer = Owner::random();
    locks.try_acquire(&waiting("k"), writer).await.unwrap_err();
    let late: Vec<Owner> = (0..2).map(|_| Owner::random()).collect();
    for owner in &late {
        locks.try_acquire(&shared(true), *owner).await.unwrap_err();
    }
    locks.release(&reader).await.unwrap();
    let write = locks.try_acquire(&waiting("k"), writer).await.unwrap();
    for owner in &late {
        locks.try_acquire(&shared(true), *owner).await.unwrap_err();
    }
    locks.release(&write).await.unwrap();
    for owner in &late {
        locks.try_acquire(&shared(true), *owner).await.unwrap();
    }
    assert_eq!(locks.list("k", Page::first(9)).await.unwrap()[0].holders.len(), 2);
}

#[tokio::test]
async fn the_listing_shows_the_queue_in_order() {
    let server = Redis::start().await;
    let locks = open(&server.url()).await.locks;
    let held = take(&locks, "k").await;
    for label in ["one", "two"] {
        let request = waiting("k").identity(stanchion_core::Identity::current().labelled(label));
        locks.try_acquire(&request, Owner::random()).await.unwrap_err();
    }
    let info = &locks.list("", Page::first(9)).await.unwrap()[0];
    assert_eq!((info.key.as_str(), info.holders[0].fence), ("k", Some(held.fence)));
    let labels: Vec<_> = info.waiters.iter().map(|(id, _)| id.label.as_str()).collect();
    assert_eq!(labels, ["one", "two"]);
}

/// Another process that waits, in the same test.
#[expect(clippy::print_stdout, reason = "a helper speaks to its test")]
async fn waits_for_ever() {
    let locks = open(&std::env::var("STORE").unwrap()).await.locks;
    join(&locks, "k").await;
    println!("READY");
    std::future::pending().await
}

/// A lock that is held, and two who wait for it: another process, and behind it one of ours.
struct Behind {
    server: Redis,
    a: Locks,
    b: Locks,
    held: Grant,
    first: Child,
    next: Owner,
}

async fn behind() -> Behind {
    let server = Redis::start().await;
    let (a, b) = (open(&server.url()).await.locks, open(&server.url()).await.locks);
    let held = take(&a, "k").await;
    let mut first = Child::rerun_this_test_with(&[("STORE", &server.url())]);
    first.expect_line("READY", PATIENCE).await;
    let next = join(&b, "k").await;
    Behind { server, a, b, held, first, next }
}

/// The head of the queue dies with SIGKILL while it waits: the release finds its channel without a
/// listener and calls the next one at once.
#[tokio::test]
async fn a_killed_waiter_does_not_hold_up_the_next() {
    if process::is_helper() {
        return waits_for_ever().await;
    }
    let Behind { server: _server, a, b, held, first: mut dead, next } = behind().await;
    dead.kill();
    let start = Instant::now();
    a.release(&held).await.unwrap();
    obtain(&*b, &waiting("k"), next, PATIENCE).await;
    assert!(start.elapsed() < Duration::from_millis(900), "took {:?}", start.elapsed());
}

/// A frozen head keeps its connection, so it is called; its reservation lapses and the next one is served.
#[tokio::test]
async fn a_frozen_waiter_costs_its_reservation_and_no_more() {
    if process::is_helper() {
        return waits_for_ever().await;
    }
    let Behind { server: _server, a, b, held, first: frozen, next } = behind().await;
    frozen.pause();
    let start = Instant::now();
    a.release(&held).await.unwrap();
    assert_eq!(b.try_acquire(&waiting("k"), next).await.unwrap_err().kind(), ErrorKind::Contended);
    obtain(&*b, &waiting("k"), next, PATIENCE).await;
    assert!(start.elapsed() < Duration::from_secs(4), "took {:?}", start.elapsed());
    frozen.resume();
}

#[tokio::test]
async fn an_expired_lease_wakes_the_waiter_by_timer() {
    let server = Redis::start().await;
    let (a, b) = (open(&server.url()).await.locks, open(&server.url()).await.locks);
    let short = request("k").ttl(Duration::from_millis(300)).unwrap();
    let start = Instant::now();
    a.try_acquire(&short, Owner::random()).await.unwrap();
    let next = Owner::random();
    obtain(&*b, &waiting("k"), next, PATIENCE).await;
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(300) && took < Duration::from_millis(900), "took {took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_of_many_clients_never_share_and_all_are_served() {
    let server = Redis::start().await;
    let inside = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let locks = open(&server.url()).await.locks;
        for _ in 0..8 {
            let (locks, inside) = (Arc::clone(&locks), Arc::clone(&inside));
            tasks.spawn(async move {
                for _ in 0..25 {
                    let grant = obtain(&*locks, &waiting("k"), Owner::random(), PATIENCE).await;
                    assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0, "two inside");
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
                }
            });
        }
    }
    tasks.join_all().await;
}

/// Operations that leave in one call must not see each other's answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn combined_operations_keep_their_own_answers() {
    let server = Redis::start().await;
    let locks = open(&server.url()).await.locks;
    let busy = take(&locks, "busy").await;
    let mut tasks = tokio::task::JoinSet::new();
    for i in 0..200_u32 {
        let locks = Arc::clone(&locks);
        tasks.spawn(async move {
            if i % 4 == 0 {
                let refusal = locks.try_acquire(&request("busy"), Owner::random()).await.unwrap_err();
                assert_eq!(refusal.kind(), ErrorKind::Contended);
                return;
            }
            let grant = take(&locks, &format!("k{i}")).await;
            assert_eq!(grant.key, key(&format!("k{i}")));
            let stranger = Grant::new(grant.key.clone(), Owner::random(), grant.fence, grant.mode, grant.ttl);
            assert_eq!(locks.release(&stranger).await.unwrap(), Released::NotHeld);
            assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
        });
    }
    tasks.join_all().await;
    assert_eq!(locks.release(&busy).await.unwrap(), Released::Released);
    assert!(locks.list("", Page::first(9)).await.unwrap().is_empty());
}
