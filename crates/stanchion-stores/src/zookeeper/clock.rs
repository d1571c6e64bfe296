//! The engine's time: the leader writes its clock into every node that is written.
//!
//! Between two writes our own monotonic clock, which goes on while the machine sleeps, carries it on, for a minute at most. It is never ahead of the leader's: so
//! nothing expires early, except when a new leader's clock is ahead of the old one's.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use stanchion_core::{BootTime, SystemClock};

const CARRY: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Clock<T = SystemClock> {
    anchor: Mutex<Option<(u64, BootTime)>>,
    ticks: T,
}

impl<T: stanchion_core::Clock> Clock<T> {
    /// A write of ours was answered with this time.
    pub(super) fn written(&self, mtime: i64) {
        *self.anchor() = u64::try_from(mtime).ok().map(|ms| (ms, self.ticks.now()));
    }

    /// A node was read that was written at this time, so now is not before it.
    pub(super) fn read(&self, mtime: i64) {
        let mut anchor = self.anchor();
        if let (Some((ms, at)), Ok(seen)) = (&*anchor, u64::try_from(mtime))
            && seen > self.carried(*ms, *at)
        {
            *anchor = Some((seen, self.ticks.now()));
        }
    }

    /// The engine's time, if it was heard of not too long ago.
    pub(super) fn now_ms(&self) -> Option<u64> {
        (*self.anchor()).filter(|(_, at)| self.ticks.now() - *at < CARRY).map(|(ms, at)| self.carried(ms, at))
    }

    fn carried(&self, ms: u64, at: BootTime) -> u64 {
        ms.saturating_add(u64::try_from((self.ticks.now() - at).as_millis()).unwrap_or(u64::MAX))
    }

    fn anchor(&self) -> std::sync::MutexGuard<'_, Option<(u64, BootTime)>> {
        self.anchor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use stanchion_core::ManualClock;

    use super::*;

    #[test]
    fn time_is_carried_on_for_a_minute_and_never_goes_back_by_a_read() {
        let clock = Clock::<ManualClock>::default();
        assert_eq!(clock.now_ms(), None);
        clock.written(1_000);
        clock.ticks.advance(Duration::from_millis(500));
        assert_eq!(clock.now_ms(), Some(1_500));
        clock.read(1_200);
        assert_eq!(clock.now_ms(), Some(1_500));
        clock.read(1_700);
        assert_eq!(clock.now_ms(), Some(1_700));
        clock.ticks.advance(CARRY);
        assert_eq!(clock.now_ms(), None, "too long ago");
    }
}
