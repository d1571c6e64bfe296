//! What the kill harness found, reduced to one process.

use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{Call, CallKey, CasLock, Fingerprint, Guard, MemoryStore, Policy, Reply, Scope};
use stanchion_testkit::eventually;
use stanchion_testkit::pause::hold;

const PATIENCE: Duration = Duration::from_secs(20);

/// A call stands still after its effect; meanwhile a repetition finds its owner silent and is told "unknown"; then the first
/// goes on, and its own tool's answer was lost as well. It ran: it must not be told that it was only a repetition.
#[tokio::test]
async fn a_call_that_ran_and_lost_its_answer_after_it_was_given_up_is_no_replay() {
    let store = MemoryStore::new();
    let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
    let policy = Policy::default().allow_weak().lease(Duration::from_millis(50)).unwrap();
    let call = Call::new(Scope::new("alice", "bank", "pay").unwrap(), policy)
        .key(CallKey::new("order-77").unwrap(), Fingerprint::of_bytes(b"1"));
    let held = hold("guard.ran");
    let first = tokio::spawn({
        let (guard, call) = (guard.clone(), call.clone());
        async move { guard.call(&call, |_| async { Reply::Unknown("the answer was lost".to_owned()) }).await.unwrap() }
    });
    held.reached(PATIENCE).await;
    eventually(PATIENCE, "the silent owner is given up", || async {
        let again = guard.call(&call, |_| async { unreachable!("it may have run") }).await;
        again.is_ok_and(|answer| answer.replayed && matches!(answer.reply, Reply::Unknown(_)))
    })
    .await;
    held.release();
    let first = first.await.unwrap();
    assert!(matches!(first.reply, Reply::Unknown(_)), "{first:?}");
    assert!(!first.replayed, "it ran: {first:?}");
}
