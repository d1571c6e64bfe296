//! One acquisition: asking, writing the fence back, and leaving nothing behind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use stanchion_core::redlock::{Answer, Attempt, Next, Reason, drift, quorum};
use stanchion_core::{Acquire, Clock as _, Error, ErrorKind, Mode, Owner, SystemClock, contended};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout};

use super::inbox::{Heard, Inbox};
use super::locks::Shared;
use super::op::{Op, Work};
use super::reply::{self, Refusal, may_have_run};
use crate::redis::fault::Fault;

/// Times that an attempt is repeated because several came at once and nobody got a quorum.
const SPLITS: u32 = 16;
/// The longest pause after a split vote.
const PAUSE_MOST: Duration = Duration::from_millis(64);

/// How an attempt ended.
pub(super) enum Outcome {
    Granted(u64),
    /// Somebody holds it, or may.
    Held {
        error: Error,
        free_in: Duration,
    },
    /// Nobody can have a quorum.
    Split,
    Failed(Error),
}

/// Takes the lock, and tries again at random moments while contenders keep each other from a quorum.
pub(super) async fn take(shared: &Arc<Shared>, req: &Acquire, owner: Owner, identity: &str) -> Outcome {
    for split in 0..SPLITS {
        let start = Instant::now();
        match once(shared, req, owner, identity).await {
            Outcome::Split => {
                // Twice the time of an attempt is enough for one of two; each further round has room for twice as many.
                let room = start.elapsed().max(Duration::from_millis(1)) * 2_u32.saturating_pow(split.min(6) + 1);
                sleep(random_part(room.min(PAUSE_MOST))).await;
            }
            outcome => return outcome,
        }
    }
    Outcome::Held { error: contended(&req.key, None), free_in: random_part(PAUSE_MOST) }
}

pub(super) fn random_part(of: Duration) -> Duration {
    let part = u32::try_from(Owner::random().nonce() >> 40).unwrap_or(0);
    of.mul_f64(f64::from(part) / f64::from(1_u32 << 24))
}

/// What one attempt has heard so far. Dropped before it is granted, everything that it took is given back.
struct Taking<'a> {
    shared: &'a Arc<Shared>,
    req: &'a Acquire,
    owner: Owner,
    /// The number that this attempt came with.
    ask: u64,
    inbox: Arc<Inbox>,
    /// Nodes where it is ours, or may be, one bit each.
    ours: u32,
    refusals: BTreeMap<usize, Refusal>,
    faults: Vec<(usize, Fault)>,
    /// The numbers that the nodes have drawn.
    drawn: BTreeSet<u64>,
    granted: bool,
}

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        // An owner that holds the lock already, and asks again in vain, must not lose what it has.
        if !self.granted && !self.shared.grants.lives(self.owner, &self.req.key) {
            give_back(self);
        }
    }
}

/// Releases it everywhere, and again when late answers show that it was taken after that: the caller may be gone.
fn give_back(taking: &Taking<'_>) {
    let Taking { shared, req, owner, ask, ours, inbox, .. } = taking;
    let work = Work::Release { number: None, ask: Some(*ask) };
    let back = Op { key: req.key.clone(), owner: *owner, mode: req.mode, work };
    inbox.close();
    if *ours != 0 {
        shared.fan.ask(back.clone(), 0, &Arc::default());
    }
    if inbox.is_done() {
        return;
    }
    let Ok(runtime) = Handle::try_current() else { return };
    let (fan, inbox) = (Arc::clone(&shared.fan), Arc::clone(inbox));
    runtime.spawn(async move {
        let mut late = false;
        while let Some((_, _, answer)) = inbox.next().await {
            late |= match &answer {
                Ok(::redis::Value::Int(_)) => true,
                Ok(_) => false,
                Err(fault) => may_have_run(fault),
            };
        }
        if late {
            fan.ask(back, 0, &Arc::default());
        }
    });
}

