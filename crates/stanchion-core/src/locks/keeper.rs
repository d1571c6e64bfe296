//! Keeps leases alive: one task per [`Locks`](crate::Locks), asleep between renewals.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::held::HeldLock;
use crate::{BootTime, Clock, LeaseAction, LeaseEvent, LockBackend, Renewal, random};

/// Timers of the runtime stand still while the machine sleeps; we look at the boot clock at least this often.
pub(super) const SLICE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Keeper {
    backend: Arc<dyn LockBackend>,
    clock: Arc<dyn Clock>,
    plan: Mutex<Plan>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct Plan {
    due: BTreeMap<Due, Arc<HeldLock>>,
    next_id: u64,
    asleep_until: Option<BootTime>,
    task: Option<JoinHandle<()>>,
}

/// When a lock wants to be looked at; the number tells equal times apart.
pub(super) type Due = (BootTime, u64);

impl Keeper {
    pub(super) fn new(backend: Arc<dyn LockBackend>, clock: Arc<dyn Clock>) -> Self {
        Self { backend, clock, plan: Mutex::default(), wake: Notify::new() }
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks after `lock` from `at` on.
    pub(super) fn watch(self: &Arc<Self>, lock: &Arc<HeldLock>, at: BootTime) {
        let mut plan = self.plan();
        let Some(planned) = lock.planned() else { return };
        if let Some(old) = planned.filter(|old| plan.due.contains_key(old)) {
            // One entry per lease, the earliest: a look that comes too early does no harm.
            if old.0 <= at {
                return;
            }
            plan.due.remove(&old);
        }
        plan.next_id += 1;
        let due = (at, plan.next_id);
        if !lock.planned_at(due) {
            return;
        }
        plan.due.insert(due, Arc::clone(lock));
        // A keeper whose runtime has been shut down is replaced on the runtime of this caller.
        if plan.task.as_ref().is_none_or(JoinHandle::is_finished) {
            plan.task = Some(Handle::current().spawn(keep(Arc::downgrade(self))));
        } else if plan.asleep_until.is_none_or(|until| at < until) {
            self.wake.notify_one();
        }
    }

    /// Lets the task see that nobody needs it any more.
    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Stops looking after it.
    pub(super) fn forget(&self, due: Due) {
        self.plan().due.remove(&due);
    }

    /// Takes out what is due; otherwise notes how long we are going to sleep.
    fn take_due(&self, now: BootTime) -> Result<Arc<HeldLock>, Option<BootTime>> {
        let mut plan = self.plan();
        match plan.due.first_entry() {
            Some(first) if first.key().0 <= now => Ok(first.remove()),
            first => {
                let until = first.map(|first| first.key().0);
                plan.asleep_until = until;
                Err(until)
            }
        }
    }

    /// Passes an event on, and does what follows from it.
    pub(super) fn tell(self: &Arc<Self>, lock: &Arc<HeldLock>, event: LeaseEvent) {
        match lock.step(event, self.clock.now()) {
            LeaseAction::WaitUntil(at) => self.watch(lock, at),
            LeaseAction::SignalLost(reason) => lock.signal_lost(reason),
            LeaseAction::Renew => {
                let (keeper, lock) = (Arc::clone(self), Arc::clone(lock));
                Handle::current().spawn(async move { keeper.renew(&lock).await });
            }
            LeaseAction::Nothing => {}
        }
    }

    async fn renew(self: Arc<Self>, lock: &Arc<HeldLock>) {
        let ttl = lock.grant.ttl;
        // An answer after the deadline is worthless, and a hung one would block all further tries.
        let answer = tokio::time::timeout(ttl / 3, self.backend.renew(&lock.grant, ttl)).await;
        let event = match answer {
            Ok(Renewal::Renewed) => {
                lock.meter.renewed.increment(1);
                LeaseEvent::Renewed
            }
            Ok(Renewal::Lost) => {
                lock.meter.renewal_lost.increment(1);
                LeaseEvent::RenewalLost
            }
            unknown => {
                lock.meter.renewal_unknown.increment(1);
                if let Ok(Renewal::Unknown(error)) = unknown {
                    tracing::warn!(key = %lock.grant.key, %error, "renewal unanswered, trying again");
                }
                let most = u64::try_from((ttl / 10).as_millis()).unwrap_or(u64::MAX).max(2);
                LeaseEvent::RenewalUnknown { retry_in: Duration::from_millis(1 + random::below(most)) }
            }
        };
        self.tell(lock, event);
    }
}

async fn keep(keeper: Weak<Keeper>) {
    loop {
        let Some(keeper) = keeper.upgrade() else { return };
        match keeper.take_due(keeper.clock.now()) {
            Ok(lock) => keeper.tell(&lock, LeaseEvent::Tick),
            Err(until) => {
                let nap = until.map_or(SLICE * 60, |until| (until - keeper.clock.now()).min(SLICE));
                // We hold the keeper while we sleep; `Locks` wakes us when it goes, so that we let go.
                tokio::select! {
                    () = tokio::time::sleep(nap) => {}
                    () = keeper.wake.notified() => {}
                }
            }
        }
    }
}
