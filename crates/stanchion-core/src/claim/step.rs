//! Every transition of a claim, in one table. Each becomes one compare-and-swap in the store.

use std::fmt;
use std::time::Duration;

use super::{Attempt, Before, Claim, Gone, NOTES_MAX, Note, Outcome, Response, State};
use crate::planted;

/// Something that happened to a claim.
///
/// ```
/// use stanchion_core::{Owner, claim::{Attempt, Event}};
/// let by = Attempt { epoch: 1, owner: Owner::random() };
/// assert_ne!(Event::Dispatch { by }, Event::Lapse);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The owner is about to send (T3). Durable before the first byte leaves.
    Dispatch {
        /// Who.
        by: Attempt,
    },
    /// The owner still lives.
    Beat {
        /// Who.
        by: Attempt,
    },
    /// The tool answered (T5), perhaps late.
    Finish {
        /// Who.
        by: Attempt,
        /// Success or failure.
        outcome: Outcome,
        /// The answer.
        response: Response,
        /// How long it is kept.
        keep: Duration,
    },
    /// It certainly had no effect (T4, T6).
    NoEffect {
        /// Who.
        by: Attempt,
        /// What the tool said.
        response: Option<Response>,
    },
    /// The tool asked for input.
    Suspend {
        /// Who.
        by: Attempt,
        /// What it asked.
        response: Response,
        /// How long it waits.
        keep: Duration,
    },
    /// The owner cannot tell whether it had an effect (T7).
    Doubt {
        /// Who.
        by: Attempt,
        /// Why.
        reason: String,
    },
    /// It stood unchanged for too long, by the store's clock (T8, T12).
    Lapse,
    /// Evidence came from elsewhere (T10).
    Settle {
        /// What is true.
        verdict: Verdict,
        /// Who says so, and why.
        note: Note,
    },
}

/// What is true of a call whose outcome was unknown.
///
/// ```
/// use stanchion_core::claim::{Gone, Verdict};
/// assert_eq!(Verdict::NotExecuted { gone: Gone::Exited }, Verdict::NotExecuted { gone: Gone::Exited });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It ran, with this answer.
    Done {
        /// Success or failure.
        outcome: Outcome,
        /// The answer.
        response: Response,
        /// How long it is kept.
        keep: Duration,
    },
    /// It did not run, **and will not**: its owner is gone. Without that proof, a paused owner could run it after us.
    NotExecuted {
        /// The proof.
        gone: Gone,
    },
}

/// Why an event does not apply.
///
/// ```
/// use stanchion_core::claim::Refused;
/// assert_eq!(Refused::Stale.to_string(), "another attempt has taken over, or the call is settled");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The attempt is not the current one, or its call is settled.
    Stale,
    /// Nothing to do in this state.
    NotNow,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stale => "another attempt has taken over, or the call is settled",
            Self::NotNow => "this cannot happen in the claim's present state",
        })
    }
}

