//! What an entry says of its owner, as the engine keeps it.

use stanchion_core::{Identity, Mode, Owner};

/// Who stands there, and how it wants the lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Card {
    pub(crate) owner: Owner,
    pub(crate) mode: Mode,
    pub(crate) identity: Identity,
}

impl Card {
    /// `OWNER MODE IDENTITY`.
    pub(crate) fn encode(&self) -> String {
        let mode = match self.mode {
            Mode::Exclusive => "x".to_owned(),
            Mode::Shared => "s".to_owned(),
            Mode::Slots(n) => n.to_string(),
        };
        format!("{} {mode} {}", self.owner.to_hex(), self.identity.encode())
    }

    /// `None` for what we have not written.
    pub(crate) fn decode(text: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(text).ok()?.splitn(3, ' ');
        let owner = words.next()?.parse().ok()?;
        let mode = match words.next()? {
            "x" => Mode::Exclusive,
            "s" => Mode::Shared,
            n => Mode::Slots(n.parse().ok()?),
        };
        Some(Self { owner, mode, identity: Identity::decode(words.next()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_read_as_it_was_written() {
        for mode in [Mode::Exclusive, Mode::Shared, Mode::Slots(7)] {
            let card = Card { owner: Owner::random(), mode, identity: Identity::current() };
            assert_eq!(Card::decode(card.encode().as_bytes()), Some(card));
        }
        for damaged in ["", "x", "zz x host", "00 y host"] {
            assert_eq!(Card::decode(damaged.as_bytes()), None, "{damaged}");
        }
    }
}
