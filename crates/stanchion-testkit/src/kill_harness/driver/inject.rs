//! When a fault meets a worker.

use std::time::{Duration, Instant};

use super::super::faults::{Fault, Killed, Outcome, Point};
use super::super::profile::ALICE;
use super::{ARMED, Armed, Driver, MORE, TRIES};

impl Driver<'_> {
    pub(super) async fn inject(&mut self) {
        if let Some(disturbing) = &mut self.disturbing {
            if tokio::time::timeout(Duration::ZERO, disturbing.as_mut()).await.is_err() {
                return;
            }
            self.disturbing = None;
            self.note("the store is left alone");
            self.done.disturbed.extend(self.slots.iter().filter_map(|slot| slot.job?.open()));
        }
        match self.armed.take() {
            None => self.arm(),
            Some(armed) => self.fire_if_due(armed),
        }
    }

    fn arm(&mut self) {
        let Some(fault) = self.faults.pop_front() else { return };
        let (point, is_judge) = match fault {
            Fault::Store => return self.disturb(),
            Fault::Kill(point) | Fault::Stop(point) => {
                (point, matches!(point, Point::Lapse | Point::Reap | Point::MidLapse))
            }
        };
        let orphan = self.keys.iter().position(|key| key.reserved);
        if is_judge && orphan.is_none() {
            // It needs a dead owner first.
            self.faults.push_front(fault);
            self.faults.push_front(Fault::Kill(Point::Dispatched));
            self.planned += 1;
            return;
        }
        let ready: Vec<usize> = (0..self.slots.len()).filter(|number| self.slots[*number].runs()).collect();
        let Some(slot) = self.one_of(ready) else { return self.faults.push_front(fault) };
        if let Some(name) = point.name() {
            self.slots[slot].hold(name);
        }
        let orphan = orphan.filter(|_| is_judge);
        let now = Instant::now();
        let at = now + Duration::from_millis(self.dice.roll(60) as u64);
        self.note(&format!("{fault:?} waits for {} {orphan:?}", self.slots[slot].who()));
        self.armed = Some(Armed { fault, slot, since: now, at, orphan });
    }

    fn fire_if_due(&mut self, armed: Armed) {
        let Armed { fault, slot, since, at, orphan } = armed;
        let (Fault::Kill(point) | Fault::Stop(point)) = fault else { return };
        let due = match point.name() {
            Some(name) => self.slots[slot].has_reached(name),
            None => Instant::now() >= at && self.slots[slot].job.is_some(),
        };
        // Somebody else has judged it already.
        let foiled = orphan.is_some_and(|index| self.keys[index].definite);
        if !due && !foiled && since.elapsed() < ARMED {
            self.armed = Some(armed);
            return;
        }
        if let Some(index) = orphan {
            self.keys[index].reserved = false;
        }
        if due {
            self.tries = 0;
            return self.fire(fault, point, slot);
        }
        // Nobody came by: somewhere else, later.
        let (new, all) = (self.keys.iter().filter(|key| !key.begun).count(), self.keys.len());
        self.note(&format!("{fault:?} met nobody in {:?}, {new} of {all} keys are new", self.slots[slot].job));
        if let Some(name) = point.name() {
            self.slots[slot].release(name);
        }
        self.tries += 1;
        assert!(self.tries < TRIES, "void: {fault:?} never met its point\n{}", self.lately());
        self.more_keys(MORE);
        self.faults.push_back(fault);
    }

    fn fire(&mut self, fault: Fault, point: Point, number: usize) {
        self.note(&format!("{fault:?} meets {} in {:?}", self.slots[number].who(), self.slots[number].job));
        let slot = &mut self.slots[number];
        let open = slot.job.and_then(|job| job.open());
        let killed = Killed { point, open };
        match fault {
            Fault::Kill(_) => {
                slot.kill();
                slot.start_again(&self.plan, self.folder.path(), self.variables);
                let lapses = |fault: &&Fault| {
                    let (Fault::Kill(point) | Fault::Stop(point)) = fault else { return false };
                    matches!(point, Point::Lapse | Point::Reap | Point::MidLapse)
                };
                let needed = self.faults.iter().filter(lapses).count();
                let kept = self.keys.iter().filter(|key| key.reserved).count();
                let dead = open.filter(|_| point.outcome() == Outcome::Unknown);
                if let Some(open) = dead.filter(|open| open.principal == ALICE && kept < needed.min(2)) {
                    // Only if nobody else is at it: they would find it first.
                    let alone = !self.slots.iter().any(|slot| slot.job.is_some_and(|job| job.open() == Some(open)));
                    self.keys[open.index].reserved = alone && !self.keys[open.index].definite;
                }
                self.done.kills.push(killed);
            }
            Fault::Stop(_) => {
                let lease = self.plan.lease;
                slot.stop(Instant::now() + lease + lease.mul_f64(0.3) + lease / 10 * self.dice.roll(8) as u32);
                self.done.pauses.push(killed);
            }
            Fault::Store => {}
        }
        if let Some(name) = point.name() {
            self.slots[number].release(name);
        }
    }

    fn disturb(&mut self) {
        let Some(disturb) = &mut self.disturb else { return };
        let number = u32::try_from(self.done.store_faults).unwrap_or(u32::MAX);
        self.disturbing = Some(disturb(number));
        self.note(&format!("the store is disturbed, {number}"));
        self.done.store_faults += 1;
        self.done.disturbed.extend(self.slots.iter().filter_map(|slot| slot.job?.open()));
    }
}
