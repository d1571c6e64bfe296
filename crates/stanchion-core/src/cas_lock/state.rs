//! The lock record's text: who holds, and how much of each lease was left when it was written.
//!
//! No absolute time is stored. Whoever reads subtracts the record's age, measured by the store's clock or
//! by our own observation, so no two clocks are ever compared.

use std::time::Duration;

use crate::{
    Acquire, Error, ErrorKind, FencingToken, Grant, Holder, Identity, Key, Mode, Owner, Record, Result, Version,
    planted,
};

const MAGIC: &str = "stanchion-lock 1";

/// What is left of a seat now, from what was left when its record was written.
type Left<'a> = dyn FnMut((Owner, u64), Duration) -> Duration + 'a;

#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// Every fence granted from here on is above this number.
    pub(super) high: u64,
    pub(super) seats: Vec<Seat>,
}

/// One holder.
#[derive(Debug, Clone)]
pub(super) struct Seat {
    pub(super) owner: Owner,
    pub(super) mode: Mode,
    pub(super) left: Duration,
    pub(super) held: Duration,
    /// `None` in the very version that granted it: the store mints the number with that write.
    fence: Option<u64>,
    /// The version of the last renewal; `None` in that very version.
    renewed: Option<u64>,
    identity: Identity,
}

impl Seat {
    pub(super) fn new(req: &Acquire, owner: Owner) -> Self {
        let identity = req.identity.clone();
        let left = if planted!("no-ttl") { crate::TTL_RANGE.1 } else { req.ttl };
        Self { owner, mode: req.mode, left, held: Duration::ZERO, fence: None, renewed: None, identity }
    }

    pub(super) const fn renew(&mut self, ttl: Duration) {
        (self.left, self.renewed) = (ttl, None);
    }

    pub(super) fn token(&self) -> FencingToken {
        FencingToken::new(self.fence.unwrap_or_default(), self.owner)
    }

    pub(super) fn holder(&self) -> Holder {
        let mut holder = Holder::new(self.identity.clone());
        (holder.mode, holder.fence) = (self.mode, Some(self.token()));
        (holder.held_for, holder.expires_in) = (Some(self.held), Some(self.left));
        holder
    }
}

impl State {
    /// What stands there while `grant` is the only seat.
    pub(super) fn held_by(grant: &Grant, high: u64) -> Self {
        let fence = Some(grant.fence.number());
        let (owner, mode, left, identity) = (grant.owner, grant.mode, grant.ttl, Identity::new("", 0));
        Self { high, seats: vec![Seat { owner, mode, left, held: Duration::ZERO, fence, renewed: None, identity }] }
    }

    /// The fence of a seat that is granted by writing this state as `version`.
    pub(super) fn minted(&self, version: Version) -> u64 {
        if planted!("fence-counter-reset") {
            return self.high + 1;
        }
        version.get().max(self.high.saturating_add(1))
    }

    /// Reads the record. `left` says what is left now of a seat (its owner and its last renewal) that had this much
    /// left when the record was written; ended leases are left out.
    pub(super) fn decode(key: &Key, record: &Record, left: &mut Left<'_>) -> Result<Self> {
        Self::parse(&record.value, record.version, left).ok_or_else(|| {
            Error::new(ErrorKind::Damaged, "the lock record is not readable")
                .with("key", key)
                .hint("`stanchion lock release` removes it; later fences are above the store's counter")
        })
    }

    fn parse(text: &[u8], version: Version, left_now: &mut Left<'_>) -> Option<Self> {
        let mut lines = std::str::from_utf8(text).ok()?.lines();
        let high = lines.next()?.strip_prefix(MAGIC)?.trim().parse().ok()?;
        let mut state = Self { high, seats: Vec::new() };
        let mut highest = high;
        for line in lines {
            let mut words = line.splitn(7, ' ');
            let owner = words.next()?.parse().ok()?;
            let mode = decode_mode(words.next()?)?;
            let left = Duration::from_millis(words.next()?.parse().ok()?);
            let held = Duration::from_millis(words.next()?.parse().ok()?);
            let fence: u64 = words.next()?.parse().ok()?;
            let fence = if fence == 0 { state.minted(version) } else { fence };
            highest = highest.max(fence);
            let renewed: u64 = words.next()?.parse().ok()?;
            let renewed = if renewed == 0 { version.get() } else { renewed };
            let identity = Identity::decode(words.next()?);
            let now = left_now((owner, renewed), left);
            if !now.is_zero() {
                let held = held + left.saturating_sub(now);
                state.seats.push(Seat {
                    owner,
                    mode,
                    left: now,
                    held,
                    fence: Some(fence),
                    renewed: Some(renewed),
                    identity,
                });
            }
        }
        state.high = highest;
        Some(state)
    }

