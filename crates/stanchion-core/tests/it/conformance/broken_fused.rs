//! Steps with one bug each, and the case that must find it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Acquire, Begin, Begun, CasLock, Cond, Error, ErrorKind, Finish, Finished, Fused, Key, LockBackend, MemoryStore,
    Record, RecordStore, Released, Result, Separate, Wait,
};
use stanchion_testkit::conformance::{Client, Faults, StoreFactory, fused};

use super::queue::{Queue, QueueBug};
use super::{Expectation, all_proven, must_fail, must_pass};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bug {
    /// Control: the wrapper itself is right.
    None,
    MarksWithoutTheLock,
    LocksWithoutTheMark,
    LockIsInvisible,
    KeepsTheOldTtl,
    BusyWritesNothing,
    BusyWritesGranted,
    StaysInTheQueue,
    LocksBeforeItLooks,
    FindsAnOldRecord,
    LooksThenWrites,
    BeginsOverARecord,
    FinishKeepsTheLock,
    FinishForgetsTheTtl,
    FinishWritesNothing,
    StaleFinishReleases,
    StaleFinishWrites,
    LostLockStopsTheFinish,
    FinishReleasesWhoeverHolds,
    FinishSaysReleased,
    LostAnswerIsSuccess,
    LostAnswerIsUnavailable,
    LostAnswerIsSentAgain,
}

const FOUND: &[Expectation<Bug>] = &[
    (Bug::MarksWithoutTheLock, "begin_marks_and_locks_together", "it is taken"),
    (Bug::LocksWithoutTheMark, "begin_marks_and_locks_together", "the claim"),
    (Bug::LockIsInvisible, "begin_marks_and_locks_together", "it is taken"),
    (Bug::KeepsTheOldTtl, "begin_marks_and_locks_together", "no ttl that could have ended"),
    (Bug::BusyWritesNothing, "begin_on_a_busy_lock_leaves_the_claim", "the claim is left"),
    (Bug::BusyWritesGranted, "begin_on_a_busy_lock_leaves_the_claim", "the claim is left"),
    (Bug::StaysInTheQueue, "begin_on_a_busy_lock_leaves_the_claim", "the lock goes to whoever asks next"),
    (Bug::LocksBeforeItLooks, "begin_that_meets_a_record_changes_nothing", "the lock is as it was"),
    (Bug::FindsAnOldRecord, "begin_that_meets_a_record_changes_nothing", "left == right"),
    (Bug::BeginsOverARecord, "begin_that_meets_a_record_changes_nothing", "the condition does not hold"),
    (Bug::LooksThenWrites, "of_many_beginnings_one_is_granted", "exactly one of twelve"),
    (Bug::LocksBeforeItLooks, "of_many_beginnings_one_is_granted", "holds no lock"),
    (Bug::FinishKeepsTheLock, "finish_writes_and_releases_together", "the next in line gets the lock"),
    (Bug::FinishForgetsTheTtl, "finish_writes_and_releases_together", "an outcome with a ttl ends"),
    (Bug::FinishWritesNothing, "finish_writes_and_releases_together", "the outcome"),
    (Bug::StaleFinishReleases, "finish_with_a_stale_version_changes_nothing", "the lock stays"),
    (Bug::StaleFinishWrites, "finish_with_a_stale_version_changes_nothing", "the condition does not hold"),
    (Bug::LostLockStopsTheFinish, "finish_after_the_lock_was_lost_still_writes", "expected a write"),
    (Bug::FinishReleasesWhoeverHolds, "finish_after_the_lock_was_lost_still_writes", "NotHeld"),
    (Bug::FinishSaysReleased, "finish_after_the_lock_was_lost_still_writes", "NotHeld"),
    (Bug::LostAnswerIsSuccess, "an_answer_lost_in_begin_is_outcome_unknown", "expected OutcomeUnknown"),
    (Bug::LostAnswerIsUnavailable, "an_answer_lost_in_begin_is_outcome_unknown", "expected OutcomeUnknown"),
    (Bug::LostAnswerIsSentAgain, "an_answer_lost_in_begin_is_outcome_unknown", "expected OutcomeUnknown"),
];

