//! Answers that never come.

use stanchion_core::{Cond, ErrorKind, Owner, Ran, Released, Renewal};

use super::super::locks::request;
use super::super::support::{Must as _, Names, not_applicable, refusal, until};
use super::super::{Outcome, StoreFactory};
use super::{begin, finish, granted, no_fused, two, written};

/// Never a success; nothing has been sent by the caller then.
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
/// use stanchion_testkit::conformance::fused::an_answer_lost_in_begin_is_outcome_unknown;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = an_answer_lost_in_begin_is_outcome_unknown(&memory()).await;
/// assert!(matches!(outcome, Outcome::NotApplicable(_))); // there is no wire
/// # }
/// ```
pub async fn an_answer_lost_in_begin_is_outcome_unknown(store: &StoreFactory) -> Outcome {
    let Some((caller, observer)) = two(store).await else {
        return no_fused();
    };
    let Some(faults) = store.hook() else {
        return not_applicable("the factory has no `Faults`");
    };
    let names = Names::fresh();
    let (claim, lock) = (names.key("claim"), request(&names.key("lock")));
    let again = || async { observer.records.get(&claim).await.ok() };
    // Connections, scripts and statements are ready after this, so the next answer is the beginning's own.
    let warm = names.key("warm-up");
    let begun = caller.fused.begin(&begin(&warm, Cond::Absent, Some(&lock), Owner::random())).await;
    let (version, grant) = granted(begun, "nothing stands in the way");
    written(caller.fused.finish(&finish(&warm, version, Some(&grant))).await, "it is ours");

    let owner = Owner::random();
    let first = begin(&claim, Cond::Absent, Some(&lock), owner);
    faults.lose_next_reply(&claim);
    let e = refusal(caller.fused.begin(&first).await, ErrorKind::OutcomeUnknown, "a beginning whose answer is lost");
    assert_eq!(e.ran(), Ran::Maybe);

    // The engine ran it, so the record tells how far it went; and it went there once.
    let record = until(store.patient(), "the store can be read again", again).await.must("the engine received it");
    match &record.value[..] {
        b"granted" => {
            // The owner asks again, and gets the lock that it has; its fence is the one that the beginning drew.
            let held = observer.holders(&lock.key).await;
            let grant = caller.locks.try_acquire(&lock, owner).await.must("the lock is the owner's");
            assert_eq!(held, [Some(grant.fence)], "the lock was taken with the mark");
            assert!(matches!(caller.locks.renew(&grant, lock.ttl).await, Renewal::Renewed));
            assert_eq!(caller.locks.release(&grant).await.must("release"), Released::Released);
        }
        b"busy" => assert_eq!(observer.holders(&lock.key).await, [], "no lock without the mark"),
        other => panic!("neither value of the beginning: {other:?}"),
    }

    // A finish is no different: the record tells.
    let second = begin(&claim, Cond::Version(record.version), Some(&lock), Owner::random());
    let (version, grant) = granted(caller.fused.begin(&second).await, "the version is the record's");
    faults.lose_next_reply(&claim);
    let last = finish(&claim, version, Some(&grant));
    let e = refusal(caller.fused.finish(&last).await, ErrorKind::OutcomeUnknown, "a finish whose answer is lost");
    assert_eq!(e.ran(), Ran::Maybe);
    let record = until(store.patient(), "the store can be read again", again).await.must("the engine received it");
    assert_eq!(record.value, "done", "the outcome");
    Outcome::Passed
}
