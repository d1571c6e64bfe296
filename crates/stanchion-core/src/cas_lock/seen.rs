//! What was seen of the locks of a store without a clock.

use std::collections::HashMap;
use std::time::Duration;

use crate::{BootTime, Key, Owner};

/// When each seat of a key ends at the latest, on our own clock; by owner and last renewal.
pub(super) type Ends = HashMap<(Owner, u64), BootTime>;

/// With fewer keys nothing is dropped.
const FEW: usize = 1024;
/// Whoever waits for a key comes back sooner than this after its seats have ended.
const LONG: Duration = Duration::from_secs(600);

/// The ends by key. A key that was met once, busy, and never again does not stay for ever: forgetting it can only delay
/// a takeover, because the next one who meets it has to watch it for a whole ttl.
#[derive(Debug)]
pub(super) struct Seen {
    keys: HashMap<Key, Ends>,
    /// The size at which it is looked through again: twice what was left, so that the looking stays cheap.
    look_at: usize,
}

impl Default for Seen {
    fn default() -> Self {
        Self { keys: HashMap::new(), look_at: FEW }
    }
}

impl Seen {
    pub(super) fn take(&mut self, key: &Key) -> Ends {
        self.keys.remove(key).unwrap_or_default()
    }

    pub(super) fn keep(&mut self, key: &Key, ends: Ends, now: BootTime) {
        if ends.is_empty() {
            return;
        }
        self.keys.insert(key.clone(), ends);
        if self.keys.len() > self.look_at {
            self.keys.retain(|_, ends| ends.values().any(|end| now - *end < LONG));
            self.look_at = FEW.max(2 * self.keys.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> BootTime {
        BootTime::from_boot(Duration::from_secs(seconds))
    }

    fn key(number: usize) -> Key {
        Key::new(format!("k{number}")).unwrap()
    }

    fn ends(seconds: u64) -> Ends {
        Ends::from([((Owner::random(), 1), at(seconds))])
    }

    #[test]
    fn keys_that_were_only_met_busy_are_forgotten_long_after_their_ends() {
        let mut seen = Seen::default();
        let (lives, recent) = (key(1_000_001), key(1_000_002));
        seen.keep(&lives, ends(2_000), at(0));
        seen.keep(&recent, ends(1_500), at(0));
        for number in 0..FEW - 2 {
            seen.keep(&key(number), ends(100), at(0));
        }
        assert_eq!(seen.keys.len(), FEW);
        seen.keep(&key(FEW), ends(2_000), at(1_600));
        assert_eq!(seen.keys.len(), 3, "what ended long ago is gone");
        assert!(!seen.take(&lives).is_empty() && !seen.take(&recent).is_empty());
    }

    #[test]
    fn what_is_still_needed_is_kept_however_much_it_is() {
        let mut seen = Seen::default();
        for number in 0..5 * FEW {
            seen.keep(&key(number), ends(100), at(50));
        }
        assert_eq!(seen.keys.len(), 5 * FEW);
        for number in 0..20 * FEW {
            seen.keep(&key(number), ends(10_100), at(10_000));
            seen.take(&key(number));
            seen.keep(&key(number), Ends::new(), at(10_000));
        }
        assert!(seen.keys.len() <= 5 * FEW, "{}", seen.keys.len());
    }
}
