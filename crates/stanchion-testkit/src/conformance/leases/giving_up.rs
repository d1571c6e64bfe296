//! Callers that give up must leave nothing behind.

use std::time::Duration;

use stanchion_core::{Acquire, ErrorKind, Locks, Released, Wait};

use super::super::support::{Must as _, Names, refusal};
use super::super::{Outcome, StoreFactory};
use super::wire::{Weather, Wire};
use super::{at_once, busy, freed, locks, request};

/// The caller drops its future while the store has already granted; the late grant is released.
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
/// use stanchion_testkit::conformance::leases::a_grant_after_giving_up_is_released;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = a_grant_after_giving_up_is_released(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn a_grant_after_giving_up_is_released(store: &StoreFactory) -> Outcome {
    let (wire, other) = (Wire::new(store.locks().await), store.locks().await);
    let key = Names::fresh().key("lock");
    for wait in [Wait::No, Wait::For(store.patient())] {
        wire.acquiring.send_replace(Weather::RepliesWait);
        let locks = Locks::shared(wire.clone());
        let wanted = request(store, &key).wait(wait);
        tokio::select! {
            lease = locks.acquire(&wanted) => panic!("there was no reply yet: {lease:?}"),
            () = wire.waiting.notified() => {}
        }
        busy(store, &other, &key, "the store has granted it").await;
        wire.acquiring.send_replace(Weather::Fair);
        let next = freed(store, &other, &key, "the late grant is released").await;
        other.release(&next).await.must("release");
    }
    Outcome::Passed
}

/// A lease that is dropped without `release` is released in the background.
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
/// use stanchion_testkit::conformance::leases::dropping_a_lease_releases_it;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = dropping_a_lease_releases_it(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn dropping_a_lease_releases_it(store: &StoreFactory) -> Outcome {
    let (locks, other) = (locks(store).await, store.locks().await);
    let key = Names::fresh().key("lock");
    for _ in 0..3 {
        let lease = locks.acquire(&request(store, &key)).await.must("it is free");
        busy(store, &other, &key, "it is held").await;
        drop(lease);
        let next = freed(store, &other, &key, "the dropped lease is released").await;
        assert_eq!(other.release(&next).await.must("release"), Released::Released);
    }
    Outcome::Passed
}

/// `acquire_all` gets all keys or keeps none, also when its caller gives up.
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
/// use stanchion_testkit::conformance::leases::all_or_nothing;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = all_or_nothing(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn all_or_nothing(store: &StoreFactory) -> Outcome {
    let (locks, other) = (locks(store).await, store.locks().await);
    let names = Names::fresh();
    let keys = ["c", "a", "b", "a"].map(|name| names.key(name));
    let wanted = |wait: Duration| keys.clone().map(|key| request(store, &key).wait(Wait::For(wait)));
    let in_the_way = other.try_acquire(&at_once(store, &keys[2]), stanchion_core::Owner::random()).await.must("free");

    let refused = locks.acquire_all(&wanted(Duration::from_millis(100))).await;
    refusal(refused, ErrorKind::Contended, "one of them is held");
    for key in [&keys[0], &keys[1]] {
        let next = freed(store, &other, key, "what it got is given back").await;
        other.release(&next).await.must("release");
    }
    let patient: [Acquire; 4] = wanted(store.patient());
    let given_up = tokio::time::timeout(Duration::from_millis(100), locks.acquire_all(&patient)).await;
    assert!(given_up.is_err(), "one of them is held: {given_up:?}");
    let next = freed(store, &other, &keys[1], "what it got is given back when its caller gives up").await;
    other.release(&next).await.must("release");

    other.release(&in_the_way).await.must("release");
    let leases = locks.acquire_all(&patient).await.must("all are free");
    let got: Vec<_> = leases.iter().map(|lease| lease.grant().key.clone()).collect();
    assert_eq!(got, ["a", "b", "c"].map(|name| names.key(name)), "sorted, and each once");
    for key in &keys {
        busy(store, &other, key, "all are held").await;
    }
    assert_eq!(leases.release().await.must("release"), Released::Released);
    for key in &got {
        freed(store, &other, key, "all are given back").await;
    }
    Outcome::Passed
}
