//! A job in a worker's hands.

use std::time::Duration;

use super::record::{LINGER, Stored};
use super::{JobInfo, JobState, Jobs};
use crate::pause::pause_point;
use crate::{BootTime, Cond, Error, ErrorKind, Key, Result, TTL_RANGE, Version, planted};

/// A job that is ours until its lease ends.
///
/// Whether it still is, the store decides at each report: a job that somebody else has taken in the meantime cannot be
/// reported by us any more.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::{Enqueue, Jobs, Key, MemoryStore};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let jobs = Jobs::new(MemoryStore::new(), "reports")?;
/// jobs.enqueue(Enqueue::new(Key::new("october")?, "")).await?;
/// let mut job = jobs.claim(Duration::from_secs(30)).await?.unwrap();
/// job.extend().await?; // between two long steps
/// job.done().await?;
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "a job that is dropped stays taken until its lease ends"]
pub struct Job {
    jobs: Jobs,
    at: Key,
    stored: Stored,
    info: JobInfo,
    version: Version,
    /// When the claim was sent, and its lease.
    pub(super) lease: (BootTime, Duration),
    /// When the record was read, and what was left of the window then.
    window: (BootTime, Duration),
}

impl Job {
    pub(super) fn new(
        jobs: Jobs,
        at: Key,
        stored: Stored,
        version: Version,
        lease: (BootTime, Duration),
        window: (BootTime, Duration),
    ) -> Self {
        let info = stored.clone().info(Duration::ZERO);
        Self { jobs, at, stored, info, version, lease, window }
    }

    /// The job: its id, key, payload, attempt and token.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{Enqueue, Jobs, JobState, Key, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let jobs = Jobs::new(MemoryStore::new(), "reports")?;
    /// jobs.enqueue(Enqueue::new(Key::new("october")?, "all of it")).await?;
    /// let job = jobs.claim(Duration::from_secs(30)).await?.unwrap();
    /// assert_eq!((job.info().state, job.info().attempts), (JobState::Running, 1));
    /// assert!(job.info().fence.is_some());
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    #[must_use]
    pub const fn info(&self) -> &JobInfo {
        &self.info
    }

    pub(super) fn clock(&self) -> std::sync::Arc<dyn crate::Clock> {
        std::sync::Arc::clone(&self.jobs.clock)
    }

    /// Begins the lease anew.
    ///
    /// # If it fails
    /// [`ErrorKind::LeaseLost`]: somebody else has the job, stop working. [`ErrorKind::OutcomeUnknown`] or
    /// [`ErrorKind::Unavailable`]: the lease may end as before; try again while it lasts.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the job ours; the lease may or may not have been extended.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{Enqueue, Jobs, Key, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let jobs = Jobs::new(MemoryStore::new(), "reports")?;
    /// # jobs.enqueue(Enqueue::new(Key::new("october")?, "")).await?;
    /// let mut job = jobs.claim(Duration::from_secs(30)).await?.unwrap();
    /// job.extend().await?;
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn extend(&mut self) -> Result<()> {
        let sent = self.jobs.clock.now();
        self.report(self.stored.clone(), None).await?;
        self.lease.0 = sent;
        Ok(())
    }

    /// Reports that the job is done. Its key is free at once, or when its window is over.
    ///
    /// # If it fails
    /// [`ErrorKind::LeaseLost`]: somebody else has the job, and this report was refused. What the work did, it did.
    /// [`ErrorKind::OutcomeUnknown`]: it may be done, or will run again when the lease ends.
    ///
    /// # Cancel safety
    /// Dropping the future may or may not report it.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{Enqueue, Jobs, Key, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let jobs = Jobs::new(MemoryStore::new(), "reports")?;
    /// # jobs.enqueue(Enqueue::new(Key::new("october")?, "")).await?;
    /// jobs.claim(Duration::from_secs(30)).await?.unwrap().done().await?;
    /// assert!(jobs.claim(Duration::from_secs(30)).await?.is_none());
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn done(mut self) -> Result<()> {
        pause_point("jobs.before-done").await;
        let (read_at, left) = self.window;
        // Our own clock only measures since the read; what it says too little keeps the key taken a little longer.
        let left = left.saturating_sub(self.jobs.clock.now() - read_at);
        self.report(self.stored.clone().done(left), Some(left.max(LINGER))).await
    }

