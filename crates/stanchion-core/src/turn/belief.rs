//! What the one whose turn it is may believe, by its own clock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::{BootTime, Clock, Error, ErrorKind, FencingToken, Key, LeaseAction, LeaseEvent, LeaseMachine, Result};

/// Timers of the runtime stand still while the machine sleeps; we look at the boot clock at least this often.
const SLICE: Duration = Duration::from_secs(1);

/// Shared by the worker, which asks, and the task that renews.
#[derive(Debug)]
pub(crate) struct Belief {
    key: Key,
    token: FencingToken,
    clock: Arc<dyn Clock>,
    inner: Mutex<Inner>,
    told: Notify,
}

#[derive(Debug)]
struct Inner {
    machine: LeaseMachine,
    over: bool,
}

impl Belief {
    /// The belief of a turn whose request was sent at `sent`.
    pub(super) fn new(
        key: Key,
        token: FencingToken,
        clock: Arc<dyn Clock>,
        sent: BootTime,
        lease: Duration,
    ) -> Arc<Self> {
        let inner = Inner { machine: LeaseMachine::new(sent, lease, None, false), over: false };
        Arc::new(Self { key, token, clock, inner: Mutex::new(inner), told: Notify::new() })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The token of this turn, if it is still ours. Looks at the clock; no I/O.
    pub(crate) fn fence(&self) -> Result<FencingToken> {
        self.check()?;
        Ok(self.token)
    }

    fn check(&self) -> Result<()> {
        let mut inner = self.inner();
        inner.machine.expire(self.clock.now());
        match inner.machine.lost() {
            None if !inner.over => Ok(()),
            lost => Err(lost_turn(&self.key).with("reason", lost.map_or("it has ended", |reason| reason.as_str()))),
        }
    }

    /// Returns when the turn is not ours any more: from a local timer, before another can take it.
    pub(crate) async fn lost(&self) -> Error {
        loop {
            let told = self.told.notified();
            if let Err(error) = self.check() {
                return error;
            }
            let deadline = self.inner().machine.deadline();
            let nap = deadline.map_or(SLICE, |deadline| (deadline - self.clock.now()).min(SLICE));
            tokio::select! {
                () = tokio::time::sleep(nap) => {}
                () = told => {}
            }
        }
    }

    pub(super) fn step(&self, event: LeaseEvent) -> LeaseAction {
        let action = self.inner().machine.step(event, self.clock.now());
        if let LeaseAction::SignalLost(reason) = action {
            tracing::warn!(key = %self.key, token = %self.token, reason = reason.as_str(), "turn lost");
            self.told.notify_waiters();
        }
        action
    }

    /// From now on the token is not handed out.
    pub(super) fn end(&self) {
        self.inner().over = true;
        self.told.notify_waiters();
    }
}

/// The error of a worker whose turn went to somebody else, or may have.
pub(super) fn lost_turn(key: &Key) -> Error {
    Error::new(ErrorKind::LeaseLost, "the turn was lost before its result was recorded")
        .with("key", key)
        .hint("the work may have run; ask again for what was recorded, or choose a longer lease")
}
