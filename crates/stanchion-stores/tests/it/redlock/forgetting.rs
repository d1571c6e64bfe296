//! Nodes that forget: what the quarantine is for, and what nothing helps against.

use std::time::Duration;

use stanchion_core::{ErrorKind, Grant, Owner, Result};
use stanchion_testkit::eventually;

use super::{Locks, Nodes, PATIENCE, clock, open, plain, short};

const LOCK: &str = "{stanchion}:redlock:k";

async fn attempt(locks: &Locks) -> Result<Grant> {
    locks.try_acquire(&short("k", 10_000), Owner::random()).await
}

/// A holder on exactly three of five nodes, the two others free.
pub(super) async fn held_by_a_bare_quorum(nodes: &Nodes, holder: &Locks) -> Grant {
    nodes.servers[3].pause();
    nodes.servers[4].pause();
    let grant = attempt(holder).await.unwrap();
    // What lies in their queues is run when they wake up: forget it.
    for server in &nodes.servers[3..] {
        server.resume();
        eventually(PATIENCE, "the late request has arrived", || async {
            plain(server, &["EXISTS", LOCK]).await == redis::Value::Int(1)
        })
        .await;
        plain(server, &["DEL", LOCK]).await;
    }
    for server in &nodes.servers[..3] {
        assert_eq!(plain(server, &["EXISTS", LOCK]).await, redis::Value::Int(1));
    }
    grant
}

/// One of the holder's nodes restarts without its memory. With the quarantine its vote does not count, so the other
/// client finds no quorum; the control, which trusts it at once, is granted while the first still holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_restarts_without_memory_makes_no_second_holder_but_trusting_it_does() {
    let nodes = Nodes::start(5).await;
    // Long enough for the attempts below, short enough to wait for: the servers are young, too.
    let careful_url = nodes.url("max_ttl=10s&quarantine=4s");
    let careful = open(&careful_url).await.locks;
    let holder = nodes.open().await;
    let control = nodes.open().await;
    eventually(PATIENCE, "the nodes are trusted", || async {
        let probe = stanchion_core::Acquire::new(super::key("probe")).wait(stanchion_core::Wait::No);
        let probe = probe.ttl(Duration::from_secs(5)).unwrap();
        match careful.try_acquire(&probe, Owner::random()).await {
            Ok(grant) => careful.release(&grant).await.is_ok(),
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}");
                assert!(e.to_string().contains("no vote"), "{e}");
                false
            }
        }
    })
    .await;
    let held = held_by_a_bare_quorum(&nodes, &holder).await;
    nodes.servers[0].restart().await;
    // Two free nodes and one that has forgotten: a quorum, if its vote counted.
    for _ in 0..5 {
        let e = attempt(&careful).await.unwrap_err();
        assert!(matches!(e.kind(), ErrorKind::Contended | ErrorKind::Unavailable), "{e}");
    }
    let second = tokio::time::timeout(PATIENCE, async {
        loop {
            if let Ok(grant) = attempt(&control).await {
                return grant;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    let second = second.expect("void: without the quarantine there was no second holder either");
    assert_ne!(second.owner, held.owner, "two holders at once, without the quarantine");
}

/// All five have the lease: one node's jump leaves a quorum, most nodes' do not. That is what Redlock cannot do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_jumping_clock_keeps_exclusion_and_a_majority_breaks_it() {
    let nodes = clock::five().await;
    let (a, b) = (nodes.open().await, nodes.open().await);
    let held = attempt(&a).await.unwrap();
    let jump = |server: usize| clock::jump(&nodes, server, clock::HOUR);
    let gone = |server: usize| {
        let server = &nodes.servers[server];
        eventually(PATIENCE, "it has ended there", move || async move {
            plain(server, &["EXISTS", LOCK]).await == redis::Value::Int(0)
        })
    };
    eventually(PATIENCE, "all five have it", || async {
        for server in &nodes.servers {
            if plain(server, &["EXISTS", LOCK]).await != redis::Value::Int(1) {
                return false;
            }
        }
        true
    })
    .await;
    jump(0).await;
    gone(0).await;
    assert_eq!(attempt(&b).await.unwrap_err().kind(), ErrorKind::Contended, "one node's clock jumped");
    jump(1).await;
    gone(1).await;
    assert_eq!(attempt(&b).await.unwrap_err().kind(), ErrorKind::Contended, "two of five jumped");
    jump(2).await;
    gone(2).await;
    let second = attempt(&b).await.expect("three of five jumped: nothing is left of the lease");
    assert!(second.fence.number() > held.fence.number(), "a store that checks fences still tells them apart");
}
