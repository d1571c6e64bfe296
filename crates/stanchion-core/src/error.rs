//! One error type. Its [`ErrorKind`] answers the caller's first question: did anything run?

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use crate::lock::Holder;

/// The result of everything in Stanchion.
///
/// ```
/// let key: stanchion_core::Result<_> = stanchion_core::Key::new("deploy");
/// assert!(key.is_ok());
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whether the refused operation can have had an effect.
///
/// ```
/// use stanchion_core::{ErrorKind, Ran};
/// assert_eq!(ErrorKind::Contended.ran(), Ran::No);
/// assert_eq!(ErrorKind::OutcomeUnknown.ran(), Ran::Maybe);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// Certain: nothing happened. Trying again is safe.
    No,
    /// It may have happened. Look before trying again.
    Maybe,
}

/// What went wrong, by what the caller should do next.
///
/// ```
/// use stanchion_core::ErrorKind;
/// assert_eq!(ErrorKind::FenceRejected.to_string(), "fence rejected");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Somebody else holds the lock. Nothing ran; come back later.
    Contended,
    /// We held the lease and lost it. The guarded work may have run.
    LeaseLost,
    /// A newer holder has touched the resource. This write did not happen.
    FenceRejected,
    /// The record is not what the condition says. This write did not happen; read again.
    Conflict,
    /// Waiting would dead-lock (own lock, or a cycle inside one `LockScope`). Nothing ran.
    Deadlock,
    /// Another call with the same idempotency key is running. Nothing ran; ask again with the same key.
    InProgress,
    /// The idempotency key was used with another payload. Nothing ran; use a new key for a new call.
    KeyReused,
    /// The idempotency key is older than what is remembered. Nothing ran now; it may have run long ago.
    KeyExpired,
    /// A rate, a number of calls or a circuit breaker stands before it. Nothing ran; come back later.
    Limited,
    /// The engine could not be reached, and nothing was sent.
    Unavailable,
    /// The request was sent and its answer is lost. It may have run; read before trying again.
    OutcomeUnknown,
    /// The engine refused our credentials or our rights. Nothing ran.
    Denied,
    /// The backend cannot do this at all. Nothing ran.
    Unsupported,
    /// The input is outside the allowed range. Nothing ran.
    Invalid,
    /// Stored data is damaged. Nothing was changed.
    Damaged,
    /// A bug or an answer nobody expected. It may have run.
    Unexpected,
}

impl ErrorKind {
    /// Did anything run?
    ///
    /// ```
    /// use stanchion_core::{ErrorKind, Ran};
    /// assert_eq!(ErrorKind::LeaseLost.ran(), Ran::Maybe);
    /// ```
    #[must_use]
    pub const fn ran(self) -> Ran {
        match self {
            Self::LeaseLost | Self::OutcomeUnknown | Self::Unexpected => Ran::Maybe,
            Self::Contended
            | Self::FenceRejected
            | Self::Conflict
            | Self::Deadlock
            | Self::InProgress
            | Self::KeyReused
            | Self::KeyExpired
            | Self::Limited
            | Self::Unavailable
            | Self::Denied
            | Self::Unsupported
            | Self::Invalid
            | Self::Damaged => Ran::No,
        }
    }

    /// The stable name used in JSON output: `LEASE_LOST`, …
    ///
    /// ```
    /// assert_eq!(stanchion_core::ErrorKind::LeaseLost.code(), "LEASE_LOST");
    /// ```
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Contended => "CONTENDED",
            Self::LeaseLost => "LEASE_LOST",
            Self::FenceRejected => "FENCE_REJECTED",
            Self::Conflict => "CONFLICT",
            Self::Deadlock => "DEADLOCK",
            Self::InProgress => "IN_PROGRESS",
            Self::KeyReused => "KEY_REUSED",
            Self::KeyExpired => "KEY_EXPIRED",
            Self::Limited => "LIMITED",
            Self::Unavailable => "UNAVAILABLE",
            Self::OutcomeUnknown => "OUTCOME_UNKNOWN",
            Self::Denied => "DENIED",
            Self::Unsupported => "UNSUPPORTED",
            Self::Invalid => "INVALID",
            Self::Damaged => "DAMAGED",
            Self::Unexpected => "UNEXPECTED",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.code().to_ascii_lowercase().replace('_', " "))
    }
}

