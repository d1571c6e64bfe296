//! Optimistic concurrency: read, change, write if nobody was faster.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use crate::{Cond, Error, ErrorKind, Key, Owner, Record, RecordStore, Result, RetryPolicy, Version, planted};

/// How many of the last writers a value remembers. If fewer writes than this lie between our read and our look
/// after a lost answer, the list says for certain whether ours was among them.
const REMEMBERED: usize = 8;
const REMEMBERED_WRITES: u64 = REMEMBERED as u64;

const MAGIC: &[u8; 4] = b"stv1";
const HEADER: usize = 4 + 8 + REMEMBERED * 16;

/// Values that are changed by compare-and-swap, without a lock.
///
/// Each stored value begins with a small header: a count of writes, and who the last eight writers were.
/// With it, a commit whose answer was lost is **resolved by reading**, never by a blind retry.
///
/// ```
/// use stanchion_core::{Key, MemoryStore, Versioned};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let values = Versioned::new(MemoryStore::new());
/// let key = Key::new("balance")?;
/// let add_10 = |value: Option<&[u8]>| {
///     let old: u64 = value.and_then(|v| std::str::from_utf8(v).ok()?.parse().ok()).unwrap_or(0);
///     Ok((old + 10).to_string().into())
/// };
/// values.update(&key, add_10).await?;
/// values.update(&key, add_10).await?;
/// assert_eq!(values.get(&key).await?.unwrap().0, "20");
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Versioned {
    store: Arc<dyn RecordStore>,
    retry: RetryPolicy,
}

/// What an update came to.
///
/// ```
/// # use stanchion_core::{Key, MemoryStore, Versioned};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let updated = Versioned::new(MemoryStore::new()).update(&Key::new("a")?, |_| Ok("1".into())).await?;
/// assert_eq!(updated.conflicts, 0);
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Updated {
    /// The version that was written; `None` if the answer was lost and a later writer has replaced it already.
    pub version: Option<Version>,
    /// How often somebody else was faster.
    pub conflicts: u32,
}

/// A value with its header taken apart.
struct Parsed {
    writes: u64,
    writers: Vec<Owner>,
    value: Bytes,
}

impl Versioned {
    /// Values in `store`.
    ///
    /// ```
    /// let _values = stanchion_core::Versioned::new(stanchion_core::MemoryStore::new());
    /// ```
    pub fn new(store: impl RecordStore) -> Self {
        Self::shared(Arc::new(store))
    }

    /// Values in a store that others use, too.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// let _values = stanchion_core::Versioned::shared(Arc::new(stanchion_core::MemoryStore::new()));
    /// ```
    #[must_use]
    pub fn shared(store: Arc<dyn RecordStore>) -> Self {
        Self { store, retry: RetryPolicy::default() }
    }

    /// Sets how often to try again after a conflict.
    ///
    /// ```
    /// # use stanchion_core::{MemoryStore, RetryPolicy, Versioned};
    /// let _values = Versioned::new(MemoryStore::new()).retry(RetryPolicy::default().budget(3));
    /// ```
    #[must_use]
    pub const fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// The value and its version.
    ///
    /// # If it fails
    /// From the store, or `Damaged` if the record was not written by `Versioned`.
    ///
    /// ```
    /// # use stanchion_core::{Key, MemoryStore, Versioned};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// assert!(Versioned::new(MemoryStore::new()).get(&Key::new("a")?).await?.is_none());
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn get(&self, key: &Key) -> Result<Option<(Bytes, Version)>> {
        let record = self.store.get(key).await?;
        record.map(|record| Ok((parse(key, Some(&record))?.value, record.version))).transpose()
    }

