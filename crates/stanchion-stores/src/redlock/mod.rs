//! `redlock:` — leases on a quorum of independent Redis nodes.
//!
//! The protocol is [`stanchion_core::redlock`]; here are the nodes, the scripts, and the waiting. Per node, under one
//! hash tag:
//!
//! | key | holds |
//! |---|---|
//! | `{ns}:redlock:KEY` | a lock; ends by itself |
//! | `{ns}:redlock-fence:N` | the highest fence that this node knows of, for the keys of shard N; never expires |
//! | `{ns}:redlock-freed:N` | the channel on which released keys of shard N are named |
//!
//! **The fence.** A client proposes a number that is probably above all before it. A node that knows a lower one
//! accepts it together with the lock; if a quorum does, that one round has written the fence to a quorum. Otherwise the highest
//! number of the quorum is written back in a second round before the grant counts.

mod doctor;
mod fan;
mod grants;
mod inbox;
mod list;
mod locks;
mod names;
mod node;
mod op;
mod options;
mod reply;
mod take;
mod wake;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::join_all;
use stanchion_core::redlock::quorum;
use stanchion_core::{Capability, Error, ErrorKind, Hold, Purpose, Result, Survives};

use self::fan::Fan;
use self::grants::Grants;
use self::locks::{RedlockLocks, Shared};
use self::names::Names;
use self::node::{Node, field};
use self::options::Settings;
use crate::{Backend, Durability, Finding, OpenOptions, Opened, StoreUrl};

pub(crate) static BACKEND: Redlock = Redlock;

const WEAK: &str = "nodes that forget, or whose clocks jump, may give a lock twice and let fences go back: a quorum of them always, one if the lease stands on a bare quorum";

#[derive(Debug)]
pub(crate) struct Redlock;

#[async_trait]
impl Backend for Redlock {
    fn schemes(&self) -> &'static [&'static str] {
        &["redlock", "redlocks"]
    }

    fn help(&self) -> &'static str {
        "redlock://[user:password@]host1[:port],host2[:port],host3[:port][/db]   (redlocks: with TLS)
  Leases on a quorum of independent nodes (Redis 6.2 or later, Valkey; no replicas of each other), best 3 or 5: an even
  number tolerates no more failures than one less, fewer than 3 tolerate none. Locks only: no records, no slots, no
  order among waiters. For efficiency, not for correctness: where a double effect does harm, check the fence in the
  protected store.
  ns=NAME              everything lives under {NAME}; default stanchion
  max_ttl=60s          the longest ttl that any client uses; longer ones are refused
  quarantine=60s       a restarted node has no vote for this long; default max_ttl. 0s only where every node keeps its
                       data through a restart (appendonly yes, appendfsync always)
  fence=quorum         the fence is written to a quorum before the lock counts; fence=time: one round for exclusive locks,
                       and their fences grow as long as the nodes' clocks agree
  drift=0s             what a node's clock may gain on ours in one ttl, beyond 1 % and 2 ms
  node_timeout=1s      for the answer of one node; the others do not wait for it
  connect_timeout=1s   for a new connection to a node
  ca=PATH              redlocks: trust this PEM file instead of the system's certificates
  cert=PATH, key=PATH  redlocks: show this certificate"
    }

    async fn open(&self, mut url: StoreUrl, open: OpenOptions) -> Result<Opened> {
        let settings = Settings::read(&mut url)?;
        let shown = settings.shown.clone();
        if open.durability == Durability::Power {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "locks on a quorum do not outlive a power cut of all nodes",
            )
            .with("store", shown)
            .hint("open it with durability=process, or use one store that writes to disk"));
        }
        let shared = connect(settings).await?;
        Ok(Opened { locks: Arc::new(RedlockLocks::new(shared, capability())), records: None, fused: None, shown })
    }

    async fn examine(&self, mut url: StoreUrl, _: OpenOptions) -> Result<Vec<Finding>> {
        let shared = connect(Settings::read(&mut url)?).await?;
        Ok(doctor::examine(&shared).await)
    }
}

const fn capability() -> Capability {
    Capability {
        backend: "redlock",
        hold: Hold::Lease,
        clock: false,
        fair: false,
        shared_between_processes: true,
        survives: Survives::ProcessCrash,
        purpose: Purpose::Efficiency,
        weak: Some(WEAK),
    }
}

/// Connects to all nodes; a quorum of them must be there.
async fn connect(settings: Settings) -> Result<Arc<Shared>> {
    let Settings { nodes, namespace, write_back, drift, max_ttl, quarantine, node_timeout, shown } = settings;
    // A lock lives on its node for ttl and drift: only then it is certainly over.
    let without_vote = if quarantine.is_zero() { quarantine } else { quarantine + drift };
    let nodes =
        nodes.into_iter().map(|node| Node::new(node, without_vote).map(Arc::new)).collect::<Result<Vec<_>>>()?;
    let mut faults = Vec::new();
    let mut time = 0;
    for (node, link) in nodes.iter().zip(join_all(nodes.iter().map(|node| node.link())).await) {
        match link {
            Ok(link) => {
                let greeting = link.greeting.as_ref().and_then(|greeting| field(&greeting.info, "server_time_usec"));
                time = time.max(greeting.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) / 1000);
            }
            Err(fault) => {
                let error = fault.clone().into_error(node.name(), false);
                if error.kind() == ErrorKind::Denied {
                    return Err(error);
                }
                faults.push((node.name().to_owned(), fault));
            }
        }
    }
    if nodes.len() - faults.len() < quorum(nodes.len()) {
        return Err(reply::failed("no quorum of nodes", faults, nodes.len(), false).with("store", shown));
    }
    let mut runs = BTreeMap::new();
    for node in &nodes {
        let Some((_, run)) = node.standing() else { continue };
        if let Some(other) = runs.insert(run, node.name()) {
            return Err(Error::new(ErrorKind::Invalid, "two nodes are one and the same server")
                .with("one", other)
                .with("other", node.name())
                .hint("name every server once: its vote would count twice"));
        }
    }
    if nodes.len() < 3 || nodes.len().is_multiple_of(2) {
        tracing::warn!(nodes = nodes.len(), quorum = quorum(nodes.len()), "3 or 5 nodes are best: see help stores");
    }
    let names = Arc::new(Names::new(&namespace, time));
    let (grants, fan) = (Grants::default(), Fan::new(nodes.clone(), Arc::clone(&names), node_timeout));
    Ok(Arc::new(Shared { nodes, names, fan, write_back, drift, max_ttl, quarantine, node_timeout, shown, grants }))
}
