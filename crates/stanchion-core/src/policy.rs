//! By which rules a keyed call is remembered and repeated.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::claim::Keep;
use crate::claim::Response;
use crate::{CallKey, Error, ErrorKind, Result, TTL_RANGE};

const HOUR: Duration = Duration::from_secs(60 * 60);
/// Clocks may be this far apart and no key that carries its time is run twice.
const SKEW: Duration = Duration::from_secs(2 * 60 * 60);
/// The longest time for which anything is remembered.
const KEEP_MOST: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// The largest answer that can be kept: a record's limit, less room for what is around it.
const RESPONSE_MOST: usize = 15 << 20;

/// How a tool may be repeated: its effect class.
///
/// ```
/// use stanchion_core::Effect;
/// assert_eq!(Effect::default(), Effect::NonIdempotent);
/// assert_eq!("read_only".parse::<Effect>()?, Effect::ReadOnly);
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Effect {
    /// Changes nothing: needs neither claim nor key.
    ReadOnly,
    /// Its effect is in the same database transaction as the claim.
    Transactional,
    /// Safe to repeat, or it accepts our downstream key.
    Idempotent,
    /// A read-only probe can tell whether it happened.
    Reconcilable,
    /// Must not be repeated: after a crash its outcome is unknown.
    #[default]
    NonIdempotent,
}

impl Effect {
    /// The name in policies.
    ///
    /// ```
    /// assert_eq!(stanchion_core::Effect::NonIdempotent.as_str(), "non_idempotent");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Transactional => "transactional",
            Self::Idempotent => "idempotent",
            Self::Reconcilable => "reconcilable",
            Self::NonIdempotent => "non_idempotent",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Effect {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let all = [Self::ReadOnly, Self::Transactional, Self::Idempotent, Self::Reconcilable, Self::NonIdempotent];
        all.into_iter().find(|effect| effect.as_str() == text).ok_or_else(|| {
            Error::new(ErrorKind::Invalid, "unknown effect class")
                .with("value", text.chars().take(40).collect::<String>())
                .hint("allowed: read_only, transactional, idempotent, reconcilable, non_idempotent")
        })
    }
}

/// What a call gets whose key is in use by a running call.
///
/// ```
/// use stanchion_core::InFlight;
/// assert_eq!(InFlight::default(), InFlight::Reject);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InFlight {
    /// `InProgress` at once.
    #[default]
    Reject,
    /// The answer, if it comes within this time; else `InProgress`.
    Wait(Duration),
    /// The answer, however long it takes.
    Attach,
}

/// How keyed calls of a tool are remembered. The default suits a tool of which nothing is known.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::{Effect, InFlight, Policy};
/// let policy = Policy::default()
///     .effect(Effect::Idempotent)
///     .in_flight(InFlight::Wait(Duration::from_secs(5)))
///     .keep(Duration::from_secs(3600), Duration::from_secs(7200))?;
/// assert_eq!(policy.key_ttl(), Duration::from_secs(7200));
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    pub(crate) effect: Effect,
    pub(crate) in_flight: InFlight,
    pub(crate) lease: Duration,
    pub(crate) response_ttl: Duration,
    pub(crate) key_ttl: Duration,
    pub(crate) suspended_ttl: Duration,
    pub(crate) response_cap: usize,
    pub(crate) attempts: u64,
    pub(crate) allow_weak: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            effect: Effect::default(),
            in_flight: InFlight::default(),
            lease: Duration::from_secs(30),
            response_ttl: 24 * HOUR,
            key_ttl: 72 * HOUR,
            suspended_ttl: HOUR,
            response_cap: 1 << 20,
            attempts: u64::MAX,
            allow_weak: false,
        }
    }
}

impl Policy {
    /// Sets the effect class.
    ///
    /// ```
    /// # use stanchion_core::{Effect, Policy};
    /// assert_eq!(Policy::default().effect(Effect::ReadOnly).effect_class(), Effect::ReadOnly);
    /// ```
    #[must_use]
    pub const fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// The effect class.
    ///
    /// ```
    /// # use stanchion_core::{Effect, Policy};
    /// assert_eq!(Policy::default().effect_class(), Effect::NonIdempotent);
    /// ```
    #[must_use]
    pub const fn effect_class(&self) -> Effect {
        self.effect
    }

    /// Sets what a repetition gets while the first call runs.
    ///
    /// ```
    /// # use stanchion_core::{InFlight, Policy};
    /// let _policy = Policy::default().in_flight(InFlight::Attach);
    /// ```
    #[must_use]
    pub const fn in_flight(mut self, in_flight: InFlight) -> Self {
        self.in_flight = in_flight;
        self
    }

