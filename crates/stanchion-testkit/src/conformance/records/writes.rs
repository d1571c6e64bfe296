//! Conditional writes: `Cond::Absent`, `Cond::Version`, time to live.

use std::sync::Arc;
use std::time::Instant;

use stanchion_core::ErrorKind::{Conflict, FenceRejected};
use stanchion_core::{Cond, ErrorKind, FencingToken, Key, RecordStore, Version};
use tokio::task::JoinSet;

use super::super::support::{LONG, Must as _, Names, SHORT, no_records, not_before, refusal, until};
use super::super::{Outcome, StoreFactory};
use super::two;

/// Of many concurrent `Cond::Absent` writes exactly one succeeds.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_core::{CasLock, MemoryStore};
/// # use stanchion_testkit::conformance::{Client, Outcome, StoreFactory};
/// # fn memory() -> StoreFactory {
/// #     let store = MemoryStore::new();
/// #     StoreFactory::new(move || {
/// #         let store = store.clone();
/// #         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))) }
/// #     })
/// # }
/// use stanchion_testkit::conformance::records::put_absent_only_once;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = put_absent_only_once(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn put_absent_only_once(store: &StoreFactory) -> Outcome {
    let Some((a, _)) = two(store).await else {
        return no_records();
    };
    let names = Names::fresh();
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(store.records().await.must("records"));
    }
    for round in 0..5 {
        let key = names.key(&format!("race-{round}"));
        let mut writers = JoinSet::new();
        for i in 0..12 {
            let (client, key) = (Arc::clone(&clients[i % clients.len()]), key.clone());
            writers.spawn(async move { (i, client.put(&key, format!("{i}").into(), Cond::Absent, None).await) });
        }
        let mut winners = Vec::new();
        for (i, result) in writers.join_all().await {
            match result {
                Ok(version) => winners.push((i, version)),
                Err(e) => assert_eq!(e.kind(), Conflict, "a loser's error: {e}"),
            }
        }
        assert_eq!(winners.len(), 1, "exactly one of twelve succeeds, not {winners:?}");
        let (i, version) = winners[0];
        let record = a.get(&key).await.must("get").must("the winner wrote");
        assert_eq!((record.value, record.version), (format!("{i}").into(), version), "the winner's record");
        refusal(a.put(&key, "late".into(), Cond::Absent, None).await, Conflict, "a late Cond::Absent");
        a.delete(&key, Cond::Version(version)).await.must("delete");
        a.put(&key, "again".into(), Cond::Absent, None).await.must("put after delete");
    }
    Outcome::Passed
}

/// A `Cond::Version` write fails with `Conflict` if the record has another version or is gone, and changes nothing.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_core::{CasLock, MemoryStore};
/// # use stanchion_testkit::conformance::{Client, Outcome, StoreFactory};
/// # fn memory() -> StoreFactory {
/// #     let store = MemoryStore::new();
/// #     StoreFactory::new(move || {
/// #         let store = store.clone();
/// #         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))) }
/// #     })
/// # }
/// use stanchion_testkit::conformance::records::put_version_refuses_a_stale_version;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = put_version_refuses_a_stale_version(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn put_version_refuses_a_stale_version(store: &StoreFactory) -> Outcome {
    let Some((a, b)) = two(store).await else {
        return no_records();
    };
    let names = Names::fresh();
    let key = names.key("record");
    let first = a.put(&key, "1".into(), Cond::Absent, None).await.must("put");
    let second = b.put(&key, "2".into(), Cond::Version(first), None).await.must("put");
    let stands = b.get(&key).await.must("get").must("written");
    for wrong in [first, Version::new(second.get() + 1), Version::new(0)] {
        let what = format!("Cond::Version({wrong}) on version {second}");
        refusal(a.put(&key, "wrong".into(), Cond::Version(wrong), None).await, Conflict, &what);
        let now = b.get(&key).await.must("get").must("nothing was changed");
        assert_eq!((now.value, now.version), (stands.value.clone(), stands.version), "{what} changed the record");
    }
    b.delete(&key, Cond::Version(second)).await.must("delete");
    refusal(a.put(&key, "ghost".into(), Cond::Version(second), None).await, Conflict, "a deleted record");
    assert_eq!(b.get(&key).await.must("get"), None, "a refused write brought the record back");

    let expiring = names.key("expiring");
    let version = a.put(&expiring, "short".into(), Cond::Absent, Some(SHORT)).await.must("put");
    gone(store, &b, &expiring).await;
    refusal(a.put(&expiring, "ghost".into(), Cond::Version(version), None).await, Conflict, "an expired record");
    assert_eq!(b.get(&expiring).await.must("get"), None, "a refused write brought the record back");

    let never = names.key("never");
    refusal(a.put(&never, "ghost".into(), Cond::Version(first), None).await, Conflict, "a record that never was");
    assert_eq!(b.get(&never).await.must("get"), None, "a refused write made a record");
    Outcome::Passed
}

