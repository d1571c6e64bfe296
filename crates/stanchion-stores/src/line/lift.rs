//! Fences above a floor: the engine's order plus a number that only grows.

use stanchion_core::{Error, ErrorKind, FencingToken, Result};

use super::Entry;

/// What is added to every order of this store. One number for all keys, kept in the engine, raised by compare-and-swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Lift(pub(crate) u64);

impl Lift {
    /// The fence of an entry.
    pub(crate) fn token(self, entry: &Entry) -> FencingToken {
        FencingToken::new(entry.order.saturating_add(self.0), entry.card.owner)
    }

    /// The lift that puts an entry above `floor`; `None` if this one does.
    ///
    /// # If it fails
    /// `Invalid` when no number is above the floor.
    pub(crate) fn above(self, floor: u64, order: u64) -> Result<Option<Self>> {
        if order.saturating_add(self.0) > floor {
            return Ok(None);
        }
        // Orders go on growing, so a floor near the end would run out of numbers.
        if floor > u64::MAX / 2 {
            return Err(Error::new(ErrorKind::Invalid, "no fence can be above this floor").with("floor", floor));
        }
        // More than before, because `order + before` was not above the floor.
        Ok(Some(Self(floor + 1 - order)))
    }

    pub(crate) fn encode(self) -> String {
        self.0.to_string()
    }

    /// `None` for what we have not written.
    pub(crate) fn decode(text: &[u8]) -> Option<Self> {
        std::str::from_utf8(text).ok()?.parse().ok().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_lifts_all_later_fences_and_never_lowers_them() {
        assert_eq!(Lift(0).above(5, 6).unwrap(), None);
        let lift = Lift(0).above(100, 6).unwrap().unwrap();
        assert_eq!(lift, Lift(95), "6 + 95 = 101");
        assert_eq!(lift.above(100, 6).unwrap(), None);
        assert_eq!(lift.above(50, 7).unwrap(), None);
        assert!(Lift(0).above(u64::MAX, 6).is_err());
    }
}
