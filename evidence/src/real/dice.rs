//! Numbers from a seed.

/// `SplitMix64`: neighbouring seeds give unlike streams.
#[derive(Debug, Clone)]
pub(super) struct Dice(u64);

impl Dice {
    /// A stream for each combination of `parts`.
    pub(super) fn of(parts: &[u64]) -> Self {
        Self(parts.iter().fold(0, |state, part| mix(state ^ part)))
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(self.0) % limit.max(1)
    }

    pub(super) fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }
}

fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
