//! Who may hold a key together.

use std::collections::BTreeSet;
use std::sync::Arc;

use stanchion_core::{Acquire, ErrorKind, Grant, Identity, Key, Mode, Owner, Released};
use tokio::task::JoinSet;

use super::super::support::{LONG, Must as _, Names, refusal};
use super::super::{Outcome, StoreFactory};
use super::{Locks, busy, in_mode, is_lease, request, take, three, unsupported};

/// Of many concurrent attempts exactly one is granted.
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
/// use stanchion_testkit::conformance::locks::one_exclusive_holder;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = one_exclusive_holder(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn one_exclusive_holder(store: &StoreFactory) -> Outcome {
    let (a, b, _) = three(store).await;
    let names = Names::fresh();
    let (key, other) = (names.key("race"), names.key("other"));
    for round in 0..5 {
        let grants = race(store, &request(&key), 12).await;
        assert_eq!(grants.len(), 1, "round {round}: exactly one of twelve is granted, not {grants:?}");
        let (client, grant) = &grants[0];
        busy(&a, &request(&key), "it is taken").await;
        let elsewhere = take(&b, &request(&other), "another key is free").await;
        b.release(&elsewhere).await.must("release");
        assert_eq!(client.release(grant).await.must("release"), Released::Released);
    }
    Outcome::Passed
}

/// The refusal is `Contended` and carries the holder's host and pid.
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
/// use stanchion_testkit::conformance::locks::contended_names_the_holder;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = contended_names_the_holder(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn contended_names_the_holder(store: &StoreFactory) -> Outcome {
    let (a, b, _) = three(store).await;
    let key = Names::fresh().key("lock");
    for identity in [Identity::new("first-host", 4123).labelled("deploy now"), Identity::new("second-host", 77)] {
        let grant = take(&a, &request(&key).identity(identity.clone()), "it is free").await;
        let contender = request(&key).identity(Identity::new("contender", 1));
        let e = refusal(b.try_acquire(&contender, Owner::random()).await, ErrorKind::Contended, "it is taken");
        let holder = e.holder().must("the refusal names the holder");
        assert_eq!((&holder.identity.host, holder.identity.pid), (&identity.host, identity.pid));
        assert!(e.to_string().contains(&identity.host), "the text names the host: {e}");
        a.release(&grant).await.must("release");
    }
    Outcome::Passed
}

/// Readers together, or one writer.
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
/// use stanchion_testkit::conformance::locks::shared_holders_exclude_an_exclusive_one;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = shared_holders_exclude_an_exclusive_one(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn shared_holders_exclude_an_exclusive_one(store: &StoreFactory) -> Outcome {
    let (a, b, c) = three(store).await;
    let key = Names::fresh().key("lock");
    let (shared, exclusive) = (in_mode(&key, Mode::Shared), request(&key));
    if let Some(outcome) = unsupported(&a, &shared).await {
        return outcome;
    }
    for round in 0..2 {
        let first = take(&a, &shared, "the first reader").await;
        let second = take(&b, &shared, "the second reader").await;
        assert_eq!((first.mode, second.mode), (Mode::Shared, Mode::Shared));
        busy(&c, &exclusive, "a writer beside two readers").await;
        let third = take(&c, &shared, "a refused writer must not keep readers out").await;
        a.release(&first).await.must("release");
        c.release(&third).await.must("release");
        busy(&a, &exclusive, "a writer beside one reader").await;
        assert_eq!(b.release(&second).await.must("release"), Released::Released);
        let writer = take(&c, &exclusive, "all readers are gone").await;
        busy(&a, &shared, "a reader beside a writer").await;
        busy(&b, &exclusive, "a writer beside a writer").await;
        assert_eq!(c.release(&writer).await.must("release"), Released::Released, "round {round}");
    }
    let readers = race(store, &shared, 6).await;
    assert_eq!(readers.len(), 6, "readers do not exclude one another, also when they come together");
    Outcome::Passed
}

/// `Slots(n)` admits n holders.
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
/// use stanchion_testkit::conformance::locks::slots_admit_n_and_no_more;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = slots_admit_n_and_no_more(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn slots_admit_n_and_no_more(store: &StoreFactory) -> Outcome {
    let (a, b, _) = three(store).await;
    let names = Names::fresh();
    let key = names.key("pool");
    let three_slots = in_mode(&key, Mode::Slots(3));
    if let Some(outcome) = unsupported(&a, &three_slots).await {
        return outcome;
    }
    let grants = race(store, &three_slots, 9).await;
    assert_eq!(grants.len(), 3, "three of nine are granted, not {grants:?}");
    let fences: BTreeSet<_> = grants.iter().map(|(_, grant)| grant.fence.number()).collect();
    assert_eq!(fences.len(), 3, "each holder has its own fence: {fences:?}");
    busy(&a, &three_slots, "all slots are taken").await;
    let (client, grant) = &grants[1];
    assert_eq!(client.release(grant).await.must("release"), Released::Released);
    let refill = take(&b, &three_slots, "one slot is free again").await;
    busy(&a, &three_slots, "only one slot was free").await;
    for (client, grant) in [&grants[0], &grants[2], &(b, refill)] {
        assert_eq!(client.release(grant).await.must("release"), Released::Released, "each slot is released alone");
    }
    let one_slot = in_mode(&names.key("single"), Mode::Slots(1));
    take(&a, &one_slot, "the only slot").await;
    busy(&a, &one_slot, "Slots(1) admits one").await;
    Outcome::Passed
}

/// `n` concurrent attempts by four clients; the granted ones. All others must be `Contended`.
async fn race(store: &StoreFactory, request: &Acquire, n: usize) -> Vec<(Locks, Grant)> {
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(store.locks().await);
    }
    let mut attempts = JoinSet::new();
    for i in 0..n {
        let (client, request) = (Arc::clone(&clients[i % clients.len()]), request.clone());
        let owner = Owner::random();
        attempts.spawn(async move { (owner, client.try_acquire(&request, owner).await, client) });
    }
    let mut grants = Vec::new();
    for (owner, result, client) in attempts.join_all().await {
        match result {
            Ok(grant) => {
                check(&client, &grant, &request.key, owner, request.mode);
                grants.push((client, grant));
            }
            Err(e) => assert_eq!(e.kind(), ErrorKind::Contended, "a loser's error: {e}"),
        }
    }
    grants
}

fn check(client: &Locks, grant: &Grant, key: &Key, owner: Owner, mode: Mode) {
    assert_eq!((&grant.key, grant.owner, grant.mode), (key, owner, mode), "the grant is what was asked for");
    assert_eq!(grant.fence.nonce(), owner.nonce(), "the token carries the owner's nonce");
    assert!(!is_lease(client) || grant.ttl == LONG, "the ttl is what was asked for, not {:?}", grant.ttl);
}
