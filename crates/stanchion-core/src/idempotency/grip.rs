//! What one attempt has in hand: its claim, and the version of the record it stands in.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use super::Idempotency;
use crate::background::Background;
use crate::claim::{Attempt, Claim, Event, Refused};
use crate::{BootTime, ClaimId, Cond, Error, ErrorKind, Finish, Finished, Grant, Key, Policy, Record, Result, Version};

#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) claim: Claim,
    pub(super) version: Version,
}

#[derive(Debug)]
pub(super) struct Grip {
    pub(super) engine: Idempotency,
    pub(super) id: ClaimId,
    pub(super) key: Key,
    pub(super) attempt: Attempt,
    pub(super) policy: Arc<Policy>,
    pub(super) background: Background,
    /// From before the request that wrote the last sign of life: our lease counts from here.
    pub(super) since: Mutex<BootTime>,
    pub(super) seen: Mutex<Seen>,
}

/// What came of an event.
pub(super) enum Applied {
    /// It is in the store. `released`: so is the end of the lock.
    Written { released: bool },
    /// The claim has moved on without us.
    Refused(Refused),
}

impl Grip {
    pub(super) fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn see(&self, claim: Claim, version: Version) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Seen { claim, version };
    }

    /// Whether our lease is still unbroken, by our own clock. If not, others may have judged us dead.
    pub(super) fn is_fresh(&self) -> bool {
        self.engine.clock.now() - self.since() < self.policy.lease
    }

    /// Writes what `event` makes of the claim, and with it releases `grant`. If the record has changed, it is read and the
    /// event applied anew: a heartbeat of our own may have come between, or somebody took us for dead.
    pub(super) async fn apply(&self, event: &Event, grant: Option<&Grant>) -> Result<Applied> {
        // Every lost round means that the record changed; nobody changes a claim that often.
        for _ in 0..100 {
            let Seen { claim, version } = self.seen();
            let next = match claim.step(event.clone()) {
                Ok(next) => next,
                Err(refused) => return Ok(Applied::Refused(refused)),
            };
            let (sent, value) = (self.engine.clock.now(), next.encode());
            let finish = Finish {
                key: self.key.clone(),
                cond: if version.get() == 0 { Cond::Absent } else { Cond::Version(version) },
                value: value.clone(),
                ttl: next.ttl(),
                grant: grant.cloned(),
            };
            let found = match self.engine.fused.finish(&finish).await {
                Ok(Finished::Written { version, released }) => {
                    self.see(next, version);
                    *self.since.lock().unwrap_or_else(PoisonError::into_inner) = sent;
                    return Ok(Applied::Written { released: released.is_some() });
                }
                Ok(Finished::Found(found)) => found,
                // It may be written: look.
                Err(e) if e.kind() == ErrorKind::OutcomeUnknown => self.engine.records.get(&self.key).await?,
                Err(e) => return Err(e),
            };
            // Two signs of life look the same, and the one that stands there may be old: it is given again.
            if self.is_there(&value, found)? && !matches!(event, Event::Beat { .. }) {
                return Ok(Applied::Written { released: false });
            }
        }
        Err(Error::new(ErrorKind::Unexpected, "a claim changed under us 100 times").with("receipt", self.id))
    }

    /// Notes what was found. Is it what we were writing?
    fn is_there(&self, value: &Bytes, found: Option<Record>) -> Result<bool> {
        let Some(record) = found else {
            // A store that can forget has forgotten: what we know is written anew, if nobody else begins in between.
            self.see(self.seen().claim, Version::new(0));
            return Ok(false);
        };
        let claim = Claim::decode(&record.value).map_err(|e| e.with("receipt", self.id))?;
        self.see(claim, record.version);
        Ok(record.value == *value)
    }

    /// From before the request that wrote the last sign of life.
    pub(super) fn since(&self) -> BootTime {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A sign of life at every third of the lease, for ever. Nothing that goes wrong here stops the work: whether the
    /// claim is still ours shows at its end.
    pub(super) async fn keep_alive(&self) -> Infallible {
        let beat = Event::Beat { by: self.attempt };
        let mut pause = self.policy.lease / 3;
        loop {
            tokio::time::sleep(pause).await;
            let answer = tokio::time::timeout(self.policy.lease / 3, self.apply(&beat, None)).await;
            pause = match answer {
                Ok(Ok(Applied::Written { .. })) => self.policy.lease / 3,
                Ok(Ok(Applied::Refused(why))) => {
                    tracing::warn!(receipt = %self.id, %why, "a running call was taken for dead");
                    std::future::pending().await
                }
                Ok(Err(error)) => {
                    tracing::warn!(receipt = %self.id, %error, "a sign of life went unanswered");
                    (self.policy.lease / 10).max(Duration::from_millis(5))
                }
                Err(_) => Duration::from_millis(5),
            };
        }
    }
}
