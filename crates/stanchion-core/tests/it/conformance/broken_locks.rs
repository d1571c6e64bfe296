//! Lock backends with one bug each, and the case that must find it.

#![expect(clippy::unwrap_used, reason = "helpers of tests, though not tests themselves")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{
    Acquire, Capability, CasLock, ErrorKind, FencingToken, Grant, Key, LockBackend, LockInfo, MemoryStore, Mode, Owner,
    Page, Released, Renewal, Result, contended,
};
use stanchion_testkit::conformance::{Client, StoreFactory, leases, locks};
use tokio::time::Instant;

use super::queue::{Queue, QueueBug};
use super::{Expectation, all_proven, must_fail, must_pass};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bug {
    /// Control: the wrapper itself is right.
    None,
    NoExclusion,
    AnonymousHolder,
    SharedExcludesShared,
    ExclusiveBesideShared,
    OneSlotTooMany,
    FenceStartsAnewAfterRelease,
    FloorIgnored,
    AlwaysReleased,
    ReleaseIgnored,
    ReleaseWithoutOwnerCheck,
    ReleaseByNonce,
    RenewWithoutOwnerCheck,
    NeverExpires,
    ExpiresEarly,
    RenewalIgnored,
    WaitSleeps,
    ListIsEmpty,
    ListWithoutFence,
    EvictDoesNothing,
    SecondAttemptIsContended,
    SecondAttemptKeepsTheOldEnd,
    WithdrawIgnored,
    LastComeFirstServed,
}

const FOUND: &[Expectation<Bug>] = &[
    (Bug::NoExclusion, "one_exclusive_holder", "exactly one of twelve"),
    (Bug::NoExclusion, "any_sequence_is_answered_as_one_holder_list_would", "shortest sequence"),
    (Bug::AnonymousHolder, "contended_names_the_holder", "names the holder"),
    (Bug::SharedExcludesShared, "shared_holders_exclude_an_exclusive_one", "the second reader"),
    (Bug::ExclusiveBesideShared, "shared_holders_exclude_an_exclusive_one", "a writer beside two readers"),
    (Bug::OneSlotTooMany, "slots_admit_n_and_no_more", "three of nine"),
    (Bug::FenceStartsAnewAfterRelease, "fences_grow_for_ever", "must grow across a release"),
    (Bug::FloorIgnored, "the_fence_is_above_the_floor", "is not above the floor"),
    (Bug::AlwaysReleased, "release_tells_whether_we_held", "NotHeld"),
    (Bug::ReleaseWithoutOwnerCheck, "release_by_another_owner_changes_nothing", "by another owner"),
    (Bug::ReleaseWithoutOwnerCheck, "release_tells_whether_we_held", "NotHeld"),
    (Bug::ReleaseByNonce, "release_by_another_owner_changes_nothing", "by another owner"),
    (Bug::RenewWithoutOwnerCheck, "release_by_another_owner_changes_nothing", "renewal by another owner"),
    (Bug::RenewWithoutOwnerCheck, "an_expired_lease_is_handed_on", "the old owner's renew"),
    (Bug::RenewWithoutOwnerCheck, "evict_frees_and_fences", "the evicted owner's renew"),
    (Bug::NeverExpires, "an_expired_lease_is_handed_on", "not within"),
    (Bug::ExpiresEarly, "an_expired_lease_is_handed_on", "was handed on after"),
    (Bug::RenewalIgnored, "renewal_prolongs", "was handed on after"),
    (Bug::WaitSleeps, "wait_wakes_on_release", "after the release"),
    (Bug::ListIsEmpty, "list_shows_holders", "key, holder and fence"),
    (Bug::ListWithoutFence, "list_shows_holders", "key, holder and fence"),
    (Bug::EvictDoesNothing, "evict_frees_and_fences", "an evicted lock is free at once"),
    (Bug::SecondAttemptIsContended, "attempting_twice_with_one_owner_is_one_grant", "the holder asks again"),
    (Bug::SecondAttemptKeepsTheOldEnd, "attempting_twice_with_one_owner_is_one_grant", "was handed on after"),
    (Bug::WithdrawIgnored, "a_withdrawn_waiter_is_never_granted", "the lock goes to others"),
    (Bug::LastComeFirstServed, "waiters_are_served_in_order", "the order of the first refused attempts"),
];

