//! The locks.

use std::sync::Arc;
use std::time::Duration;

use ::redis::Value;
use async_trait::async_trait;
use futures_util::future::join_all;
use stanchion_core::redlock::{Tally, Verdict, Vote, drift, validity};
use stanchion_core::{
    Acquire, Capability, Clock as _, Error, ErrorKind, FencingToken, Grant, Identity, Key, LockBackend, LockInfo, Mode,
    Owner, Page, Released, Renewal, Result, SystemClock, Wait, planted, text,
};
use tokio::time::Instant;

use super::fan::Fan;
use super::grants::Grants;
use super::list;
use super::names::{EVICT, Names};
use super::node::Node;
use super::op::{Op, Work};
use super::reply;
use super::take::{self, Outcome};
use super::wake::Wake;
use crate::redis::fault::Fault;

/// A waiter looks this often by itself: a call can be lost with its connection.
const LOOK: Duration = Duration::from_secs(2);
/// The largest floor: far enough below 2^53, where Lua's numbers stop being exact.
const FLOOR_MOST: u64 = 1 << 52;

/// What everything here needs.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) nodes: Vec<Arc<Node>>,
    pub(super) names: Arc<Names>,
    pub(super) write_back: bool,
    pub(super) drift: Duration,
    pub(super) max_ttl: Duration,
    /// As it was given; a node's own is longer by the drift.
    pub(super) quarantine: Duration,
    pub(super) node_timeout: Duration,
    pub(super) shown: String,
    pub(super) grants: Grants,
    pub(super) fan: Arc<Fan>,
}

/// Leases on a quorum of nodes.
#[derive(Debug)]
pub(super) struct RedlockLocks {
    shared: Arc<Shared>,
    wake: Arc<Wake>,
    capability: Capability,
}

impl RedlockLocks {
    pub(super) fn new(shared: Arc<Shared>, capability: Capability) -> Self {
        let wake = Wake::new(shared.nodes.clone(), Arc::clone(&shared.names));
        Self { shared, wake, capability }
    }

    fn check(&self, req: &Acquire) -> Result<()> {
        if let Mode::Slots(_) = req.mode {
            return Err(Error::new(ErrorKind::Unsupported, "a quorum cannot count slots")
                .with("key", &req.key)
                .hint("with 2 slots and 3 nodes, 3 holders can each have a quorum; use a store with one server"));
        }
        if req.floor > FLOOR_MOST {
            return Err(Error::new(ErrorKind::Unsupported, "the floor is above what Redis can count exactly")
                .with("floor", req.floor)
                .with("most", FLOOR_MOST));
        }
        self.check_ttl(req.ttl)
    }

    /// A longer lease would outlive the quarantine of a node that has forgotten it.
    fn check_ttl(&self, ttl: Duration) -> Result<()> {
        if ttl <= self.shared.max_ttl {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Invalid, "the ttl is longer than the longest that this store is opened for")
            .with("ttl", text::duration(ttl))
            .with("max_ttl", text::duration(self.shared.max_ttl))
            .hint("use a shorter ttl, or give max_ttl= in the store URL of every client"))
    }

    fn failed(&self, what: &'static str, key: &Key, votes: Votes, unknown: bool) -> Error {
        let faults = votes.faults.into_iter().map(|(index, fault)| {
            (self.shared.nodes.get(index).map_or_else(String::new, |node| node.name().to_owned()), fault)
        });
        reply::failed(what, faults.collect(), self.shared.nodes.len(), unknown)
            .with("key", key)
            .with("store", &self.shared.shown)
    }

    /// Asks for more time: what the nodes say, and whether they said it in time.
    async fn prolong(&self, grant: &Grant, ttl: Duration) -> (Votes, bool) {
        let (shared, sent) = (&self.shared, SystemClock.now());
        let (number, identity) = (grant.fence.number(), Identity::current().encode());
        let renewal = |heal| {
            let work = Work::Renew { ttl: ttl + shared.drift, number, identity: identity.clone(), heal };
            Op { key: grant.key.clone(), owner: grant.owner, mode: grant.mode, work }
        };
        let votes = self.decide(renewal(false)).await;
        let in_time = !validity(ttl, SystemClock.now() - sent, drift(ttl)).is_zero();
        if in_time && votes.tally.verdict() == Verdict::Yes {
            shared.grants.prolong(grant.owner, &grant.key, sent + ttl);
            // Ours without doubt: nodes that have restarted or were away get it, too, so that a lease outlives the
            // restart of one node after the other.
            if votes.absent {
                shared.fan.ask(renewal(true), 0, &Arc::default());
            }
        }
        (votes, in_time)
    }

    /// The grant of an owner that asks again, with all of its time. It asks for no other fence: nodes that the first attempt
    /// did not reach would draw higher ones, which all would have to agree on.
    async fn still_held(&self, req: &Acquire, owner: Owner) -> Option<Grant> {
        let number = self.shared.grants.number(owner, &req.key).filter(|number| *number > req.floor)?;
        let grant = Grant::new(req.key.clone(), owner, FencingToken::new(number, owner), req.mode, req.ttl);
        let (votes, in_time) = self.prolong(&grant, req.ttl).await;
        let verdict = votes.tally.verdict();
        if verdict == Verdict::No {
            // Lost: what the next attempt takes is not an older one's.
            self.shared.grants.remove(owner, &req.key);
        }
        (in_time && verdict == Verdict::Yes).then_some(grant)
    }

    /// Puts it to all nodes and listens until the outcome is certain; the rest is left to end by itself.
    async fn decide(&self, op: Op) -> Votes {
        let inbox = Arc::default();
        self.shared.fan.ask(op, 0, &inbox);
        let mut votes = Votes { tally: Tally::new(self.shared.nodes.len()), absent: false, faults: Vec::new() };
        while votes.tally.verdict() == Verdict::Open {
            let Some((index, _, answer)) = inbox.next().await else { break };
            let vote = match answer {
                Ok(Value::Int(1)) => Vote::Yes,
                Ok(Value::Int(code)) => {
                    votes.absent |= code == 2;
                    Vote::No
                }
                Ok(_) => {
                    votes.faults.push((index, Fault::Garbled));
                    Vote::Error
                }
                Err(fault) => {
                    votes.faults.push((index, fault));
                    Vote::Error
                }
            };
            votes.tally.cast(index, vote);
        }
        votes
    }
}

