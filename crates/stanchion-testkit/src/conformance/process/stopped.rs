//! A holder stands still past its ttl, and wakes up with a write in its hand.

use std::time::Duration;

use stanchion_core::{Cond, Hold};

use super::super::support::{Must as _, Names, no_records};
use super::super::{Outcome, StoreFactory};
use super::{Taker, alone};

/// How the holders write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Fence,
    Blind,
    LateFence,
}

/// The holder reads under its token and is stopped (SIGSTOP) past its ttl; another takes over and reads; the first
/// wakes up (SIGCONT) and writes, then the second. The stale write must be refused.
///
/// Two controls run the same schedule without a real fence, and must lose a write: one writes over whatever is there,
/// one compares tokens but raises the fence only when it writes.
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
/// use stanchion_testkit::conformance::process::a_stopped_holder_cannot_write_past_its_fence;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = a_stopped_holder_cannot_write_past_its_fence(&memory()).await;
/// assert!(matches!(outcome, Outcome::NotApplicable(_))); // processes do not share the memory of one
/// # }
/// ```
pub async fn a_stopped_holder_cannot_write_past_its_fence(store: &StoreFactory) -> Outcome {
    if let Some(outcome) = alone(store).await {
        return outcome;
    }
    let client = store.open().await;
    if client.records.is_none() {
        return no_records();
    }
    if client.locks.capability().hold == Hold::Held {
        return super::not_applicable("a stopped holder keeps a lock that is no lease");
    }
    let (acknowledged, kept) = schedule(store, Way::Fence).await;
    assert_eq!(kept, acknowledged, "every acknowledged increment is there, and no other");
    for control in [Way::Blind, Way::LateFence] {
        let (acknowledged, kept) = schedule(store, control).await;
        assert!(kept < acknowledged, "void: {control:?} kept {kept} of {acknowledged}, so the schedule proves nothing");
    }
    Outcome::Passed
}

/// Runs the schedule; how many increments were acknowledged, and how many are in the record at the end.
async fn schedule(store: &StoreFactory, way: Way) -> (u32, u32) {
    let names = Names::fresh();
    let (key, record) = (names.key("lock"), names.key("counter"));
    let records = store.records().await.must("records");
    records.put(&record, "0".into(), Cond::Absent, None).await.must("put");
    let ttl = Duration::from_millis(500);
    let acquire = |wait: Duration| format!("ACQUIRE {key} {} {}", ttl.as_millis(), wait.as_millis());
    let (read, write) = match way {
        Way::Fence => (format!("TOUCH {record}"), format!("PUT {record} 1")),
        Way::Blind => (format!("GET {record}"), format!("PUT-BLIND {record} 1")),
        Way::LateFence => (format!("GET {record}"), format!("PUT-LATE-FENCE {record} 1")),
    };
    let (mut old, mut new) = (Taker::start(store).await, Taker::start(store).await);

    old.expect(&acquire(Duration::ZERO), "GRANTED").await;
    old.expect(&read, "VALUE 0").await;
    old.child.pause();
    // It lies in the pipe when the holder wakes up: the write that was about to be sent.
    old.tell(&write);
    // A long ttl, so that this one does not lose the lock as well.
    new.expect(&format!("ACQUIRE {key} 60000 {}", store.patient().as_millis()), "GRANTED").await;
    new.expect(&read, "VALUE 0").await;
    old.child.resume();
    let stale = old.answer().await;
    let fresh = new.ask(&write).await;
    assert!(fresh.starts_with("WRITTEN"), "{way:?}: the present holder's write: {fresh}");
    if way == Way::Fence {
        assert!(stale.starts_with("REJECTED"), "the stale write: {stale}");
        old.expect(&write, "REJECTED").await;
        old.expect("RENEW", "LOST").await;
        old.expect("RELEASE", "NOTHELD").await;
    }
    new.expect("RELEASE", "RELEASED").await;
    let value = records.get(&record).await.must("get").must("the counter").value;
    let text = String::from_utf8_lossy(&value).into_owned();
    let kept = text.split('@').next().and_then(|number| number.parse().ok()).must("the counter is a number");
    let acknowledged = [stale, fresh].iter().filter(|answer| answer.starts_with("WRITTEN")).count();
    (u32::try_from(acknowledged).expect("at most two"), kept)
}
