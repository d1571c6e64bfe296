//! Looking at a queue.

use std::collections::BTreeSet;
use std::time::Duration;

use super::claim::PAGE;
use super::record::Stored;
use super::{JobId, JobInfo, JobState, Jobs};
use crate::{Cond, Key, Page, Record, Result};

/// How many jobs a queue has, by state.
///
/// ```
/// use stanchion_core::{Enqueue, Jobs, Key, MemoryStore};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let jobs = Jobs::new(MemoryStore::new(), "reports")?;
/// jobs.enqueue(Enqueue::new(Key::new("october")?, "")).await?;
/// let counts = jobs.counts().await?;
/// assert_eq!((counts.queued, counts.running, counts.done, counts.dead), (1, 0, 0, 0));
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct JobCounts {
    /// To be done.
    pub queued: u64,
    /// With a worker, alive or gone.
    pub running: u64,
    /// Done and still remembered.
    pub done: u64,
    /// Out of attempts.
    pub dead: u64,
}

impl Jobs {
    /// Jobs that are queued, running, or done within their window; at most `limit`, after the key of the last one
    /// listed before, in an order that means nothing. Dead ones are in [`dead`](Self::dead).
    ///
    /// # If it fails
    /// From the store; [`ErrorKind::Damaged`](crate::ErrorKind::Damaged) names a record that is not readable.
    ///
    /// ```
    /// # use stanchion_core::{Enqueue, Jobs, Key, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let jobs = Jobs::new(MemoryStore::new(), "reports")?;
    /// for month in ["october", "november", "december"] {
    ///     jobs.enqueue(Enqueue::new(Key::new(month)?, "")).await?;
    /// }
    /// let first = jobs.list(None, 2).await?;
    /// let rest = jobs.list(Some(&first[1].key), 2).await?;
    /// assert_eq!((first.len(), rest.len()), (2, 1));
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn list(&self, after: Option<&Key>, limit: usize) -> Result<Vec<JobInfo>> {
        let page = Page { after: after.map(|key| self.record_key(key)), limit };
        let found = self.store.scan(self.place("job", "").as_str(), page).await?;
        let now = self.clock.now();
        let info =
            |(at, record): (Key, Record)| Ok(Stored::decode(&at, &record)?.info(self.seen.stood(&at, &record, now)));
        found.into_iter().map(info).collect()
    }

    /// Jobs that are out of attempts; at most `limit`, after the id of the last one listed before.
    ///
    /// # If it fails
    /// As [`list`](Self::list).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{Enqueue, Jobs, Key, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let jobs = Jobs::new(MemoryStore::new(), "reports")?;
    /// jobs.enqueue(Enqueue::new(Key::new("october")?, "").attempts(1)?).await?;
    /// let job = jobs.claim(Duration::from_secs(30)).await?.unwrap();
    /// job.failed(Duration::ZERO, "no paper").await?;
    /// assert_eq!(jobs.dead(None, 10).await?[0].failure, "no paper");
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn dead(&self, after: Option<JobId>, limit: usize) -> Result<Vec<JobInfo>> {
        let page = Page { after: after.map(|id| self.place("dead", &id.to_string())), limit };
        let found = self.store.scan(self.place("dead", "").as_str(), page).await?;
        found.into_iter().map(|(at, record)| Ok(Stored::decode(&at, &record)?.info(Duration::ZERO))).collect()
    }

    /// Removes a dead job for good; says whether it was there.
    ///
    /// # If it fails
    /// From the store; `Conflict` if somebody else does the same at this moment.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{Enqueue, Jobs, Key, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let jobs = Jobs::new(MemoryStore::new(), "reports")?;
    /// let added = jobs.enqueue(Enqueue::new(Key::new("october")?, "").attempts(1)?).await?;
    /// jobs.claim(Duration::from_secs(30)).await?.unwrap().failed(Duration::ZERO, "no paper").await?;
    /// assert!(jobs.forget(added.job_id).await?);
    /// assert!(!jobs.forget(added.job_id).await?);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn forget(&self, id: JobId) -> Result<bool> {
        let at = self.place("dead", &id.to_string());
        let Some(record) = self.store.get(&at).await? else { return Ok(false) };
        self.store.delete(&at, Cond::Version(record.version)).await?;
        Ok(true)
    }

    /// Counts the jobs, by reading all of them: for people and dashboards, not for loops. Jobs that move while we
    /// count may be counted where they were or where they are.
    ///
    /// # If it fails
    /// As [`list`](Self::list).
    ///
    /// ```
    /// # use stanchion_core::{JobCounts, Jobs, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// assert_eq!(Jobs::new(MemoryStore::new(), "reports")?.counts().await?, JobCounts::default());
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn counts(&self) -> Result<JobCounts> {
        let mut counts = JobCounts::default();
        let mut dying = BTreeSet::new();
        let mut after = None;
        loop {
            let page = self.list(after.as_ref(), PAGE).await?;
            for job in &page {
                match job.state {
                    JobState::Queued => counts.queued += 1,
                    JobState::Running => counts.running += 1,
                    JobState::Done => counts.done += 1,
                    // On its way to the dead ones, and perhaps among them already.
                    JobState::Dead => drop(dying.insert(job.id)),
                }
            }
            after = page.last().map(|job| job.key.clone());
            if page.len() < PAGE {
                break;
            }
        }
        let mut after = None;
        loop {
            let page = self.dead(after, PAGE).await?;
            counts.dead += u64::try_from(page.iter().filter(|job| !dying.contains(&job.id)).count()).unwrap_or(0);
            after = page.last().map(|job| job.id);
            if page.len() < PAGE {
                counts.dead += u64::try_from(dying.len()).unwrap_or(0);
                return Ok(counts);
            }
        }
    }
}
