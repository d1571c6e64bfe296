//! Record stores with one bug each, and the case that must find it.

#![expect(clippy::unwrap_used, reason = "helpers of tests, though not tests themselves")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Capability, CasLock, Cond, Error, ErrorKind, FencingToken, Key, MemoryStore, Page, Record, RecordStore, Result,
    Version, refused,
};
use stanchion_testkit::conformance::{Client, Faults, StoreFactory, records};
use tokio::time::Instant;

use super::{Expectation, all_proven, must_fail, must_pass};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bug {
    /// Control: the wrapper itself is right.
    None,
    CachedRead,
    BlindPut,
    CheckThenPut,
    StalePutWritesAnyway,
    VersionsStartAnewAfterDelete,
    TtlIgnored,
    TtlHalved,
    TtlSticks,
    DeleteWithoutCondition,
    DeleteOfNothingIsFine,
    TouchDoesNotRaise,
    TouchMakesARecord,
    RefusalWithoutFloor,
    NumbersAlone,
    WriteOnlyFence,
    FenceDiesWithTheRecord,
    ScanInAnyOrder,
    ScanWithAfter,
    ScanWithoutLimit,
    ScanByPattern,
    ChangedNeverWakes,
    ChangedMissesADelete,
    LostReplyIsSuccess,
    LostReplyIsUnavailable,
    LostReplyIsRetried,
}

/// Bug, the case that must fail, and what it must say: failing for another reason proves nothing.
const FOUND: &[Expectation<Bug>] = &[
    (Bug::CachedRead, "get_sees_the_last_put", "the version of the last put"),
    (Bug::BlindPut, "put_absent_only_once", "exactly one of twelve"),
    (Bug::BlindPut, "put_version_refuses_a_stale_version", "expected Conflict"),
    (Bug::BlindPut, "cas_race_keeps_every_increment", "5 workers times 10"),
    (Bug::BlindPut, "any_sequence_is_answered_as_a_map_would", "shortest sequence"),
    (Bug::DeleteWithoutCondition, "any_sequence_is_answered_as_a_map_would", "shortest sequence"),
    (Bug::TouchDoesNotRaise, "any_sequence_is_answered_as_a_map_would", "shortest sequence"),
    (Bug::CheckThenPut, "put_absent_only_once", "exactly one of twelve"),
    (Bug::CheckThenPut, "cas_race_keeps_every_increment", "5 workers times 10"),
    (Bug::StalePutWritesAnyway, "put_version_refuses_a_stale_version", "changed the record"),
    (Bug::VersionsStartAnewAfterDelete, "versions_grow_for_ever", "must grow across a delete"),
    (Bug::TtlIgnored, "ttl_expires_by_the_store_clock", "not within"),
    (Bug::TtlHalved, "ttl_expires_by_the_store_clock", "the record was absent after"),
    (Bug::TtlSticks, "ttl_expires_by_the_store_clock", "has no ttl that could have ended"),
    (Bug::DeleteWithoutCondition, "delete_needs_its_condition", "expected Conflict"),
    (Bug::DeleteOfNothingIsFine, "delete_needs_its_condition", "delete of nothing"),
    (Bug::TouchDoesNotRaise, "touch_raises_the_fence_and_reads", "the raised fence"),
    (Bug::TouchMakesARecord, "touch_raises_the_fence_and_reads", "no record to read"),
    (Bug::RefusalWithoutFloor, "touch_raises_the_fence_and_reads", "the floor"),
    (Bug::NumbersAlone, "equal_number_of_another_owner_is_refused", "expected FenceRejected"),
    (Bug::WriteOnlyFence, "fence_write_needs_the_touch", "nobody has touched the key"),
    (Bug::FenceDiesWithTheRecord, "fence_outlives_the_record", "expected FenceRejected"),
    (Bug::ScanInAnyOrder, "scan_is_sorted_and_paged", "pages of"),
    (Bug::ScanWithAfter, "scan_is_sorted_and_paged", "pages of"),
    (Bug::ScanWithoutLimit, "scan_is_sorted_and_paged", "entries on a page of"),
    (Bug::ScanByPattern, "scan_is_sorted_and_paged", "pages of"),
    (Bug::ChangedNeverWakes, "changed_wakes_on_a_write", "woken"),
    (Bug::ChangedMissesADelete, "changed_wakes_on_a_write", "woken"),
    (Bug::LostReplyIsSuccess, "a_lost_reply_is_outcome_unknown", "expected OutcomeUnknown"),
    (Bug::LostReplyIsUnavailable, "a_lost_reply_is_outcome_unknown", "expected OutcomeUnknown"),
    (Bug::LostReplyIsRetried, "a_lost_reply_is_outcome_unknown", "expected OutcomeUnknown"),
];

