//! The claim: what the store remembers of a keyed call, and how it may change.

mod ask;
mod codec;
mod response;
mod runner;
mod step;

use std::sync::Arc;
use std::time::Duration;

use crate::{CallKey, ClaimId, Effect, Fingerprint, Owner, Scope};

pub use self::ask::{Asked, Wish, ask};
pub use self::response::{Body, Outcome, Response};
pub use self::runner::{Gone, Runner};
pub use self::step::{Event, Refused, Verdict};

/// How many notes a claim keeps: the newest.
const NOTES_MAX: usize = 16;

/// One try of a call. The owner makes it unique also when a key, long forgotten, begins anew with epoch 1.
///
/// ```
/// use stanchion_core::{Owner, claim::Attempt};
/// let first = Attempt { epoch: 1, owner: Owner::random() };
/// assert_ne!(first, Attempt { epoch: 1, owner: Owner::random() });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// The claim's fence: grows with every attempt.
    pub epoch: u64,
    /// 128 random bits.
    pub owner: Owner,
}

/// Where a call is. ABSENT is no record at all.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::claim::State;
/// let lease = Duration::from_secs(30);
/// assert!(State::Dispatched { lease }.is_open());
/// assert!(!State::Retryable { response: None }.is_open());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum State {
    /// Reserved; nothing was sent. Whoever finds the lease over may take it.
    Claimed {
        /// How long it stands without a sign of its owner.
        lease: Duration,
    },
    /// May have been sent. Whoever finds the lease over turns it into UNKNOWN, never into another run.
    Dispatched {
        /// How long it stands without a sign of its owner.
        lease: Duration,
    },
    /// The tool asked for input, and the caller has to go on.
    Suspended {
        /// What the tool asked.
        response: Response,
        /// How long it waits.
        keep: Duration,
    },
    /// It ran, and this is its answer, for ever.
    Done {
        /// Success or failure.
        outcome: Outcome,
        /// The answer.
        response: Response,
        /// How long the answer is kept.
        keep: Duration,
    },
    /// It certainly had no effect: the next call may try.
    Retryable {
        /// What the tool said, if it was asked.
        response: Option<Response>,
    },
    /// It may have run.
    Unknown {
        /// Why we do not know.
        reason: String,
    },
    /// It ran; its answer is no longer kept.
    Tombstone {
        /// Success or failure.
        outcome: Outcome,
        /// What is left of the answer.
        response: Response,
    },
}

impl State {
    /// The name in listings.
    ///
    /// ```
    /// # use stanchion_core::claim::State;
    /// assert_eq!(State::Unknown { reason: String::new() }.name(), "unknown");
    /// ```
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Claimed { .. } => "claimed",
            Self::Dispatched { .. } => "dispatched",
            Self::Suspended { .. } => "suspended",
            Self::Done { .. } => "done",
            Self::Retryable { .. } => "retryable",
            Self::Unknown { .. } => "unknown",
            Self::Tombstone { .. } => "tombstone",
        }
    }

    /// Is its end still to come? Such a record never expires by itself.
    ///
    /// ```
    /// # use stanchion_core::claim::State;
    /// assert!(State::Unknown { reason: String::new() }.is_open());
    /// ```
    #[must_use]
    pub const fn is_open(&self) -> bool {
        match self {
            Self::Claimed { .. } | Self::Dispatched { .. } | Self::Suspended { .. } | Self::Unknown { .. } => true,
            Self::Done { .. } | Self::Retryable { .. } | Self::Tombstone { .. } => false,
        }
    }

    /// After how long without a change it lapses.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::claim::State;
    /// let lease = Duration::from_secs(30);
    /// assert_eq!(State::Claimed { lease }.lapses_after(), Some(lease));
    /// ```
    #[must_use]
    pub const fn lapses_after(&self) -> Option<Duration> {
        match self {
            Self::Claimed { lease } | Self::Dispatched { lease } => Some(*lease),
            Self::Suspended { keep, .. } | Self::Done { keep, .. } => Some(*keep),
            Self::Retryable { .. } | Self::Unknown { .. } | Self::Tombstone { .. } => None,
        }
    }
}

/// What was true of a call before its present attempt. An attempt that had no effect changes nothing about it.
///
/// ```
/// use stanchion_core::claim::Before;
/// assert_eq!(Before::default(), Before::Nothing);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Before {
    /// Nothing had run.
    #[default]
    Nothing,
    /// It may have run (T9).
    Unknown,
    /// An earlier round had run, and asked for input.
    Suspended {
        /// What the tool asked.
        response: Response,
        /// How long it waits.
        keep: Duration,
    },
}

