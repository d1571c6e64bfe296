//! Losing a lease: early enough, for good, and told.

use std::time::{Duration, Instant};

use stanchion_core::{ErrorKind, Lease, Locks, LostReason, Released};

use super::super::support::{LONG, Must as _, Names, not_before, refusal};
use super::super::{Outcome, StoreFactory};
use super::wire::{Weather, Wire};
use super::{freed, locks, never_lost, request, short};

const TTL: Duration = Duration::from_millis(600);

/// When the store hands the key on, the old holder already knows that it has lost it.
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
/// use stanchion_testkit::conformance::leases::lost_comes_before_the_store_hands_on;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = lost_comes_before_the_store_hands_on(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn lost_comes_before_the_store_hands_on(store: &StoreFactory) -> Outcome {
    let (wire, other) = (Wire::new(store.locks().await), store.locks().await);
    if let Some(outcome) = never_lost(&other) {
        return outcome;
    }
    let key = Names::fresh().key("lock");
    let locks = Locks::shared(wire.clone());
    let start = Instant::now();
    let lease = locks.acquire(&short(store, &key, TTL)).await.must("it is free");
    lease.fence().must("it is ours");
    wire.renewing.send_replace(Weather::NothingArrives);
    let grant = freed(store, &other, &key, "the lease expires").await;
    // The look comes after the hand-over, so a slow machine cannot make it fail.
    refusal(lease.fence(), ErrorKind::LeaseLost, "the store has handed it on");
    not_before(start, TTL, "it was handed on");
    assert_eq!(lost(store, &lease).await, LostReason::Expired, "no renewal arrived");
    assert!(lease.valid_until().is_none(), "it is ours no more");
    other.release(&grant).await.must("release");
    Outcome::Passed
}

/// The reply to a renewal comes after the deadline: the lease stays lost.
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
/// use stanchion_testkit::conformance::leases::a_late_renewal_never_revives;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = a_late_renewal_never_revives(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn a_late_renewal_never_revives(store: &StoreFactory) -> Outcome {
    let wire = Wire::new(store.locks().await);
    let backend = store.locks().await;
    if let Some(outcome) = never_lost(&backend) {
        return outcome;
    }
    let key = Names::fresh().key("lock");
    let locks = Locks::shared(wire.clone());
    wire.renewing.send_replace(Weather::RepliesWait);
    let lease = locks.acquire(&short(store, &key, TTL)).await.must("it is free");
    lost(store, &lease).await;
    let start = Instant::now();
    wire.renewing.send_replace(Weather::Fair);
    while start.elapsed() < TTL {
        refusal(lease.fence(), ErrorKind::LeaseLost, "it was lost, whatever the store says later");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    lost(store, &lease).await;
    drop(lease);
    let next = freed(store, &backend, &key, "the lost lease ends").await;
    backend.release(&next).await.must("release");
    Outcome::Passed
}

/// A lease that was taken away: `lost` comes, and `release` says `NotHeld` and does no harm.
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
/// use stanchion_testkit::conformance::leases::release_after_loss_says_not_held;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = release_after_loss_says_not_held(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn release_after_loss_says_not_held(store: &StoreFactory) -> Outcome {
    let (locks, other) = (locks(store).await, store.locks().await);
    if let Some(outcome) = never_lost(&other) {
        return outcome;
    }
    // The first renewal, after a third of the ttl, must tell. On a machine that stood still the deadline may be first.
    let (names, ttl) = (Names::fresh(), TTL * 4);
    for round in 0..5 {
        let key = names.key(&format!("lock-{round}"));
        let lease = locks.acquire(&short(store, &key, ttl)).await.must("it is free");
        other.evict(&key).await.must("evict");
        let next = freed(store, &other, &key, "it was taken away").await;
        let reason = lost(store, &lease).await;
        refusal(lease.fence(), ErrorKind::LeaseLost, "it was taken away");
        assert_eq!(lease.release().await.must("release never fails for that"), Released::NotHeld);
        assert_eq!(other.release(&next).await.must("release"), Released::Released, "the next holder still held it");
        if reason == LostReason::Taken {
            return Outcome::Passed;
        }
    }
    panic!("the store said that it was taken away, but five times only the deadline ended it");
}

/// `max_hold` ends the lease, however healthy it is.
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
/// use stanchion_testkit::conformance::leases::max_hold_ends_the_lease;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = max_hold_ends_the_lease(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn max_hold_ends_the_lease(store: &StoreFactory) -> Outcome {
    let (locks, other) = (locks(store).await, store.locks().await);
    let key = Names::fresh().key("lock");
    let (limit, start) = (Duration::from_millis(200), Instant::now());
    let wanted = request(store, &key).max_hold(limit).must("a limit");
    let lease = locks.acquire(&wanted).await.must("it is free");
    assert_eq!(lost(store, &lease).await, LostReason::MaxHold);
    not_before(start, limit, "max_hold ended it");
    refusal(lease.fence(), ErrorKind::LeaseLost, "its time is over");
    assert_eq!(wanted.ttl, LONG, "the ttl has not ended it");
    assert_eq!(lease.release().await.must("release"), Released::Released, "the store still had it as ours");
    freed(store, &other, &key, "it was released").await;
    Outcome::Passed
}

async fn lost(store: &StoreFactory, lease: &Lease) -> LostReason {
    let lost = tokio::time::timeout(store.patient(), lease.lost()).await;
    lost.unwrap_or_else(|_| panic!("lost() has not come within {:?}", store.patient()))
}
