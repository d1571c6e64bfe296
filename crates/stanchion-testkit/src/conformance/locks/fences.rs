//! Fencing tokens: every grant above all before it.

use stanchion_core::{ErrorKind, Grant, Key, Mode, Released, Renewal};

use super::super::support::{Must as _, Names, SHORT, refusal};
use super::super::{Outcome, StoreFactory};
use super::{Locks, held_only, in_mode, is_lease, request, short, take, take_over, three, unsupported};

/// The highest number so far.
struct Rising(u64);

impl Rising {
    fn check(&mut self, grant: &Grant, after: &str) {
        let number = grant.fence.number();
        assert!(number > self.0, "fence {number} after {}: it must grow across {after}", self.0);
        assert_eq!(grant.fence.nonce(), grant.owner.nonce(), "the token carries the owner's nonce");
        self.0 = number;
    }
}

/// Each grant of a key has a higher number than all before, also after release, expiry, and eviction.
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
/// use stanchion_testkit::conformance::locks::fences_grow_for_ever;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = fences_grow_for_ever(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn fences_grow_for_ever(store: &StoreFactory) -> Outcome {
    let (a, b, c) = three(store).await;
    let key = Names::fresh().key("lock");
    let mut rising = Rising(0);
    for round in 0..2 {
        for client in [&a, &b] {
            let grant = take(client, &request(&key), "it is free").await;
            rising.check(&grant, if round == 0 { "a release" } else { "an eviction" });
            client.release(&grant).await.must("release");
        }
        if unsupported(&c, &in_mode(&key, Mode::Shared)).await.is_none() {
            let first = take(&a, &in_mode(&key, Mode::Shared), "a reader").await;
            rising.check(&first, "a change of mode");
            let second = take(&b, &in_mode(&key, Mode::Shared), "a second reader").await;
            rising.check(&second, "a second reader");
            a.release(&first).await.must("release");
            b.release(&second).await.must("release");
        }
        if is_lease(&a) {
            rising.check(&take(&a, &short(&key, SHORT), "it is free").await, "a release");
            let grant = take_over(store, &b, &request(&key), "the lease expires").await;
            rising.check(&grant, "an expiry");
            evicted(&c, &key).await;
        }
    }
    Outcome::Passed
}

/// A grant's number is above `req.floor`, and so are all later ones.
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
/// use stanchion_testkit::conformance::locks::the_fence_is_above_the_floor;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = the_fence_is_above_the_floor(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn the_fence_is_above_the_floor(store: &StoreFactory) -> Outcome {
    let (a, b, _) = three(store).await;
    let names = Names::fresh();
    let key = names.key("lock");
    let first = take(&a, &request(&key), "it is free").await;
    a.release(&first).await.must("release");
    let floor = first.fence.number() + 5_000_000;
    let lifted = take(&b, &request(&key).floor(floor), "it is free").await;
    assert!(lifted.fence.number() > floor, "{} is not above the floor {floor}", lifted.fence);
    b.release(&lifted).await.must("release");
    let later = take(&a, &request(&key), "it is free").await;
    assert!(later.fence.number() > lifted.fence.number(), "{} forgot the floor {floor}", later.fence);
    a.release(&later).await.must("release");
    let low = take(&b, &request(&key).floor(1), "a floor that is passed already").await;
    assert!(low.fence.number() > later.fence.number(), "a low floor must not lower the fence: {}", low.fence);

    let fresh = names.key("fresh");
    let grant = take(&a, &request(&fresh).floor(1 << 50), "it is free").await;
    assert!(grant.fence.number() > 1 << 50, "{} on a key that never was", grant.fence);
    Outcome::Passed
}

/// After `evict` the next grant has a higher fence and the old owner's renew says `Lost`.
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
/// use stanchion_testkit::conformance::locks::evict_frees_and_fences;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = evict_frees_and_fences(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn evict_frees_and_fences(store: &StoreFactory) -> Outcome {
    let (a, b, c) = three(store).await;
    let names = Names::fresh();
    let key = names.key("lock");
    if !is_lease(&a) {
        let grant = take(&a, &request(&key), "it is free").await;
        if let Err(e) = b.evict(&key).await {
            refusal(Err::<(), _>(e), ErrorKind::Unsupported, "evict of a lock that only its process can let go");
        }
        a.release(&grant).await.must("release");
        return held_only();
    }
    assert_eq!(c.evict(&key).await.must("evict"), Released::NotHeld, "nobody has ever held it");
    let old = take(&a, &request(&key), "it is free").await;
    evicted(&c, &key).await;
    let new = take(&b, &request(&key), "an evicted lock is free at once").await;
    assert!(new.fence.number() > old.fence.number(), "{} after {}", new.fence, old.fence);
    let renewal = a.renew(&old, old.ttl).await;
    assert!(matches!(renewal, Renewal::Lost), "the evicted owner's renew: {renewal:?}");
    assert_eq!(a.release(&old).await.must("release"), Released::NotHeld, "the evicted owner's release");
    assert!(matches!(b.renew(&new, new.ttl).await, Renewal::Renewed), "the new owner holds it");
    b.release(&new).await.must("release");
    assert_eq!(c.evict(&key).await.must("evict"), Released::NotHeld, "it was released");

    let pool = in_mode(&names.key("pool"), Mode::Slots(2));
    if unsupported(&a, &pool).await.is_none() {
        let holders = [take(&a, &pool, "a slot").await, take(&b, &pool, "a slot").await];
        evicted(&c, &pool.key).await;
        for grant in &holders {
            assert!(matches!(a.renew(grant, grant.ttl).await, Renewal::Lost), "evict takes it from all holders");
        }
        take(&a, &pool, "a slot").await;
        take(&b, &pool, "a slot").await;
    }
    Outcome::Passed
}

async fn evicted(locks: &Locks, key: &Key) {
    assert_eq!(locks.evict(key).await.must("evict"), Released::Released, "somebody held {key}");
}
