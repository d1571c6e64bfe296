//! Nodes whose clocks really jump: no matter while a quorum of others has the lease, two holders else, and a protected
//! store that checks fences tells them apart.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stanchion_core::{
    Acquire, Cond, ErrorKind, FencingToken, Grant, Mode, Owner, RecordStore, Released, Renewal, Wait,
};
use stanchion_testkit::engines::Redis;
use stanchion_testkit::eventually;

use super::forgetting::held_by_a_bare_quorum;
use super::{Locks, Nodes, PATIENCE, key, open, plain, request, short};
use crate::common::obtain;

const LOCK: &str = "{stanchion}:redlock:k";
pub(super) const HOUR: i64 = 3600;

/// Five nodes; each one's clock can be moved.
pub(super) async fn five() -> Nodes {
    let mut servers = Vec::new();
    for _ in 0..5 {
        servers.push(Redis::options().own_clock().start().await);
    }
    Nodes { servers, proxies: Vec::new() }
}

async fn has(server: &Redis) -> bool {
    plain(server, &["EXISTS", LOCK]).await == redis::Value::Int(1)
}

/// Which of the nodes have the lock.
async fn having(nodes: &Nodes) -> [bool; 5] {
    let mut having = [false; 5];
    for (has_it, server) in having.iter_mut().zip(&nodes.servers) {
        *has_it = has(server).await;
    }
    having
}

async fn all_have_it(nodes: &Nodes) {
    eventually(PATIENCE, "all five have it", || async { having(nodes).await == [true; 5] }).await;
}

/// Who has the lock on this node.
async fn owner_on(server: &Redis) -> Option<Vec<u8>> {
    match plain(server, &["GET", LOCK]).await {
        redis::Value::BulkString(value) => Some(value[..32].to_vec()),
        _ => None,
    }
}

/// For how long this node thinks that the lock is held, in milliseconds.
async fn left_on(server: &Redis) -> i64 {
    match plain(server, &["PTTL", LOCK]).await {
        redis::Value::Int(left) => left,
        other => panic!("{other:?}"),
    }
}

