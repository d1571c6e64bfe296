//! A granted lock as the keeper and its lease share it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::keeper::{Due, SLICE};
use crate::meter::ClassMeter;
use crate::{BootTime, Clock, Grant, LeaseAction, LeaseEvent, LeaseMachine, LostReason};

#[derive(Debug)]
pub(super) struct HeldLock {
    pub(super) grant: Grant,
    since: BootTime,
    pub(super) meter: Arc<ClassMeter>,
    clock: Arc<dyn Clock>,
    inner: Mutex<Inner>,
    lost: Notify,
}

#[derive(Debug)]
struct Inner {
    machine: LeaseMachine,
    due: Option<Due>,
    ended: bool,
}

impl HeldLock {
    pub(super) fn new(
        grant: Grant,
        machine: LeaseMachine,
        since: BootTime,
        meter: Arc<ClassMeter>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let inner = Mutex::new(Inner { machine, due: None, ended: false });
        Self { grant, since, meter, clock, inner, lost: Notify::new() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the keeper has us; `None` if the lease has been released.
    pub(super) fn planned(&self) -> Option<Option<Due>> {
        let inner = self.inner();
        (!inner.ended).then_some(inner.due)
    }

    /// Notes where the keeper puts us; no, if the lease has been released meanwhile.
    pub(super) fn planned_at(&self, due: Due) -> bool {
        let mut inner = self.inner();
        if !inner.ended {
            inner.due = Some(due);
        }
        !inner.ended
    }

    /// The holder has let go. Returns where the keeper has us.
    pub(super) fn end(&self) -> Option<Due> {
        let mut inner = self.inner();
        inner.ended = true;
        inner.due.take()
    }

    pub(super) fn step(&self, event: LeaseEvent, now: BootTime) -> LeaseAction {
        let mut inner = self.inner();
        if inner.ended { LeaseAction::Nothing } else { inner.machine.step(event, now) }
    }

    pub(super) fn deadline(&self) -> Option<BootTime> {
        self.inner().machine.deadline()
    }

    pub(super) fn held_for(&self) -> std::time::Duration {
        self.clock.now() - self.since
    }

    /// Is it ours right now? Looks at the clock; no I/O.
    pub(super) fn check(&self) -> Result<(), LostReason> {
        let mut inner = self.inner();
        let expired = inner.machine.expire(self.clock.now());
        let lost = inner.machine.lost();
        drop(inner);
        if let Some(reason) = expired {
            self.signal_lost(reason);
        }
        lost.map_or(Ok(()), Err)
    }

    /// Comes once per lease, from whoever noticed first.
    pub(super) fn signal_lost(&self, reason: LostReason) {
        self.meter.count_lost(reason);
        tracing::warn!(key = %self.grant.key, fence = %self.grant.fence, reason = reason.as_str(), "lock lost");
        self.lost.notify_waiters();
    }

    /// Returns when the lease is lost: by the local clock, without I/O.
    pub(super) async fn lost(&self) -> LostReason {
        loop {
            let told = self.lost.notified();
            if let Err(reason) = self.check() {
                return reason;
            }
            let nap = self.deadline().map_or(SLICE, |deadline| (deadline - self.clock.now()).min(SLICE));
            tokio::select! {
                () = tokio::time::sleep(nap) => {}
                () = told => {}
            }
        }
    }
}
