//! Leases that nobody renewed, found by the process that took them.
//!
//! The engine ends entries with their client's session, which lives as long as the process does. An owner inside a living
//! process that stops renewing is taken out of the line by that process itself, when its own deadline has passed.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use stanchion_core::{Key, Owner};
use tokio::sync::Notify;
use tokio::time::Instant;

/// Until when each owner of this process may stand in line without a sign of life.
///
/// An owner that was [`taken`](Self::due) is not ours to keep any more: [`extend`](Self::extend) refuses it, and its entry is
/// deleted after that, so no renewal can be answered with yes while the entry is on its way out.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    kept: Mutex<Kept>,
    /// Somebody's deadline is before the moment at which the one who waits wakes by itself.
    sooner: Notify,
}

#[derive(Debug, Default)]
struct Kept {
    ends: HashMap<Owner, (Key, Instant)>,
    /// Who waits for the next deadline wakes at this moment; `None` if it wakes only when it is told.
    wakes: Option<Instant>,
}

impl Deadlines {
    /// From now on `owner` has until `end`. To be said before its entry is written.
    pub(crate) fn set(&self, key: &Key, owner: Owner, end: Instant) {
        let mut kept = self.kept();
        kept.ends.insert(owner, (key.clone(), end));
        // Most deadlines are later than the one that is waited for, and many are gone before that: no need to wake anybody.
        if kept.wakes.is_none_or(|wakes| end < wakes) {
            self.sooner.notify_one();
        }
    }

    /// Another deadline for one who is still kept; `false` if it is being taken out. To be said before the engine is
    /// asked whether the entry is there.
    pub(crate) fn extend(&self, owner: Owner, until: Instant) -> bool {
        match self.kept().ends.get_mut(&owner) {
            Some((_, end)) => {
                *end = until.max(*end);
                true
            }
            None => false,
        }
    }

    /// The owner has left the line.
    pub(crate) fn forget(&self, owner: Owner) {
        self.kept().ends.remove(&owner);
    }

    /// Waits until somebody's deadline has passed, and gives up keeping them.
    pub(crate) async fn due(&self) -> Vec<(Key, Owner)> {
        loop {
            let sooner = self.sooner.notified();
            let now = Instant::now();
            let (taken, next) = {
                let mut kept = self.kept();
                let over = kept.ends.extract_if(|_, (_, end)| *end <= now).map(|(owner, (key, _))| (key, owner));
                let taken: Vec<_> = over.collect();
                kept.wakes = kept.ends.values().map(|(_, end)| *end).min();
                (taken, kept.wakes)
            };
            match next {
                _ if !taken.is_empty() => return taken,
                Some(next) => drop(tokio::time::timeout_at(next, sooner).await),
                None => sooner.await,
            }
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Set while somebody waits: the earlier one wakes it, the later one is not missed either.
    #[tokio::test(start_paused = true)]
    async fn deadlines_that_come_later_are_met_in_their_turn() {
        let deadlines = Deadlines::default();
        let (key, start) = (Key::new("k").unwrap(), Instant::now());
        let [first, sooner, later] = [1, 2, 3].map(Owner::from_bits);
        let second = Duration::from_secs(1);
        let setting = async {
            for (owner, wait) in [(first, 5), (later, 9), (sooner, 3)] {
                tokio::time::sleep(second / 4).await;
                deadlines.set(&key, owner, start + wait * second);
            }
        };
        let (due, ()) = tokio::join!(deadlines.due(), setting);
        assert_eq!((due, start.elapsed()), (vec![(key.clone(), sooner)], 3 * second));
        deadlines.forget(first);
        assert_eq!((deadlines.due().await, start.elapsed()), (vec![(key, later)], 9 * second));
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_taken_out_cannot_be_kept_any_more() {
        let deadlines = Deadlines::default();
        let (key, start) = (Key::new("k").unwrap(), Instant::now());
        let [late, kept, gone] = [1, 2, 3].map(Owner::from_bits);
        let second = Duration::from_secs(1);
        deadlines.set(&key, late, start + second);
        deadlines.set(&key, kept, start + second);
        deadlines.set(&key, gone, start + second);
        assert!(deadlines.extend(kept, start + 3 * second));
        deadlines.forget(gone);
        assert_eq!(deadlines.due().await, [(key.clone(), late)]);
        assert_eq!(start.elapsed(), second);
        assert!(!deadlines.extend(late, start + 9 * second), "its entry is being deleted");
        assert_eq!(deadlines.due().await, [(key, kept)]);
        assert_eq!(start.elapsed(), 3 * second);
    }
}
