//! Where the answers to one attempt arrive.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use ::redis::Value;

use crate::redis::fault::Fault;

/// A node's answer: its index, the round it belongs to, and what it said.
pub(super) type Heard = (usize, u8, Result<Value, Fault>);

/// Answers that have come, and how many are out. Whoever listens is woken when a quorum has answered the last question, and
/// by every answer after that: no smaller number decides anything.
#[derive(Debug, Default)]
pub(super) struct Inbox(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    heard: VecDeque<Heard>,
    out: usize,
    round: u8,
    /// Answers to the last question before anybody is woken.
    due: usize,
    /// Whoever asked has given up.
    closed: bool,
    listener: Option<Waker>,
}

/// The right to answer one question.
#[derive(Debug)]
pub(super) struct Slip {
    inbox: Arc<Inbox>,
    round: u8,
}

impl Inbox {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A question to `nodes` nodes.
    pub(super) fn expect(self: &Arc<Self>, nodes: usize, quorum: usize, round: u8) -> Slip {
        let mut state = self.state();
        state.out += nodes;
        (state.round, state.due) = (round, quorum);
        Slip { inbox: Arc::clone(self), round }
    }

    pub(super) fn is_done(&self) -> bool {
        let state = self.state();
        state.out == 0 && state.heard.is_empty()
    }

    /// What begins something need not be sent any more.
    pub(super) fn close(&self) {
        self.state().closed = true;
    }

    /// The next answer; nothing when all have come.
    pub(super) async fn next(&self) -> Option<Heard> {
        std::future::poll_fn(|cx| {
            let mut state = self.state();
            match state.heard.pop_front() {
                Some(heard) => Poll::Ready(Some(heard)),
                None if state.out == 0 => Poll::Ready(None),
                None => {
                    state.listener = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl Slip {
    pub(super) fn is_closed(&self) -> bool {
        self.inbox.state().closed
    }

    pub(super) fn post(&self, index: usize, answer: Result<Value, Fault>) {
        let mut state = self.inbox.state();
        state.out = state.out.saturating_sub(1);
        state.heard.push_back((index, self.round, answer));
        if self.round == state.round {
            state.due = state.due.saturating_sub(1);
        }
        if (state.due == 0 || state.out == 0)
            && let Some(listener) = state.listener.take()
        {
            drop(state);
            listener.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_quorum_wakes_and_all_answers_are_heard() {
        let inbox = Arc::new(Inbox::default());
        let first = inbox.expect(3, 2, 0);
        let listening = tokio::spawn({
            let inbox = Arc::clone(&inbox);
            async move { [inbox.next().await, inbox.next().await] }
        });
        tokio::task::yield_now().await;
        first.post(2, Ok(Value::Okay));
        tokio::task::yield_now().await;
        assert!(!listening.is_finished());
        first.post(0, Err(Fault::Garbled));
        let [a, b] = listening.await.unwrap().map(|heard| heard.map(|(index, round, _)| (index, round)));
        assert_eq!((a, b), (Some((2, 0)), Some((0, 0))));
        // The last of the first round comes late: it wakes nobody before the second has its quorum, and is not lost.
        let second = inbox.expect(3, 2, 1);
        first.post(1, Ok(Value::Okay));
        second.post(0, Ok(Value::Okay));
        second.post(1, Ok(Value::Okay));
        second.post(2, Ok(Value::Okay));
        let mut rounds = Vec::new();
        while let Some((_, round, _)) = inbox.next().await {
            rounds.push(round);
        }
        assert_eq!(rounds, [0, 1, 1, 1]);
        assert!(inbox.is_done());
    }
}
