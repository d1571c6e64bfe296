//! The lease protocol, sans-IO: `step(event, now) -> action`.
//!
//! The same code runs in production, in the model checker and in simulation. It does no I/O, reads no clock
//! and draws no random number.
//!
//! Invariants:
//! - The deadline counts from **before** the request that earned it, minus drift. So we stop believing
//!   before the store can hand the key on.
//! - A lease that was lost stays lost: no late answer revives it.

use std::time::Duration;

use crate::{BootTime, planted};

/// How much earlier than the store we stop: 1 % of the ttl for clocks of different speed, plus 2 ms for
/// the store's rounding to milliseconds.
#[must_use]
pub(crate) fn drift(ttl: Duration) -> Duration {
    ttl / 100 + Duration::from_millis(2)
}

/// Why a lease ended without a release.
///
/// ```
/// assert_eq!(stanchion_core::LostReason::MaxHold.as_str(), "max_hold");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LostReason {
    /// Its deadline passed before a renewal was confirmed.
    Expired,
    /// The store says that it is not ours any more.
    Taken,
    /// It was held as long as the request allows.
    MaxHold,
}

impl LostReason {
    /// The word used in logs and metrics.
    ///
    /// ```
    /// assert_eq!(stanchion_core::LostReason::Expired.as_str(), "expired");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Taken => "taken",
            Self::MaxHold => "max_hold",
        }
    }
}

/// What happened.
///
/// ```
/// assert_ne!(stanchion_core::LeaseEvent::Tick, stanchion_core::LeaseEvent::Progress);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeaseEvent {
    /// Time went on.
    Tick,
    /// The guarded work reports that it is alive.
    Progress,
    /// The store confirmed the renewal that was sent last.
    Renewed,
    /// The store says that the lease is not ours.
    RenewalLost,
    /// No answer to the renewal; try again after this pause.
    RenewalUnknown {
        /// How long to wait before the next try (with jitter, drawn by the caller).
        retry_in: Duration,
    },
}

/// What to do now.
///
/// ```
/// assert_ne!(stanchion_core::LeaseAction::Renew, stanchion_core::LeaseAction::Nothing);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeaseAction {
    /// Send a renewal, and report its answer as an event.
    Renew,
    /// Come back with a `Tick` at this time.
    WaitUntil(BootTime),
    /// Tell the holder. Comes exactly once.
    SignalLost(LostReason),
    /// The lease has ended; nothing is left to do.
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum State {
    Held { deadline: BootTime, renew_at: BootTime, in_flight: Option<BootTime>, progressed: bool },
    Lost(LostReason),
}

/// One lease, seen from its holder.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::{BootTime, LeaseAction, LeaseEvent, LeaseMachine};
/// let start = BootTime::from_boot(Duration::ZERO);
/// let ttl = Duration::from_secs(30);
/// let mut lease = LeaseMachine::new(start, ttl, None, false);
/// assert_eq!(lease.step(LeaseEvent::Tick, start + ttl / 3), LeaseAction::Renew);
/// // The answer comes after the deadline: it does not revive the lease.
/// assert!(matches!(lease.step(LeaseEvent::Renewed, start + ttl), LeaseAction::SignalLost(_)));
/// assert!(!lease.is_valid(start));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LeaseMachine {
    ttl: Duration,
    ends: bool,
    hold_until: Option<BootTime>,
    needs_progress: bool,
    state: State,
}

impl LeaseMachine {
    /// A lease whose granting request was sent at `sent`.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{BootTime, LeaseMachine};
    /// let sent = BootTime::from_boot(Duration::ZERO);
    /// let lease = LeaseMachine::new(sent, Duration::from_secs(10), None, false);
    /// assert!(lease.deadline().unwrap() < sent + Duration::from_secs(10));
    /// ```
    #[must_use]
    pub fn new(sent: BootTime, ttl: Duration, max_hold: Option<Duration>, needs_progress: bool) -> Self {
        Self::start(sent, ttl, true, max_hold, needs_progress)
    }

    /// A lock that has no deadline of its own ([`Hold::Held`](crate::Hold::Held)), asked every third of
    /// `check` whether it is still there.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{BootTime, LeaseMachine};
    /// let lock = LeaseMachine::held(BootTime::from_boot(Duration::ZERO), Duration::from_secs(30), None);
    /// assert!(lock.is_valid(BootTime::from_boot(Duration::from_secs(1_000_000))));
    /// ```
    #[must_use]
    pub fn held(sent: BootTime, check: Duration, max_hold: Option<Duration>) -> Self {
        Self::start(sent, check, false, max_hold, false)
    }

    fn start(sent: BootTime, ttl: Duration, ends: bool, max_hold: Option<Duration>, needs_progress: bool) -> Self {
        let hold_until = max_hold.map(|limit| sent + limit);
        let mut machine = Self { ttl, ends, hold_until, needs_progress, state: State::Lost(LostReason::Expired) };
        machine.state = machine.held_from(sent);
        machine
    }

