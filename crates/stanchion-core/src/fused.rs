//! Claim, lock and mark in one trip; record and release in another.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{
    Acquire, Cond, Error, ErrorKind, Grant, Key, LockBackend, Owner, Ran, Record, RecordStore, Released, Result,
    Version,
};

/// The first step of a guarded call.
///
/// ```
/// use stanchion_core::{Begin, Cond, Key, Owner};
/// let begin = Begin {
///     key: Key::new("claim")?,
///     cond: Cond::Absent,
///     granted: "dispatched".into(),
///     busy: "claimed".into(),
///     lock: None,
///     owner: Owner::random(),
/// };
/// assert!(begin.lock.is_none());
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Begin {
    /// The record to write.
    pub key: Key,
    /// What must be true of it.
    pub cond: Cond,
    /// Its value if the lock is ours, or none is asked for.
    pub granted: Bytes,
    /// Its value if the lock is taken.
    pub busy: Bytes,
    /// The lock; how long to wait for it is not looked at: there is one attempt.
    pub lock: Option<Arc<Acquire>>,
    /// Who asks for the lock.
    pub owner: Owner,
}

/// What came of the first step.
///
/// ```
/// use stanchion_core::{Begun, Version};
/// assert!(matches!(Begun::Granted { version: Version::new(1), grant: None }, Begun::Granted { .. }));
/// ```
#[derive(Debug)]
pub enum Begun {
    /// `granted` is written, and the lock, if one was asked for, is ours.
    Granted {
        /// Of the record.
        version: Version,
        /// The lock.
        grant: Option<Grant>,
    },
    /// `busy` is written; the lock is taken.
    Busy {
        /// Of the record.
        version: Version,
        /// `Contended`, with the holder.
        refused: Error,
    },
    /// The condition does not hold: nothing is written, nothing locked. This is the record.
    Found(Option<Record>),
}

/// The last step of a guarded call.
///
/// ```
/// use stanchion_core::{Cond, Finish, Key, Version};
/// let finish = Finish {
///     key: Key::new("claim")?,
///     cond: Cond::Version(Version::new(1)),
///     value: "done".into(),
///     ttl: None,
///     grant: None,
/// };
/// assert!(finish.grant.is_none());
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Finish {
    /// The record to write.
    pub key: Key,
    /// What must be true of it.
    pub cond: Cond,
    /// Its value.
    pub value: Bytes,
    /// When it disappears by itself.
    pub ttl: Option<Duration>,
    /// The lock to release.
    pub grant: Option<Grant>,
}

/// What came of the last step.
///
/// ```
/// use stanchion_core::Finished;
/// assert!(matches!(Finished::Found(None), Finished::Found(None)));
/// ```
#[derive(Debug)]
pub enum Finished {
    /// The value is written.
    Written {
        /// Of the record.
        version: Version,
        /// Whether the lock had still been ours; `None` without a lock, or if its release is not answered.
        released: Option<Released>,
    },
    /// The condition does not hold: nothing is written, and the lock is as it was. This is the record.
    Found(Option<Record>),
}

/// Records and locks of one engine, changed together.
///
/// ```
/// use std::sync::Arc;
/// use stanchion_core::{Begin, Begun, CasLock, Cond, Fused, Key, MemoryStore, Owner, Separate};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// let fused: Box<dyn Fused> = Box::new(Separate::new(Arc::new(store.clone()), Arc::new(CasLock::new(store))));
/// let (key, owner) = (Key::new("claim")?, Owner::random());
/// let begin = Begin { key, cond: Cond::Absent, granted: "sent".into(), busy: "claimed".into(), lock: None, owner };
/// assert!(matches!(fused.begin(&begin).await?, Begun::Granted { .. }));
/// assert!(matches!(fused.begin(&begin).await?, Begun::Found(Some(_))));
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
///
/// # Behavior
/// - `begin_marks_and_locks_together`: if the condition holds and the lock is free, `granted` is written and the lock is
///   the owner's, with a fence as from `try_acquire`; listings and later requests see it like any other.
/// - `begin_on_a_busy_lock_leaves_the_claim`: if the lock is taken, `busy` is written, `Contended` names the holder, and
///   the owner stands in no queue.
/// - `begin_that_meets_a_record_changes_nothing`: if the condition does not hold, the record is returned and the lock
///   stays as it was.
/// - `of_many_beginnings_one_is_granted`: of concurrent `Cond::Absent` beginnings exactly one writes.
/// - `finish_writes_and_releases_together`: the value is written and the next in line gets the lock.
/// - `finish_with_a_stale_version_changes_nothing`: the record is returned; the lock stays the owner's.
/// - `finish_after_the_lock_was_lost_still_writes`: and says `NotHeld`.
/// - `an_answer_lost_in_begin_is_outcome_unknown`: never a success; nothing has been sent by the caller then.
#[async_trait]
pub trait Fused: Debug + Send + Sync + 'static {
    /// Writes the claim and takes the lock, in one atomic step.
    async fn begin(&self, begin: &Begin) -> Result<Begun>;

    /// Writes the outcome and releases the lock, in one atomic step.
    async fn finish(&self, finish: &Finish) -> Result<Finished>;
}

