//! Whose turn it is to call.

use std::hash::Hash;
use std::sync::Arc;

use tokio::time::Instant;

use super::{Ask, Line, Stage, Together, Unsent};

/// The right, and the duty, to serve a line until nobody waits in it. Dropped before that, with nobody else to serve it,
/// those who wait learn that nothing ran.
pub(crate) struct Turn<K: Clone + Eq + Hash, A: Ask> {
    of: Arc<Together<K, A>>,
    key: K,
    over: bool,
}

impl<K: Clone + Eq + Hash, A: Ask> Turn<K, A> {
    /// Made under the lock that counts it.
    pub(super) fn new(of: &Arc<Together<K, A>>, key: &K) -> Self {
        Self { of: Arc::clone(of), key: key.clone(), over: false }
    }

    #[cfg(feature = "mysql")]
    pub(crate) fn key(&self) -> &K {
        &self.key
    }

    /// The asks of the next call, first come, first served; none if nobody waits at this moment. If more wait than fit and
    /// there may be another turn, `start` gets it.
    pub(crate) fn take(&mut self, start: impl FnOnce(Self)) -> Vec<A> {
        let (mut batch, mut unsent) = (Vec::new(), Vec::new());
        if self.over {
            return batch;
        }
        let another = {
            let limits = &self.of.limits;
            let mut lines = self.of.lines();
            let Some(line) = lines.get_mut(&self.key) else { return batch };
            let late = limits.wait.and_then(|wait| Instant::now().checked_sub(wait));
            let mut bytes = 0;
            while batch.len() < limits.count
                && let Some(next) = line.waiting.front()
                && (batch.is_empty() || bytes + next.load.bytes <= limits.bytes)
                && let Some(next) = line.waiting.pop_front()
            {
                if next.ask.is_gone() {
                    unsent.push((next.ask, Unsent::Gone));
                } else if next.load.stage == Stage::First && late.is_some_and(|late| next.since < late) {
                    unsent.push((next.ask, Unsent::Late));
                } else {
                    bytes += next.load.bytes;
                    batch.push(next.ask);
                }
            }
            let another = !line.waiting.is_empty() && line.turns < limits.turns;
            line.turns += usize::from(another);
            another.then(|| Self::new(&self.of, &self.key))
        };
        another.map(start);
        for (ask, why) in unsent {
            ask.unsent(why);
        }
        batch
    }

    /// As [`take`](Self::take), but waits a moment for those who were just answered and are about to ask again. `None`:
    /// nobody waits, and the turn is over.
    pub(crate) async fn next(&mut self, start: impl Fn(Self)) -> Option<Vec<A>> {
        let mut batch = self.take(&start);
        if batch.is_empty() && !self.over {
            tokio::task::yield_now().await;
            batch = self.take(&start);
        }
        while batch.is_empty() {
            if self.end() {
                return None;
            }
            batch = self.take(&start);
        }
        Some(batch)
    }

    /// Whether nobody waits; then the turn is over in the same step: whoever comes next finds the line free.
    fn end(&mut self) -> bool {
        if !self.over {
            let mut lines = self.of.lines();
            if lines.get(&self.key).is_some_and(|line| !line.waiting.is_empty()) {
                return false;
            }
            self.over = true;
            if let Some(line) = lines.get_mut(&self.key)
                && !line.leave()
            {
                lines.remove(&self.key);
            }
        }
        true
    }

    /// Gives the turn up while the call is still under way, so that those who wait need not wait for its end. `start` gets
    /// it if somebody waits.
    #[cfg(any(feature = "redis", test))]
    pub(crate) fn cede(&mut self, start: impl FnOnce(Self)) {
        if !self.end() {
            self.over = true;
            start(Self::new(&self.of, &self.key));
        }
    }
}

impl<A> Line<A> {
    /// Counts a turn out; whether there are others.
    fn leave(&mut self) -> bool {
        self.turns = self.turns.saturating_sub(1);
        self.turns > 0
    }
}

impl<K: Clone + Eq + Hash, A: Ask> Drop for Turn<K, A> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let line = {
            let mut lines = self.of.lines();
            if lines.get_mut(&self.key).is_some_and(Line::leave) {
                return;
            }
            lines.remove(&self.key)
        };
        for waiting in line.into_iter().flat_map(|line| line.waiting) {
            waiting.ask.unsent(Unsent::Abandoned);
        }
    }
}
