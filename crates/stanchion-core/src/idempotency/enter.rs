//! The way in: claim the key, or learn what became of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::beginning::Beginning;
use super::grip::{Grip, Seen};
use super::{Claimed, Idempotency, Running};
use crate::background::Background;
use crate::claim::{Asked, Claim, Event, ask};
use crate::pause::pause_point;
use crate::{
    Acquire, Answer, Begin, Begun, Call, CallKey, ClaimId, Cond, Effect, Error, ErrorKind, Fingerprint, Grant,
    InFlight, Key, LockBackend, Policy, Record, Reply, Result, RetryPolicy, Version, planted,
};

/// What is to be done with the claim at once.
#[derive(Debug, Clone)]
pub(crate) enum Plan {
    /// No lock: mark it as sent.
    Mark,
    /// Take this lock, and mark it as sent if that succeeds.
    Lock(Arc<Acquire>),
    /// Several locks: claim only.
    Claim,
}

#[derive(Debug)]
pub(crate) enum Entered {
    /// Marked as sent: go. With the lock, if there is one.
    Run(Running, Option<Grant>),
    /// Ours, but the locks are not.
    Claimed(Claimed),
    /// Answered.
    Answer(Answer),
}

impl Idempotency {
    /// Claims the key of `call`, or answers from what is known.
    ///
    /// # If it fails
    /// Nothing was sent.
    pub(crate) async fn enter(
        &self,
        call: &Call,
        (key, fingerprint): &(CallKey, Fingerprint),
        plan: &Plan,
        locks: &Arc<dyn LockBackend>,
    ) -> Result<Entered> {
        let id = ClaimId::of(&call.scope, key);
        if let Some(reply) = self.cache.get(&id, *fingerprint) {
            return Ok(Entered::Answer(Answer::replay(reply, id)));
        }
        self.check_strength(&call.policy)?;
        let record_key = id.record_key();
        let Some(wish) = call.wish((self.wall)()) else {
            return Err(Error::new(ErrorKind::Unexpected, "a call without a key was to be claimed"));
        };
        let until = match call.policy.in_flight {
            InFlight::Wait(time) => Instant::now().checked_add(time),
            InFlight::Reject | InFlight::Attach => None,
        };
        // So old that its record may be gone: it is answered, or refused, and runs under no circumstances.
        let old = call.policy.is_expired(key, wish.now_ms);
        let mut found = if old { self.records.get(&record_key).await? } else { None };
        // Whoever waited for an answer gets it, also if its window is over by now.
        let mut waited = false;
        let mut tries = RetryPolicy::default().start();
        loop {
            let (claim, lapsed) = match &found {
                Some(record) => {
                    let claim = self.read(record, &id, call)?;
                    let lapsed = self.lapsed(&record_key, record, &claim);
                    let due = waited && claim.key.window().is_some() && !claim.state.is_open();
                    (Some(claim), lapsed && !due)
                }
                None if old => return Err(expired(id)),
                None => (None, false),
            };
            match ask(claim.as_ref(), lapsed, &wish) {
                Asked::Claim(_) if old => return Err(expired(id)),
                Asked::Claim(claim) => match self.begin(call, id, claim, found.as_ref(), plan, locks).await? {
                    Ok(entered) => return Ok(entered),
                    Err(other) => found = other,
                },
                Asked::Settle(next) => {
                    if let Some(record) = &found
                        && !super::settle::write_lapsed(self, &record_key, &next, record).await?
                        && !tries.again().await
                    {
                        return Err(Error::new(
                            ErrorKind::Unavailable,
                            "the store loses its answers; nothing was sent",
                        )
                        .with("receipt", id));
                    }
                    found = self.records.get(&record_key).await?;
                }
                Asked::InFlight => {
                    waited = true;
                    self.wait(&record_key, found.as_ref(), claim.as_ref(), call, until, id).await?;
                    found = self.records.get(&record_key).await?;
                }
                Asked::Done(outcome, response) => {
                    if let (Some(claim), Some(record)) = (&claim, &found) {
                        self.cache.put(id, claim, record.times.map(crate::Times::age).unwrap_or_default());
                    }
                    return Ok(Entered::Answer(Answer::replay((outcome, response).into(), id)));
                }
                Asked::Suspended(response) => {
                    return Ok(Entered::Answer(Answer::replay(Reply::Suspended(response), id)));
                }
                Asked::Unknown(reason) => match (claim, found) {
                    (Some(claim), Some(record))
                        if self.reconcile(&claim, &record, &call.policy).await? && tries.again().await =>
                    {
                        found = self.records.get(&record_key).await?;
                    }
                    _ => return Ok(Entered::Answer(Answer::replay(Reply::Unknown(reason), id))),
                },
                Asked::OtherPayload => {
                    return Err(Error::new(ErrorKind::KeyReused, "this key was used for another payload")
                        .with("receipt", id)
                        .hint("a new call needs a new key; a repetition must ask for the same"));
                }
                Asked::UsedUp(_) => {
                    return Err(Error::new(ErrorKind::Limited, "the attempts of this key are used up")
                        .with("attempts", call.policy.attempts)
                        .with("receipt", id));
                }
            }
        }
    }

