//! Numbers from a seed: small, fast, and the same everywhere.

/// `wyrand`: one multiplication per number. Statistics of faults are all it has to be good for.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    #[must_use]
    pub fn new(seed: u64) -> Rng {
        Rng(mix(seed))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0xa076_1d64_78bd_642f);
        let wide = u128::from(self.0) * u128::from(self.0 ^ 0xe703_7ed1_a0b4_28db);
        low(wide) ^ low(wide >> 64)
    }

    /// Below `bound`, which is not 0. Biased by less than `bound / 2^32`.
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0 && bound <= u64::from(u32::MAX));
        ((self.bits() >> 32) * bound) >> 32
    }

    /// From `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True in `share` of 65536 cases.
    pub fn chance(&mut self, share: u32) -> bool {
        self.bits() >> 48 < u64::from(share)
    }

    /// Around `mean`: up to four times of it, most often less.
    pub fn about(&mut self, mean: u64) -> u64 {
        let bits = self.bits();
        let part = ((bits & 0xffff) * (bits >> 16 & 0xffff)) >> 16;
        1 + ((mean.saturating_mul(4) * part) >> 16)
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        let at = usize::try_from(self.below(of.len() as u64)).unwrap_or(0);
        of[at]
    }
}

/// Spreads neighbouring seeds over all numbers.
#[must_use]
pub fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what we want")]
fn low(wide: u128) -> u64 {
    wide as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_depend_on_the_seed_alone_and_stay_within_their_bounds() {
        let (mut a, mut b, mut c) = (Rng::new(7), Rng::new(7), Rng::new(8));
        let drawn: Vec<_> = (0..1000).map(|_| a.between(3, 9)).collect();
        assert_eq!(drawn, (0..1000).map(|_| b.between(3, 9)).collect::<Vec<_>>());
        assert_ne!(drawn, (0..1000).map(|_| c.between(3, 9)).collect::<Vec<_>>());
        assert!((3..=9).all(|n| drawn.contains(&n)) && drawn.iter().all(|n| (3..=9).contains(n)));
        assert!((0..1000).all(|_| (1..=401).contains(&a.about(100))));
    }
}