impl Claim {
    /// The claim after `event`, to be written if the record is still the one it was read from.
    ///
    /// # If it fails
    /// [`Refused`]: nothing is to be written.
    ///
    /// ```
    /// use stanchion_core::{CallKey, Fingerprint, Scope};
    /// use stanchion_core::claim::{Asked, Event, Refused, Wish, ask};
    /// let wish = Wish::new(Scope::new("alice", "billing", "send")?, CallKey::new("order-77")?, Fingerprint::of_bytes(b""));
    /// let Asked::Claim(claim) = ask(None, false, &wish) else { panic!("the key is free") };
    /// let doubt = Event::Doubt { by: claim.attempt, reason: "timeout".into() };
    /// assert_eq!(claim.step(doubt).unwrap_err(), Refused::NotNow, "nothing was sent yet");
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn step(&self, event: Event) -> Result<Self, Refused> {
        use State::{Claimed, Dispatched, Done, Retryable, Suspended, Tombstone, Unknown};
        if event.by().is_some_and(|by| by != self.attempt) && !planted!("stale-attempt-writes") {
            return Err(Refused::Stale);
        }
        let mut notes = self.notes.clone();
        let state = match (&self.state, event) {
            // T3
            (Claimed { lease }, Event::Dispatch { .. }) => Dispatched { lease: *lease },
            (Claimed { .. } | Dispatched { .. }, Event::Beat { .. }) => self.state.clone(),
            // T5: also late, from UNKNOWN: evidence is evidence.
            (Dispatched { .. } | Unknown { .. }, Event::Finish { outcome, response, keep, .. }) => {
                Done { outcome, response, keep }
            }
            // T4, T6
            (Claimed { .. } | Dispatched { .. } | Unknown { .. }, Event::NoEffect { response, .. }) => {
                return Ok(self.without_effect(response));
            }
            // Nothing was sent, and something ran before: as with `NoEffect`. If nothing did, it may be taken over (T2).
            (Claimed { .. }, Event::Lapse) if self.before != Before::Nothing => return Ok(self.without_effect(None)),
            (Dispatched { .. } | Unknown { .. }, Event::Suspend { response, keep, .. }) => Suspended { response, keep },
            // T7
            (Dispatched { .. }, Event::Doubt { reason, .. }) => Unknown { reason },
            // T8
            (Dispatched { lease }, Event::Lapse) => Unknown {
                reason: format!("nothing was heard of {} pid {} for {lease:?}", self.runner.host, self.runner.pid),
            },
            (Suspended { keep, .. }, Event::Lapse) => {
                Unknown { reason: format!("the tool asked for input, and none came for {keep:?}") }
            }
            // T12
            (Done { outcome, response, .. }, Event::Lapse) => {
                Tombstone { outcome: *outcome, response: response.without_body() }
            }
            // T10
            (Unknown { .. }, Event::Settle { verdict, note }) => {
                if notes.len() >= NOTES_MAX {
                    notes.remove(0);
                }
                notes.push(note);
                match verdict {
                    Verdict::Done { outcome, response, keep } => Done { outcome, response, keep },
                    Verdict::NotExecuted { .. } => {
                        // The verdict is on the call; only rounds that were answered stand for themselves.
                        let before = if self.before == Before::Unknown { Before::Nothing } else { self.before.clone() };
                        return Ok(Self { before, notes, ..self.clone() }.without_effect(None));
                    }
                }
            }
            (Done { .. } | Tombstone { .. } | Retryable { .. } | Suspended { .. }, event) if event.by().is_some() => {
                return Err(Refused::Stale);
            }
            _ => return Err(Refused::NotNow),
        };
        let before = match (&self.state, &state) {
            // The attempt whose question was not answered has run: it cannot take that back.
            (Suspended { .. }, Unknown { .. }) => Before::Unknown,
            (_, Claimed { .. } | Dispatched { .. } | Unknown { .. }) => self.before.clone(),
            _ => Before::Nothing,
        };
        Ok(Self { state, notes, before, ..self.clone() })
    }

    /// The claim as if this attempt had not been made.
    fn without_effect(&self, response: Option<Response>) -> Self {
        let mut next = self.clone();
        (next.state, next.before) = match &self.before {
            Before::Nothing => {
                (next.round, next.earlier) = (None, Vec::new());
                (State::Retryable { response }, Before::Nothing)
            }
            // It stays so, however often this attempt says that it had none.
            Before::Unknown => {
                (State::Unknown { reason: "an earlier attempt may have run".to_owned() }, Before::Unknown)
            }
            Before::Suspended { response, keep } => {
                next.round = next.earlier.pop();
                (State::Suspended { response: response.clone(), keep: *keep }, Before::Nothing)
            }
        };
        next
    }
}

impl Event {
    /// The attempt that reports it; `None` for those that anyone may report.
    const fn by(&self) -> Option<Attempt> {
        match self {
            Self::Dispatch { by }
            | Self::Beat { by }
            | Self::Finish { by, .. }
            | Self::NoEffect { by, .. }
            | Self::Suspend { by, .. }
            | Self::Doubt { by, .. } => Some(*by),
            Self::Lapse | Self::Settle { .. } => None,
        }
    }
}
