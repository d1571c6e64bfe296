//! Keeping, losing and giving back.

use std::time::{Duration, Instant};

use stanchion_core::{ErrorKind, FencingToken, Grant, Mode, Owner, Page, Released, Renewal};

use super::super::support::{Must as _, Names, SHORT, SLACK, not_before, refusal};
use super::super::{Outcome, StoreFactory};
use super::{busy, held_only, in_mode, is_lease, request, short, take, take_over, three, unsupported};

/// `Released` once, then `NotHeld`; never an error.
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
/// use stanchion_testkit::conformance::locks::release_tells_whether_we_held;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = release_tells_whether_we_held(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn release_tells_whether_we_held(store: &StoreFactory) -> Outcome {
    let (a, b, _) = three(store).await;
    let names = Names::fresh();
    let key = names.key("lock");
    let grant = take(&a, &request(&key), "it is free").await;
    assert_eq!(a.release(&grant).await.must("the first release"), Released::Released);
    assert_eq!(a.release(&grant).await.must("the second release"), Released::NotHeld);
    let next = take(&b, &request(&key), "it was released").await;
    assert_eq!(a.release(&grant).await.must("a late release"), Released::NotHeld);
    busy(&a, &request(&key), "the late release must not free the next holder's lock").await;
    assert_eq!(b.release(&next).await.must("release"), Released::Released);

    let owner = Owner::random();
    let never = Grant::new(names.key("never"), owner, FencingToken::new(1, owner), Mode::Exclusive, SHORT);
    assert_eq!(a.release(&never).await.must("release of what never was"), Released::NotHeld);
    if is_lease(&a) {
        let lost = take(&a, &short(&key, SHORT), "it is free").await;
        let next = take_over(store, &b, &request(&key), "the lease expires").await;
        assert_eq!(a.release(&lost).await.must("release after expiry"), Released::NotHeld);
        assert_eq!(b.release(&next).await.must("release"), Released::Released, "the next holder still held it");
    }
    Outcome::Passed
}

/// Only the owner can release or renew.
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
/// use stanchion_testkit::conformance::locks::release_by_another_owner_changes_nothing;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = release_by_another_owner_changes_nothing(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn release_by_another_owner_changes_nothing(store: &StoreFactory) -> Outcome {
    let (a, b, c) = three(store).await;
    let key = Names::fresh().key("lock");
    let grant = take(&a, &request(&key), "it is free").await;
    // Fence and nonce can be seen by anybody, in errors and listings; the rest of the owner is a secret.
    let twin = Owner::from_bits((Owner::random().nonce() as u128) << 64 | u128::from(grant.owner.nonce()));
    for stranger in [Owner::random(), twin] {
        let forged = Grant::new(key.clone(), stranger, grant.fence, grant.mode, grant.ttl);
        for client in [&a, &b] {
            let renewal = client.renew(&forged, grant.ttl).await;
            assert!(matches!(renewal, Renewal::Lost), "renewal by another owner: {renewal:?}");
            assert_eq!(client.release(&forged).await.must("release"), Released::NotHeld, "by another owner");
        }
        busy(&c, &request(&key), "another owner's release must not free it").await;
    }
    let renewal = a.renew(&grant, grant.ttl).await;
    assert!(matches!(renewal, Renewal::Renewed), "the owner still holds: {renewal:?}");
    assert_eq!(a.release(&grant).await.must("release"), Released::Released);
    Outcome::Passed
}

/// After the ttl the next attempt succeeds, and the old owner's renew says `Lost`.
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
/// use stanchion_testkit::conformance::locks::an_expired_lease_is_handed_on;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = an_expired_lease_is_handed_on(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn an_expired_lease_is_handed_on(store: &StoreFactory) -> Outcome {
    let (a, b, c) = three(store).await;
    if !is_lease(&a) {
        return held_only();
    }
    let names = Names::fresh();
    let key = names.key("lock");
    let start = Instant::now();
    let old = take(&a, &short(&key, SHORT), "it is free").await;
    let new = take_over(store, &b, &request(&key), "the lease expires").await;
    not_before(start, SHORT, "the lock was handed on");
    assert!(new.fence.number() > old.fence.number(), "{} after {}", new.fence, old.fence);
    let renewal = a.renew(&old, SHORT).await;
    assert!(matches!(renewal, Renewal::Lost), "the old owner's renew: {renewal:?}");
    assert_eq!(a.release(&old).await.must("release"), Released::NotHeld, "the old owner's release");
    busy(&c, &request(&key), "the new owner's ttl counts now").await;
    assert_eq!(b.release(&new).await.must("release"), Released::Released, "the new owner held it");

    for mode in [Mode::Shared, Mode::Slots(1)] {
        let key = names.key(&format!("{mode:?}"));
        if unsupported(&a, &in_mode(&key, mode)).await.is_some() {
            continue;
        }
        let start = Instant::now();
        take(&a, &in_mode(&key, mode).ttl(SHORT).must("ttl"), "it is free").await;
        let wanted = if mode == Mode::Shared { request(&key) } else { in_mode(&key, mode) };
        take_over(store, &b, &wanted, "the lease expires").await;
        not_before(start, SHORT, "the lock was handed on");
    }
    Outcome::Passed
}

