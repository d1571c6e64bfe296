//! Nodes that are killed, frozen or cut off: a minority costs nothing, a majority stops everything in bounded time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stanchion_core::{ErrorKind, Grant, Owner, Ran, Released, Renewal};
use stanchion_testkit::{Fault, Plan, eventually};

use super::{Locks, Nodes, PATIENCE, open, request, short};

const QUICK: &str = "quarantine=0s&node_timeout=300ms";

async fn take(locks: &Locks, name: &str) -> Grant {
    locks.try_acquire(&request(name), Owner::random()).await.unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Takes, is alone, and lets go.
async fn works(locks: &Locks, other: &Locks, name: &str) {
    let grant = take(locks, name).await;
    let e = other.try_acquire(&request(name), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended, "{e}");
    assert!(matches!(locks.renew(&grant, grant.ttl).await, Renewal::Renewed));
    assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
    let next = take(other, name).await;
    assert!(next.fence.number() > grant.fence.number());
    assert_eq!(other.release(&next).await.unwrap(), Released::Released);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_minority_costs_neither_progress_nor_exclusion() {
    let nodes = Nodes::start(5).await;
    let (a, b) = (open(&nodes.url(QUICK)).await.locks, open(&nodes.url(QUICK)).await.locks);
    let held = take(&a, "held").await;
    nodes.servers[0].kill();
    nodes.servers[3].kill();
    for round in 0..10 {
        works(&a, &b, &format!("k{round}")).await;
    }
    let e = b.try_acquire(&request("held"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended, "what was held before is held: {e}");
    assert_eq!(a.release(&held).await.unwrap(), Released::Released);
    let late = open(&nodes.url(QUICK)).await.locks;
    works(&late, &a, "opened without a minority").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_minority_stalls_nobody() {
    let nodes = Nodes::start(5).await;
    let url = nodes.url("quarantine=0s&node_timeout=5s");
    let (a, b) = (open(&url).await.locks, open(&url).await.locks);
    nodes.servers[1].pause();
    nodes.servers[4].pause();
    let start = Instant::now();
    for round in 0..10 {
        works(&a, &b, &format!("k{round}")).await;
    }
    assert!(start.elapsed() < Duration::from_secs(4), "a silent node was waited for: {:?}", start.elapsed());
    nodes.servers[1].resume();
    nodes.servers[4].resume();
    works(&a, &b, "k").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_minority_that_is_cut_off_is_found_again() {
    let nodes = Nodes::behind_proxies(5).await;
    let (a, b) = (open(&nodes.url(QUICK)).await.locks, open(&nodes.url(QUICK)).await.locks);
    for proxy in &nodes.proxies[..2] {
        proxy.blackhole(true);
    }
    for round in 0..5 {
        works(&a, &b, &format!("k{round}")).await;
    }
    for proxy in &nodes.proxies[..2] {
        proxy.blackhole(false);
        proxy.cut_all();
    }
    // The two take part again: now the others can go.
    for proxy in &nodes.proxies[3..] {
        proxy.cut_all();
        proxy.blackhole(true);
    }
    eventually(PATIENCE, "the two are found again", || async {
        match a.try_acquire(&request("again"), Owner::random()).await {
            Ok(grant) => a.release(&grant).await.is_ok(),
            Err(_) => false,
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_majority_down_grants_nothing_in_bounded_time_and_works_when_it_is_back() {
    let nodes = Nodes::start(5).await;
    let (a, b) = (open(&nodes.url(QUICK)).await.locks, open(&nodes.url(QUICK)).await.locks);
    let held = take(&a, "held").await;
    for server in &nodes.servers[..3] {
        server.kill();
    }
    let start = Instant::now();
    let e = b.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    assert!(e.next_step().is_some(), "{e}");
    assert!(start.elapsed() < Duration::from_secs(3), "after {:?}", start.elapsed());
    assert!(matches!(a.renew(&held, held.ttl).await, Renewal::Unknown(_)), "undecided by errors");
    assert!(a.release(&held).await.is_err(), "nobody knows");
    let e = stanchion_stores::open(&nodes.url(QUICK)).await.map(drop).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}");
    for server in &nodes.servers[..3] {
        server.restart().await;
    }
    eventually(PATIENCE, "it works again", || async {
        match b.try_acquire(&request("k"), Owner::random()).await {
            Ok(grant) => b.release(&grant).await.is_ok(),
            Err(_) => false,
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_majority_grants_nothing_in_bounded_time_and_leaves_nothing_behind() {
    let nodes = Nodes::start(5).await;
    let locks = open(&nodes.url(QUICK)).await.locks;
    for server in &nodes.servers[..3] {
        server.pause();
    }
    let start = Instant::now();
    let e = locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}");
    assert!(start.elapsed() < Duration::from_secs(3), "after {:?}", start.elapsed());
    for server in &nodes.servers[..3] {
        server.resume();
    }
    // The frozen nodes run the old requests when they wake up; a ttl of 30 s would keep others out.
    let other = nodes.open().await;
    eventually(PATIENCE, "what was taken is given back", || async {
        other.try_acquire(&request("k"), Owner::random()).await.is_ok()
    })
    .await;
    assert!(start.elapsed() < Duration::from_secs(25), "only the end of the lease freed it");
}

/// Many at once, and each ends by its own time-out: nobody waits for the time-outs of those before it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_majority_holds_up_nobody_beyond_its_own_time() {
    let nodes = Nodes::start(3).await;
    let locks = open(&nodes.url("quarantine=0s&node_timeout=3s")).await.locks;
    let held = take(&locks, "held").await;
    for server in &nodes.servers[..2] {
        server.pause();
    }
    let mut attempts = tokio::task::JoinSet::new();
    for number in 0..400 {
        let locks = Arc::clone(&locks);
        attempts.spawn(async move {
            let start = Instant::now();
            let e = locks.try_acquire(&request(&format!("k{number}")), Owner::random()).await.unwrap_err();
            (e.kind(), e.ran(), start.elapsed())
        });
    }
    let start = Instant::now();
    assert!(matches!(locks.renew(&held, held.ttl).await, Renewal::Unknown(_)), "undecided by silence");
    let mut slowest = start.elapsed();
    while let Some(attempt) = attempts.join_next().await {
        let (kind, ran, took) = attempt.unwrap();
        assert_eq!((kind, ran), (ErrorKind::Unavailable, Ran::No));
        slowest = slowest.max(took);
    }
    assert!(slowest < Duration::from_millis(5500), "somebody waited for the time-outs of others: {slowest:?}");
    for server in &nodes.servers[..2] {
        server.resume();
    }
    // What the frozen nodes do with the old requests when they wake up is undone.
    let other = nodes.open().await;
    for number in 0..400 {
        eventually(PATIENCE, "what was taken is given back", || async {
            other.try_acquire(&request(&format!("k{number}")), Owner::random()).await.is_ok()
        })
        .await;
    }
    assert!(start.elapsed() < Duration::from_secs(25), "only the end of the leases freed them");
    let e = other.try_acquire(&request("held"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended, "{e}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_reply_of_a_minority_is_no_matter_and_of_a_majority_is_no_grant() {
    let nodes = Nodes::behind_proxies(3).await;
    let locks = open(&nodes.url(QUICK)).await.locks;
    nodes.proxies[0].set_plan(Plan::first("minority", Fault::LoseReply));
    let grant = take(&locks, "minority").await;
    assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
    for proxy in &nodes.proxies[..2] {
        proxy.set_plan(Plan::first("majority", Fault::LoseReply));
    }
    let e = locks.try_acquire(&request("majority"), Owner::random()).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::Unavailable, Ran::No), "{e}");
    eventually(PATIENCE, "the nodes that had taken it have given it back", || async {
        locks.try_acquire(&request("majority"), Owner::random()).await.is_ok()
    })
    .await;
    let release = take(&locks, "release").await;
    for proxy in &nodes.proxies[..2] {
        proxy.set_plan(Plan::first("release", Fault::LoseReply));
    }
    assert_eq!(locks.release(&release).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
}

/// The answers come when nothing is left of the ttl: a lock that is over is not handed out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_come_after_the_ttl_are_no_grant() {
    let nodes = Nodes::behind_proxies(3).await;
    let locks = open(&nodes.url("quarantine=0s&node_timeout=5s")).await.locks;
    for proxy in &nodes.proxies {
        proxy.set_plan(Plan::first("late", Fault::DelayReply(Duration::from_millis(400))));
    }
    let start = Instant::now();
    let e = locks.try_acquire(&short("late", 200), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}");
    assert!(start.elapsed() < Duration::from_secs(3), "after {:?}", start.elapsed());
}

/// A lease outlives the restart of one node after the other: each renewal gives the lock to nodes that lack it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewed_lease_outlives_a_rolling_restart() {
    let nodes = Nodes::start(3).await;
    let (a, b) = (open(&nodes.url(QUICK)).await.locks, open(&nodes.url(QUICK)).await.locks);
    let held = take(&a, "k").await;
    for server in &nodes.servers {
        server.restart().await;
        eventually(PATIENCE, "all three have it again", || async {
            assert!(matches!(a.renew(&held, held.ttl).await, Renewal::Renewed), "a minority was away");
            let has = super::plain(server, &["EXISTS", "{stanchion}:redlock:k"]).await;
            has == redis::Value::Int(1)
        })
        .await;
    }
    let e = b.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended, "{e}");
    assert_eq!(a.release(&held).await.unwrap(), Released::Released);
}
