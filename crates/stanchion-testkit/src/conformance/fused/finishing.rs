//! What a finish writes and gives back.

use std::sync::Arc;
use std::time::Instant;

use stanchion_core::{Cond, ErrorKind, FencingToken, Finish, Finished, Owner, Released, Renewal, Version, Wait};
use tokio::task::JoinSet;

use super::super::locks::{busy, is_lease, obtain, request, short, take, take_over};
use super::super::records::watch;
use super::super::support::{Must as _, Names, SHORT, not_before, refusal, until};
use super::super::{Outcome, StoreFactory};
use super::{begin, finish, granted, no_fused, same_record, two, written};

/// The value is written and the next in line gets the lock.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_core::{CasLock, MemoryStore};
/// # use stanchion_testkit::conformance::{Client, Outcome, StoreFactory};
/// # fn memory() -> StoreFactory {
/// #     let store = MemoryStore::new();
/// #     StoreFactory::new(move || {
/// #         let store = store.clone();
/// #         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))).separate() }
/// #     })
/// # }
/// use stanchion_testkit::conformance::fused::finish_writes_and_releases_together;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = finish_writes_and_releases_together(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn finish_writes_and_releases_together(store: &StoreFactory) -> Outcome {
    let Some((a, b)) = two(store).await else {
        return no_fused();
    };
    let names = Names::fresh();
    let (claim, lock) = (names.key("claim"), request(&names.key("lock")));
    let first = begin(&claim, Cond::Absent, Some(&lock), Owner::random());
    let (begun, grant) = granted(a.fused.begin(&first).await, "nothing stands in the way");
    let waiting = lock.clone().wait(Wait::Forever);
    let mut line = Vec::new();
    for _ in 0..2 {
        let owner = Owner::random();
        refusal(b.locks.try_acquire(&waiting, owner).await, ErrorKind::Contended, "it is taken");
        line.push(owner);
    }
    let (sender, mut served) = tokio::sync::mpsc::unbounded_channel();
    let mut waiters = JoinSet::new();
    for (place, owner) in line.into_iter().enumerate() {
        let (locks, waiting, sender, patience) =
            (Arc::clone(&b.locks), waiting.clone(), sender.clone(), store.patient());
        waiters.spawn(async move {
            let next =
                obtain(Arc::clone(&locks), waiting, owner, patience).await.must("the next in line gets the lock");
            sender.send((place, next.fence)).expect("the case listens");
            locks.release(&next).await.must("release");
        });
    }
    drop(sender);
    let watched = tokio::spawn(watch(Arc::clone(&b.records), claim.clone(), Some(begun), store.patient()));
    busy(&b.locks, &lock, "it is held until the finish").await;
    let (version, released) = written(a.fused.finish(&finish(&claim, begun, Some(&grant))).await, "it is ours");
    let start = Instant::now();
    assert!(version > begun, "{version} after {begun}");
    assert_eq!(released, Some(Released::Released));
    b.reads(&claim, "done", version, "the outcome").await;
    assert_eq!(watched.await.expect("the watcher ends"), Some(version), "a watcher of the record");
    let mut order = Vec::new();
    while let Some((place, fence)) = served.recv().await {
        assert!(fence.number() > grant.fence.number(), "{fence} after {}", grant.fence);
        order.push(place);
    }
    waiters.join_all().await;
    assert!(start.elapsed() < store.patient() / 2, "all were served {:?} after the finish", start.elapsed());
    if a.locks.capability().fair {
        assert_eq!(order, [0, 1], "the order of the line");
    }
    assert_eq!(order.len(), 2, "all in line got it");
    assert_eq!(a.locks.release(&grant).await.must("release"), Released::NotHeld, "it was released with the write");

    // Nobody waits; and the outcome disappears when it is told to.
    let second = begin(&names.key("short"), Cond::Absent, Some(&lock), Owner::random());
    let (begun, grant) = granted(a.fused.begin(&second).await, "the line is empty");
    let ending = Finish { ttl: Some(SHORT), ..finish(&second.key, begun, Some(&grant)) };
    let start = Instant::now();
    let (_, released) = written(a.fused.finish(&ending).await, "it is ours");
    assert_eq!(released, Some(Released::Released));
    let free = take(&b.locks, &lock, "it was released").await;
    b.locks.release(&free).await.must("release");
    let gone = || async { b.record(&second.key).await.is_none().then_some(()) };
    until(store.patient(), "an outcome with a ttl ends", gone).await;
    not_before(start, SHORT, "the outcome was gone");

    // A call without a lock.
    let third = Finish { cond: Cond::Absent, ..finish(&names.key("third"), begun, None) };
    let (version, released) = written(a.fused.finish(&third).await, "there is no record");
    assert_eq!(released, None, "there is no lock");
    b.reads(&third.key, "done", version, "the outcome").await;
    Outcome::Passed
}

