//! Turns: how a slow writer gets past quick ones.
//!
//! Only a write whose record nobody replaced since it was read succeeds, so a slow writer needs that long without others. It
//! takes the turn, a lock, and everybody else soon stands behind it, because nobody writes for long without the turn:
//!
//! - for [`FREE`] after a turn, or
//! - for [`FREE`] after a write that found the graph as we left it at least [`QUIET`] ago. Before that write nobody wrote for
//!   [`QUIET`], and who had the turn then could write, too.
//!
//! So who has the turn is alone after [`FREE`], at the latest after a second one.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use stanchion_core::{Acquire, Key, Lease, Locks, Wait};
use tokio::time::Instant;

/// How long one writes without a turn.
const FREE: Duration = Duration::from_millis(200);
/// Who comes back after so long to what it has written itself writes in one trip.
pub(super) const QUIET: Duration = Duration::from_secs(1);
/// The turn is a courtesy, not what keeps the graph whole: nobody waits for a dead holder for long.
const TTL: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(5);

/// The turn of one graph, as one process sees it.
#[derive(Debug)]
pub(super) struct Turns {
    locks: Locks,
    key: Key,
    /// Until when no turn is needed.
    free: Mutex<Option<Instant>>,
}

impl Turns {
    pub(super) fn new(locks: Locks, key: Key) -> Self {
        Self { locks, key, free: Mutex::new(None) }
    }

    pub(super) fn is_due(&self) -> bool {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).is_none_or(|until| Instant::now() >= until)
    }

    /// From now on for a while without a turn.
    pub(super) fn be_free(&self) {
        *self.free.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + FREE);
    }

    /// Waits for the turn. Without it we race on: the condition of the write keeps the graph whole.
    pub(super) async fn take(&self) -> Option<Lease> {
        let request = Acquire::new(self.key.clone()).wait(Wait::For(PATIENCE));
        let taken = match request.ttl(TTL) {
            Ok(request) => self.locks.acquire(&request).await,
            Err(error) => Err(error),
        };
        self.be_free();
        taken.inspect_err(|error| tracing::debug!(%error, "no turn")).ok()
    }
}
