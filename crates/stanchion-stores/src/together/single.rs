//! Asks with one answer each.

use std::hash::Hash;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::{Ask, Load, Together, Turn, Unsent};

/// Times that an ask waits anew because the task whose turn it was has ended.
const AGAIN: usize = 3;

/// A question, and where its answer is awaited. Dropped without one, it may have run.
pub(crate) struct Single<Q, A> {
    pub(crate) question: Q,
    to: oneshot::Sender<Result<A, (Unsent, Box<Q>)>>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// Nothing ran.
    Unsent(Unsent),
    /// It may have run.
    Lost,
}

impl<Q, A> Single<Q, A> {
    pub(crate) fn answer(self, answer: A) {
        // A caller that is gone does not need it.
        drop(self.to.send(Ok(answer)));
    }
}

impl<Q: Send + 'static, A: Send + 'static> Ask for Single<Q, A> {
    fn is_gone(&self) -> bool {
        self.to.is_closed()
    }

    fn unsent(self, why: Unsent) {
        drop(self.to.send(Err((why, Box::new(self.question)))));
    }
}

impl<K: Clone + Eq + Hash, Q: Send + 'static, A: Send + 'static> Together<K, Single<Q, A>> {
    /// Asks in company. Dropped before it has left, it never does. `start` starts a task that has the turn: its own,
    /// because a caller that is not polled, or gives up, must hold up nobody else.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        key: &K,
        mut question: Q,
        load: Load,
        start: impl Fn(Turn<K, Single<Q, A>>),
    ) -> Result<A, Left> {
        for _ in 0..=AGAIN {
            let (to, answer) = oneshot::channel();
            if let Some(turn) = self.put(key, Single { question, to }, load) {
                start(turn);
            }
            match answer.await {
                Ok(Ok(answer)) => return Ok(answer),
                // Perhaps its runtime has ended, and ours has not: it is the turn of whoever comes first.
                Ok(Err((Unsent::Abandoned, back))) => question = *back,
                Ok(Err((why, _))) => return Err(Left::Unsent(why)),
                Err(_) => return Err(Left::Lost),
            }
        }
        Err(Left::Unsent(Unsent::Abandoned))
    }
}
