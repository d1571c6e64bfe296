//! What is promised, by the names of the research on verification (3.1).

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Property {
    /// No grant while another lease is neither over nor given back.
    S1,
    /// Effects under a fence are ordered by it, and each saw the one before.
    S2,
    /// Tokens of a key grow; only the owner renews and releases.
    S3,
    /// At most one execution per key, and one answer.
    S4,
    /// The state is all that was acknowledged, and of the rest only what is indeterminate.
    S5,
    /// Failed means: no effect. Done means: an effect.
    S6,
    /// After the faults every key is usable, or says that it is not, within a bound. With it S7 and L2: what one left that gave
    /// up or died is in the way of nobody for longer than that.
    L1,
    /// A holder stops believing before the lock passes on.
    L3,
}

pub const PROPERTIES: [Property; 8] =
    [Property::S1, Property::S2, Property::S3, Property::S4, Property::S5, Property::S6, Property::L1, Property::L3];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Properties(u16);

impl Properties {
    #[must_use]
    pub fn of(some: &[Property]) -> Properties {
        some.iter().fold(Properties::default(), |all, property| Properties(all.0 | 1 << *property as u16))
    }

    #[must_use]
    pub const fn has(self, property: Property) -> bool {
        self.0 >> property as u16 & 1 == 1
    }

    #[must_use]
    pub const fn and(self, other: Properties) -> Properties {
        Properties(self.0 | other.0)
    }
}