async fn once(shared: &Arc<Shared>, req: &Acquire, owner: Owner, identity: &str) -> Outcome {
    let op = |work| Op { key: req.key.clone(), owner, mode: req.mode, work };
    let sent = SystemClock.now();
    // Readers come together, and by their clocks alone two of them could get one number.
    let write_back = shared.write_back || req.mode == Mode::Shared;
    let mut attempt = Attempt::new(shared.nodes.len(), req.ttl, drift(req.ttl), sent, req.floor, write_back)
        .spread(owner.nonce() % 64);
    let ask = shared.grants.number(owner, &req.key).unwrap_or_else(|| shared.names.guess(&req.key, req.floor));
    let mut taking = Taking {
        shared,
        req,
        owner,
        ask,
        inbox: Arc::default(),
        ours: 0,
        refusals: BTreeMap::new(),
        faults: Vec::new(),
        drawn: BTreeSet::new(),
        granted: false,
    };
    let mut number = ask;
    let (ttl, identity) = (req.ttl + shared.drift, identity.to_owned());
    shared.fan.ask(op(Work::Take { ttl, number, identity, timed: !shared.write_back }), 0, &taking.inbox);
    let start = Instant::now();
    loop {
        // Usually the nodes' own timeouts come first.
        let heard = if req.ttl <= shared.node_timeout {
            timeout(attempt.valid_for(SystemClock.now()), taking.inbox.next()).await
        } else {
            Ok(taking.inbox.next().await)
        };
        let next = match heard {
            Ok(Some(heard)) => taking.hear(&mut attempt, heard, number),
            Ok(None) | Err(_) => attempt.time_is_up(),
        };
        match next {
            Next::Wait | Next::Release(_) => {}
            Next::WriteBack(agreed) => {
                number = agreed;
                shared.fan.ask(op(Work::Write { number, ask }), attempt.round(), &taking.inbox);
            }
            Next::Granted(number) => {
                taking.granted = true;
                shared.names.saw(&req.key, number);
                shared.grants.add(owner, &req.key, sent + req.ttl, number, number == ask);
                if !shared.write_back && attempt.round() == 0 {
                    taking.tell_later(number);
                }
                return Outcome::Granted(number);
            }
            // With nodes away, one refusal less than a quorum can be all there is to see of a holder.
            Next::GiveUp(Reason::Refused | Reason::NoQuorum) if attempt.round() == 0 => {
                return taking.refused(start).await;
            }
            // Taken, and gone before the fence was agreed: expired, or evicted. Or several agreed on theirs at once.
            Next::GiveUp(Reason::Refused | Reason::Overtaken) => return Outcome::Split,
            Next::GiveUp(reason) => return taking.failed(reason),
        }
    }
}

impl Taking<'_> {
    fn hear(&mut self, attempt: &mut Attempt, (index, round, answer): Heard, number: u64) -> Next {
        let (answer, refusal, fault) = match round {
            0 => reply::taken(answer),
            _ => {
                let (answer, fault) = reply::written(answer, number);
                (answer, None, fault)
            }
        };
        if let Answer::Yes(drawn) = answer {
            self.drawn.insert(drawn);
        }
        match answer {
            Answer::Yes(_) | Answer::Behind(_) => self.ours |= 1 << index,
            Answer::Error if fault.as_ref().is_some_and(may_have_run) => self.ours |= 1 << index,
            Answer::No | Answer::Error => {}
        }
        self.faults.extend(fault.map(|fault| (index, fault)));
        if let Some(refusal) = refusal {
            self.refusals.insert(index, refusal);
        }
        attempt.answer(index, round, answer, SystemClock.now())
    }

    /// Granted in one round: a node that has drawn another number learns the fence in the background, for those who list.
    /// The answers that are still out may tell of one, too: a node that had to be given the script of the attempt first
    /// may have heard the fence before it, and then did not know whose it is.
    fn tell_later(&self, number: u64) {
        let Self { shared, req, owner, ask, inbox, .. } = self;
        let write = Op { key: req.key.clone(), owner: *owner, mode: req.mode, work: Work::Write { number, ask: *ask } };
        if self.drawn.iter().any(|drawn| *drawn != number) {
            shared.fan.ask(write.clone(), 1, &Arc::default());
        }
        if inbox.is_done() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let (fan, inbox) = (Arc::clone(&shared.fan), Arc::clone(inbox));
        runtime.spawn(async move {
            while let Some((_, _, answer)) = inbox.next().await {
                if matches!(reply::taken(answer).0, Answer::Yes(drawn) if drawn != number) {
                    fan.ask(write.clone(), 1, &Arc::default());
                }
            }
        });
    }

    /// Refused by too many. Whether by one holder, or by contenders that keep each other out, the rest of the nodes may
    /// have to tell: they get as long as this attempt has taken already, twice.
    async fn refused(mut self, start: Instant) -> Outcome {
        let (nodes, until) = (self.shared.nodes.len(), start.elapsed() * 2 + Duration::from_millis(2));
        let mut out = nodes - self.refusals.len() - self.yes() - self.faults.len();
        while out > 0 && !self.held() && nodes - self.faults.len() >= quorum(nodes) {
            let Ok(Some((index, _, answer))) = timeout(until, self.inbox.next()).await else { break };
            out -= 1;
            let (answer, refusal, fault) = reply::taken(answer);
            if matches!(answer, Answer::Yes(_)) || fault.as_ref().is_some_and(may_have_run) {
                self.ours |= 1 << index;
            }
            self.faults.extend(fault.map(|fault| (index, fault)));
            if let Some(refusal) = refusal {
                self.refusals.insert(index, refusal);
            }
        }
        // Foreign data is no holder, and without a quorum of answers nobody can tell.
        if self.refusals.is_empty() || nodes - self.faults.len() < quorum(nodes) {
            return self.failed(Reason::NoQuorum);
        }
        let silent = nodes - self.refusals.len() - self.yes();
        let Some((most, shown)) = self.most() else { return Outcome::Split };
        if most + silent < quorum(nodes) {
            return Outcome::Split;
        }
        let error = contended(&self.req.key, Some(shown.holder.clone()));
        Outcome::Held { error, free_in: self.free_in() }
    }

    fn yes(&self) -> usize {
        let doubtful = self.faults.iter().filter(|(_, fault)| may_have_run(fault)).count();
        (self.ours.count_ones() as usize).saturating_sub(doubtful)
    }

    fn held(&self) -> bool {
        self.most().is_some_and(|(most, _)| most >= quorum(self.shared.nodes.len()))
    }

    /// The acquisition that holds most of the nodes. Readers hold together: they count as one.
    fn most(&self) -> Option<(usize, &reply::Shown)> {
        let shown = || self.refusals.values().map(|refusal| &refusal.shown);
        let reads = |shown: &reply::Shown| shown.holder.mode == Mode::Shared;
        let together = |a: &reply::Shown, b: &reply::Shown| (reads(a) && reads(b)) || a.belongs_to(b);
        shown().map(|one| (shown().filter(|other| together(one, other)).count(), one)).max_by_key(|(count, _)| *count)
    }

    /// When enough leases will have ended for a quorum, if nobody renews.
    fn free_in(&self) -> Duration {
        let mut free: Vec<Duration> = vec![Duration::ZERO; self.yes()];
        free.extend(self.refusals.values().map(|refusal| refusal.free_in));
        free.sort_unstable();
        free.get(quorum(self.shared.nodes.len()) - 1).copied().unwrap_or(PAUSE_MOST)
    }

    fn failed(mut self, reason: Reason) -> Outcome {
        let nodes = self.shared.nodes.len();
        if reason == Reason::TooLate && self.faults.len() < quorum(nodes) {
            let error = Error::new(ErrorKind::Unavailable, "the nodes answered too late for this ttl")
                .with("key", &self.req.key)
                .with("ttl", stanchion_core::text::duration(self.req.ttl))
                .hint("use a longer ttl, or nodes that are nearer");
            return Outcome::Failed(error);
        }
        let name = |index: usize| self.shared.nodes.get(index).map_or_else(String::new, |node| node.name().to_owned());
        let faults = std::mem::take(&mut self.faults).into_iter().map(|(index, fault)| (name(index), fault)).collect();
        // Nothing was granted, and what was taken is being given back: the outcome is known.
        let error = reply::failed("no quorum of nodes", faults, nodes, false).with("key", &self.req.key);
        Outcome::Failed(error.with("store", &self.shared.shown))
    }
}