    fn read(&self, record: &Record, id: &ClaimId, call: &Call) -> Result<Claim> {
        let claim = Claim::decode(&record.value).map_err(|e| e.with("receipt", id))?;
        // The key of the record says it already; an answer is too precious to rest on one digest.
        if claim.scope != call.scope {
            return Err(Error::new(ErrorKind::Damaged, "a claim stands under the key of another").with("receipt", id));
        }
        Ok(claim)
    }

    /// A store that can forget is not trusted with calls that must not be repeated.
    fn check_strength(&self, policy: &Policy) -> Result<()> {
        match self.records.capability().weak {
            Some(why) if policy.effect != Effect::Idempotent && !policy.allow_weak => Err(Error::new(
                ErrorKind::Unsupported,
                "this store can forget, so it is not trusted with a call that must not be repeated",
            )
            .with("store", self.records.capability().backend)
            .with("why", why)
            .hint("make the store durable, declare the tool idempotent if it is, or set allow_weak")),
            _ => Ok(()),
        }
    }

    async fn wait(
        &self,
        key: &Key,
        found: Option<&Record>,
        claim: Option<&Claim>,
        call: &Call,
        until: Option<Instant>,
        id: ClaimId,
    ) -> Result<()> {
        let (Some(record), Some(claim)) = (found, claim) else { return Ok(()) };
        let lease = claim.state.lapses_after().unwrap_or(call.policy.lease);
        let left = record.times.map_or(lease, |times| lease.saturating_sub(times.age()));
        let now = Instant::now();
        let over = match call.policy.in_flight {
            InFlight::Reject => true,
            InFlight::Wait(_) => until.is_some_and(|until| now >= until),
            InFlight::Attach => false,
        };
        if over {
            return Err(Error::new(ErrorKind::InProgress, "a call with this key is still running")
                .with("receipt", id)
                .with("runner", format_args!("{} pid {}", claim.runner.host, claim.runner.pid))
                .hint("ask again with the same key")
                .again_in(left.clamp(Duration::from_millis(100), Duration::from_secs(1))));
        }
        // A little more than the lease, so that its end is seen and not just missed.
        let wake = now + left + Duration::from_millis(2);
        self.records.changed(key, Some(record.version), until.map_or(wake, |until| until.min(wake))).await
    }

    /// T1, T2, T9, T11, fused with the lock and T3 as planned. `Err` is what was found instead.
    async fn begin(
        &self,
        call: &Call,
        id: ClaimId,
        claim: Claim,
        found: Option<&Record>,
        plan: &Plan,
        locks: &Arc<dyn LockBackend>,
    ) -> Result<Result<Entered, Option<Record>>> {
        let attempt = claim.attempt;
        let sent = claim.step(Event::Dispatch { by: attempt }).unwrap_or_else(|_| claim.clone());
        let (granted, lock) = match plan {
            Plan::Mark if planted!("sent-without-mark") => (&claim, None),
            Plan::Mark => (&sent, None),
            Plan::Lock(lock) => (&sent, Some(Arc::clone(lock))),
            Plan::Claim => (&claim, None),
        };
        let begin = Begin {
            key: id.record_key(),
            cond: found.map_or(Cond::Absent, |record| Cond::Version(record.version)),
            granted: granted.encode(),
            // Only a lock can be busy.
            busy: if lock.is_some() { claim.encode() } else { Bytes::new() },
            lock,
            owner: attempt.owner,
        };
        let grip = Box::new(Grip {
            engine: self.clone(),
            id,
            key: begin.key.clone(),
            attempt,
            policy: Arc::clone(&call.policy),
            background: Background::here(&self.clean_up),
            since: Mutex::new(self.clock.now()),
            seen: Mutex::new(Seen { claim: claim.clone(), version: Version::new(0) }),
        });
        let begun = Beginning::new(grip, begin, locks).answered().await;
        let (begun, grip) = begun.map_err(|e| match e.kind() {
            ErrorKind::OutcomeUnknown => {
                Error::new(ErrorKind::Unavailable, "the store did not answer, so nothing was sent")
                    .with("receipt", id)
                    .because(e)
            }
            _ => e,
        })?;
        Ok(match (begun, plan, grip) {
            (Begun::Found(other), ..) => Err(other),
            (Begun::Granted { version, .. }, Plan::Claim, Some(grip)) => {
                grip.see(claim, version);
                Ok(Entered::Claimed(Claimed::new(grip)))
            }
            (Begun::Granted { version, grant }, _, Some(grip)) => {
                grip.see(sent, version);
                let running = Running::new(grip);
                pause_point("claim.dispatched").await;
                Ok(Entered::Run(running, grant))
            }
            (Begun::Busy { version, .. }, _, Some(grip)) => {
                grip.see(claim, version);
                let claimed = Claimed::new(grip);
                pause_point("claim.claimed").await;
                Ok(Entered::Claimed(claimed))
            }
            (_, _, None) => return Err(Error::new(ErrorKind::Unexpected, "a beginning was answered twice")),
        })
    }
}

fn expired(id: ClaimId) -> Error {
    Error::new(ErrorKind::KeyExpired, "this key is older than what is remembered, so it is not run")
        .with("receipt", id)
        .hint("look whether the call was made; a new call needs a new key")
}
