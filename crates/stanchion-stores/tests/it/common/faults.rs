//! Schedules of faults that several engines have to stand.

use std::time::Duration;

use stanchion_core::{
    Acquire, Cond, Error, ErrorKind, Grant, LockBackend, Owner, Page, Ran, RecordStore, Released, Renewal, Wait,
};
use stanchion_testkit::engines::Server;
use stanchion_testkit::{Fault, FaultProxy, Plan, eventually};
use tokio::time::Instant;

use super::{key, open, request, waiting};

/// Nothing is flushed, and it is there again at the same place.
pub(crate) async fn crash(server: &Server) {
    server.kill();
    server.restart().await;
}

/// A waiter that has joined the line before `restart` gets the lock after it.
pub(crate) async fn waiter_survives(url: &str, patience: Duration, restart: impl Future<Output = ()>) {
    let (a, b) = (open(url).await.locks, open(url).await.locks);
    let held = a.try_acquire(&request("k"), Owner::random()).await.unwrap();
    let waiter = tokio::spawn(async move {
        let (request, owner, until) = (waiting("k"), Owner::random(), Instant::now() + patience);
        while Instant::now() < until {
            if let Ok(grant) = b.try_acquire(&request, owner).await {
                return Some(grant);
            }
            drop(b.wait(&request, owner, until).await);
        }
        None
    });
    eventually(patience, "it waits", || async { !a.list("k", Page::first(1)).await.unwrap()[0].waiters.is_empty() })
        .await;
    restart.await;
    eventually(patience, "the release goes through", || async { a.release(&held).await.is_ok() }).await;
    assert!(waiter.await.unwrap().is_some(), "the waiter was never granted");
}

/// Loses the reply to the next message that names `text`.
pub(crate) fn lose(proxy: &FaultProxy, text: &str) {
    proxy.set_plan(Plan::first(text, Fault::LoseReply));
}

/// The key that [`lost_replies`] locks.
pub(crate) const LOST: &str = "lost-key";

/// The replies to an attempt and to its release are lost, and each time asking again tells. What was said of the first.
pub(crate) async fn lost_replies(locks: &dyn LockBackend, proxy: &FaultProxy, lose: impl Fn()) -> Error {
    let (grant, said) = lost_grant(locks, &lose).await;
    lost_release(locks, &grant, &lose).await;
    assert_eq!(proxy.counts().lost_replies, 2, "void");
    said
}

pub(crate) async fn lost_grant(locks: &dyn LockBackend, lose: impl Fn()) -> (Grant, Error) {
    let owner = Owner::random();
    lose();
    let e = locks.try_acquire(&request(LOST), owner).await.unwrap_err();
    assert_eq!((e.kind(), e.ran()), (ErrorKind::OutcomeUnknown, Ran::Maybe), "{e}");
    // It had run: another owner is refused, the same one gets its own lock.
    let other = locks.try_acquire(&request(LOST), Owner::random()).await.unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Contended, "{other}");
    let grant = locks.try_acquire(&request(LOST), owner).await.unwrap();
    assert_eq!(Some(grant.fence), other.holder().unwrap().fence);
    (grant, e)
}

pub(crate) async fn lost_release(locks: &dyn LockBackend, grant: &Grant, lose: impl Fn()) {
    lose();
    assert_eq!(locks.release(grant).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(locks.release(grant).await.unwrap(), Released::NotHeld);
}

/// The server is dead: nobody is granted anything, and after a while that is known for certain.
pub(crate) async fn loss_is_noticed(locks: &dyn LockBackend, name: &str, patience: Duration) {
    eventually(patience, "the loss is noticed", || async {
        match locks.try_acquire(&request(name), Owner::random()).await {
            Err(e) => e.kind() == ErrorKind::Unavailable,
            Ok(_) => panic!("granted by a dead server"),
        }
    })
    .await;
}

/// The lease is renewed as soon as the server can be reached. It is never said to be lost.
pub(crate) async fn goes_on(locks: &dyn LockBackend, held: &Grant, ttl: Duration, patience: Duration) {
    eventually(patience, "the lease goes on", || async {
        match locks.renew(held, ttl).await {
            Renewal::Renewed => true,
            Renewal::Unknown(_) => false,
            Renewal::Lost => panic!("nobody has taken it, and it has not ended"),
        }
    })
    .await;
}

/// The lease has outlived whatever there was: others are refused, its holder gives it back, and the next fence is higher.
pub(crate) async fn still_held(locks: &dyn LockBackend, others: &dyn LockBackend, held: &Grant) {
    let request = Acquire::new(held.key.clone()).wait(Wait::No);
    let e = others.try_acquire(&request, Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Contended, "{e}");
    assert_eq!(locks.release(held).await.unwrap(), Released::Released);
    let next = others.try_acquire(&request, Owner::random()).await.unwrap();
    assert!(next.fence.number() > held.fence.number(), "{} after {}", next.fence, held.fence);
}

/// Connections are cut again and again, and the lease goes on over new ones.
pub(crate) async fn cuts(locks: &dyn LockBackend, proxy: &FaultProxy, ttl: Duration, patience: Duration) {
    let held = locks.try_acquire(&request("k"), Owner::random()).await.unwrap();
    for _ in 0..3 {
        proxy.cut_all();
        goes_on(locks, &held, ttl, patience).await;
    }
    assert_eq!(locks.release(&held).await.unwrap(), Released::Released);
    assert!(proxy.counts().connections >= 4, "void");
}

/// The server is stopped, which is said, and started again, which is found.
pub(crate) async fn away(locks: &dyn LockBackend, server: &Server, patience: Duration) {
    server.stop().await;
    let e = locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::OutcomeUnknown), "{e}");
    let e = locks.try_acquire(&request("k"), Owner::random()).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unavailable, "{e}");
    assert!(e.next_step().is_some(), "{e}");
    server.restart().await;
    let granted = || async { locks.try_acquire(&request("k"), Owner::random()).await.is_ok() };
    eventually(patience, "it works again", granted).await;
}

/// The answer to a write, known by its `text`, does not come in time: its outcome is unknown, and a new connection tells.
pub(crate) async fn silent_write(records: &dyn RecordStore, proxy: &FaultProxy, text: &str, delay: Duration) {
    proxy.set_plan(Plan::first(text, Fault::DelayReply(delay)));
    let e = records.put(&key("k"), "v".into(), Cond::Absent, None).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::OutcomeUnknown, "{e}");
    assert_eq!(records.get(&key("k")).await.unwrap().unwrap().value, "v", "a new connection takes over");
}
