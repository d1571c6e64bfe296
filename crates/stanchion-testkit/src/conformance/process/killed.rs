//! A holder dies.

use std::time::{Duration, Instant};

use stanchion_core::{FencingToken, Hold};

use super::super::support::{Names, not_before};
use super::super::{Outcome, StoreFactory};
use super::{Taker, alone};

/// A holder is killed (SIGKILL): the next one gets the lock after the ttl, or at once if it is no lease.
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
/// use stanchion_testkit::conformance::process::a_killed_holder_is_taken_over;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = a_killed_holder_is_taken_over(&memory()).await;
/// assert!(matches!(outcome, Outcome::NotApplicable(_))); // processes do not share the memory of one
/// # }
/// ```
pub async fn a_killed_holder_is_taken_over(store: &StoreFactory) -> Outcome {
    if let Some(outcome) = alone(store).await {
        return outcome;
    }
    let capability = store.open().await.locks.capability();
    let (ttl, wait) = (Duration::from_millis(1500), store.patient());
    let key = Names::fresh().key("lock");
    let (mut holder, mut next) = (Taker::start(store).await, Taker::start(store).await);
    let acquire = |wait: Duration| format!("ACQUIRE {key} {} {}", ttl.as_millis(), wait.as_millis());

    let asked = Instant::now();
    let old = token(&holder.expect(&acquire(Duration::ZERO), "GRANTED").await);
    if capability.hold == Hold::Held {
        next.expect(&acquire(Duration::ZERO), "CONTENDED").await;
    }
    next.tell(&acquire(wait));
    holder.child.kill();
    let killed = Instant::now();
    let answer = next.answer().await;
    let took = killed.elapsed();
    let new = token(answer.strip_prefix("GRANTED ").unwrap_or_else(|| panic!("the next one: {answer}")));
    assert!(new.number() > old.number(), "{new} after {old}");
    // The clockless judge by watching for a whole ttl. The rest is for slow machines.
    let least = match capability.hold {
        Hold::Held => Duration::ZERO,
        Hold::Lease if capability.clock => ttl,
        Hold::Lease => ttl * 2,
    };
    assert!(took < least + wait / 2, "taken over {took:?} after the kill");
    if capability.hold == Hold::Lease {
        not_before(asked, ttl, "a dead holder's lease was handed on");
    }
    next.expect("RELEASE", "RELEASED").await;
    Outcome::Passed
}

fn token(text: &str) -> FencingToken {
    text.parse().unwrap_or_else(|e| panic!("{text:?}: {e}"))
}
