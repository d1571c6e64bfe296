//! Asking all nodes at once, in company; nobody waits for the slowest nodes.

use std::sync::Arc;
use std::time::Duration;

use ::redis::Cmd;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use stanchion_core::ErrorKind;
use stanchion_core::redlock::quorum;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::inbox::{Inbox, Slip};
use super::names::Names;
use super::node::Node;
use super::op::{self, Op};
use crate::redis::combine::{PATIENCE, limits};
use crate::redis::fault::Fault;
use crate::redis::script::Script;
use crate::together::{self, Ask, Together, Unsent};

type Turn = together::Turn<(), Asked>;

#[derive(Debug)]
pub(super) struct Fan {
    nodes: Vec<Arc<Node>>,
    names: Arc<Names>,
    node_timeout: Duration,
    asks: Arc<Together<(), Asked>>,
}

/// An operation, and where its answers go.
struct Asked {
    op: Op,
    slip: Slip,
    nodes: usize,
}

impl Ask for Asked {
    /// What keeps or ends a lease is carried out also if nobody listens any more.
    fn is_gone(&self) -> bool {
        self.op.begins() && self.slip.is_closed()
    }

    fn unsent(self, why: Unsent) {
        for index in 0..self.nodes {
            self.slip.post(index, Err(Fault::NotSent(ErrorKind::Unavailable, why.to_string())));
        }
    }
}

/// Operations that go to every node together.
struct Call {
    asks: Vec<Asked>,
    serving: (&'static Script, Cmd),
}

impl Fan {
    pub(super) fn new(nodes: Vec<Arc<Node>>, names: Arc<Names>, node_timeout: Duration) -> Arc<Self> {
        Arc::new(Self { nodes, names, node_timeout, asks: Together::new(limits(node_timeout)) })
    }

    /// Puts an operation to every node; the answers come to the inbox.
    pub(super) fn ask(self: &Arc<Self>, op: Op, round: u8, inbox: &Arc<Inbox>) {
        let nodes = self.nodes.len();
        let slip = inbox.expect(nodes, quorum(nodes), round);
        let load = op.load();
        if let Some(turn) = self.asks.put(&(), Asked { op, slip, nodes }, load) {
            self.start(turn);
        }
    }

    fn start(self: &Arc<Self>, turn: Turn) {
        // Without a runtime the turn is dropped, and those who wait learn it.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(Arc::clone(self).send(turn));
        }
    }

    /// Sends what waits, one call at a time until a quorum has answered it; at the end listens to the slowest nodes.
    async fn send(self: Arc<Self>, mut turn: Turn) {
        // First come, first polled: a call is on its way to every node before an answer of any node is given out, so
        // what its caller sends next comes after it everywhere.
        let mut out = FuturesUnordered::new();
        while let Some(asks) = turn.next(|turn| self.start(turn)).await {
            let serving = op::serving(&self.names, asks.iter().map(|ask| &ask.op));
            let call = Arc::new(Call { asks, serving });
            for (index, node) in self.nodes.iter().enumerate() {
                out.push(put(Arc::clone(node), Arc::clone(&self.names), Arc::clone(&call), index));
            }
            let mut open = quorum(self.nodes.len());
            let answered = async {
                while open > 0
                    && let Some(answered) = out.next().await
                {
                    open -= usize::from(Arc::ptr_eq(&answered, &call));
                }
            };
            // Without a quorum in that time the next call leaves all the same, and each operation ends by its own time-out.
            drop(timeout(self.node_timeout / PATIENCE, answered).await);
        }
        while out.next().await.is_some() {}
    }
}

/// Puts the call to one node and gives its answers out.
async fn put(node: Arc<Node>, names: Arc<Names>, call: Arc<Call>, index: usize) -> Arc<Call> {
    let mut unanswered = Unanswered(&call.asks, index);
    let answers = node.serve(&names, call.asks.iter().map(|ask| &ask.op), &call.serving).await;
    unanswered.0 = &[];
    drop(unanswered);
    for (ask, answer) in call.asks.iter().zip(answers) {
        ask.slip.post(index, answer);
    }
    call
}

/// If the runtime ends half-way, nobody must wait for this node for ever.
struct Unanswered<'a>(&'a [Asked], usize);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        for ask in self.0 {
            ask.slip.post(self.1, Err(Fault::Lost("the runtime has ended".to_owned())));
        }
    }
}
