//! A job's record: one line of JSON, then the payload. One record per unique key, so that every step is one
//! compare-and-swap.
//!
//! Durations count from the moment at which the store wrote the version they stand in.

use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use super::enqueue::{Enqueue, JobId, JobInfo, JobState};
use crate::{Error, ErrorKind, FencingToken, Key, Owner, Record, Result, planted};

const MAGIC: &[u8] = b"stanchion-job 1 ";
const FAILURE_MAX: usize = 500;

/// How long a done job is remembered at least, also when its key is free: lost answers are resolved by it.
pub(super) const LINGER: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    id: String,
    key: String,
    state: JobState,
    attempts: u32,
    attempts_max: u32,
    unique_ms: u64,
    /// The store's time of the enqueue; 0 in the very version that did it, and where the store shows no clock.
    #[serde(default)]
    enqueued_ms: u64,
    /// A queued job's pause, a running job's lease, what is left of a done job's window.
    #[serde(default)]
    wait_ms: u64,
    /// The last worker, drawn anew for each attempt; empty if there was none.
    #[serde(default)]
    owner: String,
    /// The number of the attempt's token; 0 in the very version that began it.
    #[serde(default)]
    fence: u64,
    #[serde(default)]
    failure: String,
}

/// A job, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) id: JobId,
    pub(super) key: Key,
    pub(super) state: JobState,
    pub(super) attempts: u32,
    pub(super) attempts_max: u32,
    pub(super) unique_for: Duration,
    pub(super) enqueued_ms: u64,
    pub(super) wait: Duration,
    pub(super) owner: Option<Owner>,
    pub(super) fence: u64,
    pub(super) failure: String,
    pub(super) payload: Bytes,
}

impl Stored {
    pub(super) fn new(id: JobId, job: &Enqueue) -> Self {
        Self {
            id,
            key: job.key.clone(),
            state: JobState::Queued,
            attempts: 0,
            attempts_max: job.attempts,
            unique_for: job.unique_for,
            enqueued_ms: 0,
            wait: Duration::ZERO,
            owner: None,
            fence: 0,
            failure: String::new(),
            payload: job.payload.clone(),
        }
    }

    pub(super) fn decode(at: &Key, record: &Record) -> Result<Self> {
        Self::parse(record).ok_or_else(|| {
            Error::new(ErrorKind::Damaged, "a job's record is not readable")
                .with("record", format_args!("{at:?}"))
                .hint("the other jobs go on; delete this record with `Key::from_store` and `RecordStore::delete`")
        })
    }

    fn parse(record: &Record) -> Option<Self> {
        let end = record.value.iter().position(|byte| *byte == b'\n')?;
        let head: Head = serde_json::from_slice(record.value[..end].strip_prefix(MAGIC)?).ok()?;
        let enqueued_ms = match (head.enqueued_ms, record.times) {
            (0, times) => times.map_or(0, |times| times.written_ms),
            (ms, _) => ms,
        };
        Some(Self {
            id: head.id.parse().ok()?,
            key: Key::new(head.key).ok()?,
            state: head.state,
            attempts: head.attempts,
            attempts_max: head.attempts_max,
            unique_for: Duration::from_millis(head.unique_ms),
            enqueued_ms,
            wait: Duration::from_millis(head.wait_ms),
            owner: if head.owner.is_empty() { None } else { Some(head.owner.parse().ok()?) },
            fence: if head.fence == 0 { record.version.get() } else { head.fence },
            failure: head.failure,
            payload: record.value.slice(end + 1..),
        })
    }

