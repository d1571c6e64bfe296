//! A call that may have been sent.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use super::grip::{Applied, Grip};
use super::kept;
use crate::claim::{Claim, Event, Outcome, Refused, State};
use crate::pause::pause_point;
use crate::{Answer, BootTime, ClaimId, ErrorKind, Grant, Reply, RetryPolicy, planted};

/// How long the caller waits for its answer to be recorded, at most; after that it is recorded in the background.
const PATIENCE: Duration = Duration::from_secs(5);

/// DISPATCHED. Dropped, its outcome becomes unknown: never free.
#[derive(Debug)]
#[must_use = "a running call that is dropped becomes unknown"]
pub(crate) struct Running {
    /// `None` once its end is recorded.
    grip: Option<Box<Grip>>,
    /// What the tool said, as soon as it is known.
    said: Option<Event>,
    id: ClaimId,
    epoch: u64,
}

impl Running {
    pub(super) const fn new(grip: Box<Grip>) -> Self {
        let (id, epoch) = (grip.id, grip.attempt.epoch);
        Self { grip: Some(grip), said: None, id, epoch }
    }

    pub(crate) const fn id(&self) -> ClaimId {
        self.id
    }

    pub(crate) const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// From before the request that marked it: the lock that came with it counts from there.
    pub(crate) fn since(&self) -> Option<BootTime> {
        self.grip.as_ref().map(|grip| grip.since())
    }

    /// May the first byte leave? Not if the mark took so long that others may have judged us dead.
    pub(crate) fn is_fresh(&self) -> bool {
        self.grip.as_ref().is_some_and(|grip| grip.is_fresh())
    }

    /// Never ends.
    pub(crate) async fn keep_alive(&self) -> Infallible {
        match &self.grip {
            Some(grip) => grip.keep_alive().await,
            None => std::future::pending().await,
        }
    }

    /// Records what the tool said (T5, T6, T7), and with it releases `grant`; says whether the lock is released. Dropped
    /// before the store has answered, it goes on in the background.
    pub(crate) async fn finish(mut self, reply: Reply, grant: Option<&Grant>) -> (Answer, bool) {
        let mut answer = Answer { receipt: Some(self.id), ..Answer::ran(reply) };
        let Some(grip) = &self.grip else { return (answer, false) };
        let event = event(grip, &answer.reply);
        self.said = Some(event.clone());
        pause_point("claim.before-record").await;
        let Ok(applied) = tokio::time::timeout(PATIENCE, record(grip, &event, grant)).await else {
            tracing::warn!(receipt = %self.id, "the outcome of a call is not recorded yet; trying on in the background");
            answer.recorded = false;
            return (answer, false);
        };
        let claim = grip.seen().claim;
        let cache = Arc::clone(&grip.engine.cache);
        self.grip = None;
        pause_point("claim.recorded").await;
        match applied {
            Applied::Written { released } => {
                // An earlier attempt may have run: "no effect" is true of this one only.
                if let (Reply::NoEffect(_), State::Unknown { reason }) = (&answer.reply, &claim.state) {
                    answer.reply = Reply::Unknown(reason.clone());
                }
                cache.put(self.id, &claim, Duration::ZERO);
                if matches!(answer.reply, Reply::Unknown(_)) {
                    metrics::counter!("stanchion_claims_unknown_total").increment(1);
                }
                (answer, released)
            }
            // Others have said the same before us.
            Applied::Refused(_)
                if matches!((&answer.reply, &claim.state), (Reply::Unknown(_), State::Unknown { .. })) =>
            {
                (answer, false)
            }
            Applied::Refused(why) => {
                too_late(self.id, why);
                (Answer { reply: settled(&claim), ..answer }, false)
            }
        }
    }
}

/// The answer of a call that ended too late: what the record says. Two callers must not be told two different things.
fn settled(claim: &Claim) -> Reply {
    match &claim.state {
        State::Done { outcome, response, .. } | State::Tombstone { outcome, response } => {
            (*outcome, response.clone()).into()
        }
        _ => Reply::Unknown("it ran, and its claim was given to another attempt or settled meanwhile".to_owned()),
    }
}

/// Tries until the store answers; gives up only if it says that it cannot ever.
async fn record(grip: &Grip, event: &Event, grant: Option<&Grant>) -> Applied {
    let mut tries = RetryPolicy::default().start();
    loop {
        match grip.apply(event, grant).await {
            Ok(applied) => return applied,
            Err(error) => {
                tracing::warn!(receipt = %grip.id, %error, "recording the outcome of a call failed");
                if matches!(error.kind(), ErrorKind::Damaged | ErrorKind::Invalid | ErrorKind::Denied) {
                    return Applied::Refused(Refused::NotNow);
                }
            }
        }
        if !tries.again().await {
            tries = RetryPolicy::default().start();
        }
    }
}

/// What the reply means for the claim.
fn event(grip: &Grip, reply: &Reply) -> Event {
    let (by, policy) = (grip.attempt, &grip.policy);
    let kept = |response| kept(response, policy, grip.engine.redact.as_ref());
    let keep = grip.seen().claim.keep.answer;
    match reply {
        Reply::Unknown(_) if planted!("key-deleted-on-timeout") => Event::NoEffect { by, response: None },
        Reply::Failed(_) if planted!("key-deleted-after-failure") => Event::NoEffect { by, response: None },
        Reply::Failed(response) if planted!("error-cached-as-success") => {
            Event::Finish { by, outcome: Outcome::Ok, response: kept(response), keep }
        }
        Reply::Done(response) => Event::Finish { by, outcome: Outcome::Ok, response: kept(response), keep },
        Reply::Failed(response) => Event::Finish { by, outcome: Outcome::Failed, response: kept(response), keep },
        Reply::NoEffect(response) => Event::NoEffect { by, response: Some(kept(response)) },
        Reply::Suspended(response) => Event::Suspend { by, response: kept(response), keep: policy.suspended_ttl },
        Reply::Unknown(reason) => Event::Doubt { by, reason: reason.chars().take(1000).collect() },
    }
}

/// The call ended, and somebody has judged otherwise in the meantime: an operator has to know.
fn too_late(receipt: ClaimId, why: Refused) {
    metrics::counter!("stanchion_claims_late_evidence_total").increment(1);
    tracing::warn!(%receipt, %why, "late_evidence: a call ended after its claim was settled");
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(grip) = self.grip.take() else { return };
        let event = self.said.take().unwrap_or_else(|| Event::Doubt {
            by: grip.attempt,
            reason: "the caller went away while the tool was at work".to_owned(),
        });
        let background = grip.background.clone();
        background.spawn(async move {
            let same = |claim: Claim| matches!((&event, claim.state), (Event::Doubt { .. }, State::Unknown { .. }));
            if let Applied::Refused(why) = record(&grip, &event, None).await
                && !same(grip.seen().claim)
            {
                too_late(grip.id, why);
            }
        });
    }
}
