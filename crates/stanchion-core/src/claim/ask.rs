//! What a caller with a key may do, given what the store remembers. No I/O, no clock: the whole protocol is here and in
//! `step`, so that the model checker runs the same lines as production.

use std::sync::Arc;
use std::time::Duration;

use super::{Attempt, Before, Claim, Event, Keep, Outcome, Response, Runner, State};
use crate::{CallKey, Effect, Fingerprint, Owner, Scope, planted};

/// How many rounds a call may have: each is kept, so that none runs twice.
const ROUNDS_MAX: usize = 1000;

/// A call that wants to run.
///
/// ```
/// use stanchion_core::{CallKey, Fingerprint, Scope, claim::Wish};
/// let wish = Wish::new(Scope::new("alice", "billing", "send")?, CallKey::new("order-77")?, Fingerprint::of_bytes(b""));
/// assert_eq!(wish.effect, stanchion_core::Effect::NonIdempotent);
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Wish {
    /// Who calls what.
    pub scope: Scope,
    /// Under which key.
    pub key: CallKey,
    /// What is asked.
    pub fingerprint: Fingerprint,
    /// How it may be repeated.
    pub effect: Effect,
    /// Who this attempt would be.
    pub owner: Owner,
    /// In which process.
    pub runner: Arc<Runner>,
    /// How long its silence is believed.
    pub lease: Duration,
    /// Which round of a call that asks for input.
    pub round: Option<Fingerprint>,
    /// How long it is remembered once it is settled.
    pub keep: Keep,
    /// How many attempts a key has.
    pub attempts: u64,
    /// Wall clock, for people.
    pub now_ms: u64,
}

impl Wish {
    /// A wish of this process with the default policy.
    ///
    /// ```
    /// # use stanchion_core::{CallKey, Effect, Fingerprint, Scope, claim::Wish};
    /// # let (scope, key) = (Scope::new("a", "b", "c")?, CallKey::new("k")?);
    /// assert_eq!(Wish::new(scope, key, Fingerprint::of_bytes(b"")).effect, Effect::NonIdempotent);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn new(scope: Scope, key: CallKey, fingerprint: Fingerprint) -> Self {
        Self {
            scope,
            key,
            fingerprint,
            effect: Effect::default(),
            owner: Owner::random(),
            runner: Runner::current(),
            lease: Duration::from_secs(30),
            round: None,
            keep: Keep::default(),
            attempts: u64::MAX,
            now_ms: 0,
        }
    }

    /// The reservation that follows `before`.
    fn claim(&self, before: Option<&Claim>) -> Claim {
        let (mut earlier, mut past) = (Vec::new(), Before::Nothing);
        if let Some(claim) = before {
            earlier.clone_from(&claim.earlier);
            past = match &claim.state {
                State::Suspended { response, keep } => {
                    earlier.extend(claim.round);
                    Before::Suspended { response: response.clone(), keep: *keep }
                }
                State::Unknown { .. } => Before::Unknown,
                _ => claim.before.clone(),
            };
        }
        Claim {
            earlier,
            before: past,
            scope: self.scope.clone(),
            key: self.key.clone(),
            fingerprint: self.fingerprint,
            effect: self.effect,
            attempt: Attempt {
                epoch: before.map_or(1, |claim| claim.attempt.epoch.saturating_add(1)),
                owner: self.owner,
            },
            round: self.round.or(before.and_then(|claim| claim.round)),
            runner: Arc::clone(&self.runner),
            keep: self.keep,
            first_seen_ms: before.map_or(self.now_ms, |claim| claim.first_seen_ms),
            state: State::Claimed { lease: self.lease },
            notes: before.map(|claim| claim.notes.clone()).unwrap_or_default(),
        }
    }
}

