//! Looking for work.

use std::sync::PoisonError;
use std::time::Duration;

use super::job::Job;
use super::record::Stored;
use super::{JobState, Jobs};
use crate::pause::pause_point;
use crate::{Cond, Error, ErrorKind, Key, Owner, Page, Record, Result, TTL_RANGE, planted, random};

/// Records per read. With payloads of 64 KiB that is 6.4 MB at most.
pub(super) const PAGE: usize = 100;
/// Reads per look.
const PAGES: usize = 100;

impl Jobs {
    /// Takes a job that is queued, or whose worker's lease has ended; `None` if this look found none.
    ///
    /// The lease is not renewed by itself: call [`Job::extend`], or use [`work_one`](Self::work_one). Dropping the job
    /// leaves it to the end of its lease.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`] for a lease outside of [`TTL_RANGE`]; else from the store. After
    /// [`ErrorKind::OutcomeUnknown`] a job may have been taken, and is free again when the lease ends.
    ///
    /// # Cancel safety
    /// Dropping the future may leave a job taken until its lease ends.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{Enqueue, Jobs, Key, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let jobs = Jobs::new(MemoryStore::new(), "reports")?;
    /// assert!(jobs.claim(Duration::from_secs(30)).await?.is_none());
    /// jobs.enqueue(Enqueue::new(Key::new("october")?, "")).await?;
    /// let job = jobs.claim(Duration::from_secs(30)).await?.unwrap();
    /// assert!(jobs.claim(Duration::from_secs(30)).await?.is_none());
    /// # drop(job);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn claim(&self, lease: Duration) -> Result<Option<Job>> {
        if !(TTL_RANGE.0..=TTL_RANGE.1).contains(&lease) {
            let error = Error::new(ErrorKind::Invalid, "a lease is 50ms to 24h");
            return Err(error.with("lease", format_args!("{lease:?}")));
        }
        let prefix = self.place("job", "");
        let cursor = self.cursor.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Anywhere: workers that all began at the first job would all fight for it.
        let start = cursor.unwrap_or_else(|| self.place("job", &format!("{:032x}", random::u128())));
        let (mut after, mut around) = (start.clone(), false);
        for _ in 0..PAGES {
            let found = self.store.scan(prefix.as_str(), Page::after(after.clone(), PAGE)).await?;
            let last = found.len() < PAGE;
            for (at, record) in found {
                if around && at > start {
                    return Ok(None);
                }
                if let Some(job) = self.try_claim(&at, &record, lease).await? {
                    return Ok(Some(job));
                }
                after = at;
            }
            if last && around {
                return Ok(None);
            }
            if last {
                (after, around) = (prefix.clone(), true);
            }
        }
        *self.cursor.lock().unwrap_or_else(PoisonError::into_inner) = Some(after);
        Ok(None)
    }

    async fn try_claim(&self, at: &Key, record: &Record, lease: Duration) -> Result<Option<Job>> {
        let job = match Stored::decode(at, record) {
            Ok(job) => job,
            Err(error) => {
                // One damaged record must not stop the queue.
                tracing::warn!(queue = %self.queue, %error, "a job is left out");
                return Ok(None);
            }
        };
        let (read_at, stood) = (self.clock.now(), self.seen.stood(at, record, self.clock.now()));
        match job.state {
            JobState::Queued | JobState::Running if stood < job.wait => return Ok(None),
            JobState::Queued => {}
            JobState::Running if planted!("job-never-taken-over") => return Ok(None),
            JobState::Running if job.attempts < job.attempts_max => {}
            JobState::Running => {
                let dead = job.failed(Duration::ZERO, "the worker of the last attempt was lost");
                match self.store.put(at, dead.encode()?, Cond::Version(record.version), None).await {
                    Ok(version) => self.bury(at, version, &dead).await,
                    Err(e) if e.kind() == ErrorKind::Conflict => {}
                    Err(e) => return Err(e),
                }
                return Ok(None);
            }
            JobState::Done => return Ok(None),
            JobState::Dead => {
                self.bury(at, record.version, &job).await;
                return Ok(None);
            }
        }
        pause_point("jobs.between-read-and-claim").await;
        let window_left = job.window_left(record.times.map(|times| times.now_ms));
        let owner = Owner::random();
        let mut running = job.running(owner, lease);
        let sent = self.clock.now();
        let version = match self.store.put(at, running.encode()?, Cond::Version(record.version), None).await {
            Ok(version) => version,
            // Somebody else was faster: there are other jobs.
            Err(e) if e.kind() == ErrorKind::Conflict => return Ok(None),
            Err(e) if e.kind() == ErrorKind::OutcomeUnknown => match self.store.get(at).await {
                Ok(Some(now)) if Stored::decode(at, &now).is_ok_and(|job| job.owner == Some(owner)) => now.version,
                Ok(_) => return Ok(None),
                Err(_) => return Err(e.with("job", running.id)),
            },
            Err(e) => return Err(e),
        };
        running.fence = version.get();
        Ok(Some(Job::new(self.clone(), at.clone(), running, version, (sent, lease), (read_at, window_left))))
    }
}
