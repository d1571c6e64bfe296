//! `redlock:` against real servers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod bad_input;
mod clock;
mod contenders;
mod faults;
mod forgetting;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{Acquire, LockBackend, Owner, Page, Released};
use stanchion_testkit::conformance::{Client, StoreFactory, leases, locks, run_all};
use stanchion_testkit::engines::Redis;
use stanchion_testkit::{FaultProxy, Protocol, eventually};
use tokio::time::Instant;

use crate::common::{factory_of, key, open, refused, request};
use crate::redis::plain;

/// How long a test waits for what must come; only failures take that long.
const PATIENCE: Duration = Duration::from_secs(20);

/// Counters of fences on each node.
const SHARDS: usize = 64;

type Locks = Arc<dyn LockBackend>;

/// Independent servers.
struct Nodes {
    servers: Vec<Redis>,
    /// One in front of each, if faults of the wire are wanted.
    proxies: Vec<FaultProxy>,
}

impl Nodes {
    async fn start(count: usize) -> Self {
        let mut servers = Vec::new();
        for _ in 0..count {
            servers.push(Redis::start().await);
        }
        Self { servers, proxies: Vec::new() }
    }

    async fn behind_proxies(count: usize) -> Self {
        let mut nodes = Self::start(count).await;
        for server in &nodes.servers {
            nodes.proxies.push(FaultProxy::start(server.addr(), Protocol::Resp).await);
        }
        nodes
    }

    /// The servers are young, so they would not be trusted: `options` says for how long.
    fn url(&self, options: &str) -> String {
        let ports: Vec<u16> = match self.proxies.as_slice() {
            [] => self.servers.iter().map(|server| server.port()).collect(),
            proxies => proxies.iter().map(FaultProxy::port).collect(),
        };
        let places: Vec<_> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        format!("redlock://{}/?{options}", places.join(","))
    }

    /// A client that trusts the nodes from the first moment, and is patient with a busy machine.
    async fn open(&self) -> Locks {
        open(&self.url("quarantine=0s&node_timeout=10s")).await.locks
    }
}

fn short(text: &str, millis: u64) -> Acquire {
    request(text).ttl(Duration::from_millis(millis)).unwrap()
}

async fn client(url: String) -> Client {
    Client::new(open(&url).await.locks, None)
}

/// The servers live as long as the factory. The suite's longest ttl is ten minutes.
async fn factory(count: usize, options: &str) -> StoreFactory {
    let nodes = Nodes::start(count).await;
    let url = nodes.url(&format!("quarantine=0s&max_ttl=15m&node_timeout=10s{options}"));
    factory_of(nodes, url, client)
}

async fn server() -> StoreFactory {
    factory(3, "").await
}

async fn five_servers() -> StoreFactory {
    factory(5, "").await
}

stanchion_testkit::conformance_tests!(three_nodes, server, suites: [locks, leases], except: [
    slots_admit_n_and_no_more,   // 2 slots, 3 nodes: 3 holders can each have a quorum
    waiters_are_served_in_order, // there is no queue over several nodes
]);
stanchion_testkit::conformance_tests!(five_nodes, five_servers, suites: [locks, leases], except: [
    slots_admit_n_and_no_more,   // as above
    waiters_are_served_in_order, // as above
]);
stanchion_testkit::process_tests!(processes, server, client, except: [
    a_stopped_holder_cannot_write_past_its_fence, // it has no records that could check a fence
]);

/// One round, and numbers from the nodes' clocks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fences_by_time_conform_as_well() {
    let except = ["slots_admit_n_and_no_more", "waiters_are_served_in_order"];
    run_all(&factory(5, "&fence=time").await, &[locks::CASES, leases::CASES], &except).await;
}

/// Makes a node believe that this was its highest fence so far.
async fn knows(server: &Redis, fence: u64) {
    let known = format!("{fence:016}");
    let shards: Vec<String> = (0..SHARDS).map(|shard| format!("{{stanchion}}:redlock-fence:{shard}")).collect();
    let words = shards.iter().flat_map(|shard| [shard.as_str(), known.as_str()]);
    plain(server, &["MSET"].into_iter().chain(words).collect::<Vec<_>>()).await;
}

/// Two nodes have lost the lock and would draw higher fences; the three others have it, whoever answers first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_that_asks_again_keeps_its_fence_whatever_the_others_know() {
    let nodes = Nodes::start(5).await;
    let ours = nodes.open().await;
    for round in 1..=20_u64 {
        // A lock of its own: what a slow node has of the round before would be taken for this one's, or be in its way.
        let (wanted, owner) = (request(&format!("k{round}")), Owner::random());
        let place = format!("{{stanchion}}:redlock:k{round}");
        let grant = ours.try_acquire(&wanted, owner).await.unwrap();
        for server in &nodes.servers {
            // A grant waits for three of them only.
            let has_it = || async { plain(server, &["EXISTS", &place]).await == redis::Value::Int(1) };
            eventually(PATIENCE, "the node has it", has_it).await;
        }
        for server in &nodes.servers[3..] {
            plain(server, &["DEL", &place]).await;
            knows(server, grant.fence.number() + 1000).await;
        }
        let again = ours.try_acquire(&wanted, owner).await.unwrap();
        assert_eq!(again.fence, grant.fence, "round {round}");
        assert_eq!(ours.release(&again).await.unwrap(), Released::Released);
    }
}

/// The nodes know of different fences, so each draws a number of its own, and only the holder knows which one it got.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_is_listed_with_its_own_fence_or_none_and_soon_with_its_own() {
    let nodes = Nodes::start(5).await;
    let url = nodes.url("quarantine=0s&node_timeout=10s&fence=time");
    let (ours, other) = (open(&url).await.locks, open(&url).await.locks);
    for round in 0..20_u64 {
        for (node, server) in (0..).zip(&nodes.servers) {
            // Above all clocks, so that the numbers follow from these.
            knows(server, 200_000_000_000_000 + 1000 * round + 10 * ((node + round) % 5)).await;
        }
        let grant = ours.try_acquire(&request("k"), Owner::random()).await.unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            let found = other.list("k", Page::first(2)).await.unwrap();
            let fences: Vec<_> = found.iter().flat_map(|info| &info.holders).map(|holder| holder.fence).collect();
            match fences.as_slice() {
                [Some(fence)] if *fence == grant.fence => break,
                [None] => assert!(Instant::now() < until, "the nodes never learn the fence"),
                wrong => panic!("round {round}: {wrong:?} instead of {:?}", grant.fence),
            }
        }
        assert_eq!(ours.release(&grant).await.unwrap(), Released::Released);
    }
}

/// One node is no more than a slow `redis:`; two and four tolerate as many failures as one and three.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_two_and_four_nodes_conform_as_well() {
    let except = ["slots_admit_n_and_no_more", "waiters_are_served_in_order"];
    for count in [1, 2, 4] {
        run_all(&factory(count, "").await, &[locks::CASES], &except).await;
    }
}