    /// Reports that this attempt failed: the job is queued again after `retry_in`, or dead if it was the last attempt.
    /// Says which.
    ///
    /// # If it fails
    /// As [`done`](Self::done); [`ErrorKind::Invalid`] for a pause above 24 h, and the job stays ours.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{Enqueue, Jobs, JobState, Key, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let jobs = Jobs::new(MemoryStore::new(), "reports")?;
    /// jobs.enqueue(Enqueue::new(Key::new("october")?, "").attempts(2)?).await?;
    /// let first = jobs.claim(Duration::from_secs(30)).await?.unwrap();
    /// assert_eq!(first.failed(Duration::ZERO, "no paper").await?, JobState::Queued);
    /// let last = jobs.claim(Duration::from_secs(30)).await?.unwrap();
    /// assert_eq!(last.failed(Duration::ZERO, "no ink").await?, JobState::Dead);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn failed(mut self, retry_in: Duration, failure: &str) -> Result<JobState> {
        if retry_in > TTL_RANGE.1 {
            let error = Error::new(ErrorKind::Invalid, "a job is tried again within 24h");
            return Err(error.with("retry_in", format_args!("{retry_in:?}")));
        }
        let next = self.stored.clone().failed(retry_in, failure);
        let state = next.state;
        self.report(next.clone(), None).await?;
        if state == JobState::Dead {
            self.jobs.bury(&self.at, self.version, &next).await;
        }
        Ok(state)
    }

    /// Writes `next` if the job is still ours. After a conflict or a lost answer the record itself says so: it names
    /// the worker of the present attempt, and a report of ours that went through is found there.
    async fn report(&mut self, next: Stored, ttl: Option<Duration>) -> Result<()> {
        let value = next.encode()?;
        let mut tries = self.jobs.retry.start();
        let mut in_doubt = false;
        loop {
            let error = match self.jobs.store.put(&self.at, value.clone(), Cond::Version(self.version), ttl).await {
                Ok(version) => {
                    self.version = version;
                    return Ok(());
                }
                Err(e) => e,
            };
            match error.kind() {
                ErrorKind::OutcomeUnknown => in_doubt = true,
                ErrorKind::Conflict | ErrorKind::Unavailable => {}
                _ => return Err(error),
            }
            match self.jobs.store.get(&self.at).await {
                Ok(found) => match found.map(|record| (Stored::decode(&self.at, &record), record.version)) {
                    Some((Err(e), _)) => return Err(e),
                    Some((Ok(now), version)) if now.id == next.id && now.owner == next.owner => {
                        self.version = version;
                        if in_doubt && now.state == next.state && now.state != JobState::Running {
                            return Ok(());
                        }
                    }
                    _ if planted!("job-done-twice") => return Ok(()),
                    _ => return Err(self.lost(in_doubt, error)),
                },
                Err(e) if e.kind() == ErrorKind::Unavailable => {}
                Err(e) => return Err(e),
            }
            if !tries.again().await {
                return Err(if in_doubt { self.lost(true, error) } else { error.with("job", self.info.id) });
            }
        }
    }

    fn lost(&self, in_doubt: bool, error: Error) -> Error {
        let (kind, what) = if in_doubt {
            (ErrorKind::OutcomeUnknown, "the answer to a report is lost, and the job has gone on")
        } else {
            (ErrorKind::LeaseLost, "the job was taken over by another worker")
        };
        let lost = Error::new(kind, what).with("job", self.info.id).with("key", &self.info.key);
        lost.with("attempt", self.info.attempts).because(error)
    }
}