async fn now(server: &Redis) -> i64 {
    match plain(server, &["TIME"]).await {
        redis::Value::Array(parts) => match &parts[0] {
            redis::Value::BulkString(seconds) => std::str::from_utf8(seconds).unwrap().parse().unwrap(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// Moves one node's clock away from the others', who show that it is so.
pub(super) async fn jump(nodes: &Nodes, node: usize, seconds: i64) {
    nodes.servers[node].set_clock(seconds);
    let away = now(&nodes.servers[node]).await - now(&nodes.servers[4]).await;
    assert!((away - seconds).abs() < 60, "void: the clock is {away} s away, not {seconds}");
}

async fn attempt(locks: &Locks) -> stanchion_core::Result<Grant> {
    locks.try_acquire(&request("k"), Owner::random()).await
}

async fn refused_again_and_again(locks: &Locks, why: &str) {
    for _ in 0..10 {
        let e = attempt(locks).await.map(|grant| grant.fence).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Contended, "{why}: {e}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_minority_whose_clocks_jump_past_the_ttl_leaves_one_holder_who_heals_it() {
    for mode in [Mode::Exclusive, Mode::Shared] {
        let nodes = five().await;
        let (a, b) = (nodes.open().await, nodes.open().await);
        let wanted = Acquire::new(key("k")).mode(mode).unwrap().wait(Wait::No);
        let held = a.try_acquire(&wanted, Owner::random()).await.unwrap();
        all_have_it(&nodes).await;
        for node in [0, 1] {
            jump(&nodes, node, HOUR).await;
            assert!(!has(&nodes.servers[node]).await, "void: it has not ended on node {node}");
            refused_again_and_again(&b, "a minority has jumped").await;
        }
        assert_eq!(having(&nodes).await[2..], [true; 3], "and what the others tried is given back");
        eventually(PATIENCE, "a renewal gives it to those that lack it", || async {
            assert!(matches!(a.renew(&held, held.ttl).await, Renewal::Renewed), "it was held all the time");
            having(&nodes).await == [true; 5]
        })
        .await;
        // Back again: now it lasts an hour longer there than it should.
        for node in [0, 1] {
            jump(&nodes, node, 0).await;
        }
        refused_again_and_again(&b, "the clocks went back").await;
        assert_eq!(a.release(&held).await.unwrap(), Released::Released);
        let next = attempt(&b).await.unwrap();
        assert!(next.fence.number() > held.fence.number());
    }
}

/// The holder is gone, and one node thinks that there is an hour left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_jumps_back_neither_frees_a_lock_nor_keeps_it() {
    let nodes = five().await;
    let (a, b) = (nodes.open().await, nodes.open().await);
    let held = a.try_acquire(&short("k", 5000), Owner::random()).await.unwrap();
    let granted = Instant::now();
    all_have_it(&nodes).await;
    let owner = owner_on(&nodes.servers[0]).await;
    jump(&nodes, 0, -HOUR).await;
    assert!(left_on(&nodes.servers[0]).await > 3_000_000, "void: node 0 has not kept it");
    while granted.elapsed() < Duration::from_millis(1000) {
        assert_eq!(attempt(&b).await.unwrap_err().kind(), ErrorKind::Contended, "a clock went back");
    }
    let renewed = Instant::now();
    assert!(matches!(a.renew(&held, held.ttl).await, Renewal::Renewed), "it is held on");
    eventually(PATIENCE, "the renewal has come to node 0", || async { left_on(&nodes.servers[0]).await <= 5000 }).await;
    jump(&nodes, 0, -2 * HOUR).await;
    assert!(left_on(&nodes.servers[0]).await > 3_000_000, "void: node 0 has not kept it");
    let next = Mutex::new(None);
    eventually(PATIENCE, "the lease ends for everybody else", || async {
        let granted = attempt(&b).await.ok();
        let ended = granted.is_some();
        *next.lock().unwrap() = granted;
        ended
    })
    .await;
    let next = next.into_inner().unwrap().unwrap();
    // A node's clock counts whole milliseconds.
    assert!(renewed.elapsed() + Duration::from_millis(2) >= held.ttl, "early: after {:?}", renewed.elapsed());
    assert!(next.fence.number() > held.fence.number());
    assert!(owner.is_some());
    assert_eq!(owner_on(&nodes.servers[0]).await, owner, "void: node 0 has forgotten it, too");
    refused_again_and_again(&a, "the next one holds").await;
    // A client that comes only now, and one more holder.
    let late = nodes.open().await;
    refused_again_and_again(&late, "the next one holds").await;
    assert_eq!(b.release(&next).await.unwrap(), Released::Released);
    let last = attempt(&late).await.unwrap();
    assert!(last.fence.number() > next.fence.number());
}

/// Redlock itself cannot do better: a lease that stands on no more nodes than it needs, because others held the rest
/// when it was taken, ends with the clock of any one of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_clock_under_a_bare_quorum_makes_two_holders() {
    let nodes = five().await;
    let (a, b) = (nodes.open().await, nodes.open().await);
    let asked = Instant::now();
    let old = held_by_a_bare_quorum(&nodes, &a).await;
    refused_again_and_again(&b, "two free nodes are no quorum").await;
    jump(&nodes, 0, HOUR).await;
    let new = attempt(&b).await.expect("two free nodes, and one whose clock jumped");
    assert!(asked.elapsed() < old.ttl, "void: the lease has ended by itself");
    assert!(new.owner != old.owner && new.fence.number() > old.fence.number(), "two holders, told apart by the fence");
}

/// Four clients count in a protected store, while the clock of one node jumps to and fro. Whatever the lock makes of
/// that, each acknowledged increment is there once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fenced_increments_are_exact_while_one_clock_jumps_to_and_fro() {
    const ROUNDS: u32 = 15;
    let nodes = Arc::new(five().await);
    let store = counter().await;
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (locks, store) = (nodes.open().await, Arc::clone(&store));
        clients.spawn(async move {
            let waiting = Acquire::new(key("k")).wait(Wait::Forever);
            let mut acknowledged = 0;
            for _ in 0..ROUNDS {
                let grant = obtain(&*locks, &waiting, Owner::random(), PATIENCE * 3).await;
                match store.touch(&key("counter"), &grant.fence).await {
                    Ok(record) => {
                        let seen = number(&record.unwrap().value);
                        tokio::task::yield_now().await;
                        acknowledged += u32::from(write(&store, Way::FirstTouch, grant.fence, seen + 1).await);
                    }
                    Err(e) => assert_eq!(e.kind(), ErrorKind::FenceRejected, "a newer holder was there already: {e}"),
                }
                locks.release(&grant).await.unwrap();
            }
            acknowledged
        });
    }
    let done = Arc::new(AtomicBool::new(false));
    let jumps = tokio::spawn({
        let (nodes, done) = (Arc::clone(&nodes), Arc::clone(&done));
        async move {
            let mut jumps = 0_u32;
            while !done.load(Ordering::SeqCst) {
                for seconds in [HOUR, 0, -HOUR, 0] {
                    jump(&nodes, 0, seconds).await;
                    jumps += 1;
                }
            }
            jumps
        }
    });
    let acknowledged: u32 = clients.join_all().await.into_iter().sum();
    done.store(true, Ordering::SeqCst);
    assert!(jumps.await.unwrap() >= 4, "void: the clock stood still");
    assert!(acknowledged >= 2 * ROUNDS, "void: only {acknowledged} were acknowledged");
    assert_eq!(number(&store.get(&key("counter")).await.unwrap().unwrap().value), acknowledged);
}

/// How a holder writes to the protected store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The read raises the fence.
    FirstTouch,
    Unfenced,
}