/// What to do next. Writes are compare-and-swap on what was found.
///
/// ```
/// use stanchion_core::{CallKey, Fingerprint, Scope};
/// use stanchion_core::claim::{Asked, Wish, ask};
/// let wish = Wish::new(Scope::new("alice", "billing", "send")?, CallKey::new("order-77")?, Fingerprint::of_bytes(b"1"));
/// let Asked::Claim(claim) = ask(None, false, &wish) else { panic!("the key is free") };
/// let mut other = wish.clone();
/// other.fingerprint = Fingerprint::of_bytes(b"2");
/// assert_eq!(ask(Some(&claim), false, &other), Asked::OtherPayload);
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// The key is ours if this is written (T1, T2, T9, T11, or the next round of a suspended call).
    Claim(Claim),
    /// Write this and ask again (T8, T12).
    Settle(Claim),
    /// Another attempt runs.
    InFlight,
    /// It was answered: with success or failure.
    Done(Outcome, Response),
    /// It asks for input.
    Suspended(Response),
    /// It may have run.
    Unknown(String),
    /// The key stands for another payload.
    OtherPayload,
    /// It had no effect so often that we stop.
    UsedUp(Option<Response>),
}

/// What may `wish` do, given what was `found`? `lapsed`: the found record stood unchanged for longer than
/// [`Claim::lapses_after`] says, by the store's clock.
///
/// ```
/// use stanchion_core::{CallKey, Fingerprint, Scope};
/// use stanchion_core::claim::{Asked, Wish, ask};
/// let wish = Wish::new(Scope::new("alice", "billing", "send")?, CallKey::new("order-77")?, Fingerprint::of_bytes(b""));
/// let Asked::Claim(claim) = ask(None, false, &wish) else { panic!("the key is free") };
/// assert_eq!(ask(Some(&claim), false, &wish), Asked::InFlight);
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[must_use]
pub fn ask(found: Option<&Claim>, lapsed: bool, wish: &Wish) -> Asked {
    let Some(claim) = found else {
        return Asked::Claim(wish.claim(None));
    };
    if claim.fingerprint != wish.fingerprint && !planted!("key-without-fingerprint") {
        return Asked::OtherPayload;
    }
    // The window of a derived key is over: what is left of it is only for those who waited for it.
    let over = match claim.state {
        State::Tombstone { .. } => true,
        State::Done { .. } | State::Retryable { .. } | State::Unknown { .. } => lapsed,
        _ => false,
    };
    if over && claim.key.window().is_some() {
        let mut fresh = wish.claim(None);
        fresh.attempt.epoch = claim.attempt.epoch.saturating_add(1);
        return Asked::Claim(fresh);
    }
    if lapsed && planted!("lease-expiry-re-executes") && matches!(claim.state, State::Dispatched { .. }) {
        return Asked::Claim(wish.claim(found));
    }
    if lapsed && let Ok(next) = claim.step(Event::Lapse) {
        return Asked::Settle(next);
    }
    match &claim.state {
        State::Claimed { .. } if lapsed => Asked::Claim(wish.claim(found)),
        State::Claimed { .. } | State::Dispatched { .. } => Asked::InFlight,
        State::Suspended { response, .. } => match wish.round {
            Some(round) if claim.round == Some(round) || claim.earlier.contains(&round) => {
                Asked::Suspended(response.clone())
            }
            Some(_) if claim.earlier.len() >= ROUNDS_MAX => Asked::UsedUp(Some(response.clone())),
            Some(_) => Asked::Claim(wish.claim(found)),
            None => Asked::Suspended(response.clone()),
        },
        State::Done { outcome, response, .. } | State::Tombstone { outcome, response } => {
            Asked::Done(*outcome, response.clone())
        }
        State::Retryable { response } if claim.attempt.epoch >= wish.attempts => Asked::UsedUp(response.clone()),
        State::Retryable { .. } => Asked::Claim(wish.claim(found)),
        // Both must say so: what ran then, and what is allowed now.
        State::Unknown { .. } if claim.effect == Effect::Idempotent && wish.effect == Effect::Idempotent => {
            Asked::Claim(wish.claim(found))
        }
        State::Unknown { reason } => Asked::Unknown(reason.clone()),
    }
}