    pub(super) fn encode(&self) -> Result<Bytes> {
        let head = Head {
            id: self.id.to_string(),
            key: self.key.as_str().to_owned(),
            state: self.state,
            attempts: self.attempts,
            attempts_max: self.attempts_max,
            unique_ms: millis(self.unique_for),
            enqueued_ms: self.enqueued_ms,
            wait_ms: millis(self.wait),
            owner: self.owner.map(Owner::to_hex).unwrap_or_default(),
            fence: self.fence,
            failure: self.failure.clone(),
        };
        let mut out = BytesMut::with_capacity(512 + self.payload.len()).writer();
        out.get_mut().put_slice(MAGIC);
        serde_json::to_writer(&mut out, &head)
            .map_err(|e| Error::new(ErrorKind::Unexpected, "a job cannot be written down").because(e))?;
        let mut out = out.into_inner();
        out.put_u8(b'\n');
        out.put_slice(&self.payload);
        Ok(out.freeze())
    }

    /// Does an enqueue of the same key find this job instead of making a new one, when it has stood like this for so
    /// long?
    pub(super) fn holds_key(&self, stood: Duration) -> bool {
        match self.state {
            JobState::Queued | JobState::Running => !planted!("enqueue-without-dedup"),
            JobState::Done => stood < self.wait,
            JobState::Dead => false,
        }
    }

    /// What is left of the window at `now_ms` of the store's clock. A clock that was set back makes it at most as long
    /// as at the start; without a clock it counts as just begun.
    pub(super) fn window_left(&self, now_ms: Option<u64>) -> Duration {
        let passed = now_ms.map_or(0, |now| now.saturating_sub(self.enqueued_ms));
        self.unique_for.saturating_sub(Duration::from_millis(passed))
    }

    pub(super) fn running(mut self, owner: Owner, lease: Duration) -> Self {
        (self.state, self.owner, self.wait, self.fence) = (JobState::Running, Some(owner), lease, 0);
        self.attempts += 1;
        self
    }

    pub(super) fn done(mut self, window_left: Duration) -> Self {
        (self.state, self.wait, self.payload) = (JobState::Done, window_left, Bytes::new());
        self
    }

    /// Queued again, or dead if that was the last attempt.
    pub(super) fn failed(mut self, retry_in: Duration, failure: &str) -> Self {
        self.failure = failure.chars().take(FAILURE_MAX).collect();
        let last = self.attempts >= self.attempts_max;
        (self.state, self.wait) = if last { (JobState::Dead, Duration::ZERO) } else { (JobState::Queued, retry_in) };
        self
    }

    pub(super) fn info(self, stood: Duration) -> JobInfo {
        let running = self.state == JobState::Running;
        JobInfo {
            id: self.id,
            key: self.key,
            state: self.state,
            payload: self.payload,
            attempts: self.attempts,
            attempts_max: self.attempts_max,
            fence: self.owner.filter(|_| running).map(|owner| FencingToken::new(self.fence, owner)),
            failure: self.failure,
            left: self.wait.saturating_sub(stood),
        }
    }
}

/// Rounded up: nothing ends early.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Times, Version};

    fn record(value: Bytes) -> Record {
        Record { value, version: Version::new(77), fence: None, times: Some(Times { written_ms: 500, now_ms: 900 }) }
    }

    fn at() -> Key {
        Key::reserved("job", "q/aa")
    }

    #[test]
    fn a_job_reads_back_as_it_was_written_whatever_its_payload() {
        let job = Enqueue::new(Key::new("a\"ü").unwrap(), &b"\n\0{\xff"[..]);
        let new = Stored::new(JobId::random(), &job);
        let read = Stored::decode(&at(), &record(new.encode().unwrap())).unwrap();
        assert_eq!(read, Stored { enqueued_ms: 500, fence: 77, ..new });
        let running = read.running(Owner::random(), Duration::from_secs(3));
        let again = Stored::decode(&at(), &record(running.encode().unwrap())).unwrap();
        assert_eq!(again, Stored { fence: 77, ..running });
    }

    #[test]
    fn what_is_not_a_job_is_damaged() {
        let good = Stored::new(JobId::random(), &Enqueue::new(Key::new("a").unwrap(), "p")).encode().unwrap();
        for cut in 0..good.len() - 2 {
            let error = Stored::decode(&at(), &record(good.slice(..cut))).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Damaged, "cut at {cut}");
        }
    }
}