/// A store that knows nothing of Redlock but the fences.
async fn counter() -> Arc<dyn RecordStore> {
    let store = open("memory:").await.records.unwrap();
    store.put(&key("counter"), "0".into(), Cond::Absent, None).await.unwrap();
    store
}

fn number(value: &[u8]) -> u32 {
    std::str::from_utf8(value).unwrap().parse().unwrap()
}

async fn read(store: &Arc<dyn RecordStore>, way: Way, fence: &FencingToken) -> u32 {
    let record = match way {
        Way::FirstTouch => store.touch(&key("counter"), fence).await.unwrap(),
        Way::Unfenced => store.get(&key("counter")).await.unwrap(),
    };
    number(&record.unwrap().value)
}

/// Whether it was acknowledged.
async fn write(store: &Arc<dyn RecordStore>, way: Way, fence: FencingToken, value: u32) -> bool {
    let cond = match way {
        Way::FirstTouch => Cond::Fence(fence),
        Way::Unfenced => Cond::Version(store.get(&key("counter")).await.unwrap().unwrap().version),
    };
    match store.put(&key("counter"), value.to_string().into(), cond, None).await {
        Ok(_) => true,
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::FenceRejected, "{e}");
            false
        }
    }
}

/// Two holders, because three of five clocks jumped; both increment a counter elsewhere, and the older one writes last.
/// What was acknowledged to the older and to the newer one, and what is there.
async fn increments(way: Way) -> (bool, bool, u32) {
    let store = counter().await;
    let nodes = five().await;
    let (a, b) = (nodes.open().await, nodes.open().await);
    let asked = Instant::now();
    let old = attempt(&a).await.unwrap();
    all_have_it(&nodes).await;
    let seen_by_old = read(&store, way, &old.fence).await;
    for node in [0, 1] {
        jump(&nodes, node, HOUR).await;
        refused_again_and_again(&b, "a minority has jumped").await;
    }
    jump(&nodes, 2, HOUR).await;
    let new = attempt(&b).await.expect("three of five jumped: nothing is left of the lease");
    assert!(asked.elapsed() < old.ttl, "void: the lease has ended by itself");
    assert!(new.owner != old.owner && new.fence.number() > old.fence.number(), "two holders, told apart by the fence");
    let seen_by_new = read(&store, way, &new.fence).await;
    let to_new = write(&store, way, new.fence, seen_by_new + 1).await;
    let to_old = write(&store, way, old.fence, seen_by_old + 1).await;
    assert!(asked.elapsed() < old.ttl, "void: the first holder would have stopped by itself");
    assert!(matches!(a.renew(&old, old.ttl).await, Renewal::Lost), "it learns of it when it asks");
    assert_eq!(b.release(&new).await.unwrap(), Released::Released);
    let kept = store.get(&key("counter")).await.unwrap().unwrap();
    (to_old, to_new, number(&kept.value))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_majority_whose_clocks_jump_makes_two_holders_and_a_protected_store_refuses_the_older() {
    assert_eq!(increments(Way::FirstTouch).await, (false, true, 1), "one acknowledged increment, one kept");
    assert_eq!(increments(Way::Unfenced).await, (true, true, 1), "void: without the fence none of two was lost either");
}
