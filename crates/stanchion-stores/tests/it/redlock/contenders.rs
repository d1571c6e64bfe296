//! Many who want the same lock at the same moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use stanchion_core::{ErrorKind, Owner, Released};
use stanchion_testkit::eventually;

use super::{Nodes, PATIENCE, plain, request};
use crate::common::{obtain, waiting};

/// Eight clients come at once, again and again: split votes are settled, so that each round has its winner.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_eight_contenders_one_wins_in_every_round() {
    let nodes = Nodes::start(5).await;
    let mut clients = Vec::new();
    for _ in 0..8 {
        clients.push(nodes.open().await);
    }
    let mut last = 0;
    for round in 0..20 {
        let mut attempts = tokio::task::JoinSet::new();
        for client in &clients {
            let client = Arc::clone(client);
            attempts.spawn(async move { (client.try_acquire(&request("k"), Owner::random()).await, client) });
        }
        let mut winners = Vec::new();
        for (answer, client) in attempts.join_all().await {
            match answer {
                Ok(grant) => winners.push((grant, client)),
                Err(e) => assert_eq!(e.kind(), ErrorKind::Contended, "round {round}: {e}"),
            }
        }
        assert_eq!(winners.len(), 1, "round {round}: {winners:?}");
        let (grant, client) = winners.remove(0);
        assert!(grant.fence.number() > last, "round {round}");
        last = grant.fence.number();
        assert_eq!(client.release(&grant).await.unwrap(), Released::Released);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_waiting_clients_never_share_and_all_are_served() {
    let nodes = Nodes::start(5).await;
    let inside = Arc::new(AtomicU32::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (locks, inside) = (nodes.open().await, Arc::clone(&inside));
        tasks.spawn(async move {
            for _ in 0..10 {
                let grant = obtain(&*locks, &waiting("k"), Owner::random(), PATIENCE * 3).await;
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two inside");
                tokio::task::yield_now().await;
                inside.fetch_sub(1, Ordering::SeqCst);
                assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
            }
        });
    }
    tasks.join_all().await;
}

/// Two of four nodes belong to somebody else: neither yes nor no has a majority.
#[tokio::test]
async fn an_even_split_decides_no_and_leaves_nothing_behind() {
    let nodes = Nodes::start(4).await;
    let locks = nodes.open().await;
    let holder = format!("{:032x}{:016}{:013}{:016}\tother 1 ", 7, 1, 1_800_000_000_000_u64, 1);
    for server in &nodes.servers[..2] {
        plain(server, &["SET", "{stanchion}:redlock:k", &holder, "PX", "600000"]).await;
    }
    let start = Instant::now();
    let e = locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended, "{e}");
    assert!(start.elapsed() < Duration::from_secs(5), "decided after {:?}", start.elapsed());
    eventually(PATIENCE, "the two free nodes are free again", || async {
        for server in &nodes.servers[2..] {
            if plain(server, &["EXISTS", "{stanchion}:redlock:k"]).await != redis::Value::Int(0) {
                return false;
            }
        }
        true
    })
    .await;
}

/// A caller that gives up in the middle leaves nothing behind either.
#[tokio::test]
async fn a_dropped_attempt_gives_everything_back() {
    let nodes = Nodes::start(3).await;
    let locks = nodes.open().await;
    for _ in 0..20 {
        let request = request("k");
        let mut attempt = locks.try_acquire(&request, Owner::random());
        // Polled once: everything is sent, nothing is heard.
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(attempt.as_mut().poll(&mut cx).is_pending(), "answered without a wait");
    }
    eventually(PATIENCE, "somebody else gets it", || async {
        locks.try_acquire(&request("k"), Owner::random()).await.is_ok()
    })
    .await;
}
