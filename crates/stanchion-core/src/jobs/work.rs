//! One job, from the claim to the report, with the lease kept alive in between.

use std::fmt::Display;
use std::time::Duration;

use super::{Job, JobId, JobInfo, JobState, Jobs};
use crate::{Error, ErrorKind, LeaseAction, LeaseEvent, LeaseMachine, LostReason, Result, random};

/// Sleep at most this long between two looks at the clock: timers stand still while the machine is suspended.
const SLICE: Duration = Duration::from_secs(1);

/// What [`Jobs::work_one`] did.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::{Enqueue, Jobs, JobState, Key, MemoryStore};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let jobs = Jobs::new(MemoryStore::new(), "reports")?;
/// jobs.enqueue(Enqueue::new(Key::new("october")?, "")).await?;
/// let worked = jobs.work_one(Duration::from_secs(30), |_| async { Err("no paper") }).await?.unwrap();
/// assert_eq!(worked.state, JobState::Queued); // it will be tried again
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Worked {
    /// The job.
    pub job_id: JobId,
    /// `Done`; or after a failure `Queued` (it will be tried again) or `Dead`.
    pub state: JobState,
}

impl Jobs {
    /// Takes one job, works on it, and reports how it went; `None` if there was none. While `work` runs, the lease is
    /// renewed at a third of its length; if it is lost, `work` is dropped where it stands.
    ///
    /// `Err` from `work` means that the attempt failed: the job is tried again after a pause (see
    /// [`backoff`](Self::backoff)), or is dead after its last attempt.
    ///
    /// # If it fails
    /// As [`claim`](Self::claim), before `work` began. [`ErrorKind::LeaseLost`]: the job was lost while `work` ran, or
    /// its report was refused; another worker does it. [`ErrorKind::OutcomeUnknown`]: the report's answer is lost.
    ///
    /// # Cancel safety
    /// Dropping the future drops `work`; the job is tried again when the lease ends.
    ///
    /// ```
    /// use std::time::Duration;
    /// use stanchion_core::{Enqueue, Error, Jobs, JobState, Key, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let jobs = Jobs::new(MemoryStore::new(), "reports")?;
    /// jobs.enqueue(Enqueue::new(Key::new("october")?, "all of it")).await?;
    /// let worked = jobs.work_one(Duration::from_secs(30), |job| async move {
    ///     assert_eq!(&job.payload[..], b"all of it");
    ///     Ok::<(), Error>(())
    /// }).await?.unwrap();
    /// assert_eq!(worked.state, JobState::Done);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn work_one<F, Fut, E>(&self, lease: Duration, work: F) -> Result<Option<Worked>>
    where
        F: FnOnce(JobInfo) -> Fut,
        Fut: Future<Output = Result<(), E>>,
        E: Display,
    {
        let Some(mut job) = self.claim(lease).await? else { return Ok(None) };
        let info = job.info().clone();
        let outcome = tokio::select! {
            outcome = work(info.clone()) => outcome,
            reason = job.keep() => {
                return Err(Error::new(ErrorKind::LeaseLost, "the job was lost while it was worked on")
                    .with("job", info.id)
                    .with("key", &info.key)
                    .with("reason", reason.as_str()));
            }
        };
        let state = match outcome {
            Ok(()) => {
                job.done().await?;
                JobState::Done
            }
            Err(failure) => {
                let pause = self.backoff.pause(info.attempts.saturating_sub(1));
                job.failed(pause, &failure.to_string()).await?
            }
        };
        Ok(Some(Worked { job_id: info.id, state }))
    }
}

impl Job {
    /// Renews the lease until it is lost.
    async fn keep(&mut self) -> LostReason {
        let ((sent, lease), clock) = (self.lease, self.clock());
        let mut machine = LeaseMachine::new(sent, lease, None, false);
        let mut event = LeaseEvent::Tick;
        loop {
            event = match machine.step(event, clock.now()) {
                LeaseAction::Renew => match tokio::time::timeout(lease / 3, self.extend()).await {
                    Ok(Ok(())) => LeaseEvent::Renewed,
                    Ok(Err(e)) if e.kind() == ErrorKind::LeaseLost => LeaseEvent::RenewalLost,
                    unanswered => {
                        if let Ok(Err(error)) = unanswered {
                            tracing::warn!(job = %self.info().id, %error, "renewal unanswered, trying again");
                        }
                        let most = u64::try_from((lease / 10).as_millis()).unwrap_or(u64::MAX).max(2);
                        LeaseEvent::RenewalUnknown { retry_in: Duration::from_millis(1 + random::below(most)) }
                    }
                },
                LeaseAction::WaitUntil(at) => {
                    tokio::time::sleep((at - clock.now()).min(SLICE)).await;
                    LeaseEvent::Tick
                }
                LeaseAction::SignalLost(reason) => return reason,
                LeaseAction::Nothing => return LostReason::Expired,
            };
        }
    }
}
