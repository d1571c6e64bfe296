//! Waiting, giving up, and the order of those who wait.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stanchion_core::{Acquire, ErrorKind, Grant, Identity, Owner, Page, Wait};
use tokio::task::JoinSet;

use super::super::support::{Must as _, Names, not_applicable, refusal};
use super::super::{Outcome, StoreFactory};
use super::{Locks, busy, request, take, take_over, three};

/// `wait` returns soon after a release, at the latest at `until`.
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
/// use stanchion_testkit::conformance::locks::wait_wakes_on_release;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = wait_wakes_on_release(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn wait_wakes_on_release(store: &StoreFactory) -> Outcome {
    let (a, b, _) = three(store).await;
    let key = Names::fresh().key("lock");
    let waiting = request(&key).wait(Wait::Forever);
    for already_released in [false, true, false] {
        let grant = take(&a, &request(&key), "it is free").await;
        let owner = Owner::random();
        refusal(b.try_acquire(&waiting, owner).await, ErrorKind::Contended, "it is taken");
        let quiet = tokio::time::Instant::now() + Duration::from_millis(100);
        b.wait(&waiting, owner, quiet).await.must("wait ends at `until` without a release");
        refusal(b.try_acquire(&waiting, owner).await, ErrorKind::Contended, "it is still taken");

        // A release between the refusal and the wait must wake as well: that is where wake-ups get lost.
        if already_released {
            a.release(&grant).await.must("release");
        }
        let waiter = tokio::spawn(obtain(Arc::clone(&b), waiting.clone(), owner, store.patient()));
        if !already_released {
            let other = Names::fresh().key("unrelated");
            let unrelated = take(&a, &request(&other), "it is free").await;
            a.release(&unrelated).await.must("release");
            assert!(!waiter.is_finished(), "granted while it was held");
            a.release(&grant).await.must("release");
        }
        let released = Instant::now();
        let next = waiter.await.expect("the waiter ends").must("the waiter is granted");
        let took = released.elapsed();
        assert!(took < store.patient() / 2, "woken {took:?} after the release (before `wait`: {already_released})");
        b.release(&next).await.must("release");
    }
    Outcome::Passed
}

/// After `withdraw` the lock goes to others at once.
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
/// use stanchion_testkit::conformance::locks::a_withdrawn_waiter_is_never_granted;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = a_withdrawn_waiter_is_never_granted(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn a_withdrawn_waiter_is_never_granted(store: &StoreFactory) -> Outcome {
    let (a, b, c) = three(store).await;
    let key = Names::fresh().key("lock");
    for round in 0..2 {
        let grant = take(&a, &request(&key), "it is free").await;
        let given_up = request(&key).wait(Wait::Forever).identity(Identity::new("given-up", 7));
        let owner = Owner::random();
        refusal(b.try_acquire(&given_up, owner).await, ErrorKind::Contended, "it is taken");
        if round == 1 {
            let soon = tokio::time::Instant::now() + Duration::from_millis(50);
            b.wait(&given_up, owner, soon).await.must("wait");
        }
        b.withdraw(&given_up, owner).await;
        b.withdraw(&given_up, owner).await;
        a.release(&grant).await.must("release");
        // An engine may need a moment to notice; a waiter that was not withdrawn would hold it for minutes.
        let next = take_over(store, &c, &request(&key), "the lock goes to others").await;
        for info in c.list(key.as_str(), Page::first(10)).await.must("list") {
            let named = info.holders.iter().map(|h| &h.identity).chain(info.waiters.iter().map(|(id, _)| id));
            assert!(named.into_iter().all(|id| id.host != "given-up"), "the withdrawn waiter is listed: {info:?}");
        }
        c.release(&next).await.must("release");
    }
    Outcome::Passed
}

/// The order of the first refused attempts.
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
/// use stanchion_testkit::conformance::locks::waiters_are_served_in_order;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = waiters_are_served_in_order(&memory()).await;
/// assert!(matches!(outcome, Outcome::NotApplicable(_))); // compare-and-swap has no queue
/// # }
/// ```
pub async fn waiters_are_served_in_order(store: &StoreFactory) -> Outcome {
    let (a, b, _) = three(store).await;
    if !a.capability().fair {
        return not_applicable("the store does not promise an order");
    }
    let key = Names::fresh().key("lock");
    let grant = take(&a, &request(&key), "it is free").await;
    let waiting = request(&key).wait(Wait::Forever);
    let mut queue = Vec::new();
    for _ in 0..5 {
        let (client, owner) = (store.locks().await, Owner::random());
        refusal(client.try_acquire(&waiting, owner).await, ErrorKind::Contended, "it is taken");
        queue.push((client, owner));
    }
    // They begin to wait in another order than that of their first attempts, which is the one that counts.
    let (sender, mut served) = tokio::sync::mpsc::unbounded_channel();
    let mut waiters = JoinSet::new();
    for (place, (client, owner)) in queue.into_iter().enumerate().rev() {
        let (waiting, sender, patience) = (waiting.clone(), sender.clone(), store.patient());
        waiters.spawn(async move {
            let grant = obtain(Arc::clone(&client), waiting, owner, patience).await.must("granted in the end");
            sender.send(place).expect("the case listens");
            client.release(&grant).await.must("release");
        });
    }
    busy(&b, &request(&key), "it is taken").await;
    a.release(&grant).await.must("release");
    waiters.join_all().await;
    drop(sender);
    let mut order = Vec::new();
    while let Some(place) = served.recv().await {
        order.push(place);
    }
    assert_eq!(order, [0, 1, 2, 3, 4], "the order of the first refused attempts");
    Outcome::Passed
}

/// Waits and asks in turn, as `Locks` does.
pub(in super::super) async fn obtain(
    locks: Locks,
    request: Acquire,
    owner: Owner,
    patience: Duration,
) -> Option<Grant> {
    let until = tokio::time::Instant::now() + patience;
    loop {
        locks.wait(&request, owner, until).await.must("wait");
        match locks.try_acquire(&request, owner).await {
            Ok(grant) => return Some(grant),
            Err(e) if e.kind() == ErrorKind::Contended => {}
            Err(e) => panic!("an attempt after waiting: {:?}: {e}", e.kind()),
        }
        if tokio::time::Instant::now() >= until {
            return None;
        }
        tokio::task::yield_now().await;
    }
}