/// Versions of one key strictly increase, also across delete and expiry.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_core::{CasLock, MemoryStore};
/// # use stanchion_testkit::conformance::{Client, Outcome, StoreFactory};
/// # fn memory() -> StoreFactory {
/// #     let store = MemoryStore::new();
/// #     StoreFactory::new(move || {
/// #         let store = store.clone();
/// #         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))) }
/// #     })
/// # }
/// use stanchion_testkit::conformance::records::versions_grow_for_ever;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = versions_grow_for_ever(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn versions_grow_for_ever(store: &StoreFactory) -> Outcome {
    let Some((a, b)) = two(store).await else {
        return no_records();
    };
    let key = Names::fresh().key("record");
    let mut last = Version::new(0);
    let mut grows = |version: Version, after: &str| {
        assert!(version > last, "{version} after {last}: versions must grow across {after}");
        last = version;
    };
    for _ in 0..2 {
        let first = a.put(&key, "1".into(), Cond::Absent, None).await.must("put");
        grows(first, "an expiry");
        let second = b.put(&key, "2".into(), Cond::Version(first), None).await.must("put");
        grows(second, "a write");
        a.delete(&key, Cond::Version(second)).await.must("delete");
        grows(b.put(&key, "3".into(), Cond::Absent, Some(SHORT)).await.must("put"), "a delete");
        gone(store, &a, &key).await;
    }
    Outcome::Passed
}

/// After its ttl a record is absent; without ttl it stays. A write without ttl removes an earlier ttl.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_core::{CasLock, MemoryStore};
/// # use stanchion_testkit::conformance::{Client, Outcome, StoreFactory};
/// # fn memory() -> StoreFactory {
/// #     let store = MemoryStore::new();
/// #     StoreFactory::new(move || {
/// #         let store = store.clone();
/// #         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))) }
/// #     })
/// # }
/// use stanchion_testkit::conformance::records::ttl_expires_by_the_store_clock;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = ttl_expires_by_the_store_clock(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn ttl_expires_by_the_store_clock(store: &StoreFactory) -> Outcome {
    let Some((a, b)) = two(store).await else {
        return no_records();
    };
    let names = Names::fresh();
    let (short, long, freed, prolonged) =
        (names.key("short"), names.key("long"), names.key("freed"), names.key("prolonged"));
    a.put(&long, "stays".into(), Cond::Absent, None).await.must("put");
    let version = a.put(&freed, "1".into(), Cond::Absent, Some(LONG)).await.must("put with a long ttl");
    let version = a.put(&freed, "2".into(), Cond::Version(version), Some(LONG)).await.must("put again");
    a.put(&freed, "stays".into(), Cond::Version(version), None).await.must("put without ttl");
    // The ttl that must not count any more has to end while we look: as short as that of `short`, and begun earlier.
    for (key, ttl) in [(&prolonged, Some(LONG)), (&names.key("freed-short"), None)] {
        until(store.patient(), "a second write within the ttl of the first", || async {
            let version = a.put(key, "1".into(), Cond::Absent, Some(SHORT)).await.ok()?;
            a.put(key, "stays".into(), Cond::Version(version), ttl).await.ok()
        })
        .await;
    }
    let start = Instant::now();
    let version = a.put(&short, "goes".into(), Cond::Absent, Some(SHORT)).await.must("put");
    gone(store, &b, &short).await;
    not_before(start, SHORT, "the record was absent");
    for key in [&long, &freed, &prolonged, &names.key("freed-short")] {
        let record = b.get(key).await.must("get").must(&format!("{key} has no ttl that could have ended"));
        assert_eq!(record.value, "stays", "the value of {key}");
    }
    refusal(a.delete(&short, Cond::Version(version)).await, Conflict, "delete of an expired record");
    assert_eq!(a.touch(&short, &FencingToken::from_parts(1, 1)).await.must("touch"), None, "touch sees no record");
    a.put(&short, "new".into(), Cond::Absent, None).await.must("an expired record is absent");
    Outcome::Passed
}

