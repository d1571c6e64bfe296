//! Where a guarded call stands, for those who want to take it back.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// For its lock, or for an earlier call with its key.
    Waiting,
    /// It has been sent, or is about to be.
    Running,
    Cancelled,
}

/// What cancelling a call has done.
///
/// ```
/// assert_eq!(stanchion_mcp::Flight::default().cancel(), stanchion_mcp::Cancelled::BeforeItRan);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// It had not been sent; it will not be.
    BeforeItRan,
    /// It has been sent: its server has to be told.
    WhileItRuns,
}

/// One call between its arrival and its answer.
///
/// ```
/// use stanchion_mcp::{Cancelled, Flight};
/// let flight = Flight::default();
/// assert_eq!(flight.cancel(), Cancelled::BeforeItRan);
/// ```
#[derive(Debug)]
pub struct Flight {
    phase: Mutex<Phase>,
    changed: Notify,
}

impl Default for Flight {
    fn default() -> Self {
        Self { phase: Mutex::new(Phase::Waiting), changed: Notify::new() }
    }
}

impl Flight {
    /// Takes it back, if it is not too late.
    ///
    /// ```
    /// # use stanchion_mcp::{Cancelled, Flight};
    /// assert_eq!(Flight::default().cancel(), Cancelled::BeforeItRan);
    /// ```
    pub fn cancel(&self) -> Cancelled {
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        if *phase == Phase::Running {
            return Cancelled::WhileItRuns;
        }
        *phase = Phase::Cancelled;
        self.changed.notify_one();
        Cancelled::BeforeItRan
    }

    /// Has it been sent, or is it about to be?
    ///
    /// ```
    /// assert!(!stanchion_mcp::Flight::default().is_running());
    /// ```
    #[must_use]
    pub fn is_running(&self) -> bool {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) == Phase::Running
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) == Phase::Cancelled
    }

    /// May it be sent? From here on it cannot be taken back.
    pub(crate) fn begin(&self) -> bool {
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        if *phase == Phase::Waiting {
            *phase = Phase::Running;
        }
        *phase == Phase::Running
    }

    /// Returns when it was taken back in time; else never.
    pub(crate) async fn cancelled(&self) {
        self.changed.notified().await;
    }
}