#[test]
fn every_broken_lock_backend_is_found() {
    all_proven(FOUND, locks::CASES);
    must_fail(FOUND, locks::CASES, factory);
}

/// The cases over `Locks` that a backend can make fail; the others test code that no backend can break.
const FOUND_ABOVE: &[Expectation<Bug>] = &[
    (Bug::ReleaseIgnored, "a_grant_after_giving_up_is_released", "the late grant is released"),
    (Bug::ReleaseIgnored, "dropping_a_lease_releases_it", "the dropped lease is released"),
    (Bug::ReleaseIgnored, "all_or_nothing", "what it got is given back"),
    (Bug::NoExclusion, "opposite_orders_never_dead_lock", "somebody else is inside"),
    (Bug::ExpiresEarly, "lost_comes_before_the_store_hands_on", "the store has handed it on"),
    (Bug::AlwaysReleased, "release_after_loss_says_not_held", "NotHeld"),
];

#[test]
fn every_broken_backend_is_found_under_leases() {
    must_fail(FOUND_ABOVE, leases::CASES, factory);
}

#[test]
fn the_unbroken_lock_wrapper_passes() {
    must_pass(locks::CASES, factory(Bug::None));
}

fn factory(bug: Bug) -> StoreFactory {
    let (store, shared) = (MemoryStore::new(), Arc::new(Shared::default()));
    let queue = Queue::new(
        store.clone(),
        match bug {
            Bug::WithdrawIgnored => QueueBug::WithdrawIgnored,
            Bug::LastComeFirstServed => QueueBug::LastComeFirstServed,
            _ => QueueBug::None,
        },
    );
    StoreFactory::new(move || {
        let locks: Arc<dyn LockBackend> = match bug {
            Bug::None | Bug::WithdrawIgnored | Bug::LastComeFirstServed => Arc::new(queue.clone()),
            _ => Arc::new(Broken { inner: CasLock::new(store.clone()), bug, shared: Arc::clone(&shared) }),
        };
        async move { Client::new(locks, None) }
    })
}

#[derive(Debug)]
struct Broken {
    inner: CasLock<MemoryStore>,
    bug: Bug,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    base: Mutex<HashMap<Key, u64>>,
    owners: Mutex<HashMap<u64, Owner>>,
}

#[async_trait]
impl LockBackend for Broken {
    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    async fn try_acquire(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        let mut asked = req.clone();
        match (self.bug, req.mode) {
            (Bug::SharedExcludesShared, Mode::Shared) => asked.mode = Mode::Exclusive,
            (Bug::ExclusiveBesideShared, Mode::Exclusive) => asked.mode = Mode::Shared,
            (Bug::OneSlotTooMany, Mode::Slots(n)) => asked.mode = Mode::Slots(n + 1),
            (Bug::FloorIgnored, _) => asked.floor = 0,
            (Bug::NeverExpires, _) => asked.ttl = Duration::from_secs(3600),
            (Bug::ExpiresEarly, _) => asked.ttl = req.ttl / 2,
            _ => {}
        }
        let holds = self.shared.owners.lock().unwrap().contains_key(&owner.nonce());
        if self.bug == Bug::SecondAttemptIsContended && holds {
            return Err(contended(&req.key, None));
        }
        if self.bug == Bug::SecondAttemptKeepsTheOldEnd && holds {
            let held = self.inner.list(req.key.as_str(), Page::first(1)).await?;
            let mine = held.iter().flat_map(|info| &info.holders).filter_map(|holder| holder.fence);
            if let Some(fence) = mine.into_iter().find(|fence| fence.nonce() == owner.nonce()) {
                return Ok(Grant::new(req.key.clone(), owner, fence, req.mode, req.ttl));
            }
        }
        let mut grant = match self.inner.try_acquire(&asked, owner).await {
            Err(e) if self.bug == Bug::NoExclusion && e.kind() == ErrorKind::Contended => {
                Grant::new(req.key.clone(), owner, FencingToken::new(u64::MAX >> 8, owner), req.mode, req.ttl)
            }
            Err(e) if self.bug == Bug::AnonymousHolder && e.kind() == ErrorKind::Contended => {
                return Err(contended(&req.key, None));
            }
            answer => answer?,
        };
        self.shared.owners.lock().unwrap().insert(owner.nonce(), owner);
        let base = self.shared.base.lock().unwrap().get(&req.key).copied().unwrap_or_default();
        grant.fence = FencingToken::new(grant.fence.number() - base, owner);
        (grant.mode, grant.ttl) = (req.mode, req.ttl);
        Ok(grant)
    }