/// `delete` obeys the same conditions as `put`; deleting what is absent is a `Conflict`.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_core::{CasLock, MemoryStore};
/// # use stanchion_testkit::conformance::{Client, Outcome, StoreFactory};
/// # fn memory() -> StoreFactory {
/// #     let store = MemoryStore::new();
/// #     StoreFactory::new(move || {
/// #         let store = store.clone();
/// #         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))) }
/// #     })
/// # }
/// use stanchion_testkit::conformance::records::delete_needs_its_condition;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = delete_needs_its_condition(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn delete_needs_its_condition(store: &StoreFactory) -> Outcome {
    let Some((a, b)) = two(store).await else {
        return no_records();
    };
    let key = Names::fresh().key("record");
    let (low, high) = (FencingToken::from_parts(4, 40), FencingToken::from_parts(5, 50));
    refusal(a.delete(&key, Cond::Absent).await, Conflict, "delete of nothing");
    refusal(a.delete(&key, Cond::Version(Version::new(1))).await, Conflict, "delete of nothing by version");
    let first = a.put(&key, "1".into(), Cond::Absent, None).await.must("put");
    let second = a.put(&key, "2".into(), Cond::Version(first), None).await.must("put");
    refusal(b.delete(&key, Cond::Absent).await, Conflict, "Cond::Absent, but it is there");
    refusal(b.delete(&key, Cond::Version(first)).await, Conflict, "a stale version");
    refusal(b.delete(&key, Cond::Fence(high)).await, FenceRejected, "a token that has not touched");
    let stands = a.get(&key).await.must("get").must("refused deletes change nothing");
    assert_eq!((stands.value, stands.version), ("2".into(), second));
    b.delete(&key, Cond::Version(second)).await.must("delete by its version");
    assert_eq!(a.get(&key).await.must("get"), None, "deleted");
    refusal(b.delete(&key, Cond::Version(second)).await, Conflict, "a second delete");

    a.put(&key, "3".into(), Cond::Absent, None).await.must("put");
    a.touch(&key, &high).await.must("touch");
    refusal(b.delete(&key, Cond::Fence(low)).await, FenceRejected, "a lower token");
    assert!(a.get(&key).await.must("get").is_some(), "refused deletes change nothing");
    a.delete(&key, Cond::Fence(high)).await.must("delete by the token that touched last");
    assert_eq!(b.get(&key).await.must("get"), None, "deleted");
    refusal(a.delete(&key, Cond::Fence(high)).await, Conflict, "the right token, but nothing is there");
    Outcome::Passed
}

/// Five workers times ten increments by `Cond::Version` give exactly 50.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_core::{CasLock, MemoryStore};
/// # use stanchion_testkit::conformance::{Client, Outcome, StoreFactory};
/// # fn memory() -> StoreFactory {
/// #     let store = MemoryStore::new();
/// #     StoreFactory::new(move || {
/// #         let store = store.clone();
/// #         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))) }
/// #     })
/// # }
/// use stanchion_testkit::conformance::records::cas_race_keeps_every_increment;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = cas_race_keeps_every_increment(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn cas_race_keeps_every_increment(store: &StoreFactory) -> Outcome {
    let Some((a, _)) = two(store).await else {
        return no_records();
    };
    let key = Names::fresh().key("counter");
    a.put(&key, "0".into(), Cond::Absent, None).await.must("put");
    let mut workers = JoinSet::new();
    for _ in 0..5 {
        let (client, key) = (store.records().await.must("records"), key.clone());
        workers.spawn(async move {
            for _ in 0..10 {
                increment(&client, &key).await;
            }
        });
    }
    workers.join_all().await;
    assert_eq!(a.get(&key).await.must("get").must("the counter").value, "50", "5 workers times 10 increments");
    Outcome::Passed
}

async fn increment(records: &Arc<dyn RecordStore>, key: &Key) {
    loop {
        let record = records.get(key).await.must("get").must("the counter");
        let count: u64 = String::from_utf8_lossy(&record.value).parse().expect("a number");
        let next = (count + 1).to_string().into();
        // The others may come in between now; a store that answers without a pause would hardly let them.
        tokio::task::yield_now().await;
        match records.put(key, next, Cond::Version(record.version), None).await {
            Ok(_) => return,
            Err(e) if e.kind() == ErrorKind::Conflict => tokio::task::yield_now().await,
            Err(e) => panic!("an increment: {:?}: {e}", e.kind()),
        }
    }
}

async fn gone(store: &StoreFactory, records: &Arc<dyn RecordStore>, key: &Key) {
    until(store.patient(), "the record expires", || async {
        records.get(key).await.must("get").is_none().then_some(())
    })
    .await;
}