/// A renewed lease is not handed on before its new deadline.
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
/// use stanchion_testkit::conformance::locks::renewal_prolongs;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = renewal_prolongs(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn renewal_prolongs(store: &StoreFactory) -> Outcome {
    let (a, b, _) = three(store).await;
    if !is_lease(&a) {
        return held_only();
    }
    let names = Names::fresh();
    let ttl = Duration::from_millis(800);
    for round in 0..10 {
        let key = names.key(&format!("lock-{round}"));
        let granted = Instant::now();
        let grant = take(&a, &short(&key, ttl), "it is free").await;
        // Half of the ttl has to pass, or an ignored renewal would not show.
        while granted.elapsed() < ttl / 2 {
            busy(&b, &request(&key), "the lease lives").await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let renewed = Instant::now();
        match a.renew(&grant, ttl).await {
            Renewal::Renewed => {}
            // This machine was too slow, and the store is right.
            Renewal::Lost if granted.elapsed() + SLACK >= ttl => continue,
            other => panic!("renewal {:?} after the grant of {ttl:?}: {other:?}", granted.elapsed()),
        }
        take_over(store, &b, &request(&key), "the renewed lease expires").await;
        not_before(renewed, ttl, "the renewed lease was handed on");
        let renewal = a.renew(&grant, ttl).await;
        assert!(matches!(renewal, Renewal::Lost), "a late renewal never revives: {renewal:?}");
        return Outcome::Passed;
    }
    panic!("ten times this machine needed longer than {ttl:?} for a grant and a renewal");
}

/// A repeated attempt by a holder answers with the same fence and a full ttl.
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
/// use stanchion_testkit::conformance::locks::attempting_twice_with_one_owner_is_one_grant;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = attempting_twice_with_one_owner_is_one_grant(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn attempting_twice_with_one_owner_is_one_grant(store: &StoreFactory) -> Outcome {
    let (a, b, _) = three(store).await;
    let names = Names::fresh();
    let (key, owner) = (names.key("lock"), Owner::random());
    let first = a.try_acquire(&request(&key), owner).await.must("it is free");
    let second = a.try_acquire(&request(&key), owner).await.must("the holder asks again");
    assert_eq!(first.fence, second.fence, "one grant has one fence");
    let listed = b.list(key.as_str(), Page::first(10)).await.must("list");
    assert_eq!(listed.iter().map(|info| info.holders.len()).sum::<usize>(), 1, "one holder: {listed:?}");
    assert_eq!(a.release(&second).await.must("release"), Released::Released);
    let next = take(&b, &request(&key), "one release ends it").await;
    refusal(a.try_acquire(&request(&key), owner).await, ErrorKind::Contended, "it is the next holder's now");
    b.release(&next).await.must("release");

    let pool = in_mode(&names.key("pool"), Mode::Slots(2));
    if unsupported(&a, &pool).await.is_none() {
        let first = a.try_acquire(&pool, owner).await.must("a slot");
        assert_eq!(a.try_acquire(&pool, owner).await.must("asks again").fence, first.fence, "one slot, one fence");
        take(&b, &pool, "the second slot is free").await;
        busy(&b, &pool, "both slots are taken").await;
    }
    if is_lease(&a) {
        full_ttl_again(store).await;
    }
    Outcome::Passed
}

/// The repeated attempt starts the ttl anew, as a renewal would.
async fn full_ttl_again(store: &StoreFactory) {
    let (a, b, _) = three(store).await;
    let names = Names::fresh();
    let ttl = Duration::from_millis(800);
    for round in 0..10 {
        let (key, owner) = (names.key(&format!("lease-{round}")), Owner::random());
        let granted = Instant::now();
        let first = a.try_acquire(&short(&key, ttl), owner).await.must("it is free");
        while granted.elapsed() < ttl / 2 {
            busy(&b, &request(&key), "the lease lives").await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let asked = Instant::now();
        let second = a.try_acquire(&short(&key, ttl), owner).await.must("the holder asks again");
        if second.fence != first.fence {
            // Rightly so only if the first grant had expired, because this machine was too slow.
            assert!(granted.elapsed() + SLACK >= ttl, "another fence {:?} after the grant", granted.elapsed());
            continue;
        }
        take_over(store, &b, &request(&key), "the lease expires").await;
        not_before(asked, ttl, "the lease was handed on");
        return;
    }
    panic!("ten times this machine needed longer than {ttl:?} for two attempts");
}
