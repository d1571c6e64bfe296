//! Asking all nodes at once, and going on without the slowest.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::redis::{Cmd, Value};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::runtime::Handle;

use super::node::Node;
use crate::redis::fault::Fault;
use crate::redis::script::Script;

/// A node's answer: its index, the round it belongs to, and what it said.
pub(super) type Heard = (usize, u8, Result<Value, Fault>);
type Asked = Pin<Box<dyn Future<Output = Heard> + Send>>;

/// Requests that are under way. Each ends by its node's timeout.
#[derive(Default)]
pub(super) struct Fan(FuturesUnordered<Asked>);

impl Fan {
    /// Puts a request to every node, for those whose vote counts.
    pub(super) fn ask(&self, nodes: &[Arc<Node>], round: u8, script: &'static Script, command: Cmd) {
        let command = Arc::new(command);
        for (index, node) in nodes.iter().enumerate() {
            let (node, command) = (Arc::clone(node), Arc::clone(&command));
            self.0.push(Box::pin(async move { (index, round, node.ask(script, command).await) }));
        }
    }

    /// Tells a node something, whatever its vote is worth.
    pub(super) fn tell(&self, index: usize, node: &Arc<Node>, script: &'static Script, command: &Arc<Cmd>) {
        let (node, command) = (Arc::clone(node), Arc::clone(command));
        self.0.push(Box::pin(async move { (index, 0, node.tell(script, command).await) }));
    }

    pub(super) fn tell_all(&self, nodes: &[Arc<Node>], script: &'static Script, command: Cmd) {
        let command = Arc::new(command);
        for (index, node) in nodes.iter().enumerate() {
            self.tell(index, node, script, &command);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) async fn next(&mut self) -> Option<Heard> {
        self.0.next().await
    }

    /// Sends what is not sent yet, and lets it end by itself. Sent now, so that what the caller sends next to the same
    /// node comes after it; listened to until the end, so that a connection that does not answer is noticed.
    pub(super) fn detach(mut self) {
        if !self.start() {
            return;
        }
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { while self.next().await.is_some() {} });
        }
    }

    /// Puts everything on its way without waiting; says whether something is still out.
    pub(super) fn start(&mut self) -> bool {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        loop {
            match self.0.poll_next_unpin(&mut cx) {
                Poll::Ready(Some(_)) => {}
                Poll::Ready(None) => return false,
                Poll::Pending => return true,
            }
        }
    }
}
