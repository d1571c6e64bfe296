//! The cases of [`Locks`] on top of a backend: waiting, renewing, giving up.

mod giving_up;
mod losing;
mod order;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{Acquire, ErrorKind, Grant, Hold, Key, LockBackend, Locks, Owner, Wait};

use super::support::{LONG, Must as _, refusal, until};
use super::{Outcome, StoreFactory};

pub use giving_up::{a_grant_after_giving_up_is_released, all_or_nothing, dropping_a_lease_releases_it};
pub use losing::{
    a_late_renewal_never_revives, lost_comes_before_the_store_hands_on, max_hold_ends_the_lease,
    release_after_loss_says_not_held,
};
pub use order::{opposite_orders_never_dead_lock, tasks_of_one_process_are_served_in_order};

crate::__conformance_names! { leases [crate::__conformance_list] }

/// The locks of one more process.
async fn locks(store: &StoreFactory) -> Locks {
    Locks::shared(store.locks().await)
}

/// A request that waits as long as the case does, for a lease that does not expire during it.
fn request(store: &StoreFactory, key: &Key) -> Acquire {
    Acquire::new(key.clone()).ttl(LONG).must("a valid ttl").wait(Wait::For(store.patient()))
}

fn short(store: &StoreFactory, key: &Key, ttl: Duration) -> Acquire {
    request(store, key).ttl(ttl).must("a valid ttl")
}

fn at_once(store: &StoreFactory, key: &Key) -> Acquire {
    request(store, key).wait(Wait::No)
}

/// What another process gets, once the lock is free.
async fn freed(store: &StoreFactory, other: &Arc<dyn LockBackend>, key: &Key, what: &str) -> Grant {
    let (owner, attempt) = (Owner::random(), at_once(store, key));
    until(store.patient(), what, || async {
        match other.try_acquire(&attempt, owner).await {
            Ok(grant) => Some(grant),
            Err(e) if e.kind() == ErrorKind::Contended => None,
            Err(e) => panic!("{what}: {:?}: {e}", e.kind()),
        }
    })
    .await
}

async fn busy(store: &StoreFactory, other: &Arc<dyn LockBackend>, key: &Key, what: &str) {
    refusal(other.try_acquire(&at_once(store, key), Owner::random()).await, ErrorKind::Contended, what);
}

/// Why nothing can be lost, if so.
fn never_lost(backend: &Arc<dyn LockBackend>) -> Option<Outcome> {
    let held = backend.capability().hold == Hold::Held;
    held.then(|| super::support::not_applicable("these locks are held until the process ends, they are no leases"))
}
