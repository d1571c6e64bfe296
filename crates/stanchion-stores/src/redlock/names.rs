//! Names on the nodes, and the guesses for the next fence.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use ::redis::Cmd;
use stanchion_core::Key;
use tokio::time::Instant;

use crate::redis::script::Script;

pub(super) static EVICT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("evict.lua")));
pub(super) static LIST: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("list.lua")));

/// Counters and channels per namespace: keys share one by their hash, so that their number does not grow.
pub(super) const SHARDS: usize = 64;

/// Everything of a namespace lives under one hash tag.
#[derive(Debug)]
pub(super) struct Names {
    locks: String,
    fences: [String; SHARDS],
    channels: [String; SHARDS],
    /// The highest number that this client has used or seen, per shard.
    seen: [AtomicU64; SHARDS],
    /// A node's clock in milliseconds, and when it was read.
    time: (u64, Instant),
}

/// The shard of a key: FNV-1a, the same in every version.
pub(super) fn shard(key: &Key) -> usize {
    let hash = key
        .as_str()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    usize::try_from((hash >> 32) % SHARDS as u64).unwrap_or(0)
}

impl Names {
    pub(super) fn new(namespace: &str, now: u64) -> Self {
        Self {
            locks: format!("{{{namespace}}}:redlock:"),
            fences: std::array::from_fn(|i| format!("{{{namespace}}}:redlock-fence:{i}")),
            channels: std::array::from_fn(|i| format!("{{{namespace}}}:redlock-freed:{i}")),
            seen: std::array::from_fn(|_| AtomicU64::new(0)),
            time: (now, Instant::now()),
        }
    }

    pub(super) fn channel(&self, shard: usize) -> &str {
        self.channels.get(shard).map_or("", String::as_str)
    }

    /// The key of a lock's name.
    pub(super) fn key(&self, name: &str) -> Option<Key> {
        Key::from_store(name.strip_prefix(&self.locks)?).ok()
    }

    /// A pattern for `SCAN` that matches every lock whose key begins with `prefix`.
    pub(super) fn pattern(&self, prefix: &str) -> String {
        let mut pattern = String::new();
        for c in self.locks.chars().chain(prefix.chars()) {
            if "*?[]^-\\".contains(c) {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        pattern.push('*');
        pattern
    }

    /// What a node's clock probably shows, in milliseconds.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.time.1.elapsed().as_millis()).unwrap_or(0).saturating_add(self.time.0)
    }

    /// A fence that is probably above all before it: then one round is enough. Nothing depends on that being so.
    pub(super) fn guess(&self, key: &Key, floor: u64) -> u64 {
        let least = (self.now().saturating_mul(64)).max(floor.saturating_add(1));
        let seen = &self.seen[shard(key)];
        let next = |seen: u64| Some(least.max(seen.saturating_add(1)));
        next(seen.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or_else(|seen| seen)).unwrap_or(least)
    }

    pub(super) fn saw(&self, key: &Key, number: u64) {
        self.seen[shard(key)].fetch_max(number, Ordering::Relaxed);
    }

    pub(super) fn lock(&self, key: &Key) -> String {
        let mut lock = String::with_capacity(self.locks.len() + key.as_str().len());
        lock.push_str(&self.locks);
        lock.push_str(key.as_str());
        lock
    }

    /// The counter that the key's fences are drawn from.
    pub(super) fn fence(&self, key: &Key) -> &str {
        &self.fences[shard(key)]
    }

    pub(super) fn channel_of(&self, key: &Key) -> &str {
        &self.channels[shard(key)]
    }

    pub(super) fn evict(&self, key: &Key) -> Cmd {
        let mut command = EVICT.on(&[&self.lock(key)], (2, 64));
        command.arg(self.channel_of(key)).arg(key.as_str());
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_grow_and_are_above_the_floor_and_above_what_was_seen() {
        let (names, key) = (Names::new("n", 1_800_000_000_000), Key::new("k").unwrap());
        let first = names.guess(&key, 0);
        assert!(first >= 1_800_000_000_000 * 64);
        assert!(names.guess(&key, 0) > first);
        assert!(names.guess(&key, 1 << 52) > 1 << 52);
        names.saw(&key, (1 << 52) + 1000);
        assert_eq!(names.guess(&key, 0), (1 << 52) + 1001);
    }

    #[test]
    fn a_pattern_takes_every_letter_as_itself() {
        let names = Names::new("n", 0);
        assert_eq!(names.pattern("a*[b]\\"), "{n}:redlock:a\\*\\[b\\]\\\\*");
        assert_eq!(names.key("{n}:redlock:a/b").unwrap().as_str(), "a/b");
        assert!(names.key("{n}:other:a").is_none());
    }
}
