//! A set of slots: 64 for each word.

/// A set of slots below `64 * N`; others are never in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mask<const N: usize>([u64; N]);

impl<const N: usize> Mask<N> {
    pub(super) const EMPTY: Self = Self([0; N]);

    pub(super) fn has(&self, slot: usize) -> bool {
        self.0.get(slot / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    pub(super) fn set(&mut self, slot: usize) {
        if let Some(word) = self.0.get_mut(slot / 64) {
            *word |= 1 << (slot % 64);
        }
    }

    pub(super) fn clear(&mut self, slot: usize) {
        if let Some(word) = self.0.get_mut(slot / 64) {
            *word &= !(1 << (slot % 64));
        }
    }

    pub(super) fn and(&self, other: &Self) -> Self {
        self.with(other, |one, other| one & other)
    }

    pub(super) fn without(&self, other: &Self) -> Self {
        self.with(other, |one, other| one & !other)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub(super) fn words(&self) -> &[u64; N] {
        &self.0
    }

    /// The slots, upwards.
    pub(super) fn slots(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(at, mut word)| {
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros() as usize;
                word &= word.wrapping_sub(1);
                (bit < 64).then_some(at * 64 + bit)
            })
        })
    }

    fn with(&self, other: &Self, f: impl Fn(u64, u64) -> u64) -> Self {
        let mut result = *self;
        for (word, other) in result.0.iter_mut().zip(&other.0) {
            *word = f(*word, *other);
        }
        result
    }
}
