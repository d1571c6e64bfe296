//! Who holds a key, who shares it and who waits: pure decisions on one row.
//!
//! A change is decided here and written only if the row is still what it was (`rev`). Waiters are served in the order in
//! which they came. A waiter whose turn it is has [`TURN`] to take it; then it counts as dead and the next one may.

use stanchion_core::{FencingToken, Holder, Identity, Mode, Owner};

const MS: u64 = 1000;
/// How long the lock is kept for those whose turn it is, in microseconds.
pub(super) const TURN: u64 = 500 * MS;
/// A waiter that was not seen for this long is gone.
const LAPSE: u64 = 15_000 * MS;

/// One who holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) owner: Owner,
    pub(super) mode: Mode,
    pub(super) fence: u64,
    pub(super) since: u64,
    pub(super) ends: u64,
    pub(super) identity: String,
}

/// One who waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiter {
    pub(super) owner: Owner,
    pub(super) mode: Mode,
    pub(super) since: u64,
    pub(super) seen: u64,
    /// Where it listens.
    pub(super) ear: u64,
    pub(super) identity: String,
}

/// The row of a key, as it was at `now`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) rev: u64,
    pub(super) now: u64,
    /// The highest fence given for this key.
    pub(super) fence: u64,
    pub(super) holder: Option<Held>,
    pub(super) shares: Vec<Held>,
    pub(super) waiters: Vec<Waiter>,
    /// Since when those whose turn it is could have come.
    pub(super) freed: u64,
}

/// Who asks for what.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) owner: Owner,
    pub(super) mode: Mode,
    /// In microseconds.
    pub(super) ttl: u64,
    pub(super) floor: u64,
    pub(super) wait: bool,
    pub(super) ear: u64,
    pub(super) identity: String,
}

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Granted with this fence, if the changed row can be written.
    Granted(u64),
    /// The holders ask for another number of slots.
    Slots(u32),
    /// Taken. `write`: the row was changed.
    Contended { write: bool },
}

/// When a waiter should try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Now,
    /// In so many microseconds, if nothing changes before.
    In(u64),
}

impl Line {
    /// Forgets what is over by the row's own time.
    fn expire(&mut self) {
        let now = self.now;
        let freed = &mut self.freed;
        let mut over = |held: &Held| {
            let over = held.ends <= now;
            if over {
                *freed = (*freed).max(held.ends);
            }
            over
        };
        if self.holder.as_ref().is_some_and(&mut over) {
            self.holder = None;
        }
        self.shares.retain(|share| !over(share));
        self.waiters.retain(|waiter| waiter.seen > now);
    }

    /// How many of the first waiters could hold together with those who hold now.
    fn next(&self) -> usize {
        if self.holder.is_some() {
            return 0;
        }
        let mut modes: Vec<Mode> = self.shares.iter().map(|share| share.mode).collect();
        let before = modes.len();
        for waiter in &self.waiters {
            if !fits(&modes, waiter.mode) {
                break;
            }
            modes.push(waiter.mode);
        }
        modes.len() - before
    }

    /// Decides about an attempt, and changes the row accordingly.
    pub(super) fn attempt(&mut self, asked: &Asked) -> Verdict {
        self.expire();
        let now = self.now;
        let ends = now + asked.ttl;
        let ours = |held: &&mut Held| held.owner == asked.owner && held.mode == asked.mode;
        if let Some(held) = self.holder.iter_mut().chain(&mut self.shares).find(ours) {
            // A repeated attempt gets the same number and a full ttl.
            held.ends = ends;
            return Verdict::Granted(held.fence);
        }
        if let Mode::Slots(slots) = asked.mode
            && let Some(held) =
                self.shares.iter().find_map(|s| if let Mode::Slots(n) = s.mode { Some(n) } else { None })
            && held != slots
        {
            return Verdict::Slots(held);
        }
        let mut changed = false;
        if now >= self.freed + TURN {
            // Those before us could have come and did not.
            let place = self.place(asked.owner).unwrap_or(self.waiters.len());
            let dead = self.next().min(place);
            if dead > 0 {
                self.waiters.drain(..dead);
                self.freed = now;
                changed = true;
            }
        }
        let place = self.place(asked.owner);
        if place.map_or_else(|| self.is_open_to(asked.mode), |place| place < self.next()) {
            if let Some(place) = place {
                self.waiters.remove(place);
            }
            self.fence = self.fence.max(asked.floor) + 1;
            let held = Held {
                owner: asked.owner,
                mode: asked.mode,
                fence: self.fence,
                since: now,
                ends,
                identity: asked.identity.clone(),
            };
            self.freed = now;
            if asked.mode == Mode::Exclusive {
                self.holder = Some(held);
            } else {
                self.shares.push(held);
            }
            return Verdict::Granted(self.fence);
        }
        if asked.wait {
            match place {
                Some(place) => {
                    let waiter = &mut self.waiters[place];
                    if waiter.seen < now + LAPSE / 2 || waiter.ear != asked.ear {
                        (waiter.seen, waiter.ear) = (now + LAPSE, asked.ear);
                        changed = true;
                    }
                }
                None => {
                    self.waiters.push(Waiter {
                        owner: asked.owner,
                        mode: asked.mode,
                        since: now,
                        seen: now + LAPSE,
                        ear: asked.ear,
                        identity: asked.identity.clone(),
                    });
                    changed = true;
                }
            }
        }
        Verdict::Contended { write: changed }
    }