#[cfg(test)]
mod tests {
    use stanchion_core::Key;
    use stanchion_testkit::engines::Redis;
    use stanchion_testkit::eventually;

    use super::super::options::Settings;
    use super::*;
    use crate::StoreUrl;
    use crate::redlock::op::serving;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// What a script is not there for is sent again, and what was sent after it may have run by then.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_node_that_hears_the_fence_before_the_attempt_learns_it_all_the_same() {
        let mut servers = Vec::new();
        for _ in 0..5 {
            servers.push(Redis::start().await);
        }
        let places: Vec<_> = servers.iter().map(|server| format!("127.0.0.1:{}", server.port())).collect();
        let url = format!("redlock://{}/?quarantine=0s&node_timeout=20s&fence=time", places.join(","));
        let settings = Settings::read(&mut StoreUrl::parse(&url).unwrap()).unwrap();
        let shared = super::super::connect(settings).await.unwrap();
        let req = Acquire::new(Key::new("k").unwrap());
        let (lock, fence) = (shared.names.lock(&req.key), shared.names.fence(&req.key));
        let command = |words: &[&str]| {
            let mut command = ::redis::cmd(words[0]);
            command.arg(&words[1..]);
            command
        };
        // Above all clocks, so that each node draws a number of its own, and the last one the highest.
        for (node, known) in shared.nodes.iter().zip(200_000_000_000_000_u64..) {
            node.hub().send(&command(&["SET", fence, &format!("{known:016}")])).await.unwrap();
        }
        let (last, others) = shared.nodes.split_last().unwrap();
        let work = Work::Write { number: 1, ask: 1 };
        let write = Op { key: req.key.clone(), owner: Owner::random(), mode: req.mode, work };
        last.hub().send(serving(&shared.names, [&write].into_iter()).0.load()).await.unwrap();
        servers[4].pause();
        let Outcome::Granted(number) = take(&shared, &req, Owner::random(), "").await else { panic!("it is free") };
        let get = command(&["GET", &lock]);
        let has_it = |node: &Arc<super::super::node::Node>| {
            let (node, get, number) = (Arc::clone(node), get.clone(), format!("{number:016}"));
            async move {
                let told = node.hub().send(&get).await.unwrap();
                crate::redis::reply::text(&told).is_some_and(|value| value.get(32..48) == Some(&number))
            }
        };
        for node in others {
            eventually(PATIENCE, "a node that answers has the fence", || has_it(node)).await;
        }
        servers[4].resume();
        eventually(PATIENCE, "the last node has the fence", || has_it(last)).await;
    }
}