#[test]
fn every_broken_step_is_found() {
    all_proven(FOUND, fused::CASES);
    must_fail(FOUND, fused::CASES, factory);
}

#[test]
fn the_unbroken_step_wrapper_passes() {
    must_pass(fused::CASES, factory(Bug::None));
}

#[derive(Debug, Clone, Default)]
struct Wire(Arc<AtomicBool>);

impl Faults for Wire {
    fn lose_next_reply(&self, _: &Key) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn factory(bug: Bug) -> StoreFactory {
    let (store, wire) = (MemoryStore::new(), Wire::default());
    let lost = wire.clone();
    let queue = Queue::new(store.clone(), QueueBug::None);
    StoreFactory::new(move || {
        // A queue where it matters, so that there is one to stay in.
        let locks: Arc<dyn LockBackend> = match bug {
            Bug::StaysInTheQueue => Arc::new(queue.clone()),
            _ => Arc::new(CasLock::new(store.clone())),
        };
        let records: Arc<dyn RecordStore> = Arc::new(store.clone());
        let inner = Separate::new(Arc::clone(&records), Arc::clone(&locks));
        let (client, lost) = (Client::new(Arc::clone(&locks), Some(Arc::clone(&records))), lost.clone());
        async move { client.fused(Arc::new(Broken { inner, records, locks, bug, lost })) }
    })
    .faults(wire)
}

#[derive(Debug)]
struct Broken {
    inner: Separate,
    records: Arc<dyn RecordStore>,
    locks: Arc<dyn LockBackend>,
    bug: Bug,
    lost: Wire,
}

impl Broken {
    async fn record(&self, key: &Key) -> Result<Option<Record>> {
        self.records.get(key).await
    }

    /// The condition that lets anything through.
    async fn anything(&self, key: &Key) -> Result<Cond> {
        Ok(self.record(key).await?.map_or(Cond::Absent, |record| Cond::Version(record.version)))
    }

    /// Whether the answer of this step is lost on its way.
    fn reply<T>(&self, answer: Result<T>, again: Result<T>) -> Result<T> {
        match self.bug {
            Bug::LostAnswerIsSuccess => answer,
            Bug::LostAnswerIsUnavailable => Err(Error::new(ErrorKind::Unavailable, "connection reset")),
            Bug::LostAnswerIsSentAgain => again,
            _ => Err(Error::new(ErrorKind::OutcomeUnknown, "connection reset after the request was sent")),
        }
    }

    /// Two keys under one wrapper: what is locked is not what was asked for.
    fn elsewhere(lock: &Acquire) -> Result<Acquire> {
        let mut lock = lock.clone();
        lock.key = Key::new(format!("elsewhere/{}", lock.key))?;
        Ok(lock)
    }

    async fn begin_broken(&self, begin: &Begin) -> Result<Begun> {
        let mut begin = begin.clone();
        match (self.bug, begin.lock.clone()) {
            (Bug::MarksWithoutTheLock, Some(_)) => {
                let begun = self.inner.begin(&begin).await?;
                if let Begun::Granted { grant: Some(grant), .. } = &begun {
                    self.locks.release(grant).await?;
                }
                return Ok(begun);
            }
            (Bug::LocksWithoutTheMark, _) => {
                begin.granted = Bytes::from_static(b"claimed");
            }
            (Bug::LockIsInvisible, Some(lock)) => {
                begin.lock = Some(Arc::new(Self::elsewhere(&lock)?));
                let mut begun = self.inner.begin(&begin).await?;
                if let Begun::Granted { grant: Some(grant), .. } = &mut begun {
                    grant.key = lock.key.clone();
                }
                return Ok(begun);
            }
            (Bug::BusyWritesGranted, Some(_)) => begin.busy = begin.granted.clone(),
            (Bug::StaysInTheQueue, Some(lock)) if lock.wait == Wait::Forever => {
                let begun = self.inner.begin(&begin).await?;
                if let Begun::Busy { .. } = begun {
                    self.locks.try_acquire(&lock, begin.owner).await.map(drop).or_else(contended)?;
                }
                return Ok(begun);
            }
            (Bug::LocksBeforeItLooks, Some(lock)) => {
                let grant = self.locks.try_acquire(&lock, begin.owner).await;
                if let (Ok(_), Some(found)) = (&grant, self.record(&begin.key).await?) {
                    return Ok(Begun::Found(Some(found)));
                }
            }
            (Bug::LooksThenWrites, Some(_)) if begin.cond == Cond::Absent => {
                if let Some(found) = self.record(&begin.key).await? {
                    return Ok(Begun::Found(Some(found)));
                }
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
                begin.cond = self.anything(&begin.key).await?;
            }
            (Bug::BeginsOverARecord, _) => begin.cond = self.anything(&begin.key).await?,
            _ => {}
        }
        let mut begun = self.inner.begin(&begin).await?;
        match (self.bug, &mut begun) {
            (Bug::BusyWritesNothing, Begun::Busy { version, .. }) => {
                self.records.delete(&begin.key, Cond::Version(*version)).await?;
            }
            (Bug::FindsAnOldRecord, Begun::Found(Some(record))) => record.fence = None,
            (Bug::KeepsTheOldTtl, Begun::Granted { version, .. }) if begin.cond != Cond::Absent => {
                let ttl = Some(std::time::Duration::from_millis(300));
                *version = self.records.put(&begin.key, begin.granted, Cond::Version(*version), ttl).await?;
            }
            _ => {}
        }
        Ok(begun)
    }

