//! The enforcing side: `touch` and `Cond::Fence`.

use std::sync::Arc;

use stanchion_core::ErrorKind::FenceRejected;
use stanchion_core::{Cond, FencingToken, Key, RecordStore};

use super::super::support::{Must as _, Names, SHORT, no_records, refusal, until};
use super::super::{Outcome, StoreFactory};
use super::two;

/// Tokens in the size that clocks give (milliseconds times 1024): neighbours must stay apart, and 9 is below 10.
const NUMBERS: [(u64, u64); 2] = [(9, 10), (1_830_000_000_000_000, 1_830_000_000_000_001)];

/// After `touch` every lower token is refused with the floor, on `touch`, `put` and `delete`; also without a record.
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
/// use stanchion_testkit::conformance::records::touch_raises_the_fence_and_reads;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = touch_raises_the_fence_and_reads(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn touch_raises_the_fence_and_reads(store: &StoreFactory) -> Outcome {
    let Some((a, b)) = two(store).await else {
        return no_records();
    };
    let names = Names::fresh();
    for (low, high) in NUMBERS {
        let (stale, newer) = (FencingToken::from_parts(low, 7), FencingToken::from_parts(high, 3));
        let key = names.key(&format!("record-{high}"));
        let version = a.put(&key, "value".into(), Cond::Absent, None).await.must("put");
        assert!(a.touch(&key, &stale).await.must("the first touch").is_some(), "touch reads");
        let read = b.touch(&key, &newer).await.must("touch by a higher token").must("touch reads");
        assert_eq!((&read.value[..], read.version), (&b"value"[..], version), "touch reads the record");
        assert_eq!(read.fence, Some(newer), "touch returns the raised fence");
        assert_eq!(a.get(&key).await.must("get").must("there").fence, Some(newer), "get shows the fence");
        lower_is_refused(&a, &key, stale, newer).await;
        let again = b.touch(&key, &newer).await.must("touch again").must("touch reads");
        a.put(&key, "by version".into(), Cond::Version(again.version), None).await.must("the version that touch read");

        let empty = names.key(&format!("empty-{high}"));
        assert_eq!(a.touch(&empty, &newer).await.must("touch"), None, "there is no record to read");
        lower_is_refused(&b, &empty, stale, newer).await;
        assert_eq!(b.get(&empty).await.must("get"), None, "touch makes no record");
    }
    Outcome::Passed
}

/// The nonce counts.
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
/// use stanchion_testkit::conformance::records::equal_number_of_another_owner_is_refused;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = equal_number_of_another_owner_is_refused(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn equal_number_of_another_owner_is_refused(store: &StoreFactory) -> Outcome {
    let Some((a, b)) = two(store).await else {
        return no_records();
    };
    let names = Names::fresh();
    // Nonces that differ in one bit only, which a 53-bit number would lose; and a smaller and a greater twin.
    for (name, mine, other) in [("greater", u64::MAX - 1, u64::MAX), ("smaller", u64::MAX, u64::MAX - 1)] {
        let key = names.key(name);
        let (mine, twin) = (FencingToken::from_parts(7, mine), FencingToken::from_parts(7, other));
        a.touch(&key, &mine).await.must("touch");
        lower_is_refused(&b, &key, twin, mine).await;
        a.put(&key, "mine".into(), Cond::Fence(mine), None).await.must("a refused twin changes nothing");
        lower_is_refused(&b, &key, twin, mine).await;
        let record = b.get(&key).await.must("get").must("written");
        assert_eq!((&record.value[..], record.fence), (&b"mine"[..], Some(mine)));
    }
    Outcome::Passed
}

