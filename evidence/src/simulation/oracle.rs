//! Judges a world from outside: it sees what engines do and what clients are told, and shares no code with either.

use stanchion_core::FencingToken;

use super::engine::KEYS_MAX;
use super::property::Property;
use super::wire::Value;

/// How a client was told that its operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Done,
    /// Without effect.
    Failed,
    Indeterminate,
    /// Nobody was told anything.
    Died,
}

/// A property that did not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breach {
    pub property: Property,
    pub what: &'static str,
    /// In microseconds of the world.
    pub at: u64,
    pub key: u8,
}

/// A lease as it is in truth, whatever the engine remembers of it.
#[derive(Clone, Copy, Debug, Default)]
struct Ghost {
    owner: u64,
    until: u64,
    over: bool,
}

#[derive(Clone, Copy, Debug)]
struct Operation {
    key: u8,
    sent: bool,
    ending: Option<Ending>,
}

#[derive(Debug, Default)]
pub(super) struct Oracle {
    pub(super) breaches: Vec<Breach>,
    ghosts: [Ghost; KEYS_MAX],
    /// The highest number that was ever granted.
    numbers: [u64; KEYS_MAX],
    /// And that was ever written with.
    applied: [u64; KEYS_MAX],
    operations: Vec<Operation>,
    deadline: u64,
    pub(super) takeovers: u64,
    pub(super) ended: u64,
}

/// More are not told of one world.
const BREACHES_MAX: usize = 16;

impl Oracle {
    pub(super) fn clear(&mut self) {
        self.breaches.clear();
        self.operations.clear();
        self.ghosts = [Ghost::default(); KEYS_MAX];
        (self.numbers, self.applied) = ([0; KEYS_MAX], [0; KEYS_MAX]);
        (self.deadline, self.takeovers, self.ended) = (u64::MAX, 0, 0);
    }

    pub(super) fn breach(&mut self, property: Property, what: &'static str, at: u64, key: u8) {
        if self.breaches.len() < BREACHES_MAX {
            self.breaches.push(Breach { property, what, at, key });
        }
    }

    /// An engine, or a quorum, granted. `until`: when the lease ends in truth, at the earliest.
    pub(super) fn granted(&mut self, key: u8, owner: u64, number: u64, again: bool, now: u64, until: u64) {
        let ghost = self.ghosts[usize::from(key)];
        if ghost.owner != owner && ghost.owner != 0 && !ghost.over {
            self.takeovers += 1;
            if now < ghost.until {
                self.breach(Property::S1, "granted while another lease is not over", now, key);
            }
        }
        if !again {
            if number <= self.numbers[usize::from(key)] {
                self.breach(Property::S3, "a token that is not above all before", now, key);
            }
            self.numbers[usize::from(key)] = number.max(self.numbers[usize::from(key)]);
        }
        self.ghosts[usize::from(key)] = Ghost { owner, until, over: false };
    }

    pub(super) fn renewed(&mut self, key: u8, by: u64, of_owner: u64, now: u64, until: u64) {
        if by != of_owner {
            self.breach(Property::S3, "renewed for one who is not the owner", now, key);
        }
        let ghost = &mut self.ghosts[usize::from(key)];
        if ghost.owner == by && !ghost.over {
            ghost.until = ghost.until.max(until);
        }
    }

    pub(super) fn released(&mut self, key: u8, by: u64, of_owner: u64, now: u64) {
        if by != of_owner {
            self.breach(Property::S3, "released for one who is not the owner", now, key);
        }
        self.let_go(key, by);
    }

    /// The owner itself gave it back.
    pub(super) fn let_go(&mut self, key: u8, owner: u64) {
        let ghost = &mut self.ghosts[usize::from(key)];
        ghost.over |= ghost.owner == owner;
    }

    pub(super) fn begun(&mut self, operation: u16, key: u8) {
        debug_assert_eq!(self.operations.len(), usize::from(operation));
        self.operations.push(Operation { key, sent: false, ending: None });
    }

    pub(super) fn sent(&mut self, operation: u16) {
        self.operations[usize::from(operation)].sent = true;
    }

    pub(super) fn ended(&mut self, operation: u16, ending: Ending, now: u64) {
        let Some(known) = self.operations.get_mut(usize::from(operation)) else { return };
        let (key, before) = (known.key, known.ending.replace(ending));
        self.ended += 1;
        if before.is_some() {
            self.breach(Property::S6, "one operation ended twice", now, key);
        }
    }

    /// The protected store applied a write. `saw_the_last`: it was made from what stood there.
    pub(super) fn applied(&mut self, key: u8, operation: u16, token: FencingToken, saw_the_last: bool, now: u64) {
        if !saw_the_last {
            self.breach(Property::S2, "a write that had not seen the one before was applied", now, key);
        }
        let highest = &mut self.applied[usize::from(key)];
        let older = token.number() < *highest;
        *highest = token.number().max(*highest);
        if older {
            self.breach(Property::S2, "a write with a lower token came after a higher one", now, key);
        }
        if self.operations.get(usize::from(operation)).is_none_or(|operation| !operation.sent) {
            self.breach(Property::S5, "a write that nobody sent", now, key);
        }
    }

    /// After the faults: by then everybody must have got what it asked for.
    pub(super) fn must_end_by(&mut self, deadline: u64) {
        self.deadline = deadline;
    }

    pub(super) fn is_late(&self, now: u64) -> bool {
        now > self.deadline
    }

    pub(super) fn stuck(&mut self, now: u64) {
        self.breach(Property::L1, "a key was not usable after the faults had ended", now, 0);
    }

    pub(super) fn final_state(&mut self, key: u8, value: &Value, now: u64) {
        for at in 0..self.operations.len() {
            let Operation { key: of, sent, ending } = self.operations[at];
            if of != key {
                continue;
            }
            let is_there = value.contains(u16::try_from(at).unwrap_or(u16::MAX));
            match ending {
                Some(Ending::Done) if !is_there => {
                    self.breach(Property::S5, "an acknowledged write is not in the final state", now, key);
                }
                Some(Ending::Failed) if is_there => {
                    self.breach(Property::S6, "an operation that failed took effect", now, key);
                }
                _ if is_there && !sent => self.breach(Property::S5, "an effect of nothing that was sent", now, key),
                _ => {}
            }
        }
        let has: u32 = value.has.iter().map(|part| part.count_ones()).sum();
        if value.count != has {
            self.breach(Property::S5, "a write counts more than once", now, key);
        }
    }
}

#[cfg(test)]
mod tests;
