//! What this process last saw of keys, so that a write need not be preceded by a read.
//!
//! Nothing is decided on it alone: it only says which message the next write expects to replace, and the server checks
//! that. A number only ever grows, so what comes late cannot bring back an older state.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use stanchion_core::Key;

use super::entry::Head;

/// Keys in each of the two generations.
const MOST: usize = 8192;

/// The last sight of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sight {
    /// There is something newer than this number, which must be read.
    Ask(u64),
    /// This stood there.
    Seen(Head),
}

impl Sight {
    const fn seq(&self) -> u64 {
        match self {
            Self::Ask(seq) => *seq,
            Self::Seen(head) => head.seq,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Known(Mutex<Generations>);

/// What was not used for a while falls out with the old generation.
#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Key, Sight>,
    old: HashMap<Key, Sight>,
}

impl Generations {
    fn put(&mut self, key: &Key, sight: Sight) {
        if self.young.len() >= MOST && !self.young.contains_key(key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key.clone(), sight);
    }

    fn get(&mut self, key: &Key) -> Option<Sight> {
        if let Some(sight) = self.young.get(key) {
            return Some(sight.clone());
        }
        let sight = self.old.remove(key)?;
        self.put(key, sight.clone());
        Some(sight)
    }
}

impl Known {
    fn lock(&self) -> MutexGuard<'_, Generations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, key: &Key) -> Option<Sight> {
        self.lock().get(key)
    }

    /// This stands under the key. What lives for a while only must be read again each time.
    pub(super) fn saw(&self, key: &Key, head: Head) {
        let sight = match head {
            // "Nothing at all" has no number; whatever we saw before was newer or is gone.
            Head { seq: 0, .. } => return self.forget_if(key, |_| true),
            Head { lives: Some(_), .. } => Sight::Ask(head.seq),
            _ => Sight::Seen(head),
        };
        self.note(key, sight);
    }

    /// Something unknown stands there since the message `seq`.
    pub(super) fn ask(&self, key: &Key, seq: u64) {
        self.note(key, Sight::Ask(seq));
    }

    /// What we know may be wrong: the next one reads.
    pub(super) fn doubt(&self, key: &Key) {
        let mut lock = self.lock();
        let seq = lock.get(key).map_or(0, |sight| sight.seq());
        lock.put(key, Sight::Ask(seq));
    }

    /// The message `seq` is removed, and nothing stands there any more unless something newer does.
    pub(super) fn removed(&self, key: &Key, seq: u64) {
        self.forget_if(key, |sight| sight.seq() <= seq);
    }

    fn note(&self, key: &Key, sight: Sight) {
        let mut lock = self.lock();
        if lock.get(key).is_none_or(|before| before.seq() <= sight.seq()) {
            lock.put(key, sight);
        }
    }

    fn forget_if(&self, key: &Key, old: impl FnOnce(&Sight) -> bool) {
        let mut lock = self.lock();
        if lock.get(key).is_some_and(|sight| old(&sight)) {
            lock.young.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(seq: u64) -> Head {
        Head { seq, version: Some(seq), ..Head::default() }
    }

    #[test]
    fn what_comes_late_does_not_bring_back_an_older_state() {
        let (known, key) = (Known::default(), Key::new("a").unwrap());
        known.saw(&key, head(7));
        known.saw(&key, head(5));
        known.ask(&key, 6);
        known.removed(&key, 6);
        assert_eq!(known.get(&key), Some(Sight::Seen(head(7))));
        known.doubt(&key);
        assert_eq!(known.get(&key), Some(Sight::Ask(7)));
        known.removed(&key, 7);
        assert_eq!(known.get(&key), None);
    }

    #[test]
    fn it_does_not_grow_without_end_and_keeps_what_is_used() {
        let (known, used) = (Known::default(), Key::new("used").unwrap());
        known.saw(&used, head(1));
        for number in 0..5 * MOST {
            known.ask(&Key::new(format!("k{number}")).unwrap(), 2);
            assert!(number % 100 != 0 || known.get(&used).is_some());
        }
        let lock = known.lock();
        assert!(lock.young.len() + lock.old.len() <= 2 * MOST);
    }
}
