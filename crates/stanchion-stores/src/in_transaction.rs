//! A claim inside the caller's own transaction: what PostgreSQL and SQLite have in common.
//!
//! The claim, the caller's writes and DONE become visible together or not at all, so there is nothing between them that
//! a crash could leave behind. DISPATCHED is written all the same: whoever commits without saying what came of the call
//! leaves a claim that becomes UNKNOWN, and not a key that is free while its effect stands.

use std::time::Duration;

use bytes::Bytes;
use stanchion_core::claim::{Asked, Claim, Event, Outcome, Response, Wish, ask};
use stanchion_core::{Call, ClaimId, Effect, Error, ErrorKind, Key, Policy, Record, Result};

/// Whether the caller of a transactional call has to do its work.
///
/// ```
/// use stanchion_core::claim::{Outcome, Response};
/// use stanchion_stores::InTransaction;
/// let known: InTransaction<()> = InTransaction::Answer(Outcome::Ok, Response::new("", "paid"));
/// assert!(matches!(known, InTransaction::Answer(Outcome::Ok, _)));
/// ```
#[derive(Debug)]
#[must_use = "it says whether to do the work"]
pub enum InTransaction<C> {
    /// The key is ours: write, then say `done` to this claim, then commit.
    Run(C),
    /// An earlier call was answered like this. Write nothing. A body that was too large or is no longer kept is missing.
    Answer(Outcome, Response),
}

/// A call that wants its key.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) id: ClaimId,
    pub(crate) key: Key,
    wish: Wish,
    /// So old that its record may be gone: it runs under no circumstances.
    pub(crate) old: bool,
}

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Decided {
    /// Write this claim; if that succeeds, the caller may work.
    Run(Box<Claim>),
    Answer(Outcome, Response),
}

impl Wanted {
    pub(crate) fn new(call: &Call) -> Result<Self> {
        let Some(mut wish) = call.wish(wall_ms()) else {
            return Err(Error::new(ErrorKind::Invalid, "a call without a key cannot be claimed")
                .with("call", &call.scope)
                .hint("set one with Call::key; without a key no claim is needed"));
        };
        // Whatever the policy says of the tool elsewhere: this attempt cannot leave half of itself behind.
        wish.effect = Effect::Transactional;
        let old = call.policy.is_expired(&wish.key, wish.now_ms);
        let id = ClaimId::of(&call.scope, &wish.key);
        Ok(Self { id, key: id.record_key(), wish, old })
    }

    /// Given what stands there. What it allows is written only if that has not changed.
    ///
    /// # If it fails
    /// Nothing is to be written, and nothing ran under this key now.
    pub(crate) fn decide(&self, found: Option<&Record>) -> Result<Decided> {
        let mut claim = found.map(|record| self.read(record)).transpose()?;
        if claim.is_none() && self.old {
            return Err(Error::new(
                ErrorKind::KeyExpired,
                "this key is older than what is remembered, so it is not run",
            )
            .with("receipt", self.id)
            .hint("look whether the call was made; a new call needs a new key"));
        }
        let age = found.and_then(|record| record.times).map(stanchion_core::Times::age).unwrap_or_default();
        let limit = claim.as_ref().and_then(|claim| claim.state.lapses_after());
        let mut asked = ask(claim.as_ref(), limit.is_some_and(|limit| age > limit), &self.wish);
        if let Asked::Settle(next) = asked {
            // Not written: it would be undone with the transaction, and the next one sees the same.
            asked = ask(Some(&next), false, &self.wish);
            claim = Some(next);
        }
        match asked {
            Asked::Claim(claim) => {
                let sent = claim.step(Event::Dispatch { by: claim.attempt });
                sent.map(|claim| Decided::Run(Box::new(claim)))
                    .map_err(|why| self.error(ErrorKind::Unexpected, "a new claim cannot run").with("why", why))
            }
            Asked::Done(outcome, response) => Ok(Decided::Answer(outcome, response)),
            Asked::InFlight | Asked::Settle(_) => {
                let left = limit.unwrap_or_default().saturating_sub(age);
                let e = self
                    .error(ErrorKind::InProgress, "a call with this key is still running")
                    .hint("roll back, and ask again with the same key")
                    .again_in(left.clamp(Duration::from_millis(100), Duration::from_secs(1)));
                Err(match &claim {
                    Some(claim) => e.with("runner", format_args!("{} pid {}", claim.runner.host, claim.runner.pid)),
                    None => e,
                })
            }
            Asked::Suspended(_) => Err(self
                .error(ErrorKind::InProgress, "the call with this key asked for input, and waits for it")
                .hint("go on with that call in the way it was begun")),
            Asked::Unknown(reason) => Err(self
                .error(ErrorKind::OutcomeUnknown, "an earlier call with this key may have run; nothing ran now")
                .with("reason", reason)
                .hint("look whether it did, then settle it: stanchion claims settle RECEIPT")),
            Asked::OtherPayload => Err(self
                .error(ErrorKind::KeyReused, "this key was used for another payload")
                .hint("a new call needs a new key; a repetition must ask for the same")),
            Asked::UsedUp(_) => Err(self
                .error(ErrorKind::Limited, "the attempts of this key are used up")
                .with("attempts", self.wish.attempts)),
        }
    }

    fn read(&self, record: &Record) -> Result<Claim> {
        let claim = Claim::decode(&record.value).map_err(|e| e.with("receipt", self.id))?;
        // The key of the record says it already; an answer is too precious to rest on one digest.
        if claim.scope != self.wish.scope {
            return Err(self.error(ErrorKind::Damaged, "a claim stands under the key of another"));
        }
        Ok(claim)
    }

    pub(crate) fn error(&self, kind: ErrorKind, what: &'static str) -> Error {
        Error::new(kind, what).with("receipt", self.id)
    }
}

/// The record of a call that is done, and how long it lives.
pub(crate) fn done(claim: &Claim, policy: &Policy, outcome: Outcome, response: Response) -> Result<(Bytes, Duration)> {
    let (response, keep) = (policy.kept_of(response), claim.keep.answer);
    let event = Event::Finish { by: claim.attempt, outcome, response, keep };
    let next = claim.step(event).map_err(|why| {
        Error::new(ErrorKind::Unexpected, "a claim of this transaction cannot be finished")
            .with("receipt", claim.id())
            .with("why", why)
    })?;
    Ok((next.encode(), claim.keep.key))
}

/// The record of the claim is not the one that this transaction wrote.
pub(crate) fn not_ours(claim: &Claim) -> Error {
    Error::new(ErrorKind::Conflict, "this transaction does not hold the claim")
        .with("receipt", claim.id())
        .hint("claim, write and say done in one and the same transaction; roll this one back")
}

fn wall_ms() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "for people, and for keys that carry their time; no lease is judged by it"
    )]
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).map_or(0, |t| u64::try_from(t.as_millis()).unwrap_or(u64::MAX))
}