/// The record is returned; the lock stays the owner's.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_core::{CasLock, MemoryStore};
/// # use stanchion_testkit::conformance::{Client, Outcome, StoreFactory};
/// # fn memory() -> StoreFactory {
/// #     let store = MemoryStore::new();
/// #     StoreFactory::new(move || {
/// #         let store = store.clone();
/// #         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))).separate() }
/// #     })
/// # }
/// use stanchion_testkit::conformance::fused::finish_with_a_stale_version_changes_nothing;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = finish_with_a_stale_version_changes_nothing(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn finish_with_a_stale_version_changes_nothing(store: &StoreFactory) -> Outcome {
    let Some((a, b)) = two(store).await else {
        return no_fused();
    };
    let names = Names::fresh();
    let (claim, lock) = (names.key("claim"), request(&names.key("lock")));
    let first = begin(&claim, Cond::Absent, Some(&lock), Owner::random());
    let (begun, grant) = granted(a.fused.begin(&first).await, "nothing stands in the way");
    b.records.put(&claim, "settled by another".into(), Cond::Version(begun), None).await.must("put");
    b.records.touch(&claim, &FencingToken::from_parts(7, 70)).await.must("touch");
    let stands = b.record(&claim).await.must("it was written");

    let newer = Version::new(stands.version.get() + 1);
    let nothing = finish(&names.key("nothing"), begun, Some(&grant));
    for (stale, record) in [
        (finish(&claim, begun, Some(&grant)), Some(&stands)),
        (finish(&claim, newer, Some(&grant)), Some(&stands)),
        (Finish { cond: Cond::Absent, ..finish(&claim, begun, Some(&grant)) }, Some(&stands)),
        (finish(&claim, begun, None), Some(&stands)),
        (nothing, None),
    ] {
        let what = format!("{:?} of {}", stale.cond, stale.key);
        match a.fused.finish(&stale).await.must(&what) {
            Finished::Found(found) => same_record(found.as_ref(), record, &what),
            other => panic!("{what}: the condition does not hold, got {other:?}"),
        }
        same_record(b.record(&stale.key).await.as_ref(), record, &format!("{what}: the record stays"));
        busy(&b.locks, &lock, &format!("{what}: the lock stays")).await;
    }
    let stale = Finish { cond: Cond::Fence(FencingToken::from_parts(6, 60)), ..finish(&claim, begun, Some(&grant)) };
    refusal(a.fused.finish(&stale).await, ErrorKind::FenceRejected, "a fence that is not the key's");
    same_record(b.record(&claim).await.as_ref(), Some(&stands), "a fence that is not the key's");
    assert!(matches!(a.locks.renew(&grant, lock.ttl).await, Renewal::Renewed), "the lock stays the owner's");
    let (_, released) = written(a.fused.finish(&finish(&claim, stands.version, Some(&grant))).await, "the right one");
    assert_eq!(released, Some(Released::Released), "it was ours all the time");
    Outcome::Passed
}

/// And says `NotHeld`.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_core::{CasLock, MemoryStore};
/// # use stanchion_testkit::conformance::{Client, Outcome, StoreFactory};
/// # fn memory() -> StoreFactory {
/// #     let store = MemoryStore::new();
/// #     StoreFactory::new(move || {
/// #         let store = store.clone();
/// #         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))).separate() }
/// #     })
/// # }
/// use stanchion_testkit::conformance::fused::finish_after_the_lock_was_lost_still_writes;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = finish_after_the_lock_was_lost_still_writes(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn finish_after_the_lock_was_lost_still_writes(store: &StoreFactory) -> Outcome {
    let Some((a, b)) = two(store).await else {
        return no_fused();
    };
    let names = Names::fresh();
    let ways: &[&str] = if is_lease(&a.locks) { &["evicted", "expired", "released"] } else { &["released"] };
    for way in ways {
        for taken_by_another in [true, false] {
            let name = format!("{way} {taken_by_another}");
            let (claim, key) = (names.key(&format!("claim {name}")), names.key(&format!("lock {name}")));
            let lock = if *way == "expired" { short(&key, SHORT) } else { request(&key) };
            let first = begin(&claim, Cond::Absent, Some(&lock), Owner::random());
            let (begun, grant) = granted(a.fused.begin(&first).await, "nothing stands in the way");
            match *way {
                "evicted" => drop(b.locks.evict(&key).await.must("evict")),
                "released" => drop(a.locks.release(&grant).await.must("release")),
                _ => {}
            }
            let mut other = Some(take_over(store, &b.locks, &request(&key), "it is lost").await);
            if let Some(grant) = other.take_if(|_| !taken_by_another) {
                b.locks.release(&grant).await.must("release");
            }
            let (version, released) = written(a.fused.finish(&finish(&claim, begun, Some(&grant))).await, &name);
            assert_eq!(released, Some(Released::NotHeld), "{name}");
            b.reads(&claim, "done", version, &name).await;
            if let Some(other) = other {
                let renewal = b.locks.renew(&other, other.ttl).await;
                assert!(matches!(renewal, Renewal::Renewed), "{name}: the new holder's lock was touched: {renewal:?}");
                busy(&a.locks, &request(&key), &format!("{name}: the new holder has it")).await;
            }
        }
    }
    Outcome::Passed
}