#[test]
fn every_broken_record_store_is_found() {
    all_proven(FOUND, records::CASES);
    must_fail(FOUND, records::CASES, factory);
}

#[test]
fn the_unbroken_record_wrapper_passes() {
    must_pass(records::CASES, factory(Bug::None));
}

#[derive(Debug, Clone)]
struct Broken {
    inner: MemoryStore,
    bug: Bug,
    shared: Arc<Shared>,
    cache: Arc<Mutex<HashMap<Key, Record>>>,
}

#[derive(Debug, Default)]
struct Shared {
    offset: Mutex<HashMap<Key, u64>>,
    ttl: Mutex<HashMap<Key, Duration>>,
    generation: Mutex<HashMap<Key, u32>>,
    lose_reply: AtomicBool,
}

#[derive(Debug)]
struct Wire(Arc<Shared>);

impl Faults for Wire {
    fn lose_next_reply(&self, _: &Key) {
        self.0.lose_reply.store(true, Ordering::SeqCst);
    }
}

fn factory(bug: Bug) -> StoreFactory {
    let (inner, shared) = (MemoryStore::new(), Arc::new(Shared::default()));
    let wire = Wire(Arc::clone(&shared));
    StoreFactory::new(move || {
        let store = Broken { inner: inner.clone(), bug, shared: Arc::clone(&shared), cache: Arc::default() };
        async move { Client::new(Arc::new(CasLock::new(store.inner.clone())), Some(Arc::new(store))) }
    })
    .faults(wire)
}

fn conflict() -> Error {
    Error::new(ErrorKind::Conflict, "the record is not what the condition says")
}

impl Broken {
    fn shift(&self, key: &Key) -> u64 {
        self.shared.offset.lock().unwrap().get(key).copied().unwrap_or_default()
    }

    fn inner_key(&self, key: &Key) -> Key {
        let generation = self.shared.generation.lock().unwrap().get(key).copied().unwrap_or_default();
        if generation == 0 { key.clone() } else { Key::new(format!("{generation}#{key}")).unwrap() }
    }

    fn inner_cond(&self, key: &Key, cond: Cond) -> Cond {
        match cond {
            Cond::Version(version) => Cond::Version(Version::new(version.get() + self.shift(key))),
            Cond::Fence(token) => Cond::Fence(self.token(&token)),
            Cond::Absent => Cond::Absent,
        }
    }

    fn token(&self, token: &FencingToken) -> FencingToken {
        if self.bug == Bug::NumbersAlone { FencingToken::from_parts(token.number(), 0) } else { *token }
    }

    fn shown(&self, key: &Key, record: Record) -> Record {
        Record { version: Version::new(record.version.get() - self.shift(key)), ..record }
    }

    /// The condition that lets anything through.
    async fn anything(&self, key: &Key) -> Cond {
        let found = self.inner.get(key).await.unwrap();
        found.map_or(Cond::Absent, |record| Cond::Version(record.version))
    }

    fn refusal(&self, error: Error) -> Error {
        match (self.bug, error.kind()) {
            (Bug::RefusalWithoutFloor, ErrorKind::FenceRejected) => Error::new(ErrorKind::FenceRejected, "stale"),
            _ => error,
        }
    }

    /// The reply of a write goes over the wire.
    fn reply<T>(&self, answer: Result<T>, again: impl FnOnce() -> Result<T>) -> Result<T> {
        if !self.shared.lose_reply.swap(false, Ordering::SeqCst) {
            return answer;
        }
        match self.bug {
            Bug::LostReplyIsSuccess => answer,
            Bug::LostReplyIsUnavailable => Err(Error::new(ErrorKind::Unavailable, "connection reset")),
            Bug::LostReplyIsRetried => again(),
            _ => Err(Error::new(ErrorKind::OutcomeUnknown, "connection reset after the request was sent")),
        }
    }
}