    /// Sets how long a silent owner is believed to live; 30 s unless set. It is renewed at a third of it.
    ///
    /// # If it fails
    /// `Invalid` outside 50 ms to 24 h.
    ///
    /// ```
    /// # use stanchion_core::Policy;
    /// assert!(Policy::default().lease(std::time::Duration::ZERO).is_err());
    /// ```
    pub fn lease(mut self, lease: Duration) -> Result<Self> {
        if lease < TTL_RANGE.0 || lease > TTL_RANGE.1 {
            return Err(Error::new(ErrorKind::Invalid, "the lease of a claim is out of range")
                .with("lease", format_args!("{lease:?}"))
                .hint("allowed: 50ms to 24h"));
        }
        self.lease = lease;
        Ok(self)
    }

    /// Sets how long the answer is kept (24 h unless set), and how long the key is known (72 h). In between, a repetition
    /// is told that the call was made, but not its answer.
    ///
    /// # If it fails
    /// `Invalid` unless 1 ms <= answer <= key <= 366 days.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::Policy;
    /// assert!(Policy::default().keep(Duration::from_secs(2), Duration::from_secs(1)).is_err());
    /// ```
    pub fn keep(mut self, response: Duration, key: Duration) -> Result<Self> {
        if response < Duration::from_millis(1) || response > key || key > KEEP_MOST {
            return Err(Error::new(ErrorKind::Invalid, "these times to keep answer and key are not allowed")
                .with("answer", format_args!("{response:?}"))
                .with("key", format_args!("{key:?}"))
                .hint("1ms <= answer <= key <= 366 days"));
        }
        (self.response_ttl, self.key_ttl) = (response, key);
        Ok(self)
    }

    /// How long a key is known.
    ///
    /// ```
    /// assert_eq!(stanchion_core::Policy::default().key_ttl().as_secs(), 72 * 3600);
    /// ```
    #[must_use]
    pub const fn key_ttl(&self) -> Duration {
        self.key_ttl
    }

    /// How long the answer and the key of a call are remembered. What is left of a derived key lives a lease longer than its
    /// window, for callers that waited for its answer.
    pub(crate) fn keep_of(&self, key: &CallKey) -> Keep {
        match key.window() {
            None => Keep { answer: self.response_ttl, key: self.key_ttl },
            Some(window) => Keep { answer: window, key: window + self.lease + Duration::from_secs(1) },
        }
    }

    /// Is the key, by its own time, so old that its record may be gone? Clocks may be two hours apart.
    ///
    /// ```
    /// use stanchion_core::{CallKey, Policy};
    /// let (key, hour) = (CallKey::new("k")?.first_sent(0), 3_600_000);
    /// assert!(!Policy::default().is_expired(&key, 69 * hour));
    /// assert!(Policy::default().is_expired(&key, 70 * hour));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn is_expired(&self, key: &CallKey, now_ms: u64) -> bool {
        let limit = self.key_ttl.saturating_sub(SKEW.min(self.key_ttl / 2)).as_millis();
        key.sent_at().is_some_and(|sent| u128::from(now_ms.saturating_sub(sent)) >= limit)
    }

    /// What is kept of an answer: all of it, or length and digest of a body that is too large.
    ///
    /// ```
    /// use stanchion_core::{Policy, claim::Response};
    /// let policy = Policy::default().response_cap(3)?;
    /// assert!(policy.kept_of(Response::new("", "paid")).bytes().is_none());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn kept_of(&self, response: Response) -> Response {
        response.capped(self.response_cap)
    }

    /// Sets how long a call that asked for input waits for it, at most 366 days; 1 h unless set. After that its outcome is
    /// unknown.
    ///
    /// ```
    /// # use stanchion_core::Policy;
    /// let _policy = Policy::default().keep_suspended(std::time::Duration::from_secs(60));
    /// ```
    #[must_use]
    pub fn keep_suspended(mut self, ttl: Duration) -> Self {
        self.suspended_ttl = ttl.min(KEEP_MOST);
        self
    }

    /// Sets the largest answer that is kept; 1 MiB unless set. Of a larger one, length and digest are kept, and the
    /// call is not run again.
    ///
    /// # If it fails
    /// `Invalid` above 15 MiB.
    ///
    /// ```
    /// assert!(stanchion_core::Policy::default().response_cap(64 << 20).is_err());
    /// ```
    pub fn response_cap(mut self, bytes: usize) -> Result<Self> {
        if bytes > RESPONSE_MOST {
            return Err(Error::new(ErrorKind::Invalid, "answers of this size cannot be kept")
                .with("bytes", bytes)
                .hint("allowed: 0 to 15 MiB"));
        }
        self.response_cap = bytes;
        Ok(self)
    }

    /// Sets how often a call that had no effect may be tried under one key, at least once; without limit unless set.
    ///
    /// ```
    /// # use stanchion_core::Policy;
    /// let _policy = Policy::default().attempts(3);
    /// ```
    #[must_use]
    pub fn attempts(mut self, most: u64) -> Self {
        self.attempts = most.max(1);
        self
    }

    /// Accepts a store that can forget, for calls which must not be repeated.
    ///
    /// ```
    /// # use stanchion_core::Policy;
    /// let _policy = Policy::default().allow_weak();
    /// ```
    #[must_use]
    pub const fn allow_weak(mut self) -> Self {
        self.allow_weak = true;
        self
    }
}
