//! Names on the nodes, the scripts, and the guesses for the next fence.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ::redis::Cmd;
use stanchion_core::{Key, Mode, Owner};
use tokio::time::Instant;

use crate::redis::script::Script;

pub(super) static TAKE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("take.lua")));
pub(super) static WRITE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("write.lua")));
pub(super) static RENEW: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("renew.lua")));
pub(super) static RELEASE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("release.lua")));
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

    /// A fence that is probably above all before it: then one round is enough. Nothing depends on that being so.
    pub(super) fn guess(&self, key: &Key, floor: u64) -> u64 {
        let ms = u64::try_from(self.time.1.elapsed().as_millis()).unwrap_or(0).saturating_add(self.time.0);
        let least = (ms.saturating_mul(64)).max(floor.saturating_add(1));
        let seen = &self.seen[shard(key)];
        let next = |seen: u64| Some(least.max(seen.saturating_add(1)));
        next(seen.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or_else(|seen| seen)).unwrap_or(least)
    }

    pub(super) fn saw(&self, key: &Key, number: u64) {
        self.seen[shard(key)].fetch_max(number, Ordering::Relaxed);
    }

    fn on(&self, script: &Script, key: &Key, room: (usize, usize)) -> Cmd {
        let mut lock = String::with_capacity(self.locks.len() + key.as_str().len());
        lock.push_str(&self.locks);
        lock.push_str(key.as_str());
        script.on(&[&lock, &self.fences[shard(key)]], room)
    }

    pub(super) fn take(&self, asked: &Asked<'_>, number: u64, timed: bool) -> Cmd {
        let mut command = self.on(&TAKE, asked.key, (6, 160));
        command.arg(asked.owner.to_hex()).arg(millis(asked.ttl)).arg(letter(asked.mode)).arg(digits(number));
        command.arg(asked.identity).arg(if timed { "1" } else { "0" });
        command
    }

    /// `ask` is the number that the attempt came with.
    pub(super) fn write(&self, asked: &Asked<'_>, number: u64, ask: u64) -> Cmd {
        let mut command = self.on(&WRITE, asked.key, (4, 80));
        command.arg(asked.owner.to_hex()).arg(letter(asked.mode)).arg(digits(number)).arg(digits(ask));
        command
    }

    pub(super) fn renew(&self, asked: &Asked<'_>, number: u64, heal: bool) -> Cmd {
        let mut command = self.on(&RENEW, asked.key, (6, 160));
        command.arg(asked.owner.to_hex()).arg(millis(asked.ttl)).arg(letter(asked.mode)).arg(digits(number));
        command.arg(asked.identity).arg(if heal { "1" } else { "0" });
        command
    }

    /// With a number, every node that frees the lock remembers it.
    pub(super) fn release(&self, key: &Key, owner: Owner, mode: Mode, number: Option<u64>) -> Cmd {
        self.free(key, owner, mode, number, None)
    }

    /// Gives back what the attempt that came with `ask` has taken.
    pub(super) fn clean(&self, key: &Key, owner: Owner, mode: Mode, ask: u64) -> Cmd {
        self.free(key, owner, mode, None, Some(ask))
    }

    fn free(&self, key: &Key, owner: Owner, mode: Mode, number: Option<u64>, ask: Option<u64>) -> Cmd {
        let mut command = self.on(&RELEASE, key, (6, 128));
        command.arg(owner.to_hex()).arg(letter(mode)).arg(&self.channels[shard(key)]).arg(key.as_str());
        command.arg(number.map(digits).unwrap_or_default()).arg(ask.map(digits).unwrap_or_default());
        command
    }

    pub(super) fn evict(&self, key: &Key) -> Cmd {
        let mut command = self.on(&EVICT, key, (2, 64));
        command.arg(&self.channels[shard(key)]).arg(key.as_str());
        command
    }
}

/// Who asks for what.
pub(super) struct Asked<'a> {
    pub(super) key: &'a Key,
    pub(super) owner: Owner,
    pub(super) mode: Mode,
    /// What the nodes are told: the caller's ttl, and what their clocks may gain.
    pub(super) ttl: Duration,
    pub(super) identity: &'a str,
}

const fn letter(mode: Mode) -> &'static str {
    match mode {
        Mode::Shared => "s",
        Mode::Exclusive | Mode::Slots(_) => "x",
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn digits(number: u64) -> String {
    format!("{number:016}")
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
