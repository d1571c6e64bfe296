//! What arrives while a call is under way leaves together in the next one.
//!
//! Here are the lines in which asks wait, and whose turn it is to call. What a call is, and how its answers are given out,
//! is the store's: a task that has a [`Turn`] takes what waits, calls, and takes again until nobody waits. So a lone ask
//! leaves at once, by itself.
//!
//! Whoever asks learns one of three things: its answer, that nothing ran, or that it may have run.

mod single;
#[cfg(test)]
mod tests;
mod turn;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

pub(crate) use self::single::{Left, Single};
pub(crate) use self::turn::Turn;

/// How much leaves together, and how much may wait for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Turns at one time in one line.
    pub(crate) turns: usize,
    /// Asks in one call.
    pub(crate) count: usize,
    /// Their bytes; a single ask may have more.
    pub(crate) bytes: usize,
    /// Asks that wait in one line. More that begin something are refused.
    pub(crate) waiting: usize,
    /// How long an ask that begins something may wait to leave.
    pub(crate) wait: Option<Duration>,
}

/// How far something has come by which an ask is a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It begins: nothing is lost if the ask is refused.
    First,
    /// It goes on or ends: never refused, because what was begun would be left behind. There are no more of these than
    /// things that were begun.
    Further,
}

/// What an ask weighs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) bytes: usize,
    pub(crate) stage: Stage,
}

/// Why an ask has not left. Nothing of it ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unsent {
    /// Whoever asked has gone.
    Gone,
    Full,
    Late,
    /// The task whose turn it was has ended before it was done.
    Abandoned,
}

impl fmt::Display for Unsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gone => "whoever asked has gone",
            Self::Full => "too many operations wait for the store already",
            Self::Late => "too many operations before it got no answer in time",
            Self::Abandoned => "the runtime has ended",
        })
    }
}

/// Something that waits to leave.
pub(crate) trait Ask: Send + 'static {
    /// Whether nobody wants it done any more.
    fn is_gone(&self) -> bool;

    /// Says so to whoever asked.
    fn unsent(self, why: Unsent);
}

/// The lines of asks that wait, one for each key.
pub(crate) struct Together<K, A> {
    limits: Limits,
    /// A line is present as long as it is somebody's turn.
    lines: Mutex<HashMap<K, Line<A>>>,
}

struct Line<A> {
    turns: usize,
    waiting: VecDeque<Waiting<A>>,
}

struct Waiting<A> {
    ask: A,
    load: Load,
    since: Instant,
}

impl<K, A> fmt::Debug for Together<K, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Together").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl<K: Clone + Eq + Hash, A: Ask> Together<K, A> {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, lines: Mutex::default() })
    }

    /// Lets an ask wait for the next call. A turn, if it is nobody's: then a task must be started that has it.
    #[must_use]
    pub(crate) fn put(self: &Arc<Self>, key: &K, ask: A, load: Load) -> Option<Turn<K, A>> {
        let mut lines = self.lines();
        let line = match lines.get_mut(key) {
            Some(line) => line,
            None => lines.entry(key.clone()).or_insert(Line { turns: 0, waiting: VecDeque::new() }),
        };
        if load.stage == Stage::First && line.waiting.len() >= self.limits.waiting {
            drop(lines);
            ask.unsent(Unsent::Full);
            return None;
        }
        line.waiting.push_back(Waiting { ask, load, since: Instant::now() });
        if line.turns > 0 {
            return None;
        }
        line.turns = 1;
        Some(Turn::new(self, key))
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<K, Line<A>>> {
        // Nothing panics while it holds this.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
