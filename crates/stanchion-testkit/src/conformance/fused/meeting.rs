//! Beginnings that meet another.

use stanchion_core::{Begun, Cond, ErrorKind, FencingToken, Owner, Record, Version};
use tokio::task::JoinSet;

use super::super::locks::{request, take};
use super::super::support::{LONG, Must as _, Names, refusal};
use super::super::{Outcome, StoreFactory};
use super::{Parts, begin, granted, no_fused, parts, same_record, two};

/// If the condition does not hold, the record is returned and the lock stays as it was.
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
/// use stanchion_testkit::conformance::fused::begin_that_meets_a_record_changes_nothing;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = begin_that_meets_a_record_changes_nothing(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn begin_that_meets_a_record_changes_nothing(store: &StoreFactory) -> Outcome {
    let Some((a, b)) = two(store).await else {
        return no_fused();
    };
    let names = Names::fresh();
    let (claim, lock) = (names.key("claim"), request(&names.key("lock")));
    let old = b.records.put(&claim, "first".into(), Cond::Absent, Some(LONG)).await.must("put");
    let now = b.records.put(&claim, "second".into(), Cond::Version(old), Some(LONG)).await.must("put");
    b.records.touch(&claim, &FencingToken::from_parts(7, 70)).await.must("touch");
    let stands = b.record(&claim).await;
    assert!(stands.as_ref().is_some_and(|record| record.version == now && record.fence.is_some()));

    for held in [false, true] {
        let before = if held { Some(take(&b.locks, &lock, "it is free").await) } else { None };
        for (cond, lock) in [
            (Cond::Absent, Some(&lock)),
            (Cond::Version(old), Some(&lock)),
            (Cond::Version(Version::new(now.get() + 1)), Some(&lock)),
            (Cond::Absent, None),
        ] {
            let begun = a.fused.begin(&begin(&claim, cond, lock, Owner::random())).await;
            let what = format!("{cond:?}, lock taken: {held}");
            same_record(found(begun, &what).as_ref(), stands.as_ref(), &what);
            unchanged(&b, &claim, stands.as_ref(), &what).await;
        }
        let nothing = names.key("nothing");
        let begun = a.fused.begin(&begin(&nothing, Cond::Version(now), Some(&lock), Owner::random())).await;
        assert_eq!(found(begun, "a version of nothing"), None);
        unchanged(&b, &nothing, None, "a version of nothing").await;

        // A fence is no claim that somebody else has made: the refusal is that of a write.
        let stale = Cond::Fence(FencingToken::from_parts(6, 60));
        let begun = a.fused.begin(&begin(&claim, stale, Some(&lock), Owner::random())).await;
        refusal(begun, ErrorKind::FenceRejected, "a fence that is not the key's");
        unchanged(&b, &claim, stands.as_ref(), "a fence that is not the key's").await;

        let fences: Vec<_> = before.iter().map(|grant| Some(grant.fence)).collect();
        assert_eq!(b.holders(&lock.key).await, fences, "the lock is as it was");
        assert_eq!(b.waiters(&lock.key).await, 0, "nobody waits for it");
        if before.is_none() {
            let free = take(&b.locks, &lock, "the lock stays free").await;
            b.locks.release(&free).await.must("release");
        }
    }
    Outcome::Passed
}

async fn unchanged(client: &Parts, key: &stanchion_core::Key, stands: Option<&Record>, what: &str) {
    let read = client.record(key).await;
    same_record(read.as_ref(), stands, &format!("{what}: the record stays"));
}

#[track_caller]
fn found(begun: stanchion_core::Result<Begun>, what: &str) -> Option<Record> {
    match begun.must(what) {
        Begun::Found(found) => found,
        other => panic!("{what}: the condition does not hold, got {other:?}"),
    }
}

/// Of concurrent `Cond::Absent` beginnings exactly one writes.
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
/// use stanchion_testkit::conformance::fused::of_many_beginnings_one_is_granted;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = of_many_beginnings_one_is_granted(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn of_many_beginnings_one_is_granted(store: &StoreFactory) -> Outcome {
    let mut clients = Vec::new();
    for _ in 0..4 {
        let Some(client) = parts(store).await else { return no_fused() };
        clients.push(client);
    }
    let names = Names::fresh();
    for round in 0..5 {
        let claim = names.key(&format!("claim {round}"));
        let mut race = JoinSet::new();
        for caller in 0..12 {
            // In odd rounds each has a lock of its own: the claim alone must decide.
            let lock = if round % 2 == 0 { 0 } else { caller };
            let lock = request(&names.key(&format!("lock {round} {lock}")));
            let (client, claim) = (clients[caller % clients.len()].clone(), claim.clone());
            race.spawn(async move {
                let begin = begin(&claim, Cond::Absent, Some(&lock), Owner::random());
                (client.fused.begin(&begin).await.must("begin"), client, lock)
            });
        }
        let (mut wrote, mut free) = (Vec::new(), Vec::new());
        while let Some(ended) = race.join_next().await {
            let (begun, client, lock) = ended.expect("the caller ends");
            match begun {
                Begun::Found(Some(_)) => free.push(lock),
                Begun::Found(None) => panic!("round {round}: it found nothing, and did not write"),
                begun => wrote.push((begun, client)),
            }
        }
        assert_eq!(wrote.len(), 1, "round {round}: exactly one of twelve writes, not {wrote:?}");
        let (begun, client) = wrote.remove(0);
        let (version, grant) = granted(Ok(begun), "its lock is free");
        clients[0].reads(&claim, "granted", version, "the claim of the one").await;
        for lock in free.iter().filter(|lock| lock.key != grant.key) {
            assert_eq!(clients[0].holders(&lock.key).await, [], "round {round}: who found a record holds no lock");
        }
        client.locks.release(&grant).await.must("release");
    }
    Outcome::Passed
}
