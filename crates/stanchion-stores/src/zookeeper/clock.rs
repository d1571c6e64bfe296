//! The engine's time: the leader writes its clock into every node that is written.
//!
//! Between two writes our own monotonic clock carries it on, for a minute at most. It is never ahead of the leader's: so
//! nothing expires early, except when a new leader's clock is ahead of the old one's.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

const CARRY: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Clock(Mutex<Option<(u64, Instant)>>);

impl Clock {
    /// A write of ours was answered with this time.
    pub(super) fn written(&self, mtime: i64) {
        *self.anchor() = u64::try_from(mtime).ok().map(|ms| (ms, Instant::now()));
    }

    /// A node was read that was written at this time, so now is not before it.
    pub(super) fn read(&self, mtime: i64) {
        let mut anchor = self.anchor();
        if let (Some((ms, at)), Ok(seen)) = (&*anchor, u64::try_from(mtime))
            && seen > carried(*ms, *at)
        {
            *anchor = Some((seen, Instant::now()));
        }
    }

    /// The engine's time, if it was heard of not too long ago.
    pub(super) fn now_ms(&self) -> Option<u64> {
        (*self.anchor()).filter(|(_, at)| at.elapsed() < CARRY).map(|(ms, at)| carried(ms, at))
    }

    fn anchor(&self) -> std::sync::MutexGuard<'_, Option<(u64, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn carried(ms: u64, at: Instant) -> u64 {
    ms.saturating_add(u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_is_carried_on_for_a_minute_and_never_goes_back_by_a_read() {
        let clock = Clock::default();
        assert_eq!(clock.now_ms(), None);
        clock.written(1_000);
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(clock.now_ms(), Some(1_500));
        clock.read(1_200);
        assert_eq!(clock.now_ms(), Some(1_500));
        clock.read(1_700);
        assert_eq!(clock.now_ms(), Some(1_700));
        tokio::time::advance(CARRY).await;
        assert_eq!(clock.now_ms(), None, "too long ago");
    }
}