/// What failed, where, and what to do next.
///
/// Boxed inside, so that `Result<Grant>` stays small on the fast path.
///
/// ```
/// use stanchion_core::{Error, ErrorKind, Ran};
/// let e = Error::new(ErrorKind::Invalid, "ttl is zero").with("ttl", "0s").hint("use 50ms to 24h");
/// assert_eq!(e.kind(), ErrorKind::Invalid);
/// assert_eq!(e.ran(), Ran::No);
/// assert_eq!(e.to_string(), "ttl is zero (ttl: 0s)");
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: Cow<'static, str>,
    context: Vec<(&'static str, String)>,
    hint: Option<Cow<'static, str>>,
    holder: Option<Holder>,
    floor: Option<u64>,
    retry_after: Option<Duration>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of `kind` that says `message`.
    ///
    /// ```
    /// use stanchion_core::{Error, ErrorKind};
    /// assert_eq!(Error::new(ErrorKind::Conflict, "changed").to_string(), "changed");
    /// ```
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            context: Vec::new(),
            hint: None,
            holder: None,
            floor: None,
            retry_after: None,
            source: None,
        }))
    }

    /// Adds one named fact, shown in parentheses. Never put a secret here.
    ///
    /// ```
    /// use stanchion_core::{Error, ErrorKind};
    /// let e = Error::new(ErrorKind::Contended, "busy").with("key", "deploy");
    /// assert_eq!(e.to_string(), "busy (key: deploy)");
    /// ```
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.0.context.push((name, value.to_string()));
        self
    }

    /// Says what to do next.
    ///
    /// ```
    /// use stanchion_core::{Error, ErrorKind};
    /// let e = Error::new(ErrorKind::Denied, "no").hint("check the password");
    /// assert_eq!(e.next_step(), Some("check the password"));
    /// ```
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Keeps the error underneath.
    ///
    /// ```
    /// use std::error::Error as _;
    /// use stanchion_core::{Error, ErrorKind};
    /// let e = Error::new(ErrorKind::Unavailable, "no answer").because(std::io::Error::other("reset"));
    /// assert!(e.source().is_some());
    /// ```
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Names who holds the lock. See [`Error::holder`].
    ///
    /// ```
    /// use stanchion_core::{Error, ErrorKind, Holder, Identity};
    /// let e = Error::new(ErrorKind::Contended, "busy").held_by(Holder::new(Identity::current()));
    /// assert_eq!(e.holder().unwrap().identity.pid, std::process::id());
    /// ```
    #[must_use]
    pub fn held_by(mut self, holder: Holder) -> Self {
        self.0.holder = Some(holder);
        self
    }

    /// Carries the floor of the store that refused a token. See [`Error::floor`].
    ///
    /// ```
    /// use stanchion_core::{Error, ErrorKind};
    /// assert_eq!(Error::new(ErrorKind::FenceRejected, "stale").at_floor(7).floor(), Some(7));
    /// ```
    #[must_use]
    pub fn at_floor(mut self, floor: u64) -> Self {
        self.0.floor = Some(floor);
        self
    }

    /// Says when another try can succeed. See [`Error::retry_after`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use stanchion_core::{Error, ErrorKind};
    /// let e = Error::new(ErrorKind::Limited, "too many calls").again_in(Duration::from_secs(2));
    /// assert_eq!(e.retry_after(), Some(Duration::from_secs(2)));
    /// ```
    #[must_use]
    pub fn again_in(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// When another try can succeed, if that is known.
    ///
    /// ```
    /// use stanchion_core::{Error, ErrorKind};
    /// assert_eq!(Error::new(ErrorKind::Limited, "too many calls").retry_after(), None);
    /// ```
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// What went wrong.
    ///
    /// ```
    /// use stanchion_core::{Error, ErrorKind};
    /// assert_eq!(Error::new(ErrorKind::Damaged, "bad page").kind(), ErrorKind::Damaged);
    /// ```
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Did anything run? Shorthand for `kind().ran()`.
    ///
    /// ```
    /// use stanchion_core::{Error, ErrorKind, Ran};
    /// assert_eq!(Error::new(ErrorKind::Contended, "busy").ran(), Ran::No);
    /// ```
    #[must_use]
    pub fn ran(&self) -> Ran {
        self.0.kind.ran()
    }

    /// The next step for a person, if we know one.
    ///
    /// ```
    /// use stanchion_core::{Error, ErrorKind};
    /// assert_eq!(Error::new(ErrorKind::Contended, "busy").next_step(), None);
    /// ```
    #[must_use]
    pub fn next_step(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Who holds the lock, for [`ErrorKind::Contended`], as far as the backend can tell.
    ///
    /// ```
    /// use stanchion_core::{Error, ErrorKind};
    /// assert!(Error::new(ErrorKind::Contended, "busy").holder().is_none());
    /// ```
    #[must_use]
    pub fn holder(&self) -> Option<&Holder> {
        self.0.holder.as_ref()
    }

    /// The highest fence the refusing store has seen, for [`ErrorKind::FenceRejected`].
    /// Hand it to [`Acquire::floor`](crate::Acquire::floor), so that the next lease is above it.
    ///
    /// ```
    /// use stanchion_core::{Error, ErrorKind};
    /// assert_eq!(Error::new(ErrorKind::FenceRejected, "stale").floor(), None);
    /// ```
    #[must_use]
    pub fn floor(&self) -> Option<u64> {
        self.0.floor
    }

    /// The same for one more caller. The error underneath is told in words.
    ///
    /// ```
    /// use stanchion_core::{Error, ErrorKind};
    /// let e = Error::new(ErrorKind::Unavailable, "no answer").hint("wait").because(std::io::Error::other("reset"));
    /// let again = e.repeated();
    /// assert_eq!((again.kind(), again.to_string(), again.next_step()), (e.kind(), e.to_string(), e.next_step()));
    /// ```
    #[must_use]
    pub fn repeated(&self) -> Self {
        let Inner { kind, message, context, hint, holder, floor, retry_after, source } = &*self.0;
        let mut reasons = Vec::new();
        let mut next = source.as_deref().map(|source| source as &dyn StdError);
        while let Some(reason) = next {
            reasons.push(reason.to_string());
            next = reason.source();
        }
        Self(Box::new(Inner {
            kind: *kind,
            message: message.clone(),
            context: context.clone(),
            hint: hint.clone(),
            holder: holder.clone(),
            floor: *floor,
            retry_after: *retry_after,
            source: (!reasons.is_empty()).then(|| reasons.join(": ").into()),
        }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        for (i, (name, value)) in self.0.context.iter().enumerate() {
            write!(f, "{}{name}: {value}", if i == 0 { " (" } else { ", " })?;
        }
        if !self.0.context.is_empty() {
            f.write_str(")")?;
        }
        if let Some(holder) = &self.0.holder {
            write!(f, "; {holder}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.to_string())
            .field("source", &self.0.source)
            .finish_non_exhaustive()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|e| e as _)
    }
}