/// What the nodes said to one request.
struct Votes {
    tally: Tally,
    /// Whether the lock is nobody's on some of them.
    absent: bool,
    faults: Vec<(usize, Fault)>,
}

#[async_trait]
impl LockBackend for RedlockLocks {
    fn capability(&self) -> Capability {
        self.capability
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        self.check(req)?;
        if let Some(grant) = self.still_held(req, owner).await {
            return Ok(grant);
        }
        let waits = req.wait != Wait::No;
        let hearing = waits.then(|| {
            self.wake.register(&req.key, owner);
            self.wake.hearing(&req.key)
        });
        let outcome = take::take(&self.shared, req, owner, &req.identity.encode()).await;
        match outcome {
            Outcome::Granted(number) => {
                if waits {
                    self.wake.forget(owner);
                }
                Ok(Grant::new(req.key.clone(), owner, FencingToken::new(number, owner), req.mode, req.ttl))
            }
            Outcome::Held { error, free_in } => {
                if let Some(hearing) = hearing {
                    // At random within a few milliseconds, so that an expired lease does not call everybody at once.
                    let turn = free_in + take::random_part(Duration::from_millis(20));
                    self.wake.refused(owner, Instant::now() + turn.min(LOOK), hearing);
                }
                Err(error)
            }
            Outcome::Split => Err(stanchion_core::contended(&req.key, None)),
            Outcome::Failed(error) => {
                if waits {
                    self.wake.forget(owner);
                }
                Err(error)
            }
        }
    }

    async fn wait(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<()> {
        self.wake.wait(&req.key, owner, until).await;
        Ok(())
    }

    /// There is no queue on the nodes: a refused attempt has given back what it took.
    async fn withdraw(&self, _: &Acquire, owner: Owner) {
        self.wake.forget(owner);
    }

    async fn renew(&self, grant: &Grant, ttl: Duration) -> Renewal {
        if let Err(error) = self.check_ttl(ttl) {
            return Renewal::Unknown(error);
        }
        let (votes, in_time) = self.prolong(grant, ttl).await;
        match votes.tally.verdict() {
            Verdict::Yes if in_time => Renewal::Renewed,
            Verdict::Yes => {
                Renewal::Unknown(self.failed("the nodes answered too late for this ttl", &grant.key, votes, false))
            }
            Verdict::No => {
                self.shared.grants.remove(grant.owner, &grant.key);
                Renewal::Lost
            }
            Verdict::Unknown | Verdict::Open => {
                Renewal::Unknown(self.failed("no quorum of nodes", &grant.key, votes, true))
            }
        }
    }

    /// `Released` if a quorum had it as ours until now; `NotHeld` if so many did not that there was no quorum.
    async fn release(&self, grant: &Grant) -> Result<Released> {
        // Agreed or written back, a quorum has the fence already.
        let known = self.shared.grants.remove(grant.owner, &grant.key) || self.shared.write_back;
        if planted!("redlock-release-to-minority") {
            let asked = self.shared.nodes[0].tell(&EVICT, &self.shared.names.evict(&grant.key)).await;
            return asked.map(|_| Released::Released).map_err(|fault| fault.into_error("redlock", true));
        }
        let number = Some(grant.fence.number()).filter(|number| !known && *number > 0);
        let work = Work::Release { number, ask: None };
        let op = Op { key: grant.key.clone(), owner: grant.owner, mode: grant.mode, work };
        let votes = self.decide(op).await;
        match votes.tally.verdict() {
            Verdict::Yes => Ok(Released::Released),
            Verdict::No => Ok(Released::NotHeld),
            Verdict::Unknown | Verdict::Open => Err(self.failed("no quorum of nodes", &grant.key, votes, true)),
        }
    }

    async fn list(&self, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
        list::list(&self.shared, prefix, page).await
    }

    async fn evict(&self, key: &Key) -> Result<Released> {
        let command = self.shared.names.evict(key);
        let nodes = self.shared.nodes.len();
        let mut votes = Votes { tally: Tally::new(nodes), absent: false, faults: Vec::new() };
        // All of them: what stays on a node that was not waited for would still count for its holder.
        let answers = join_all(self.shared.nodes.iter().map(|node| node.tell(&EVICT, &command))).await;
        for (index, answer) in answers.into_iter().enumerate() {
            match answer {
                Ok(Value::Int(n)) => drop(votes.tally.cast(index, if n == 1 { Vote::Yes } else { Vote::No })),
                Ok(_) => votes.faults.push((index, Fault::Garbled)),
                Err(fault) => votes.faults.push((index, fault)),
            }
        }
        let (yes, no, _) = votes.tally.counts();
        // Enough were reached that what is left is no quorum.
        if yes + no > nodes - stanchion_core::redlock::quorum(nodes) {
            // What only a few had was nobody's lock: taken in vain, or let go and on its way.
            let held = yes > 0 && nodes - no >= stanchion_core::redlock::quorum(nodes);
            return Ok(if held { Released::Released } else { Released::NotHeld });
        }
        Err(self.failed("no quorum of nodes", key, votes, true))
    }
}