    async fn finish_broken(&self, finish: &Finish) -> Result<Finished> {
        let mut finish = finish.clone();
        match (self.bug, finish.grant.clone()) {
            (Bug::FinishKeepsTheLock, Some(_)) => {
                finish.grant = None;
                return Ok(match self.inner.finish(&finish).await? {
                    Finished::Written { version, .. } => {
                        Finished::Written { version, released: Some(Released::Released) }
                    }
                    found => found,
                });
            }
            (Bug::FinishForgetsTheTtl, _) => finish.ttl = None,
            (Bug::FinishWritesNothing, Some(grant)) => {
                if let Some(record) = self.record(&finish.key).await? {
                    let version = stanchion_core::Version::new(record.version.get() + 1);
                    return Ok(Finished::Written { version, released: Some(self.locks.release(&grant).await?) });
                }
            }
            (Bug::StaleFinishReleases, Some(grant)) => {
                let finished = self.inner.finish(&finish).await?;
                if let Finished::Found(_) = finished {
                    self.locks.release(&grant).await?;
                }
                return Ok(finished);
            }
            (Bug::StaleFinishWrites, _) => finish.cond = self.anything(&finish.key).await?,
            (Bug::LostLockStopsTheFinish, Some(grant)) => {
                if let stanchion_core::Renewal::Lost = self.locks.renew(&grant, grant.ttl).await {
                    return Ok(Finished::Found(self.record(&finish.key).await?));
                }
            }
            (Bug::FinishReleasesWhoeverHolds, Some(grant)) => {
                finish.grant = None;
                let released = Some(self.locks.evict(&grant.key).await?);
                return Ok(match self.inner.finish(&finish).await? {
                    Finished::Written { version, .. } => Finished::Written { version, released },
                    found => found,
                });
            }
            _ => {}
        }
        Ok(match self.inner.finish(&finish).await? {
            Finished::Written { version, released: Some(_) } if self.bug == Bug::FinishSaysReleased => {
                Finished::Written { version, released: Some(Released::Released) }
            }
            finished => finished,
        })
    }
}

fn contended(e: Error) -> Result<()> {
    if e.kind() == ErrorKind::Contended { Ok(()) } else { Err(e) }
}

#[async_trait]
impl Fused for Broken {
    async fn begin(&self, begin: &Begin) -> Result<Begun> {
        let answer = self.begin_broken(begin).await;
        if !self.lost.0.swap(false, Ordering::SeqCst) {
            return answer;
        }
        self.reply(answer, self.inner.begin(begin).await)
    }

    async fn finish(&self, finish: &Finish) -> Result<Finished> {
        let answer = self.finish_broken(finish).await;
        if !self.lost.0.swap(false, Ordering::SeqCst) {
            return answer;
        }
        self.reply(answer, self.inner.finish(finish).await)
    }
}