    pub(super) fn encode(&self) -> String {
        let mut text = format!("{MAGIC} {}", self.high);
        for seat in &self.seats {
            text += &format!(
                "\n{} {} {} {} {} {} {}",
                seat.owner.to_hex(),
                encode_mode(seat.mode),
                if planted!("ttl-unit-mix-up") { u128::from(seat.left.as_secs()) } else { seat.left.as_millis() },
                seat.held.as_millis(),
                seat.fence.unwrap_or_default(),
                seat.renewed.unwrap_or_default(),
                seat.identity.encode()
            );
        }
        text
    }

    pub(super) fn seat(&mut self, owner: Owner) -> Option<&mut Seat> {
        self.seats.iter_mut().find(|seat| seat.owner == owner)
    }

    /// Is there room for one more holder in `mode`?
    pub(super) fn admits(&self, key: &Key, mode: Mode) -> Result<bool> {
        match (mode, self.seats.first().map(|seat| seat.mode)) {
            (_, None) => Ok(true),
            (Mode::Shared, Some(Mode::Shared)) => Ok(true),
            (Mode::Shared, Some(Mode::Exclusive)) if planted!("readers-pass-a-writer") => Ok(true),
            (Mode::Slots(asked), Some(Mode::Slots(held))) if asked != held => {
                Err(crate::lock::slots_disagree(key, asked, held))
            }
            (Mode::Slots(n), Some(Mode::Slots(_))) if planted!("one-slot-too-many") => {
                Ok(self.seats.len() <= n as usize)
            }
            (Mode::Slots(n), Some(Mode::Slots(_))) => Ok(self.seats.len() < n as usize),
            _ => Ok(false),
        }
    }
}

fn encode_mode(mode: Mode) -> String {
    match mode {
        Mode::Exclusive => "x".to_owned(),
        Mode::Shared => "s".to_owned(),
        Mode::Slots(n) => format!("n{n}"),
    }
}

fn decode_mode(text: &str) -> Option<Mode> {
    match text {
        "x" => Some(Mode::Exclusive),
        "s" => Some(Mode::Shared),
        n => n.strip_prefix('n')?.parse().ok().map(Mode::Slots),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat(mode: &str, fence: u64, renewed: u64) -> String {
        format!("{} {mode} 1000 0 {fence} {renewed} {}", Owner::from_bits(7).to_hex(), Identity::new("ci", 1).encode())
    }

    #[test]
    fn a_seat_is_known_by_its_own_last_write_whatever_others_have_written_since() {
        for (renewed, known_by) in [(0, 9), (5, 5)] {
            let (text, mut seen) = (format!("{MAGIC} 3\n{}", seat("s", 4, renewed)), Vec::new());
            let state = State::parse(text.as_bytes(), Version::new(9), &mut |of, left| {
                seen.push(of);
                left
            });
            assert_eq!(state.unwrap().seats.len(), 1);
            assert_eq!(seen, [(Owner::from_bits(7), known_by)]);
        }
    }

    #[test]
    fn slots_must_be_as_many_as_those_of_the_holders() {
        let text = format!("{MAGIC} 3\n{}", seat("n2", 4, 5));
        let state = State::parse(text.as_bytes(), Version::new(9), &mut |_, left| left).unwrap();
        let key = Key::new("pool").unwrap();
        assert!(state.admits(&key, Mode::Slots(2)).unwrap());
        assert_eq!(state.admits(&key, Mode::Slots(3)).unwrap_err().kind(), ErrorKind::Invalid);
    }
}
