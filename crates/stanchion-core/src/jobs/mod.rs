//! Jobs that are enqueued once per key, worked on under a lease, and never silently lost.

mod claim;
mod enqueue;
mod job;
mod list;
mod record;
mod work;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

pub use self::enqueue::{Enqueue, Enqueued, JobId, JobInfo, JobState, PAYLOAD_MAX_BYTES};
pub use self::job::Job;
pub use self::list::JobCounts;
use self::record::{LINGER, Stored};
pub use self::work::Worked;
use crate::pause::pause_point;
use crate::seen::Seen;
use crate::{Clock, Cond, Error, ErrorKind, Key, RecordStore, Result, RetryPolicy, SystemClock, Version};

const QUEUE_MAX_BYTES: usize = 64;

/// A queue of jobs in any [`RecordStore`]: unique enqueue, and work under a lease. No schedules, no priorities, no
/// order: take a job system for those.
///
/// - **Unique.** While a job of the same key is queued or running, or its window lasts, an enqueue adds nothing and
///   says so, with the id of the job that is there. Done (and the window over), or dead: the key is free again.
/// - **Every step is one compare-and-swap** on the one record of the key, so there is no point at which a crash loses a
///   job or leaves its key taken for ever.
/// - **Leases.** A worker that dies or stands still loses its job when the lease ends, by the store's clock; exactly one
///   other gets it. What the first one reports then is refused, so a job is done once. Its *effects* may have happened
///   twice: hand [`JobInfo::fence`] to whatever the job writes.
/// - **Dead, not gone.** After its last attempt a job is kept and listed until somebody forgets it.
///
/// # Limits
/// Looking for work reads records of the queue in a random order, 100 at a time and at most 10,000 per call; the next
/// call goes on where this one stopped. Running jobs and done ones whose window lasts are read as well, so a queue is
/// made for some ten thousand keys, not for millions, and payloads are at most 64 KiB. Nothing wakes an idle worker:
/// it asks again. Where the store shows no clock, a lease ends once **we** saw its record unchanged for that long, and
/// a window counts from the end of the job.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::{Enqueue, Jobs, Key, MemoryStore};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let jobs = Jobs::new(MemoryStore::new(), "reports")?;
/// let october = Enqueue::new(Key::new("report/2026-10")?, "October");
/// let first = jobs.enqueue(october.clone()).await?;
/// assert!(jobs.enqueue(october.clone()).await?.deduplicated);
///
/// let job = jobs.claim(Duration::from_secs(30)).await?.unwrap();
/// assert_eq!((job.info().id, &job.info().payload[..]), (first.job_id, &b"October"[..]));
/// job.done().await?;
/// assert!(!jobs.enqueue(october).await?.deduplicated); // the key is free again
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Jobs {
    store: Arc<dyn RecordStore>,
    queue: Arc<str>,
    backoff: RetryPolicy,
    retry: RetryPolicy,
    clock: Arc<dyn Clock>,
    seen: Arc<Seen>,
    /// Where a look for work that read its full share goes on.
    cursor: Arc<Mutex<Option<Key>>>,
}

impl Jobs {
    /// The jobs of `queue` in `store`.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`]: the queue's name is not 1 to 64 bytes without `/` and control characters.
    ///
    /// ```
    /// # use stanchion_core::{Jobs, MemoryStore};
    /// assert!(Jobs::new(MemoryStore::new(), "reports").is_ok());
    /// assert!(Jobs::new(MemoryStore::new(), "a/b").is_err());
    /// ```
    pub fn new(store: impl RecordStore, queue: &str) -> Result<Self> {
        Self::shared(Arc::new(store), queue)
    }

    /// The same in a store that others use, too.
    ///
    /// # If it fails
    /// As [`new`](Self::new).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{Jobs, MemoryStore};
    /// assert!(Jobs::shared(Arc::new(MemoryStore::new()), "reports").is_ok());
    /// ```
    pub fn shared(store: Arc<dyn RecordStore>, queue: &str) -> Result<Self> {
        if queue.len() > QUEUE_MAX_BYTES || queue.contains('/') || Key::new(queue).is_err() {
            return Err(Error::new(ErrorKind::Invalid, "not a name of a queue")
                .with("queue", format_args!("{:?}", queue.chars().take(40).collect::<String>()))
                .hint("1 to 64 bytes without `/` and control characters"));
        }
        let backoff = RetryPolicy::default().pauses(Duration::from_secs(1), Duration::from_secs(300))?;
        let retry = RetryPolicy::default().deadline(LINGER / 2);
        let clock = Arc::new(SystemClock);
        let (seen, cursor) = (Arc::default(), Arc::default());
        Ok(Self { store, queue: queue.into(), backoff, retry, clock, seen, cursor })
    }