/// The same steps on any store and any lock, one after the other: the claim is CLAIMED before the lock is asked for, and
/// marked once it is ours; the outcome is recorded before the lock is released.
///
/// ```
/// use std::sync::Arc;
/// use stanchion_core::{CasLock, MemoryStore, Separate};
/// let store = MemoryStore::new();
/// let _steps = Separate::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
/// ```
#[derive(Debug, Clone)]
pub struct Separate {
    records: Arc<dyn RecordStore>,
    locks: Arc<dyn LockBackend>,
}

impl Separate {
    /// Steps on these two.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, MemoryStore, Separate};
    /// let _steps = Separate::new(Arc::new(MemoryStore::new()), Arc::new(CasLock::new(MemoryStore::new())));
    /// ```
    #[must_use]
    pub fn new(records: Arc<dyn RecordStore>, locks: Arc<dyn LockBackend>) -> Self {
        Self { records, locks }
    }

    /// The version if it was written, the record if the condition does not hold.
    async fn put(
        &self,
        key: &Key,
        value: &Bytes,
        cond: Cond,
        ttl: Option<Duration>,
    ) -> Result<Result<Version, Option<Record>>> {
        match self.records.put(key, value.clone(), cond, ttl).await {
            Ok(version) => Ok(Ok(version)),
            Err(e) if e.kind() == ErrorKind::Conflict => Ok(Err(self.records.get(key).await?)),
            Err(e) => Err(e),
        }
    }
}

#[async_trait]
impl Fused for Separate {
    async fn begin(&self, begin: &Begin) -> Result<Begun> {
        let Some(lock) = &begin.lock else {
            return Ok(match self.put(&begin.key, &begin.granted, begin.cond, None).await? {
                Ok(version) => Begun::Granted { version, grant: None },
                Err(found) => Begun::Found(found),
            });
        };
        let version = match self.put(&begin.key, &begin.busy, begin.cond, None).await? {
            Ok(version) => version,
            Err(found) => return Ok(Begun::Found(found)),
        };
        let grant = match self.locks.try_acquire(lock, begin.owner).await {
            Ok(grant) => grant,
            // Whoever asks for the lock by itself is told the same; nothing was locked.
            Err(refused) if refused.ran() == Ran::No && refused.kind() != ErrorKind::Unavailable => {
                // One attempt only: this owner must not stay in a queue.
                self.locks.withdraw(lock, begin.owner).await;
                return Ok(Begun::Busy { version, refused });
            }
            Err(e) => return Err(half_done(e)),
        };
        match self.put(&begin.key, &begin.granted, Cond::Version(version), None).await.map_err(half_done)? {
            Ok(version) => Ok(Begun::Granted { version, grant: Some(grant) }),
            Err(found) => {
                self.locks.release(&grant).await.ok();
                Ok(Begun::Found(found))
            }
        }
    }

    async fn finish(&self, finish: &Finish) -> Result<Finished> {
        let version = match self.put(&finish.key, &finish.value, finish.cond, finish.ttl).await? {
            Ok(version) => version,
            Err(found) => return Ok(Finished::Found(found)),
        };
        let released = match &finish.grant {
            None => None,
            // The outcome is recorded, and that is what counts; the caller releases what is not released.
            Some(grant) => self.locks.release(grant).await.ok(),
        };
        Ok(Finished::Written { version, released })
    }
}

/// The claim stands, and the lock may: the caller undoes both.
fn half_done(e: Error) -> Error {
    Error::new(ErrorKind::OutcomeUnknown, "the beginning of a call stopped half-way").because(e)
}