    /// Reads, applies `change`, writes if the record is still the one that was read; otherwise reads anew and
    /// applies again. `change` must not have effects of its own: it may run several times.
    ///
    /// # If it fails
    /// - what `change` returned: nothing was written;
    /// - `Conflict` when the retry budget is used up: nothing was written;
    /// - `OutcomeUnknown` only if the answer was lost **and** more than eight others have written since, or the
    ///   store stays away.
    ///
    /// ```
    /// # use stanchion_core::{Key, MemoryStore, Versioned};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let values = Versioned::new(MemoryStore::new());
    /// let updated = values.update(&Key::new("a")?, |old| { assert!(old.is_none()); Ok("new".into()) }).await?;
    /// assert!(updated.version.is_some());
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn update(&self, key: &Key, mut change: impl FnMut(Option<&[u8]>) -> Result<Bytes>) -> Result<Updated> {
        let mut tries = self.retry.start();
        let mut conflicts = 0;
        // One name for all tries of this update: however late a write of ours arrives, we find it by it.
        let writer = Owner::random();
        // The count of writes before a write that went unanswered, while it may still happen.
        let mut open: Option<u64> = None;
        // Why the last try failed, when there is no other: one more look decides.
        let mut last: Option<Error> = None;
        let mut first = None;
        loop {
            let record = match self.store.get(key).await {
                Ok(record) => record,
                Err(_) if open.is_some() && last.is_none() && tries.again().await => continue,
                Err(e) => return Err(in_doubt(key, open, last.unwrap_or(e))),
            };
            let before = parse(key, record.as_ref()).map_err(|e| in_doubt(key, open, e))?;
            match before.settles(writer, open, record.as_ref()) {
                Settled::Written(version) => return Ok(Updated { version, conflicts }),
                Settled::Unknown => {
                    let error = Error::new(
                        ErrorKind::OutcomeUnknown,
                        "the answer to a write is lost, and many have written since",
                    );
                    return Err(error.with("key", key));
                }
                Settled::NotWritten => open = None,
                Settled::Open => {}
            }
            if let Some(mut error) = last {
                if open.is_none() && error.kind() == ErrorKind::OutcomeUnknown {
                    // The look has decided.
                    error = Error::new(ErrorKind::Conflict, "others have written, and our last try was not among them")
                        .with("key", key)
                        .because(error);
                }
                return Err(in_doubt(key, open, error.with("conflicts", conflicts)));
            }
            let mut value = change(record.as_ref().map(|_| &before.value[..])).map_err(|e| in_doubt(key, open, e))?;
            if planted!("retry-with-old-read") {
                value = first.get_or_insert(value).clone();
            }
            let cond = record.as_ref().map_or(Cond::Absent, |record| Cond::Version(record.version));
            let error = match self.store.put(key, before.followed_by(writer, &value), cond, None).await {
                Ok(version) => return Ok(Updated { version: Some(version), conflicts }),
                Err(e) => e,
            };
            match error.kind() {
                ErrorKind::Conflict if planted!("row-count-ignored") => {
                    return Ok(Updated { version: None, conflicts });
                }
                ErrorKind::Conflict => {
                    conflicts += 1;
                    metrics::counter!("stanchion_occ_retries_total").increment(1);
                }
                ErrorKind::OutcomeUnknown => open = open.or(Some(before.writes)),
                _ => return Err(in_doubt(key, open, error)),
            }
            last = (!tries.again().await).then_some(error);
        }
    }
}

/// `error`, unless a write of ours may still have happened: then that is what the caller has to know.
fn in_doubt(key: &Key, open: Option<u64>, error: Error) -> Error {
    if open.is_none() || error.kind() == ErrorKind::OutcomeUnknown {
        return error;
    }
    Error::new(ErrorKind::OutcomeUnknown, "the answer to a write is lost").with("key", key).because(error)
}

enum Settled {
    Written(Option<Version>),
    /// It did not happen, and cannot any more: the version it compares with is gone.
    NotWritten,
    /// It has not happened yet.
    Open,
    Unknown,
}

impl Parsed {
    /// Has a write of `writer` happened? One that went unanswered had `since` writes before it. A refused one is looked for,
    /// too: whatever repeats requests on their way may give back the refusal of the second copy.
    fn settles(&self, writer: Owner, since: Option<u64>, record: Option<&Record>) -> Settled {
        if planted!("own-write-unknown") {
            return Settled::NotWritten;
        }
        if self.writers.last() == Some(&writer) {
            return Settled::Written(record.map(|record| record.version));
        }
        if self.writers.contains(&writer) {
            return Settled::Written(None);
        }
        let Some(since) = since else { return Settled::NotWritten };
        match self.writes.checked_sub(since) {
            Some(0) => Settled::Open,
            Some(1..=REMEMBERED_WRITES) => Settled::NotWritten,
            // A record that vanished may have held our write; a count that ran ahead of the list may, too.
            _ => Settled::Unknown,
        }
    }

    fn followed_by(&self, writer: Owner, value: &Bytes) -> Bytes {
        let mut out = BytesMut::with_capacity(HEADER + value.len());
        out.put_slice(MAGIC);
        out.put_u64(self.writes + 1);
        let kept = self.writers.len().saturating_sub(REMEMBERED - 1);
        let writers = self.writers[kept..].iter().copied().chain([writer]);
        let missing = REMEMBERED - (self.writers.len() - kept) - 1;
        for writer in std::iter::repeat_n(Owner::from_bits(0), missing).chain(writers) {
            out.put_u128(writer.to_bits());
        }
        out.put_slice(value);
        out.freeze()
    }
}

fn parse(key: &Key, record: Option<&Record>) -> Result<Parsed> {
    let Some(record) = record else {
        return Ok(Parsed { writes: 0, writers: vec![], value: Bytes::new() });
    };
    if record.value.len() < HEADER || !record.value.starts_with(MAGIC) {
        return Err(Error::new(ErrorKind::Damaged, "the record was not written by Versioned")
            .with("key", key)
            .hint("give Versioned values keys of their own"));
    }
    let number =
        |at: usize, len: usize| record.value[at..at + len].iter().fold(0_u128, |n, byte| n << 8 | u128::from(*byte));
    let writers = (0..REMEMBERED).map(|i| Owner::from_bits(number(12 + i * 16, 16)));
    Ok(Parsed {
        writes: u64::try_from(number(4, 8)).unwrap_or(u64::MAX),
        writers: writers.filter(|writer| writer.to_bits() != 0).collect(),
        value: record.value.slice(HEADER..),
    })
}