/// `Cond::Fence` succeeds only if that token was the last to touch the key.
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
/// use stanchion_testkit::conformance::records::fence_write_needs_the_touch;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = fence_write_needs_the_touch(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn fence_write_needs_the_touch(store: &StoreFactory) -> Outcome {
    let Some((a, b)) = two(store).await else {
        return no_records();
    };
    let names = Names::fresh();
    let (old, new) = (FencingToken::from_parts(5, 50), FencingToken::from_parts(6, 60));
    let key = names.key("record");
    let write = |by: FencingToken| (key.clone(), Cond::Fence(by));
    let (k, cond) = write(new);
    refusal(a.put(&k, "ghost".into(), cond, None).await, FenceRejected, "nobody has touched the key");
    assert_eq!(b.get(&key).await.must("get"), None, "a refused write made a record");

    a.touch(&key, &old).await.must("touch");
    refusal(b.put(&k, "new".into(), cond, None).await, FenceRejected, "a higher token that has not touched");
    assert_eq!(b.get(&key).await.must("get"), None, "a refused write made a record");
    let (_, old_cond) = write(old);
    let first = a.put(&k, "1".into(), old_cond, None).await.must("the toucher writes, also when nothing is there");
    let second = a.put(&k, "2".into(), old_cond, None).await.must("and writes again");
    assert!(second > first, "each write has a higher version");
    refusal(b.delete(&k, cond).await, FenceRejected, "a delete by a token that has not touched");

    // The schedule behind the rule: the old holder has read, is paused, and the new holder reads the same value.
    // A fence that is raised by writes only would let the old holder's write through and lose one of the two.
    a.touch(&key, &old).await.must("the old holder reads");
    b.touch(&key, &new).await.must("the new holder reads");
    let e = refusal(a.put(&k, "lost".into(), old_cond, None).await, FenceRejected, "the old holder wakes up");
    assert_eq!(e.floor(), Some(new.number()), "the refusal carries the floor");
    b.put(&k, "3".into(), cond, None).await.must("the new holder writes");
    refusal(a.put(&k, "lost".into(), old_cond, None).await, FenceRejected, "the old holder tries again");
    assert_eq!(a.get(&key).await.must("get").must("written").value, "3", "nothing of the old holder");
    Outcome::Passed
}

/// Delete and expiry keep the floor.
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
/// use stanchion_testkit::conformance::records::fence_outlives_the_record;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = fence_outlives_the_record(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn fence_outlives_the_record(store: &StoreFactory) -> Outcome {
    let Some((a, b)) = two(store).await else {
        return no_records();
    };
    let names = Names::fresh();
    let (stale, newer) = (FencingToken::from_parts(9, 90), FencingToken::from_parts(10, 10));
    for name in ["deleted-by-fence", "deleted-by-version", "expired"] {
        let key = names.key(name);
        a.touch(&key, &newer).await.must("touch");
        let ttl = (name == "expired").then_some(SHORT);
        let version = a.put(&key, "1".into(), Cond::Fence(newer), ttl).await.must("put");
        match name {
            "deleted-by-fence" => a.delete(&key, Cond::Fence(newer)).await.must("delete"),
            "deleted-by-version" => a.delete(&key, Cond::Version(version)).await.must("delete"),
            _ => {
                until(store.patient(), "the record expires", || async {
                    b.get(&key).await.must("get").is_none().then_some(())
                })
                .await
            }
        }
        lower_is_refused(&b, &key, stale, newer).await;
        b.put(&key, "2".into(), Cond::Absent, None).await.must("a new record");
        assert_eq!(a.get(&key).await.must("get").must("written").fence, Some(newer), "{name}: the floor stays");
        lower_is_refused(&b, &key, stale, newer).await;
        a.put(&key, "3".into(), Cond::Fence(newer), None).await.must("the last toucher may still write");
    }
    Outcome::Passed
}

/// Every way in is closed to `stale`, with the floor of `seen`, and nothing changes.
async fn lower_is_refused(records: &Arc<dyn RecordStore>, key: &Key, stale: FencingToken, seen: FencingToken) {
    let view = |record: Option<stanchion_core::Record>| record.map(|r| (r.value, r.version, r.fence));
    let before = view(records.get(key).await.must("get"));
    for attempt in ["touch", "put", "delete"] {
        let result = match attempt {
            "touch" => records.touch(key, &stale).await.map(drop),
            "put" => records.put(key, "stale".into(), Cond::Fence(stale), None).await.map(drop),
            _ => records.delete(key, Cond::Fence(stale)).await,
        };
        let what = format!("{attempt} by {stale} where {seen} has touched");
        assert_eq!(refusal(result, FenceRejected, &what).floor(), Some(seen.number()), "{what}: the floor");
        assert_eq!(view(records.get(key).await.must("get")), before, "{what} changed the record");
    }
}
