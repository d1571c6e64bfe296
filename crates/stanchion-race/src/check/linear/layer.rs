//! The configurations in which the search can stand before one return.

use std::hash::{Hash, Hasher};

use super::mask::Mask;

/// Which of the operations under way are done, and the state that they leave. Together with the place on the track this
/// says all that matters for the rest: whatever returned before is done, whatever is called later is not.
#[derive(Debug, Clone)]
pub(super) struct Config<S, const N: usize> {
    pub(super) done: Mask<N>,
    pub(super) state: S,
}

/// The kinds of operations under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kinds<const N: usize> {
    pub(super) under_way: Mask<N>,
    pub(super) reads: Mask<N>,
    pub(super) open: Mask<N>,
    /// The slot of the operation that returns next.
    pub(super) returning: usize,
}

/// The configurations that were met before one return, and how far they were followed.
#[derive(Debug)]
pub(super) struct Layer<S, const N: usize> {
    pub(super) configs: Vec<Config<S, N>>,
    hashes: Vec<u64>,
    /// The next configuration in the same bucket, plus one.
    chain: Vec<u32>,
    buckets: Vec<u32>,
    /// Configurations that get past the return as they are, and have not been taken yet.
    pub(super) ready: Vec<u32>,
    /// The configuration that is followed next.
    pub(super) cursor: usize,
    /// Whether its direct successor was already taken.
    pub(super) tried: bool,
}

const BUCKETS_MIN: usize = 16;

impl<S: Clone + Eq + Hash, const N: usize> Layer<S, N> {
    pub(super) fn new() -> Self {
        let buckets = vec![0; BUCKETS_MIN];
        let (configs, hashes, chain, ready) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { configs, hashes, chain, buckets, ready, cursor: 0, tried: false }
    }

    pub(super) fn clear(&mut self) {
        self.configs.clear();
        self.hashes.clear();
        self.chain.clear();
        self.ready.clear();
        self.buckets.truncate(BUCKETS_MIN.max(self.buckets.len() / 2));
        self.buckets.fill(0);
        (self.cursor, self.tried) = (0, false);
    }

    /// Adds a configuration unless one that is at least as good was there. A configuration is better if it has done more
    /// reads, or used up fewer open operations: it can do all that the other can.
    pub(super) fn add(&mut self, config: Config<S, N>, kinds: &Kinds<N>) -> bool {
        let decisive = config.done.without(&kinds.reads).without(&kinds.open);
        let hash = hash(&config.state, &decisive);
        let ready = config.done.has(kinds.returning);
        let mut next = self.bucket(hash).map_or(0, |bucket| *bucket);
        while let Some(at) = (next as usize).checked_sub(1) {
            next = self.chain.get(at).copied().unwrap_or(0);
            let free = at > self.cursor || (at == self.cursor && !self.tried);
            if self.hashes.get(at) != Some(&hash) {
                continue;
            }
            let Some(other) = self.configs.get_mut(at) else { continue };
            if other.state != config.state || other.done.without(&kinds.reads).without(&kinds.open) != decisive {
                continue;
            }
            if as_good(&other.done, &config.done, kinds) {
                return false;
            }
            if free && as_good(&config.done, &other.done, kinds) {
                *other = config;
                if ready {
                    self.ready.extend(u32::try_from(at));
                }
                return true;
            }
        }
        if ready {
            self.ready.extend(u32::try_from(self.configs.len()));
        }
        if self.configs.len() >= self.buckets.len() {
            self.grow();
        }
        let at = u32::try_from(self.configs.len().saturating_add(1)).unwrap_or(u32::MAX);
        let before = self.bucket(hash).map_or(0, |bucket| std::mem::replace(bucket, at));
        self.chain.push(before);
        self.hashes.push(hash);
        self.configs.push(config);
        true
    }

    fn bucket(&mut self, hash: u64) -> Option<&mut u32> {
        // The high bits are the well mixed ones.
        let at = (hash >> 32) as usize & (self.buckets.len().wrapping_sub(1));
        self.buckets.get_mut(at)
    }

    fn grow(&mut self) {
        let size = self.buckets.len().saturating_mul(4);
        self.buckets.clear();
        self.buckets.resize(size, 0);
        for at in 0..self.hashes.len() {
            let hash = self.hashes.get(at).copied().unwrap_or(0);
            let name = u32::try_from(at.saturating_add(1)).unwrap_or(u32::MAX);
            let before = self.bucket(hash).map_or(0, |bucket| std::mem::replace(bucket, name));
            if let Some(place) = self.chain.get_mut(at) {
                *place = before;
            }
        }
    }
}

fn as_good<const N: usize>(one: &Mask<N>, other: &Mask<N>, kinds: &Kinds<N>) -> bool {
    let (more, fewer) = (one.without(other), other.without(one));
    more.and(&kinds.open).is_empty() && fewer.and(&kinds.reads).is_empty()
}

fn hash<S: Hash, const N: usize>(state: &S, done: &Mask<N>) -> u64 {
    let mut mix = Mix(0);
    state.hash(&mut mix);
    for word in done.words() {
        mix.write_u64(*word);
    }
    mix.finish()
}

/// A hash for small keys that nobody outside chooses to collide: the standard one takes most of the time of a search.
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            self.write_u64(chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(u64::from(word));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}
