//! What is asked for, and what came of it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;

use crate::{Error, ErrorKind, FencingToken, Key, Owner, Result};

/// The largest payload: 64 KiB. Larger data belongs into a record or file of its own, and its name into the payload,
/// because looking for work reads payloads as well.
///
/// ```
/// assert_eq!(stanchion_core::PAYLOAD_MAX_BYTES, 65_536);
/// ```
pub const PAYLOAD_MAX_BYTES: usize = 64 << 10;

/// How often a job is tried unless [`Enqueue::attempts`] says otherwise.
pub(super) const ATTEMPTS_DEFAULT: u32 = 10;

const UNIQUE_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// The name of one job: 128 random bits. Two jobs of the same key, one after the other, have different ids.
///
/// ```
/// use stanchion_core::JobId;
/// let id: JobId = "000000000000000000000000000000ff".parse()?;
/// assert_eq!(id.to_string().len(), 32);
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(u128);

impl JobId {
    pub(super) fn random() -> Self {
        Self(crate::random::u128())
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for JobId {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let bits = text.parse::<Owner>().map_err(|_| Error::new(ErrorKind::Invalid, "a job's id is 32 hex digits"))?;
        Ok(Self(bits.to_bits()))
    }
}

/// A job to be done: its unique key, its payload, and how long the key stays taken.
///
/// ```
/// use std::time::Duration;
/// use stanchion_core::{Enqueue, Key};
/// let report = Enqueue::new(Key::new("report/2026-10")?, "{\"month\":10}").unique_for(Duration::from_secs(3600))?;
/// assert!(Enqueue::new(Key::new("a")?, "").attempts(0).is_err());
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enqueue {
    pub(super) key: Key,
    pub(super) payload: Bytes,
    pub(super) unique_for: Duration,
    pub(super) attempts: u32,
}

impl Enqueue {
    /// A job whose key is free again as soon as it is done.
    ///
    /// ```
    /// # use stanchion_core::{Enqueue, Key};
    /// let _job = Enqueue::new(Key::new("report/2026-10")?, "October");
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn new(key: Key, payload: impl Into<Bytes>) -> Self {
        Self { key, payload: payload.into(), unique_for: Duration::ZERO, attempts: ATTEMPTS_DEFAULT }
    }

    /// Keeps the key taken until this long after the enqueue, even when the job is done sooner.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`] above 366 days.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use stanchion_core::{Enqueue, Key};
    /// assert!(Enqueue::new(Key::new("a")?, "").unique_for(Duration::from_secs(60)).is_ok());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn unique_for(mut self, window: Duration) -> Result<Self> {
        if window > UNIQUE_MAX {
            let error = Error::new(ErrorKind::Invalid, "a key is kept taken for at most 366 days");
            return Err(error.with("window", format_args!("{window:?}")));
        }
        self.unique_for = window;
        Ok(self)
    }

    /// Frees the key as soon as the job is done: the default.
    ///
    /// ```
    /// # use stanchion_core::{Enqueue, Key};
    /// let job = Enqueue::new(Key::new("a")?, "");
    /// assert_eq!(job.clone().until_done(), job);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub const fn until_done(mut self) -> Self {
        self.unique_for = Duration::ZERO;
        self
    }

    /// Sets how often the job is started at most, before it is dead. A killed worker counts as one.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`] outside of 1 to 1000.
    ///
    /// ```
    /// # use stanchion_core::{Enqueue, Key};
    /// assert!(Enqueue::new(Key::new("a")?, "").attempts(3).is_ok());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn attempts(mut self, most: u32) -> Result<Self> {
        if !(1..=1000).contains(&most) {
            return Err(Error::new(ErrorKind::Invalid, "a job has 1 to 1000 attempts").with("attempts", most));
        }
        self.attempts = most;
        Ok(self)
    }
}

/// What an enqueue came to.
///
/// ```
/// use stanchion_core::{Enqueue, Jobs, Key, MemoryStore};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let jobs = Jobs::new(MemoryStore::new(), "reports")?;
/// let first = jobs.enqueue(Enqueue::new(Key::new("october")?, "")).await?;
/// let second = jobs.enqueue(Enqueue::new(Key::new("october")?, "")).await?;
/// assert!(!first.deduplicated && second.deduplicated);
/// assert_eq!(first.job_id, second.job_id);
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Enqueued {
    /// The job that does the work: this enqueue's own, or the earlier one's.
    pub job_id: JobId,
    /// An earlier job has the key; nothing was added, and this payload was not kept.
    pub deduplicated: bool,
}

/// Where a job stands.
///
/// ```
/// assert_eq!(stanchion_core::JobState::Dead.as_str(), "dead");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum JobState {
    /// To be done, perhaps after a pause.
    Queued,
    /// A worker has it, or had it and is gone.
    Running,
    /// Done; remembered for the rest of its window, and for a few seconds at least.
    Done,
    /// Out of attempts. Kept until [`Jobs::forget`](crate::Jobs::forget); its key is free.
    Dead,
}

impl JobState {
    /// The name of the state.
    ///
    /// ```
    /// assert_eq!(stanchion_core::JobState::Queued.as_str(), "queued");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Dead => "dead",
        }
    }
}

/// A job as it was when it was read.
///
/// ```
/// use stanchion_core::{Enqueue, Jobs, JobState, Key, MemoryStore, Page};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let jobs = Jobs::new(MemoryStore::new(), "reports")?;
/// jobs.enqueue(Enqueue::new(Key::new("october")?, "all of it")).await?;
/// let info = jobs.list(None, 10).await?.remove(0);
/// assert_eq!((info.state, info.attempts, &info.payload[..]), (JobState::Queued, 0, &b"all of it"[..]));
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobInfo {
    /// Its name.
    pub id: JobId,
    /// Its unique key.
    pub key: Key,
    /// Where it stands.
    pub state: JobState,
    /// What was enqueued; empty once it is done.
    pub payload: Bytes,
    /// How often it was started.
    pub attempts: u32,
    /// How often it is started at most.
    pub attempts_max: u32,
    /// The token of the present attempt: hand it to whatever the job writes, and a stale worker's writes are refused.
    pub fence: Option<FencingToken>,
    /// Why the last attempt failed; empty if none did.
    pub failure: String,
    /// What is left of a queued job's pause, a running job's lease, a done job's window. An upper bound where the store
    /// shows no clock.
    pub left: Duration,
}
