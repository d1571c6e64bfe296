//! Who asks whom for what, and what must be true in every state.

use std::time::Duration;

use stanchion_core::BootTime;
use stanchion_core::redlock::{Answer, Attempt, Next};
use stateright::{Model, Property};

use crate::models::check::Judged;

const NODES: usize = 3;
const TTL: u64 = 2;
const DRIFT: u64 = 1;

pub(in crate::models) const ONE: &str = "at most one client believes that it holds the lock";
pub(in crate::models) const CLEAN: &str =
    "when all is quiet, nobody who gave up or released has anything left on a node";
pub(in crate::models) const FENCES: &str = "a later grant has a higher fence";
const GRANTED: &str = "a client is granted";
const BOTH: &str = "two are granted, one after the other";

/// What goes wrong in the world, or what is left out of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Fault {
    /// Everything in place; leases only end by themselves, and fences are agreed.
    Sound,
    /// Everything in place; locks are given back, and fences are not looked at.
    Tidy,
    /// The lease counts from its grant, not from before its first request.
    FromGrant,
    /// One node's clock gains [`DRIFT`] in a ttl.
    FastNode { allowed_for: bool },
    /// One node restarts and has forgotten everything.
    Amnesia { quarantined: bool },
    /// A yes that comes after the end of the attempt is kept.
    KeepsLateYes,
    /// A release goes to a minority.
    ReleasesMinority,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Request {
    Take,
    Write(u8, u64),
    Release,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Node {
    holder: Option<(usize, u64)>,
    fence: u64,
    quiet_until: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Client {
    attempt: Option<Attempt>,
    sent: u64,
    /// Nodes that said yes.
    yes: [bool; NODES],
    ended: bool,
    granted: Option<u64>,
    deadline: u64,
    released: bool,
    /// On their way to each node, in order.
    requests: [Vec<Request>; NODES],
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    now: u64,
    forgot: bool,
    nodes: Vec<Node>,
    clients: Vec<Client>,
    fell: bool,
    highest: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Start(usize),
    Arrive(usize, usize),
    Release(usize),
    Forget(usize),
    Tick,
}

/// Some clients that want one lock.
#[derive(Debug)]
pub(super) struct System {
    pub(super) fault: Fault,
    pub(super) clients: usize,
    /// When time stands still: later nothing new can happen.
    pub(super) end: u64,
}

fn at(tick: u64) -> BootTime {
    BootTime::from_boot(Duration::from_secs(100 + tick))
}

impl System {
    pub(super) fn new(fault: Fault) -> Self {
        // Agreeing on fences multiplies the states; one lease after the other fits into its ttl.
        let end = if fault == Fault::Sound { TTL } else { TTL + 1 };
        Self { fault, clients: 2, end }
    }

    fn drift(&self) -> u64 {
        match self.fault {
            Fault::FastNode { allowed_for: false } => 0,
            Fault::FastNode { .. } => DRIFT,
            _ => 0,
        }
    }

    /// Whether fences are agreed: that is one more round, so only where it matters.
    fn agrees(&self) -> bool {
        self.fault == Fault::Sound
    }

    /// Whether locks are given back, or only end by themselves: that is most of the messages, so only where it matters.
    fn gives_back(&self) -> bool {
        matches!(self.fault, Fault::Tidy | Fault::KeepsLateYes | Fault::ReleasesMinority)
    }

    fn node_ttl(&self, node: usize) -> u64 {
        match self.fault {
            Fault::FastNode { .. } if node == 0 => TTL - DRIFT,
            _ => TTL,
        }
    }

    fn serve(&self, world: &mut World, client: usize, index: usize) {
        let request = world.clients[client].requests[index].remove(0);
        let (now, quiet) = (world.now, world.now < world.nodes[index].quiet_until);
        let node = &mut world.nodes[index];
        node.holder = node.holder.filter(|(_, ends)| *ends > now);
        let mine = node.holder.is_some_and(|(owner, _)| owner == client);
        let answer = match request {
            _ if quiet => Some((0, Answer::Error)),
            Request::Take if node.holder.is_none() || mine => {
                node.fence += 1;
                node.holder = Some((client, now + self.node_ttl(index)));
                Some((0, Answer::Yes(node.fence)))
            }
            Request::Take => Some((0, Answer::No)),
            Request::Write(round, number) if mine => {
                node.fence = node.fence.max(number);
                Some((round, Answer::Yes(number)))
            }
            Request::Write(round, _) => Some((round, Answer::No)),
            Request::Release => {
                node.holder = node.holder.filter(|(owner, _)| *owner != client);
                None
            }
        };
        if let Some((round, answer)) = answer {
            self.hear(world, client, index, round, answer);
        }
    }

    fn hear(&self, world: &mut World, client: usize, node: usize, round: u8, answer: Answer) {
        let now = world.now;
        let me = &mut world.clients[client];
        me.yes[node] |= matches!(answer, Answer::Yes(_));
        let Some(attempt) = me.attempt.as_mut() else { return };
        let seen = if self.fault == Fault::FromGrant { me.sent } else { now };
        match attempt.answer(node, round, answer, at(seen)) {
            Next::Wait => {}
            Next::WriteBack(number) => {
                let round = attempt.round();
                me.requests.iter_mut().for_each(|requests| requests.push(Request::Write(round, number)));
            }
            Next::Granted(fence) => {
                me.ended = true;
                me.granted = Some(fence);
                let from = if self.fault == Fault::FromGrant { now } else { me.sent };
                me.deadline = from + TTL - self.drift();
                world.fell |= self.agrees() && fence <= world.highest;
                world.highest = world.highest.max(fence);
            }
            Next::GiveUp(_) | Next::Release(_) if !self.gives_back() => me.ended = true,
            Next::GiveUp(_) => {
                me.ended = true;
                for node in (0..NODES).filter(|node| me.yes[*node]) {
                    me.requests[node].push(Request::Release);
                }
            }
            Next::Release(node) if self.fault == Fault::KeepsLateYes => assert!(me.yes[node]),
            Next::Release(node) => me.requests[node].push(Request::Release),
        }
    }
}

fn believes(world: &World, client: &Client) -> bool {
    client.granted.is_some() && !client.released && world.now < client.deadline
}

impl Model for System {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        // The nodes have different pasts: fences have to be agreed.
        let nodes = [5, 2, 5].map(|fence| Node { fence, ..Node::default() }).to_vec();
        let clients = vec![Client::default(); self.clients];
        vec![World { now: 0, forgot: false, nodes, clients, fell: false, highest: 0 }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Step>) {
        for (i, client) in world.clients.iter().enumerate() {
            // The clients are alike: the first one is the one that starts first.
            if client.attempt.is_none() && (i == 0 || world.clients[i - 1].attempt.is_some()) {
                actions.push(Step::Start(i));
            }
            if self.gives_back() && believes(world, client) {
                actions.push(Step::Release(i));
            }
            for node in 0..NODES {
                // Fences that are written commute between nodes: they arrive in order, or the states would be too many.
                let written = |node: usize| matches!(client.requests[node].first(), Some(Request::Write(..)));
                if !(client.requests[node].is_empty() || written(node) && (0..node).any(written)) {
                    actions.push(Step::Arrive(i, node));
                }
            }
        }
        if matches!(self.fault, Fault::Amnesia { .. }) && !world.forgot {
            // All nodes are alike without fences, so one is enough.
            actions.push(Step::Forget(0));
        }
        if world.now < self.end {
            actions.push(Step::Tick);
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut world = world.clone();
        match step {
            Step::Start(i) => {
                let (ttl, drift) = (Duration::from_secs(TTL), Duration::from_secs(self.drift()));
                let client = &mut world.clients[i];
                client.sent = world.now;
                client.attempt = Some(Attempt::new(NODES, ttl, drift, at(world.now), 0, self.agrees()));
                client.requests.iter_mut().for_each(|requests| requests.push(Request::Take));
            }
            Step::Arrive(i, node) => self.serve(&mut world, i, node),
            Step::Release(i) => {
                let client = &mut world.clients[i];
                client.released = true;
                let reached = if self.fault == Fault::ReleasesMinority { 1 } else { NODES };
                client.requests.iter_mut().take(reached).for_each(|requests| requests.push(Request::Release));
            }
            Step::Forget(node) => {
                world.forgot = true;
                let quiet_until =
                    if self.fault == (Fault::Amnesia { quarantined: true }) { world.now + TTL } else { 0 };
                // Its fence comes from the clock after a restart; what it loses are its leases.
                world.nodes[node] = Node { holder: None, quiet_until, fence: world.nodes[node].fence };
            }
            Step::Tick => world.now += 1,
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONE, |_, world: &World| {
                world.clients.iter().filter(|client| believes(world, client)).count() <= 1
            }),
            Property::always(FENCES, |_, world: &World| !world.fell),
            Property::always(CLEAN, |model: &Self, world: &World| {
                let quiet = world.clients.iter().all(|client| client.requests.iter().all(Vec::is_empty));
                let left = |client: usize| {
                    let held =
                        |node: &Node| node.holder.is_some_and(|(owner, ends)| owner == client && ends > world.now);
                    world.nodes.iter().any(held)
                };
                let over = |client: &Client| client.released || client.ended && client.granted.is_none();
                !model.gives_back()
                    || !quiet
                    || !world.clients.iter().enumerate().any(|(i, client)| over(client) && left(i))
            }),
            Property::sometimes(GRANTED, |_, world: &World| world.clients.iter().any(|c| c.granted.is_some())),
            Property::sometimes(BOTH, |_, world: &World| {
                world.clients.iter().filter(|client| client.granted.is_some()).count() > 1
            }),
        ]
    }
}

impl Judged for System {
    fn never_happened(&self) -> Vec<String> {
        // `GRANTED` and `BOTH` say it.
        Vec::new()
    }
}