/// How long a claim is remembered once it is settled. It belongs to the claim: whoever sweeps or settles keeps to it.
///
/// ```
/// use stanchion_core::claim::Keep;
/// assert!(Keep::default().answer < Keep::default().key);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Keep {
    /// The answer.
    pub answer: Duration,
    /// The key.
    pub key: Duration,
}

impl Default for Keep {
    fn default() -> Self {
        let hour = Duration::from_secs(60 * 60);
        Self { answer: 24 * hour, key: 72 * hour }
    }
}

/// What was done to a claim by hand or by a reconciler.
///
/// ```
/// use stanchion_core::claim::Note;
/// let note = Note { at_ms: 0, by: "ann".into(), text: "paid, see the bank".into() };
/// assert_eq!(note.by, "ann");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Note {
    /// Wall clock, for people.
    pub at_ms: u64,
    /// Who.
    pub by: String,
    /// What and why.
    pub text: String,
}

/// A reservation of a key, and what became of it.
///
/// ```
/// use stanchion_core::{CallKey, Effect, Fingerprint, Owner, Scope};
/// use stanchion_core::claim::{Asked, Event, Wish, ask};
/// let wish = Wish::new(Scope::new("alice", "billing", "send")?, CallKey::new("order-77")?, Fingerprint::of_bytes(b""));
/// let Asked::Claim(claim) = ask(None, false, &wish) else { panic!("the key is free") };
/// let sent = claim.step(Event::Dispatch { by: claim.attempt }).unwrap();
/// assert_eq!(sent.state.name(), "dispatched");
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Claim {
    /// Who called what.
    pub scope: Scope,
    /// Under which key.
    pub key: CallKey,
    /// What was asked.
    pub fingerprint: Fingerprint,
    /// How it may be repeated.
    pub effect: Effect,
    /// The last attempt.
    pub attempt: Attempt,
    /// Which round of a call that asks for input this is.
    pub round: Option<Fingerprint>,
    /// The rounds before this one, without the first: none of them runs again.
    pub earlier: Vec<Fingerprint>,
    /// What holds again if this attempt has no effect.
    pub before: Before,
    /// The process of the last attempt.
    pub runner: Arc<Runner>,
    /// How long it is remembered once it is settled.
    pub keep: Keep,
    /// When the key was first seen: wall clock, for people.
    pub first_seen_ms: u64,
    /// Where it is.
    pub state: State,
    /// What was done to it by hand.
    pub notes: Vec<Note>,
}

impl Claim {
    /// How long it may stand unchanged: what its state says; and of a derived key whose outcome is unknown, its window, because
    /// nobody chose that key, and the next such call is meant to be another one.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{CallKey, Fingerprint, Scope, claim::{Asked, State, Wish, ask}};
    /// let (asked, window) = (Fingerprint::of_bytes(b""), Duration::from_secs(2));
    /// let wish = Wish::new(Scope::new("a", "b", "c")?, CallKey::derived(asked, window)?, asked);
    /// let Asked::Claim(mut claim) = ask(None, false, &wish) else { panic!("the key is free") };
    /// claim.state = State::Unknown { reason: "the server died".into() };
    /// assert_eq!(claim.lapses_after(), Some(window));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn lapses_after(&self) -> Option<Duration> {
        match self.state {
            State::Unknown { .. } => self.key.window(),
            _ => self.state.lapses_after(),
        }
    }

    /// Its name.
    ///
    /// ```
    /// # use stanchion_core::{CallKey, Fingerprint, Scope, ClaimId};
    /// # use stanchion_core::claim::{Asked, Wish, ask};
    /// # let (scope, key) = (Scope::new("a", "b", "c")?, CallKey::new("k")?);
    /// # let Asked::Claim(claim) = ask(None, false, &Wish::new(scope.clone(), key.clone(), Fingerprint::of_bytes(b""))) else { panic!() };
    /// assert_eq!(claim.id(), ClaimId::of(&scope, &key));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> ClaimId {
        ClaimId::of(&self.scope, &self.key)
    }

    /// When its record may disappear: an open claim never does.
    ///
    /// ```
    /// # use stanchion_core::{CallKey, Fingerprint, Scope};
    /// # use stanchion_core::claim::{Asked, Wish, ask};
    /// # let (scope, key) = (Scope::new("a", "b", "c")?, CallKey::new("k")?);
    /// # let Asked::Claim(claim) = ask(None, false, &Wish::new(scope, key, Fingerprint::of_bytes(b""))) else { panic!() };
    /// assert_eq!(claim.ttl(), None, "it may be running");
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn ttl(&self) -> Option<Duration> {
        (!self.state.is_open()).then_some(self.keep.key)
    }
}
