//! The cases of [`LockBackend`], one per bullet.

mod exclusion;
mod fences;
mod holding;
mod listing;
mod sequences;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{Acquire, ErrorKind, Grant, Hold, Key, LockBackend, Mode, Owner, Wait};

use super::support::{LONG, Must as _, refusal, until};
use super::{Outcome, StoreFactory};

pub use exclusion::{
    contended_names_the_holder, one_exclusive_holder, shared_holders_exclude_an_exclusive_one,
    slots_admit_n_and_no_more,
};
pub use fences::{evict_frees_and_fences, fences_grow_for_ever, the_fence_is_above_the_floor};
pub use holding::{
    an_expired_lease_is_handed_on, attempting_twice_with_one_owner_is_one_grant,
    release_by_another_owner_changes_nothing, release_tells_whether_we_held, renewal_prolongs,
};
pub use listing::list_shows_holders;
pub use sequences::any_sequence_is_answered_as_one_holder_list_would;
pub(super) use waiting::obtain;
pub use waiting::{a_withdrawn_waiter_is_never_granted, wait_wakes_on_release, waiters_are_served_in_order};

crate::__conformance_names! { locks [crate::__conformance_list] }

pub(super) type Locks = Arc<dyn LockBackend>;

/// Three clients of the same store.
async fn three(store: &StoreFactory) -> (Locks, Locks, Locks) {
    (store.locks().await, store.locks().await, store.locks().await)
}

/// A request of one attempt, for a lock that does not expire during a case.
pub(super) fn request(key: &Key) -> Acquire {
    Acquire::new(key.clone()).ttl(LONG).must("a valid ttl").wait(Wait::No)
}

pub(super) fn short(key: &Key, ttl: Duration) -> Acquire {
    request(key).ttl(ttl).must("a valid ttl")
}

fn in_mode(key: &Key, mode: Mode) -> Acquire {
    request(key).mode(mode).must("a valid mode")
}

pub(super) async fn take(locks: &Locks, request: &Acquire, what: &str) -> Grant {
    locks.try_acquire(request, Owner::random()).await.must(what)
}

pub(super) async fn busy(locks: &Locks, request: &Acquire, what: &str) {
    refusal(locks.try_acquire(request, Owner::random()).await, ErrorKind::Contended, what);
}

/// Asks again and again, always the same client: a store without clock must see the same version for a full ttl.
pub(super) async fn take_over(store: &StoreFactory, locks: &Locks, request: &Acquire, what: &str) -> Grant {
    let owner = Owner::random();
    until(store.patient(), what, || async {
        match locks.try_acquire(request, owner).await {
            Ok(grant) => Some(grant),
            Err(e) if e.kind() == ErrorKind::Contended => None,
            Err(e) => panic!("{what}: {:?}: {e}", e.kind()),
        }
    })
    .await
}

pub(super) fn is_lease(locks: &Locks) -> bool {
    locks.capability().hold == Hold::Lease
}

fn held_only() -> Outcome {
    super::support::not_applicable("these locks are held until the process ends, they are no leases")
}

/// `Some` if the backend refuses the mode as such.
async fn unsupported(locks: &Locks, request: &Acquire) -> Option<Outcome> {
    let owner = Owner::random();
    match locks.try_acquire(request, owner).await {
        Err(e) if e.kind() == ErrorKind::Unsupported => {
            Some(super::support::not_applicable(format!("{:?} is unsupported: {e}", request.mode)))
        }
        Err(e) => panic!("{:?}: {:?}: {e}", request.mode, e.kind()),
        Ok(grant) => {
            locks.release(&grant).await.must("release");
            None
        }
    }
}
