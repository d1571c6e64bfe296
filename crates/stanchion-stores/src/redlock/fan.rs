//! Asking all nodes at once, in company: operations that arrive while a call is under way leave together in the next one,
//! and nobody waits for the slowest nodes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::redis::Cmd;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use stanchion_core::ErrorKind;
use stanchion_core::redlock::quorum;

use super::inbox::{Inbox, Slip};
use super::names::Names;
use super::node::Node;
use super::op::{self, Op};
use crate::redis::fault::Fault;
use crate::redis::script::Script;

/// Operations in one call: bounds how long a node is busy with us.
const MOST: usize = 24;
/// Tasks that send at one time.
const SENDERS: usize = 2;

#[derive(Debug)]
pub(super) struct Fan {
    nodes: Vec<Arc<Node>>,
    names: Arc<Names>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    senders: usize,
    waiting: Vec<(Op, Slip)>,
}

/// Operations that go to every node together.
struct Call {
    ops: Vec<Op>,
    slips: Vec<Slip>,
    serving: (&'static Script, Cmd),
}

impl Fan {
    pub(super) fn new(nodes: Vec<Arc<Node>>, names: Arc<Names>) -> Arc<Self> {
        Arc::new(Self { nodes, names, state: Mutex::default() })
    }

    /// Puts an operation to every node; the answers come to the inbox. It is carried out also if nobody listens any more.
    pub(super) fn ask(self: &Arc<Self>, op: Op, round: u8, inbox: &Arc<Inbox>) {
        let slip = inbox.expect(self.nodes.len(), quorum(self.nodes.len()), round);
        let mut state = self.state();
        state.waiting.push((op, slip));
        if state.senders == 0 {
            self.start(&mut state);
        }
    }

    fn start(self: &Arc<Self>, state: &mut State) {
        state.senders += 1;
        // Made before the task is: also one that is never polled counts itself out.
        let end = End(Some(Arc::clone(self)));
        tokio::spawn(Arc::clone(self).send(end));
    }

    /// Sends what waits, one call at a time until a quorum has answered it; at the end listens to the slowest nodes.
    async fn send(self: Arc<Self>, mut end: End) {
        // First come, first polled: a call is on its way to every node before an answer of any node is given out, so
        // what its caller sends next comes after it everywhere.
        let mut out = FuturesUnordered::new();
        while let Some(call) = self.next(&mut end).await {
            for (index, node) in self.nodes.iter().enumerate() {
                out.push(put(Arc::clone(node), Arc::clone(&self.names), Arc::clone(&call), index));
            }
            let mut open = quorum(self.nodes.len());
            while open > 0
                && let Some(answered) = out.next().await
            {
                open -= usize::from(Arc::ptr_eq(&answered, &call));
            }
        }
        while out.next().await.is_some() {}
    }

    /// The next call. A sender that finds nothing counts itself out in the same step: whoever comes next starts another.
    async fn next(self: &Arc<Self>, end: &mut End) -> Option<Arc<Call>> {
        let idle = self.state().waiting.is_empty();
        if idle {
            // Those who have their answers now are about to ask again.
            tokio::task::yield_now().await;
        }
        let mut state = self.state();
        let most = state.waiting.len().min(MOST);
        if most == 0 {
            state.senders -= 1;
            end.0 = None;
            return None;
        }
        if state.waiting.len() > most && state.senders < SENDERS {
            self.start(&mut state);
        }
        let (ops, slips): (Vec<Op>, Vec<Slip>) = state.waiting.drain(..most).unzip();
        drop(state);
        let serving = op::serving(&self.names, ops.iter());
        Some(Arc::new(Call { ops, slips, serving }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts the call to one node and gives its answers out.
async fn put(node: Arc<Node>, names: Arc<Names>, call: Arc<Call>, index: usize) -> Arc<Call> {
    let mut unanswered = Unanswered(&call.slips, index);
    let answers = node.serve(&names, &call.ops, &call.serving).await;
    unanswered.0 = &[];
    drop(unanswered);
    for (slip, answer) in call.slips.iter().zip(answers) {
        slip.post(index, answer);
    }
    call
}

/// If the runtime ends half-way, nobody must wait for this node for ever.
struct Unanswered<'a>(&'a [Slip], usize);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        for slip in self.0 {
            slip.post(self.1, Err(Fault::Lost("the runtime has ended".to_owned())));
        }
    }
}

/// Counts a sender out. If its task is dropped half-way, nobody else would serve those who wait.
struct End(Option<Arc<Fan>>);

impl Drop for End {
    fn drop(&mut self) {
        let Some(fan) = self.0.take() else { return };
        let waiting = {
            let mut state = fan.state();
            state.senders -= 1;
            std::mem::take(&mut state.waiting)
        };
        for (_, slip) in waiting {
            for index in 0..fan.nodes.len() {
                let fault = Fault::NotSent(ErrorKind::Unavailable, "the runtime has ended".to_owned());
                slip.post(index, Err(fault));
            }
        }
    }
}