    async fn wait(&self, req: &Acquire, owner: Owner, until: Instant) -> Result<()> {
        if self.bug == Bug::WaitSleeps {
            tokio::time::sleep_until(until).await;
            return Ok(());
        }
        self.inner.wait(req, owner, until).await
    }

    async fn withdraw(&self, req: &Acquire, owner: Owner) {
        self.inner.withdraw(req, owner).await;
    }

    async fn renew(&self, grant: &Grant, ttl: Duration) -> Renewal {
        match self.bug {
            Bug::RenewWithoutOwnerCheck => Renewal::Renewed,
            Bug::RenewalIgnored => {
                let held = self.inner.list(grant.key.as_str(), Page::first(1)).await.unwrap();
                let mut fences = held.iter().flat_map(|info| &info.holders).filter_map(|holder| holder.fence);
                if fences.any(|fence| fence == grant.fence) { Renewal::Renewed } else { Renewal::Lost }
            }
            _ => self.inner.renew(grant, ttl).await,
        }
    }

    async fn release(&self, grant: &Grant) -> Result<Released> {
        self.shared.owners.lock().unwrap().retain(|_, owner| self.bug == Bug::ReleaseByNonce || *owner != grant.owner);
        match self.bug {
            Bug::AlwaysReleased => self.inner.release(grant).await.map(|_| Released::Released),
            Bug::ReleaseIgnored => Ok(Released::Released),
            Bug::ReleaseWithoutOwnerCheck => self.inner.evict(&grant.key).await,
            Bug::ReleaseByNonce => {
                let known = self.shared.owners.lock().unwrap().get(&grant.owner.nonce()).copied();
                let mut grant = grant.clone();
                grant.owner = known.unwrap_or(grant.owner);
                self.inner.release(&grant).await
            }
            Bug::FenceStartsAnewAfterRelease => {
                *self.shared.base.lock().unwrap().entry(grant.key.clone()).or_default() += grant.fence.number();
                self.inner.release(grant).await
            }
            _ => self.inner.release(grant).await,
        }
    }

    async fn list(&self, prefix: &str, page: Page) -> Result<Vec<LockInfo>> {
        let mut infos = self.inner.list(prefix, page).await?;
        match self.bug {
            Bug::ListIsEmpty => infos.clear(),
            Bug::ListWithoutFence => infos.iter_mut().flat_map(|info| &mut info.holders).for_each(|h| h.fence = None),
            _ => {}
        }
        Ok(infos)
    }

    async fn evict(&self, key: &Key) -> Result<Released> {
        match self.bug {
            Bug::EvictDoesNothing => {
                let held = self.inner.list(key.as_str(), Page::first(1)).await?;
                let nobody = held.iter().all(|info| info.holders.is_empty());
                Ok(if nobody { Released::NotHeld } else { Released::Released })
            }
            _ => self.inner.evict(key).await,
        }
    }
}
