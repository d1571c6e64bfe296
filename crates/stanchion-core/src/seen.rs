//! How long a version has stood unchanged, for stores with and without a clock.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::{BootTime, Key, Record, Version};

/// Forgetting is safe: what is seen anew counts as new.
const KEYS_MAX: usize = 10_000;

/// When we saw a version first; only for stores that show no clock.
#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<HashMap<Key, (Version, BootTime)>>);

impl Seen {
    /// By the store's clock; without one, for as long as **we** have seen it.
    pub(crate) fn stood(&self, key: &Key, record: &Record, now: BootTime) -> Duration {
        if let Some(times) = record.times {
            return times.age();
        }
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= KEYS_MAX && !seen.contains_key(key) {
            seen.clear();
        }
        let (version, since) = seen.entry(key.clone()).or_insert((record.version, now));
        if *version != record.version {
            (*version, *since) = (record.version, now);
        }
        now - *since
    }

    /// The record is gone or does not matter any more.
    pub(crate) fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}
