//! Which call a worker makes next.

use std::time::Duration;

use super::super::Design;
use super::super::faults::{Fault, Point};
use super::super::profile::{ALICE, Profile, Says};
use super::super::slot::Slot;
use super::super::worker::How;
use super::{Driver, KeyState};

/// After so long, a call that takes a lock has it.
const SETTLED: Duration = Duration::from_millis(20);

impl Driver<'_> {
    /// What the worker does next: what its fault needs, or anything. `Some(None)` is a sweep.
    pub(super) fn choose(&mut self, number: usize) -> Option<Option<(usize, How)>> {
        if let Some(armed) = self.armed.as_ref().filter(|armed| armed.slot == number) {
            let point = match armed.fault {
                Fault::Kill(point) | Fault::Stop(point) => point,
                Fault::Store => Point::Random,
            };
            match (point, armed.orphan) {
                (Point::Reap, _) => return Some(None),
                (_, Some(index)) => return Some(Some((index, How::Wait))),
                _ => {}
            }
            if let Some(call) = self.wanted(point) {
                return Some(Some(call));
            }
        }
        if let Some(call) = self.helps(number) {
            return Some(Some(call));
        }
        self.anything(number)
    }

    /// A new key whose call comes by the point.
    fn wanted(&mut self, point: Point) -> Option<(usize, How)> {
        let holders = self.slots.iter().filter_map(|slot| slot.job).filter(|job| job.since.elapsed() > SETTLED);
        let held = holders.filter_map(|job| Some(self.plan.profile(job.call?.0))).filter(|profile| profile.slow);
        let busy: Vec<u64> = held.flat_map(|profile| [profile.locks.0, profile.locks.1]).flatten().collect();
        self.new_call(|profile| match point {
            Point::Claimed => profile.locks.1.is_none() && profile.locks.0.is_some_and(|lock| busy.contains(&lock)),
            Point::BeforeDispatch | Point::MidDispatch => profile.locks.1.is_some(),
            Point::MidBeat => profile.slow,
            Point::MidRecord | Point::Recorded => profile.says == Says::Done,
            Point::BeforeEffect => profile.locks.0.is_some() && profile.says != Says::NoEffectFirst,
            _ => profile.says != Says::NoEffectFirst,
        })
    }

    /// A waiter for a lock needs somebody who holds it, and one that was stopped needs somebody who takes its lock.
    fn helps(&self, number: usize) -> Option<(usize, How)> {
        let call = |slot: &Slot| slot.job?.call.filter(|(_, how)| how.principal() == ALICE);
        let under = |slot: &Slot| self.plan.profile(call(slot)?.0).locks.0;
        let tended = |fits: &dyn Fn(&Slot) -> bool| self.slots.iter().any(|slot| slot.runs() && fits(slot));
        for stopped in self.slots.iter().filter(|slot| slot.stopped_until.is_some()) {
            let (Some((index, _)), lock) = (call(stopped), under(stopped)) else { continue };
            if !self.keys[index].definite && !tended(&|slot| call(slot).is_some_and(|(other, _)| other == index)) {
                return Some((index, How::Wait));
            }
            let new = || self.new_call(|profile| profile.locks == (lock, None) && !profile.slow);
            if let (true, Some(call)) = (lock.is_some() && !tended(&|slot| under(slot) == lock), new()) {
                return Some(call);
            }
        }
        let armed = self.armed.as_ref().filter(|armed| armed.slot != number)?;
        let claimed = matches!(armed.fault, Fault::Kill(Point::Claimed) | Fault::Stop(Point::Claimed));
        let holds = |slot: &Slot| {
            let profile = slot.job.and_then(|job| job.call).map(|(index, _)| self.plan.profile(index));
            profile.is_some_and(|profile| profile.slow && profile.locks.0.is_some())
        };
        if !claimed || self.slots.iter().any(holds) {
            return None;
        }
        self.new_call(|profile| profile.slow && profile.locks.0.is_some())
    }

    /// A call that nobody has made yet: of a new key, else by the other caller.
    fn new_call(&self, fits: impl Fn(Profile) -> bool) -> Option<(usize, How)> {
        let is_free = |index: &usize| self.keys[*index].begun && !self.keys[*index].begun_by_mallory;
        let other = || (0..self.keys.len()).find(|index| is_free(index) && fits(self.plan.profile(*index)));
        let own = self.new_key(&fits).map(|index| (index, How::Reject));
        own.or_else(|| other().map(|index| (index, How::OtherPrincipal)))
    }

    fn new_key(&self, fits: impl Fn(Profile) -> bool) -> Option<usize> {
        (0..self.keys.len()).find(|index| !self.keys[*index].begun && fits(self.plan.profile(*index)))
    }

    fn anything(&mut self, number: usize) -> Option<Option<(usize, How)>> {
        let die = self.dice.roll(100);
        let how = if self.dice.roll(2) == 0 { How::Reject } else { How::Wait };
        if die < 2 && !self.keys.iter().any(|key| key.reserved) {
            return Some(None);
        }
        if let (true, Some(how)) = (self.faults.is_empty() && self.armed.is_none(), self.unseen()) {
            let begun = (0..self.keys.len()).filter(|index| self.keys[*index].begun).collect();
            return self.one_of(begun).map(|index| Some((index, how)));
        }
        if (2..40).contains(&die) {
            // The same as somebody else, at the same time.
            let others = self.slots.iter().enumerate().filter(|(other, _)| *other != number);
            let calls: Vec<_> = others.filter_map(|(_, slot)| slot.job?.call).collect();
            let open = |index: &usize| !self.keys[*index].reserved;
            if let Some(index) = self.one_of(calls.into_iter().map(|(index, _)| index).filter(open).collect()) {
                return Some(Some((index, how)));
            }
        }
        let fired = self.planned - self.faults.len();
        let pace = 8 + self.keys.len() * (fired + 1) / (self.planned + 1);
        let begun = self.keys.iter().filter(|key| key.begun).count();
        let new = if begun < pace { self.new_key(|_| true) } else { None };
        if let (Some(index), true) = (new, die >= 85) {
            return Some(Some((index, how)));
        }
        let asked = |wanted: bool| {
            let keys = self.keys.iter().enumerate();
            let fits = move |key: &KeyState| key.begun && !key.reserved && (key.definite && key.answers >= 2) == wanted;
            keys.filter(move |(_, key)| fits(key)).map(|(index, _)| index).collect::<Vec<_>>()
        };
        let (open, closed) = (asked(false), asked(true));
        if let (Some(index), false) = (self.one_of(closed.clone()), (40..75).contains(&die)) {
            let how = match (self.plan.design, self.dice.roll(10)) {
                (Design::Seed, _) => how,
                (_, 0 | 1) => How::OtherPayload,
                (_, 2) => How::OtherPrincipal,
                _ => how,
            };
            if new.is_none() || die >= 75 {
                return Some(Some((index, how)));
            }
        }
        let index = self.one_of(open).or(new).or_else(|| self.one_of(closed))?;
        Some(Some((index, how)))
    }

    pub(super) fn one_of(&mut self, list: Vec<usize>) -> Option<usize> {
        let at = self.dice.roll(list.len());
        list.get(at).copied()
    }
}
