//! The cases of [`Fused`], one per bullet.

mod beginning;
mod finishing;
mod meeting;
mod replies;

use std::sync::Arc;

use stanchion_core::{
    Acquire, Begin, Begun, Cond, Finish, Finished, Fused, Grant, Key, LockBackend, Owner, Page, Record, RecordStore,
    Released, Version,
};

use super::support::{Must as _, not_applicable};
use super::{Outcome, StoreFactory};

pub use beginning::{begin_marks_and_locks_together, begin_on_a_busy_lock_leaves_the_claim};
pub use finishing::{
    finish_after_the_lock_was_lost_still_writes, finish_with_a_stale_version_changes_nothing,
    finish_writes_and_releases_together,
};
pub use meeting::{begin_that_meets_a_record_changes_nothing, of_many_beginnings_one_is_granted};
pub use replies::an_answer_lost_in_begin_is_outcome_unknown;

crate::__conformance_names! { fused [crate::__conformance_list] }

/// One client that has everything.
#[derive(Debug, Clone)]
struct Parts {
    fused: Arc<dyn Fused>,
    records: Arc<dyn RecordStore>,
    locks: Arc<dyn LockBackend>,
}

async fn parts(store: &StoreFactory) -> Option<Parts> {
    let client = store.open().await;
    Some(Parts { fused: client.fused?, records: client.records?, locks: client.locks })
}

/// Two clients of the same store, so that nothing passes by what one of them remembers.
async fn two(store: &StoreFactory) -> Option<(Parts, Parts)> {
    Some((parts(store).await?, parts(store).await?))
}

fn no_fused() -> Outcome {
    not_applicable("the client has no `Fused`")
}

/// The first step on `key`, with values that tell which of them was written.
fn begin(key: &Key, cond: Cond, lock: Option<&Acquire>, owner: Owner) -> Begin {
    let lock = lock.cloned().map(Arc::new);
    Begin { key: key.clone(), cond, granted: "granted".into(), busy: "busy".into(), lock, owner }
}

/// The last step on `key`.
fn finish(key: &Key, version: Version, grant: Option<&Grant>) -> Finish {
    let cond = Cond::Version(version);
    Finish { key: key.clone(), cond, value: "done".into(), ttl: None, grant: grant.cloned() }
}

/// The version and the grant of a beginning with a lock, which must succeed.
#[track_caller]
fn granted(begun: stanchion_core::Result<Begun>, what: &str) -> (Version, Grant) {
    match begun.must(what) {
        Begun::Granted { version, grant: Some(grant) } => (version, grant),
        other => panic!("{what}: expected a grant, got {other:?}"),
    }
}

#[track_caller]
fn written(finished: stanchion_core::Result<Finished>, what: &str) -> (Version, Option<Released>) {
    match finished.must(what) {
        Finished::Written { version, released } => (version, released),
        other => panic!("{what}: expected a write, got {other:?}"),
    }
}

impl Parts {
    async fn record(&self, key: &Key) -> Option<Record> {
        self.records.get(key).await.must("get")
    }

    /// What another client must read: exactly this value, at this version.
    async fn reads(&self, key: &Key, value: &str, version: Version, what: &str) {
        let record = self.record(key).await.must(what);
        assert_eq!((&record.value[..], record.version), (value.as_bytes(), version), "{what}");
    }

    /// Those who wait for the lock, as far as the store can see them.
    async fn waiters(&self, key: &Key) -> usize {
        let listed = self.locks.list(key.as_str(), Page::first(10)).await.must("list");
        listed.iter().filter(|info| info.key == *key).map(|info| info.waiters.len()).sum()
    }

    /// Whoever holds the lock, by fence.
    async fn holders(&self, key: &Key) -> Vec<Option<stanchion_core::FencingToken>> {
        let listed = self.locks.list(key.as_str(), Page::first(10)).await.must("list");
        let own = listed.iter().filter(|info| info.key == *key);
        own.flat_map(|info| info.holders.iter().map(|holder| holder.fence)).collect()
    }
}

/// A found record is the one that `get` reads, whole.
#[track_caller]
fn same_record(found: Option<&Record>, read: Option<&Record>, what: &str) {
    let shown = |record: &Record| {
        let written = record.times.map(|times| times.written_ms);
        (record.value.clone(), record.version, record.fence, written)
    };
    assert_eq!(found.map(shown), read.map(shown), "{what}");
    if let Some(times) = found.and_then(|record| record.times) {
        assert!(times.now_ms >= times.written_ms, "{what}: written after now: {times:?}");
    }
}
