//! Two clients and three nodes, with the arithmetic that ships: `Attempt` decides, `Trust` says who has a vote.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stanchion_core::redlock::{Answer, Attempt, Next, Trust, drift};
use stanchion_core::{BootTime, Clock as _, ManualClock};

use super::super::explore::{BoxFuture, Visit, World};
use super::{Notes, TTL};

const NODES: usize = 3;

/// A server that knows who has its lock, until when, and which fence it gave.
#[derive(Debug, Default, Clone, Copy)]
struct Node {
    holder: Option<(usize, BootTime)>,
    fence: u64,
    run: u32,
}

#[derive(Debug, Clone, Default)]
struct Nodes(Arc<Mutex<[Node; NODES]>>);

impl Nodes {
    fn release(&self, node: usize, client: usize) {
        self.with(node, |node| node.holder = node.holder.filter(|(holder, _)| *holder != client));
    }

    fn with<T>(&self, node: usize, look: impl FnOnce(&mut Node) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)[node])
    }
}

#[derive(Debug, Default)]
struct Beliefs([Option<BootTime>; 2]);

/// Each asks node after node; what time passes in between is the wire's.
pub fn two_clients(world: &World) -> Visit {
    visit(world, false)
}

/// One node restarts, and has forgotten what it promised.
pub fn a_node_forgets(world: &World) -> Visit {
    visit(world, true)
}

fn visit(world: &World, forgets: bool) -> Visit {
    let (notes, nodes) = (Notes::<Beliefs>::default(), Nodes::default());
    let mut clients: Vec<BoxFuture<()>> = (0..2).map(|client| take(world, client, &nodes, &notes)).collect();
    if forgets {
        let (board, nodes) = (world.board.clone(), nodes.clone());
        clients.push(Box::pin(async move {
            board.pass(2, "restarts the middle node, which keeps nothing", false).await;
            nodes.with(1, |node| *node = Node { run: node.run + 1, ..Node::default() });
        }));
    }
    let clock = world.clock.clone();
    Visit {
        clients,
        is_broken: notes.watch(),
        judge: Box::pin(async move {
            let believed = |client: usize| notes.with(|beliefs| beliefs.0[client]).is_some_and(|at| clock.now() < at);
            let left = (0..NODES).filter(|node| {
                let holder = nodes.with(*node, |node| node.holder);
                holder.is_some_and(|(client, until)| !believed(client) && until > clock.now())
            });
            if left.count() > 0 && !forgets {
                notes.broken("L1", "a node keeps the lock for a client that has given up");
            }
            notes.verdict()
        }),
    }
}

fn take(world: &World, client: usize, nodes: &Nodes, notes: &Notes<Beliefs>) -> BoxFuture<()> {
    let (board, clock, nodes, notes) = (world.board.clone(), world.clock.clone(), nodes.clone(), notes.clone());
    Box::pin(async move {
        let mut trusts: [Trust; NODES] = std::array::from_fn(|_| Trust::new(TTL));
        for trust in &mut trusts {
            // Met long ago.
            trust.met("0", Duration::from_secs(900), clock.now(), None);
        }
        let sent = clock.now();
        let mut attempt = Attempt::new(NODES, TTL, drift(TTL), sent, 0, false);
        let (mut given, order) = (Vec::new(), if client == 0 { [1, 2, 0] } else { [2, 1, 0] });
        for node in order {
            board.pass(client, format!("asks node {node}"), false).await;
            let (answer, run) = nodes.with(node, |node| (ask(node, client, clock.now()), node.run));
            board.pass(client, format!("hears of node {node}"), false).await;
            let now = clock.now();
            trusts[node].met(&run.to_string(), Duration::ZERO, now, Some(sent));
            let answer = if trusts[node].left(now).is_zero() { answer } else { Answer::Error };
            given.extend(matches!(answer, Answer::Yes(_)).then_some(node));
            match attempt.answer(node, 0, answer, now) {
                Next::Granted(_) => return believe(&notes, client, sent + attempt_life(), &clock),
                Next::GiveUp(_) => given.drain(..).for_each(|node| nodes.release(node, client)),
                Next::Release(node) => nodes.release(node, client),
                Next::Wait | Next::WriteBack(_) => {}
            }
        }
    })
}

fn attempt_life() -> Duration {
    TTL.saturating_sub(drift(TTL))
}

fn ask(node: &mut Node, client: usize, now: BootTime) -> Answer {
    match node.holder.filter(|(_, until)| now < *until) {
        Some((holder, _)) if holder != client => Answer::No,
        _ => {
            node.holder = Some((client, now + TTL));
            node.fence += 1;
            Answer::Yes(node.fence)
        }
    }
}

fn believe(notes: &Notes<Beliefs>, client: usize, until: BootTime, clock: &Arc<ManualClock>) {
    let other = notes.with(|beliefs| {
        beliefs.0[client] = Some(until);
        beliefs.0[1 - client]
    });
    // Whoever is granted acts: an attempt must not be granted when its time is over.
    if clock.now() >= until {
        notes.broken("S1", "a lock is granted whose time is over");
    }
    if clock.now() < until && other.is_some_and(|other| clock.now() < other) {
        notes.broken("S1", "two clients hold the lock at the same time");
    }
}
