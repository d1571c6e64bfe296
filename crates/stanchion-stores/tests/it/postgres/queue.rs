//! The queue: order, hand-off, and waiters who die.

use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{ErrorKind, Identity, LockBackend, Mode, Owner, Page, Released, Wait};
use stanchion_testkit::engines::Postgres;
use tokio::time::Instant;

use super::{PATIENCE, open, request, waiting};
use crate::common::obtain;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newcomer_does_not_pass_those_who_wait() {
    let server = Postgres::start().await;
    let (a, b) = (open(&server.url()).await.locks, open(&server.url()).await.locks);
    let grant = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let owner = Owner::random();
    b.try_acquire(&waiting("k"), owner).await.unwrap_err();
    assert_eq!(a.release(&grant).await.unwrap(), Released::Released);
    let newcomer = a.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!(newcomer.kind(), ErrorKind::Contended, "the lock is reserved for the waiter");
    b.wait(&waiting("k"), owner, Instant::now() + PATIENCE).await.unwrap();
    assert!(b.try_acquire(&waiting("k"), owner).await.unwrap().fence.number() > grant.fence.number());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_waiter_holds_up_the_queue_for_a_second_at_most() {
    let server = Postgres::start().await;
    let locks = open(&server.url()).await.locks;
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    locks.try_acquire(&waiting("k"), Owner::random()).await.unwrap_err(); // never seen again
    let waiter = Arc::clone(&locks);
    let next = tokio::spawn(async move { obtain(&*waiter, &waiting("k"), Owner::random(), PATIENCE).await });
    let shown = |n| {
        let locks = Arc::clone(&locks);
        async move { locks.list("k", Page::first(1)).await.unwrap()[0].waiters.len() == n }
    };
    stanchion_testkit::eventually(PATIENCE, "both stand in line", || shown(2)).await;
    let start = Instant::now();
    locks.release(&grant).await.unwrap();
    next.await.unwrap();
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(450) && took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_waiters_behind_a_writer_are_admitted_together() {
    let server = Postgres::start().await;
    let locks = open(&server.url()).await.locks;
    let shared = waiting("k").mode(Mode::Shared).unwrap();
    let writer = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let readers = [Owner::random(), Owner::random(), Owner::random()];
    for reader in readers {
        locks.try_acquire(&shared, reader).await.unwrap_err();
    }
    let late_writer = Owner::random();
    locks.try_acquire(&waiting("k"), late_writer).await.unwrap_err();
    locks.release(&writer).await.unwrap();
    let mut grants = Vec::new();
    for reader in readers {
        locks.wait(&shared, reader, Instant::now() + PATIENCE).await.unwrap();
        grants.push(locks.try_acquire(&shared, reader).await.unwrap());
    }
    let late_reader = locks.try_acquire(&shared, Owner::random()).await.unwrap_err();
    assert_eq!(late_reader.kind(), ErrorKind::Contended, "a writer waits: readers must not starve it");
    for grant in grants {
        locks.release(&grant).await.unwrap();
    }
    locks.wait(&waiting("k"), late_writer, Instant::now() + PATIENCE).await.unwrap();
    locks.try_acquire(&waiting("k"), late_writer).await.unwrap();
}

#[tokio::test]
async fn a_withdrawn_reservation_goes_to_the_next_at_once() {
    let server = Postgres::start().await;
    let locks = open(&server.url()).await.locks;
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let (first, second) = (Owner::random(), Owner::random());
    locks.try_acquire(&waiting("k"), first).await.unwrap_err();
    locks.try_acquire(&waiting("k"), second).await.unwrap_err();
    locks.release(&grant).await.unwrap();
    locks.withdraw(&waiting("k"), first).await;
    locks.try_acquire(&waiting("k"), second).await.unwrap();
}

#[tokio::test]
async fn list_names_holders_and_waiters_page_by_page() {
    let server = Postgres::start().await;
    let locks = open(&server.url()).await.locks;
    for name in ["a/1", "a/2", "a/3", "b"] {
        locks.try_acquire(&request(name), Owner::random()).await.unwrap();
    }
    let who = Identity::new("ci-7", 41).labelled("deploy");
    locks.try_acquire(&waiting("a/2").identity(who.clone()), Owner::random()).await.unwrap_err();
    let first = locks.list("a/", Page::first(2)).await.unwrap();
    assert_eq!(first.iter().map(|l| l.key.as_str()).collect::<Vec<_>>(), ["a/1", "a/2"]);
    assert_eq!(first[1].waiters[0].0, who);
    assert!(first[1].waiters[0].1.is_some() && first[1].holders[0].fence.is_some());
    let rest = locks.list("a/", Page::after(first[1].key.clone(), 9)).await.unwrap();
    assert_eq!(rest.iter().map(|l| l.key.as_str()).collect::<Vec<_>>(), ["a/3"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_two_tasks_share_one_key_fairly() {
    let server = Postgres::start().await;
    let url = server.url();
    let ready = Arc::new(tokio::sync::Barrier::new(32));
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let locks = open(&url).await.locks; // one store per "process"
        for _ in 0..8 {
            let (locks, ready) = (Arc::clone(&locks), Arc::clone(&ready));
            tasks.push(tokio::spawn(async move {
                let (mut turns, mut last) = (0, 0);
                // Nobody counts turns while the stores of others are still being opened.
                ready.wait().await;
                let end = Instant::now() + Duration::from_secs(3);
                while Instant::now() < end {
                    let grant = obtain(&*locks, &waiting("hot"), Owner::random(), PATIENCE).await;
                    assert!(grant.fence.number() > last, "fences grow");
                    last = grant.fence.number();
                    assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
                    turns += 1;
                }
                turns
            }));
        }
    }
    let mut turns = Vec::new();
    for task in tasks {
        turns.push(task.await.unwrap());
    }
    let (least, most) = (*turns.iter().min().unwrap(), *turns.iter().max().unwrap());
    assert!(least > 0 && 2 * most <= 3 * least, "{least} to {most} turns");
}

#[tokio::test]
async fn a_refused_attempt_that_does_not_wait_leaves_no_trace() {
    let server = Postgres::start().await;
    let locks = open(&server.url()).await.locks;
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    locks.try_acquire(&request("k").wait(Wait::No), Owner::random()).await.unwrap_err();
    assert!(locks.list("", Page::first(9)).await.unwrap()[0].waiters.is_empty());
    locks.release(&grant).await.unwrap();
    assert!(locks.list("", Page::first(9)).await.unwrap().is_empty());
}