    fn place(&self, owner: Owner) -> Option<usize> {
        self.waiters.iter().position(|waiter| waiter.owner == owner)
    }

    /// Whether a newcomer may have it: nobody waits, or all who wait can hold together with it.
    fn is_open_to(&self, mode: Mode) -> bool {
        if self.holder.is_some() || self.next() < self.waiters.len() {
            return false;
        }
        let all = self.shares.iter().map(|s| s.mode).chain(self.waiters.iter().map(|w| w.mode));
        fits(&all.collect::<Vec<_>>(), mode)
    }

    /// When this waiter should try again.
    pub(super) fn turn(&self, owner: Owner) -> Turn {
        let mut line = self.clone();
        line.expire();
        let Some(place) = line.place(owner) else { return Turn::Now };
        let next = line.next();
        if place < next {
            return Turn::Now;
        }
        // Those behind look a little later than those before them, so that an end is not a stampede.
        let late = 2 * MS + (place as u64).min(50) * 20 * MS;
        let ends = line.holder.iter().chain(&line.shares).map(|held| held.ends).min();
        let turn = (next > 0).then_some(line.freed + TURN);
        let first = turn.into_iter().chain(ends).min().unwrap_or(line.now);
        Turn::In(first.saturating_sub(line.now) + late)
    }

    /// Another ttl for a share. `false`: it is not ours any more.
    pub(super) fn renew(&mut self, owner: Owner, ttl: u64) -> bool {
        self.expire();
        let now = self.now;
        let found = self.shares.iter_mut().find(|share| share.owner == owner);
        found.map(|share| share.ends = now + ttl).is_some()
    }

    /// Lets go. `None`: there is nothing of this owner's; else whether it was held until now.
    pub(super) fn release(&mut self, owner: Owner) -> Option<bool> {
        let now = self.now;
        let ours = |held: &Held| held.owner == owner;
        let held = self.holder.iter().chain(&self.shares).find(|held| ours(held)).map(|held| held.ends > now)?;
        self.holder = self.holder.take().filter(|held| !ours(held));
        self.shares.retain(|share| !ours(share));
        self.expire();
        self.freed = now;
        Some(held)
    }

    /// Leaves the queue. `false`: it was not in it.
    pub(super) fn withdraw(&mut self, owner: Owner) -> bool {
        let Some(place) = self.place(owner) else { return false };
        let turn = place < self.next();
        self.waiters.remove(place);
        if turn {
            self.freed = self.now;
        }
        true
    }

    /// Takes it away from all who hold it; whether anybody did.
    pub(super) fn evict(&mut self) -> bool {
        self.expire();
        let held = self.holder.is_some() || !self.shares.is_empty();
        self.holder = None;
        self.shares.clear();
        self.freed = self.now;
        held
    }

    /// Those who should know that they may come (`true`), and the one behind them, who watches over them (`false`).
    pub(super) fn ahead(&self) -> Vec<(Owner, bool)> {
        let next = self.next();
        let watched = if next > 0 { next + 1 } else { 0 };
        self.waiters.iter().take(watched).enumerate().map(|(place, waiter)| (waiter.owner, place < next)).collect()
    }

    /// Where those listen who should look now: whoever is [`ahead`](Self::ahead), and was not so `before` the change.
    pub(super) fn called(&self, before: &[(Owner, bool)]) -> Vec<u64> {
        let mut ears: Vec<u64> = Vec::new();
        for (waiter, ahead) in self.waiters.iter().zip(self.ahead()) {
            if !before.contains(&ahead) && !ears.contains(&waiter.ear) {
                ears.push(waiter.ear);
            }
        }
        ears
    }

    /// Whom to name in a refusal: the one that ends first.
    pub(super) fn shown(&self) -> Option<Holder> {
        let alive = self.holder.iter().chain(&self.shares).filter(|held| held.ends > self.now);
        alive.min_by_key(|held| held.ends).map(|held| self.show(held))
    }

    pub(super) fn show(&self, held: &Held) -> Holder {
        let micros = std::time::Duration::from_micros;
        let mut holder = Holder::new(Identity::decode(&held.identity));
        holder.mode = held.mode;
        holder.fence = Some(FencingToken::new(held.fence, held.owner));
        holder.held_for = Some(micros(self.now.saturating_sub(held.since)));
        holder.expires_in = Some(micros(held.ends.saturating_sub(self.now)));
        holder
    }
}

