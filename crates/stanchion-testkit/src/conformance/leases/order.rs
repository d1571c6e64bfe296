//! Many waiters: in order, and without dead-lock.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;

use stanchion_core::{Acquire, Locks, Released, Wait};
use tokio::task::JoinSet;

use super::super::support::{Must as _, Names};
use super::super::{BoxFuture, Outcome, StoreFactory};
use super::wire::Wire;
use super::{locks, request};

/// Tasks of one process get the lock in the order in which they asked.
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
/// use stanchion_testkit::conformance::leases::tasks_of_one_process_are_served_in_order;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = tasks_of_one_process_are_served_in_order(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn tasks_of_one_process_are_served_in_order(store: &StoreFactory) -> Outcome {
    let locks = locks(store).await;
    let key = Names::fresh().key("lock");
    let lease = locks.acquire(&request(store, &key)).await.must("it is free");
    let (sender, mut served) = tokio::sync::mpsc::unbounded_channel();
    let mut waiters = Vec::new();
    for place in 0..8 {
        let (locks, wanted, sender) = (locks.clone(), request(store, &key), sender.clone());
        let mut waiter: BoxFuture<'static, ()> = Box::pin(async move {
            let lease = locks.acquire(&wanted).await.must("granted in the end");
            sender.send(place).expect("the case listens");
            assert_eq!(lease.release().await.must("release"), Released::Released);
        });
        // Asked once, it stands in line; only then comes the next one.
        let first = poll_fn(|cx| Poll::Ready(waiter.as_mut().poll(cx))).await;
        assert!(first.is_pending(), "it is held");
        waiters.push(waiter);
    }
    drop(sender);
    let mut tasks = JoinSet::new();
    for waiter in waiters.into_iter().rev() {
        tasks.spawn(waiter);
    }
    lease.release().await.must("release");
    tasks.join_all().await;
    let mut order = Vec::new();
    while let Some(place) = served.recv().await {
        order.push(place);
    }
    assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7], "first come, first served");
    Outcome::Passed
}

/// `{a, b}` against `{b, a}`, a thousand times: nobody waits for ever, and never two are inside.
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
/// use stanchion_testkit::conformance::leases::opposite_orders_never_dead_lock;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = opposite_orders_never_dead_lock(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn opposite_orders_never_dead_lock(store: &StoreFactory) -> Outcome {
    let names = Names::fresh();
    let (a, b) = (names.key("a"), names.key("b"));
    let inside = Arc::new(AtomicU32::new(0));
    let mut tasks = JoinSet::new();
    for order in [[&a, &b], [&b, &a]] {
        // Each with locks of its own, as two processes, and over a wire: a store that answers without a pause would
        // let one task take both before the other is asked.
        let locks = Locks::shared(Wire::new(store.locks().await));
        let wanted: Vec<Acquire> = order.iter().map(|key| request(store, key).wait(Wait::Forever)).collect();
        let inside = Arc::clone(&inside);
        tasks.spawn(async move {
            for round in 0..500 {
                let leases = locks.acquire_all(&wanted).await.must("both, in the end");
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "round {round}: somebody else is inside");
                // Of changing length, so that two who take turns do not fall into step.
                for _ in 0..=round % 5 {
                    tokio::task::yield_now().await;
                }
                inside.fetch_sub(1, Ordering::SeqCst);
                leases.release().await.must("release");
            }
        });
    }
    let all = tokio::time::timeout(store.patient() * 5, tasks.join_all()).await;
    assert!(all.is_ok(), "a dead-lock: not done after {:?}", store.patient() * 5);
    Outcome::Passed
}
