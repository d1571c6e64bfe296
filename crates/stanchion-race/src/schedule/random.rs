//! Numbers from a seed. The same seed gives the same numbers in every release: schedules are replayed by it.

/// SplitMix64's finalizer: a bijection, so that different inputs have different outputs.
pub(crate) fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// Below `bound`; 0 if there is nothing below it.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    pub(crate) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(u64::try_from(len).unwrap_or(1))).unwrap_or(0)
    }

    /// With this probability.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        // 32 bits are exact in a float.
        let drawn = u32::try_from(self.next() >> 32).unwrap_or(0);
        f64::from(drawn) < probability * f64::from(u32::MAX)
    }
}
