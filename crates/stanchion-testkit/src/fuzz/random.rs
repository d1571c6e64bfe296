//! Where all chance comes from.

/// Numbers that look random and are the same in every run.
///
/// ```
/// use stanchion_testkit::fuzz::Random;
/// assert_eq!(Random::new(7).below(1000), Random::new(7).below(1000));
/// ```
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of this seed.
    pub fn new(seed: u64) -> Self {
        // Seeds that differ little must not begin alike, and zero would stay zero.
        let mixed = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self((mixed ^ (mixed >> 29)) | 1)
    }

    /// Less than `most`.
    pub fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let mixed = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16;
        (mixed % (most.max(1) as u64)) as usize
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}