/// Whether one more with this mode can join these.
fn fits(modes: &[Mode], mode: Mode) -> bool {
    match mode {
        Mode::Exclusive => modes.is_empty(),
        Mode::Shared => modes.iter().all(|m| *m == Mode::Shared),
        Mode::Slots(n) => modes.len() < n as usize && modes.iter().all(|m| *m == mode),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(owner: u128, mode: Mode) -> Asked {
        let owner = Owner::from_bits(owner);
        Asked { owner, mode, ttl: 30_000 * MS, floor: 0, wait: true, ear: owner.nonce(), identity: "1 a ".to_owned() }
    }

    fn line() -> Line {
        Line { now: 1_000_000 * MS, ..Line::default() }
    }

    #[test]
    fn waiters_are_served_in_order_and_together_where_they_can() {
        let mut line = line();
        assert_eq!(line.attempt(&asked(1, Mode::Exclusive)), Verdict::Granted(1));
        for (owner, mode) in [(2, Mode::Shared), (3, Mode::Shared), (4, Mode::Exclusive), (5, Mode::Shared)] {
            assert_eq!(line.attempt(&asked(owner, mode)), Verdict::Contended { write: true });
        }
        assert_eq!(line.attempt(&asked(5, Mode::Shared)), Verdict::Contended { write: false }, "it stands there");
        assert_eq!(line.called(&[]), [0_u64; 0]);
        assert_eq!(line.release(Owner::from_bits(1)), Some(true));
        assert_eq!(line.called(&[]), [2, 3, 4], "two readers, and who watches over them");
        assert_eq!(line.attempt(&asked(9, Mode::Shared)), Verdict::Contended { write: true }, "nobody jumps the queue");
        assert_eq!(line.turn(Owner::from_bits(3)), Turn::Now);
        assert_eq!(line.attempt(&asked(3, Mode::Shared)), Verdict::Granted(2));
        assert_eq!(line.attempt(&asked(2, Mode::Shared)), Verdict::Granted(3));
        assert_eq!(line.attempt(&asked(4, Mode::Exclusive)), Verdict::Contended { write: false });
        line.release(Owner::from_bits(2));
        assert!(line.called(&[]).is_empty());
        line.release(Owner::from_bits(3));
        assert_eq!(line.called(&[]), [4, 5]);
        assert_eq!(line.attempt(&asked(4, Mode::Exclusive)), Verdict::Granted(4));
    }

    #[test]
    fn who_does_not_come_loses_its_turn() {
        let mut line = line();
        line.attempt(&asked(1, Mode::Exclusive));
        line.attempt(&asked(2, Mode::Exclusive));
        line.attempt(&asked(3, Mode::Exclusive));
        line.release(Owner::from_bits(1));
        assert_eq!(line.attempt(&asked(3, Mode::Exclusive)), Verdict::Contended { write: false });
        let Turn::In(wait) = line.turn(Owner::from_bits(3)) else { panic!("it is not its turn") };
        assert!((TURN..TURN + 100 * MS).contains(&wait), "{wait}");
        line.now += wait;
        assert_eq!(line.attempt(&asked(3, Mode::Exclusive)), Verdict::Granted(2));
        assert_eq!(line.place(Owner::from_bits(2)), None);
    }

    #[test]
    fn slots_are_counted_and_must_agree() {
        let mut line = line();
        for owner in 1..=2 {
            assert!(matches!(line.attempt(&asked(owner, Mode::Slots(2))), Verdict::Granted(_)));
        }
        assert_eq!(line.attempt(&asked(3, Mode::Slots(3))), Verdict::Slots(2));
        assert_eq!(line.attempt(&asked(3, Mode::Slots(2))), Verdict::Contended { write: true });
        line.release(Owner::from_bits(2));
        assert_eq!(line.called(&[]), [3]);
        assert!(matches!(line.attempt(&asked(3, Mode::Slots(2))), Verdict::Granted(3)));
    }

    #[test]
    fn an_end_hands_on_and_a_repeated_attempt_does_not_count_twice() {
        let mut line = line();
        assert_eq!(line.attempt(&asked(1, Mode::Shared)), Verdict::Granted(1));
        assert_eq!(line.attempt(&asked(1, Mode::Shared)), Verdict::Granted(1));
        assert_eq!(line.shares.len(), 1);
        line.now += 30_000 * MS;
        assert!(!line.clone().renew(Owner::from_bits(1), MS));
        assert_eq!(line.clone().release(Owner::from_bits(1)), Some(false));
        let high = Asked { floor: 70, ..asked(2, Mode::Exclusive) };
        assert_eq!(line.attempt(&high), Verdict::Granted(71));
    }

    #[test]
    fn only_those_are_called_for_whom_something_changed() {
        let mut line = line();
        for owner in 1..=4 {
            line.attempt(&asked(owner, Mode::Exclusive));
        }
        line.release(Owner::from_bits(1));
        let freed = line.ahead();
        assert_eq!(freed, [(Owner::from_bits(2), true), (Owner::from_bits(3), false)]);
        line.attempt(&asked(5, Mode::Exclusive));
        assert_eq!(line.called(&freed), [0_u64; 0], "they know");
        line.withdraw(Owner::from_bits(2));
        assert_eq!(line.called(&freed), [3, 4], "who watched may come now, and another one watches");
    }
}
