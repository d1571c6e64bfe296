//! Time for stores that show none: when *we* saw each permit first.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::log::Log;
use super::window::Window;
use crate::Key;

/// Forgetting is safe: what is seen anew counts from then on, that is longer.
const KEYS_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Sightings(Mutex<HashMap<Key, Seen>>);

/// Permits are numbered in the order in which they were taken, so a sight is one number: all below it were there.
#[derive(Debug, Default)]
struct Seen {
    generation: u64,
    /// How many permits had ever been taken, and when we saw that first, in milliseconds of our own clock.
    totals: Vec<(u64, u64)>,
}

impl Sightings {
    /// Notes that `total` permits of this generation had been taken by `now_ms`.
    pub(super) fn note(&self, key: &Key, generation: u64, total: u64, now_ms: u64) {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= KEYS_MAX && !keys.contains_key(key) {
            keys.clear();
        }
        let seen = keys.entry(key.clone()).or_default();
        if seen.generation != generation {
            *seen = Seen { generation, totals: Vec::new() };
        }
        if seen.totals.last().is_none_or(|(last, _)| *last < total) {
            seen.totals.push((total, now_ms));
        }
    }

    /// Puts the permits of `log` into the window, each at the time of its first sight.
    pub(super) fn fill(&self, key: &Key, log: &Log, now_ms: u64, window: &mut Window) {
        self.note(key, log.generation, log.total(), now_ms);
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(seen) = keys.get_mut(key) else { return };
        // Others have proof that these have ended.
        seen.totals.retain(|(total, _)| *total > log.removed);
        let mut before = log.removed;
        for (total, at) in &seen.totals {
            let total = (*total).min(log.total());
            window.push(*at, u32::try_from(total.saturating_sub(before)).unwrap_or(u32::MAX));
            before = before.max(total);
        }
    }
}