#[async_trait]
impl RecordStore for Broken {
    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        if self.bug == Bug::CachedRead
            && let Some(cached) = self.cache.lock().unwrap().get(key)
        {
            return Ok(Some(cached.clone()));
        }
        let found = self.inner.get(&self.inner_key(key)).await?.map(|record| self.shown(key, record));
        if let Some(record) = &found {
            self.cache.lock().unwrap().insert(key.clone(), record.clone());
        }
        Ok(found)
    }

    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        match self.bug {
            Bug::TouchDoesNotRaise => return self.get(key).await,
            Bug::TouchMakesARecord if self.get(key).await?.is_none() => {
                self.inner.put(key, Bytes::new(), Cond::Absent, None).await?;
            }
            // The floor is only looked at.
            Bug::WriteOnlyFence => {
                let seen = self.get(key).await?.and_then(|record| record.fence);
                return if token.supersedes(seen.as_ref()) {
                    self.get(key).await
                } else {
                    Err(refused(key, *token, seen))
                };
            }
            _ => {}
        }
        let touched = self.inner.touch(&self.inner_key(key), &self.token(token)).await;
        Ok(touched.map_err(|e| self.refusal(e))?.map(|record| self.shown(key, record)))
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, mut ttl: Option<Duration>) -> Result<Version> {
        let at = self.inner_key(key);
        let mut cond = self.inner_cond(key, cond);
        match self.bug {
            Bug::BlindPut if !matches!(cond, Cond::Fence(_)) => cond = self.anything(&at).await,
            Bug::CheckThenPut if !matches!(cond, Cond::Fence(_)) => {
                if self.anything(&at).await != cond {
                    return Err(conflict());
                }
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
                while let Err(e) = self.inner.put(&at, value.clone(), self.anything(&at).await, ttl).await {
                    assert_eq!(e.kind(), ErrorKind::Conflict);
                }
                return Ok(self.get(key).await?.unwrap().version);
            }
            Bug::StalePutWritesAnyway => {
                let answer = self.inner.put(&at, value.clone(), cond, ttl).await;
                if let (Err(_), Cond::Version(_)) = (&answer, cond) {
                    self.inner.put(&at, value, self.anything(&at).await, ttl).await?;
                }
                return answer;
            }
            Bug::WriteOnlyFence => {
                if let Cond::Fence(token) = cond {
                    self.inner.touch(&at, &token).await?;
                }
            }
            Bug::TtlIgnored => ttl = None,
            Bug::TtlHalved => ttl = ttl.map(|ttl| ttl / 2),
            Bug::TtlSticks => {
                let mut stuck = self.shared.ttl.lock().unwrap();
                ttl = match ttl {
                    Some(ttl) => Some(*stuck.entry(key.clone()).or_insert(ttl)),
                    None => stuck.get(key).copied(),
                };
            }
            _ => {}
        }
        let written = self.inner.put(&at, value.clone(), cond, ttl).await.map_err(|e| self.refusal(e));
        let version = self.reply(written, || Err(conflict()))?;
        Ok(Version::new(version.get() - self.shift(key)))
    }

    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        let at = self.inner_key(key);
        let mut cond = self.inner_cond(key, cond);
        if self.bug == Bug::DeleteWithoutCondition {
            cond = self.anything(&at).await;
        }
        let before = self.inner.get(&at).await?;
        let mut deleted = self.inner.delete(&at, cond).await.map_err(|e| self.refusal(e));
        if self.bug == Bug::DeleteOfNothingIsFine && before.is_none() {
            deleted = Ok(());
        }
        self.reply(deleted, || Err(conflict()))?;
        let last = before.map_or(0, |record| record.version.get());
        match self.bug {
            Bug::VersionsStartAnewAfterDelete => drop(self.shared.offset.lock().unwrap().insert(key.clone(), last)),
            Bug::FenceDiesWithTheRecord => *self.shared.generation.lock().unwrap().entry(key.clone()).or_default() += 1,
            _ => {}
        }
        Ok(())
    }

    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        let limit = page.limit;
        match self.bug {
            Bug::ScanInAnyOrder => {
                let mut found = self.inner.scan(prefix, page).await?;
                found.reverse();
                Ok(found)
            }
            Bug::ScanWithAfter => {
                let first = page.after.as_ref().map(|key| async move { (key.clone(), self.inner.get(key).await) });
                let mut found = self.inner.scan(prefix, page.clone()).await?;
                if let Some(first) = first
                    && let (key, Ok(Some(record))) = first.await
                {
                    found.insert(0, (key, record));
                }
                found.truncate(limit);
                Ok(found)
            }
            Bug::ScanWithoutLimit => self.inner.scan(prefix, Page { limit: 1000, ..page }).await,
            // As LIKE without escaping: `_` is any character, so the fixed part ends before it.
            Bug::ScanByPattern => {
                let fixed = prefix.split('_').next().unwrap_or_default();
                let mut found = self.inner.scan(fixed, Page { limit: 1000, ..page }).await?;
                found.retain(|(key, _)| key.as_str().chars().count() > prefix.chars().count());
                found.truncate(limit);
                Ok(found)
            }
            _ => self.inner.scan(prefix, page).await,
        }
    }

    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        match self.bug {
            Bug::ChangedNeverWakes => tokio::time::sleep_until(until).await,
            // Sees writes, by their version, but not that a record is gone.
            Bug::ChangedMissesADelete => {
                while Instant::now() < until {
                    if self.get(key).await?.is_some_and(|record| Some(record.version) != since) {
                        return Ok(());
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
            _ => return self.inner.changed(&self.inner_key(key), since, until).await,
        }
        Ok(())
    }
}