    /// Sets the pauses before a job that failed in [`work_one`](Self::work_one) is tried again: 1 s doubled up to
    /// 5 min, with jitter, unless set. Only the pauses of the policy count.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{Jobs, MemoryStore, RetryPolicy};
    /// let soon = RetryPolicy::default().pauses(Duration::from_millis(10), Duration::from_secs(1))?;
    /// let _jobs = Jobs::new(MemoryStore::new(), "reports")?.backoff(soon);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub const fn backoff(mut self, backoff: RetryPolicy) -> Self {
        self.backoff = backoff;
        self
    }

    /// Sets our own clock: it measures how long we have held a job, and how long we have seen a record where the store
    /// shows no clock.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{Jobs, ManualClock, MemoryStore};
    /// let _simulated = Jobs::new(MemoryStore::new(), "reports")?.clock(Arc::new(ManualClock::default()));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Adds a job, or finds the one that has the key.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`] for a payload above 64 KiB; [`ErrorKind::OutcomeUnknown`] if an answer is lost and the
    /// store stays away: enqueue again, the key keeps it from being done twice at once. After any other error nothing
    /// was added.
    ///
    /// # Cancel safety
    /// Dropping the future may leave the job enqueued.
    ///
    /// ```
    /// # use stanchion_core::{Enqueue, Jobs, Key, MemoryStore};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let jobs = Jobs::new(MemoryStore::new(), "reports")?;
    /// let added = jobs.enqueue(Enqueue::new(Key::new("october")?, "")).await?;
    /// assert!(!added.deduplicated);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn enqueue(&self, job: Enqueue) -> Result<Enqueued> {
        if job.payload.len() > PAYLOAD_MAX_BYTES {
            let error = Error::new(ErrorKind::Invalid, "the payload is larger than 64 KiB");
            return Err(error
                .with("bytes", job.payload.len())
                .hint("keep it in a record or file of its own, and enqueue its name"));
        }
        let at = self.record_key(&job.key);
        let new = Stored::new(JobId::random(), &job);
        let mut tries = self.retry.start();
        let began = self.clock.now();
        let mut doubt = None;
        loop {
            let error = match self.try_enqueue(&at, &new, &mut doubt).await {
                Ok(enqueued) => return Ok(enqueued),
                Err(e) => e,
            };
            let again = match error.kind() {
                ErrorKind::Conflict => true,
                // Gone on without a write of ours: looking again would not tell more.
                ErrorKind::OutcomeUnknown => doubt.is_some(),
                kind => doubt.is_some() && kind == ErrorKind::Unavailable,
            };
            let mut again = again && tries.again().await;
            // A job of ours that was done in the meantime is remembered for this long; later we could add it twice.
            again &= doubt.is_none() || self.clock.now() - began < LINGER / 2;
            if again {
                continue;
            }
            if doubt.is_none() || error.kind() == ErrorKind::OutcomeUnknown {
                return Err(error.with("key", &job.key));
            }
            let lost = Error::new(ErrorKind::OutcomeUnknown, "the answer is lost: the job may be enqueued");
            return Err(lost.with("key", &job.key).hint("enqueue it again").because(error));
        }
    }

    /// One try. `doubt` is what a write of ours that went unanswered was based on.
    async fn try_enqueue(&self, at: &Key, new: &Stored, doubt: &mut Option<Option<Version>>) -> Result<Enqueued> {
        let found = self.store.get(at).await?;
        let base = found.as_ref().map(|record| record.version);
        let added = Ok(Enqueued { job_id: new.id, deduplicated: false });
        if let Some(record) = &found {
            let there = Stored::decode(at, record)?;
            if there.key != new.key {
                return Err(Error::new(ErrorKind::Unexpected, "two keys share a record").with("other", &there.key));
            }
            if there.id == new.id {
                return added;
            }
            if there.holds_key(self.seen.stood(at, record, self.clock.now())) {
                return Ok(Enqueued { job_id: there.id, deduplicated: true });
            }
            if doubt.is_some_and(|doubt| doubt != base) {
                *doubt = None;
                let error = Error::new(ErrorKind::OutcomeUnknown, "the answer is lost, and others have enqueued since");
                return Err(error.hint("the job may have been done; enqueue it again if it may be done twice"));
            }
            if there.state == JobState::Dead {
                self.keep_dead(&there).await?;
            }
        } else if doubt.is_some() && self.store.get(&self.place("dead", &new.id.to_string())).await?.is_some() {
            return added;
        }
        let cond = base.map_or(Cond::Absent, Cond::Version);
        match self.store.put(at, new.encode()?, cond, None).await {
            Err(e) if e.kind() == ErrorKind::OutcomeUnknown => {
                *doubt = Some(base);
                pause_point("jobs.enqueue-in-doubt").await;
                Err(e)
            }
            Err(e) => Err(e),
            Ok(_) => added,
        }
    }

    /// Moves a dead job to the dead ones. Whoever meets it does this, so that a crash before or in it loses nothing:
    /// the copy comes first, and its name is the job's own, so that it is made once.
    async fn bury(&self, at: &Key, version: Version, dead: &Stored) {
        let moved = match self.keep_dead(dead).await {
            Ok(()) => self.store.delete(at, Cond::Version(version)).await,
            Err(e) => Err(e),
        };
        if let Err(error) = moved
            && error.kind() != ErrorKind::Conflict
        {
            tracing::debug!(queue = %self.queue, job = %dead.id, %error, "a dead job is moved later");
        }
    }

    async fn keep_dead(&self, dead: &Stored) -> Result<()> {
        let at = self.place("dead", &dead.id.to_string());
        match self.store.put(&at, dead.encode()?, Cond::Absent, None).await {
            Err(e) if e.kind() != ErrorKind::Conflict => Err(e),
            _ => Ok(()),
        }
    }

    /// A hash spreads the jobs evenly, so that workers who start anywhere do not meet; and no key is too long.
    fn record_key(&self, key: &Key) -> Key {
        let digest: String = Sha256::digest(key.as_str()).iter().map(|byte| format!("{byte:02x}")).collect();
        self.place("job", &digest)
    }

    fn place(&self, space: &'static str, name: &str) -> Key {
        Key::reserved(space, &format!("{}/{name}", self.queue))
    }
}