    fn held_from(&self, sent: BootTime) -> State {
        let life = if self.ends { self.ttl - drift(self.ttl).min(self.ttl) } else { Duration::MAX };
        let deadline = sent + life;
        let deadline = self.hold_until.map_or(deadline, |limit| deadline.min(limit));
        State::Held { deadline, renew_at: sent + self.ttl / 3, in_flight: None, progressed: false }
    }

    /// Until when the holder may act; `None` once the lease is lost.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{BootTime, LeaseMachine};
    /// let lease = LeaseMachine::new(BootTime::from_boot(Duration::ZERO), Duration::from_secs(1), None, false);
    /// assert!(lease.deadline().is_some());
    /// ```
    #[must_use]
    pub fn deadline(&self) -> Option<BootTime> {
        match self.state {
            State::Held { deadline, .. } => Some(deadline),
            State::Lost(_) => None,
        }
    }

    /// May the holder act at `now`? Needs no I/O, so it is checked at each use of the fence.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{BootTime, LeaseMachine};
    /// let lease = LeaseMachine::new(BootTime::from_boot(Duration::ZERO), Duration::from_secs(1), None, false);
    /// assert!(!lease.is_valid(BootTime::from_boot(Duration::from_secs(1))));
    /// ```
    #[must_use]
    pub fn is_valid(&self, now: BootTime) -> bool {
        self.deadline().is_some_and(|deadline| now < deadline)
    }

    /// Why the lease was lost, once it is.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{BootTime, LeaseMachine};
    /// let lease = LeaseMachine::new(BootTime::from_boot(Duration::ZERO), Duration::from_secs(1), None, false);
    /// assert!(lease.lost().is_none());
    /// ```
    #[must_use]
    pub fn lost(&self) -> Option<LostReason> {
        match self.state {
            State::Held { .. } => None,
            State::Lost(reason) => Some(reason),
        }
    }

    /// Ends the lease if its deadline has passed; says so exactly once.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{BootTime, LeaseMachine, LostReason};
    /// let mut lease = LeaseMachine::new(BootTime::from_boot(Duration::ZERO), Duration::from_secs(1), None, false);
    /// let later = BootTime::from_boot(Duration::from_secs(2));
    /// assert_eq!(lease.expire(later), Some(LostReason::Expired));
    /// assert_eq!(lease.expire(later), None);
    /// ```
    pub fn expire(&mut self, now: BootTime) -> Option<LostReason> {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return None;
        }
        let by_limit = self.hold_until.is_some_and(|limit| now >= limit);
        let reason = if by_limit { LostReason::MaxHold } else { LostReason::Expired };
        self.state = State::Lost(reason);
        Some(reason)
    }

    /// Takes in what happened at `now`, and says what to do.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{BootTime, LeaseAction, LeaseEvent, LeaseMachine, LostReason};
    /// let sent = BootTime::from_boot(Duration::ZERO);
    /// let mut lease = LeaseMachine::new(sent, Duration::from_secs(9), None, false);
    /// assert_eq!(lease.step(LeaseEvent::Tick, sent), LeaseAction::WaitUntil(sent + Duration::from_secs(3)));
    /// assert_eq!(lease.step(LeaseEvent::RenewalLost, sent), LeaseAction::SignalLost(LostReason::Taken));
    /// assert_eq!(lease.step(LeaseEvent::Renewed, sent), LeaseAction::Nothing);
    /// ```
    pub fn step(&mut self, event: LeaseEvent, now: BootTime) -> LeaseAction {
        if !planted!("late-renewal-revives")
            && let Some(reason) = self.expire(now)
        {
            return LeaseAction::SignalLost(reason);
        }
        let State::Held { deadline, mut renew_at, mut in_flight, mut progressed } = self.state else {
            return LeaseAction::Nothing;
        };
        match event {
            LeaseEvent::Tick => {}
            LeaseEvent::Progress => progressed = true,
            LeaseEvent::RenewalLost => {
                self.state = State::Lost(LostReason::Taken);
                return LeaseAction::SignalLost(LostReason::Taken);
            }
            LeaseEvent::Renewed => {
                if let Some(sent) = in_flight {
                    self.state = self.held_from(sent);
                    return self.step(LeaseEvent::Tick, now);
                }
            }
            LeaseEvent::RenewalUnknown { retry_in } => {
                in_flight = None;
                renew_at = now + retry_in;
            }
        }
        let due = now >= renew_at && in_flight.is_none() && (progressed || !self.needs_progress);
        if due {
            in_flight = Some(now);
        }
        self.state = State::Held { deadline, renew_at, in_flight, progressed };
        match (due, in_flight) {
            (true, _) => LeaseAction::Renew,
            (false, None) if now < renew_at => LeaseAction::WaitUntil(renew_at.min(deadline)),
            _ => LeaseAction::WaitUntil(deadline),
        }
    }
}
