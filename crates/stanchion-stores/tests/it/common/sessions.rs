//! Locks that live as long as a connection.

use std::time::Duration;

use stanchion_core::{Grant, LockBackend, Owner, Page, Released, Renewal};
use stanchion_testkit::eventually;

use super::request;

pub(crate) async fn taken(locks: &dyn LockBackend) -> Grant {
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    assert!(matches!(locks.renew(&grant, grant.ttl).await, Renewal::Renewed));
    grant
}

/// The session has ended: its holder learns it, and the server lets the lock go a little after it says so.
pub(crate) async fn lost_with_its_session(locks: &dyn LockBackend, grant: &Grant, patience: Duration) {
    assert!(matches!(locks.renew(grant, grant.ttl).await, Renewal::Lost));
    assert_eq!(locks.release(grant).await.unwrap(), Released::NotHeld);
    let free = || async {
        let next = locks.try_acquire(&request("k"), Owner::random()).await;
        next.is_ok_and(|next| next.fence.number() > grant.fence.number())
    };
    eventually(patience, "the server lets the lock of the ended session go", free).await;
}

/// A listing shows who holds it, and nobody afterwards.
pub(crate) async fn only_live_holders_are_listed(locks: &dyn LockBackend) {
    let grant = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    assert_eq!(locks.list("", Page::first(9)).await.unwrap()[0].holders[0].fence, Some(grant.fence));
    locks.release(&grant).await.unwrap();
    assert!(locks.list("", Page::first(9)).await.unwrap().is_empty());
}
