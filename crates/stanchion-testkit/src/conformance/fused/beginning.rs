//! What a beginning writes and takes.

use std::sync::Arc;
use std::time::Instant;

use stanchion_core::{Acquire, Begun, Cond, ErrorKind, Identity, Key, Mode, Owner, Released, Renewal, Wait};

use super::super::locks::{busy, is_lease, obtain, request, short, take};
use super::super::records::watch;
use super::super::support::{LONG, Must as _, Names, SHORT, refusal, until};
use super::super::{Outcome, StoreFactory};
use super::{Parts, begin, granted, no_fused, two};

/// If the condition holds and the lock is free, `granted` is written and the lock is the owner's, with a fence as from
/// `try_acquire`; listings and later requests see it like any other.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_core::{CasLock, MemoryStore};
/// # use stanchion_testkit::conformance::{Client, Outcome, StoreFactory};
/// # fn memory() -> StoreFactory {
/// #     let store = MemoryStore::new();
/// #     StoreFactory::new(move || {
/// #         let store = store.clone();
/// #         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))).separate() }
/// #     })
/// # }
/// use stanchion_testkit::conformance::fused::begin_marks_and_locks_together;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = begin_marks_and_locks_together(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn begin_marks_and_locks_together(store: &StoreFactory) -> Outcome {
    let Some((a, b)) = two(store).await else {
        return no_fused();
    };
    let names = Names::fresh();
    let (claim, lock) = (names.key("claim"), request(&names.key("lock")).identity(Identity::new("caller", 41)));
    let before = take(&b.locks, &lock, "it is free").await;
    b.locks.release(&before).await.must("release");

    let owner = Owner::random();
    let watched = tokio::spawn(watch(Arc::clone(&b.records), claim.clone(), None, store.patient()));
    let (version, grant) =
        granted(a.fused.begin(&begin(&claim, Cond::Absent, Some(&lock), owner)).await, "nothing stands in the way");
    let start = Instant::now();
    // Step by step, the claim is there before its mark.
    assert!(watched.await.expect("the watcher ends").is_some(), "a watcher of the record sees it");
    assert!(start.elapsed() < store.patient() / 2, "the watcher was woken {:?} after the write", start.elapsed());
    b.reads(&claim, "granted", version, "the claim").await;
    let listed = b.records.scan(claim.as_str(), stanchion_core::Page::first(2)).await.must("scan");
    assert_eq!(listed.iter().map(|(key, _)| key).collect::<Vec<_>>(), [&claim], "the claim is listed");

    assert_eq!((&grant.key, grant.owner, grant.mode, grant.ttl), (&lock.key, owner, lock.mode, lock.ttl));
    assert_eq!(grant.fence.nonce(), owner.nonce(), "the token carries the owner's nonce");
    assert!(grant.fence.number() > before.fence.number(), "{} after {}", grant.fence, before.fence);
    let refused = refusal(b.locks.try_acquire(&lock, Owner::random()).await, ErrorKind::Contended, "it is taken");
    assert_eq!(refused.holder().must("a holder").identity.host, "caller", "later requests see who holds it");
    assert_eq!(b.holders(&lock.key).await, [Some(grant.fence)], "the listing has key, holder and fence");
    assert!(matches!(a.locks.renew(&grant, lock.ttl).await, Renewal::Renewed), "it can be renewed");
    assert_eq!(a.locks.release(&grant).await.must("release"), Released::Released, "it can be released");
    let later = take(&b.locks, &lock, "it was released").await;
    assert!(later.fence.number() > grant.fence.number(), "{} after {}", later.fence, grant.fence);
    b.locks.release(&later).await.must("release");

    on_a_record_that_is_there(&a, &b, &names).await;
    without_a_lock(&a, &b, &names).await;
    as_any_other_attempt(store, &a, &b, &names).await;
    Outcome::Passed
}

/// The condition may name a version; and the claim does not end when the record before it would have.
async fn on_a_record_that_is_there(a: &Parts, b: &Parts, names: &Names) {
    let lock = request(&names.key("lock of the second attempt"));
    for round in 0.. {
        let (claim, canary) = (names.key(&format!("again {round}")), names.key(&format!("canary {round}")));
        let start = Instant::now();
        let old = a.records.put(&claim, "old".into(), Cond::Absent, Some(SHORT)).await.must("put");
        let again = begin(&claim, Cond::Version(old), Some(&lock), Owner::random());
        let (version, grant) = match a.fused.begin(&again).await.must("the version is the record's") {
            Begun::Granted { version, grant: Some(grant) } => (version, grant),
            // A slow machine: the record had ended before.
            Begun::Found(None) if start.elapsed() >= SHORT => continue,
            other => panic!("the version is the record's, got {other:?}"),
        };
        assert!(version > old, "{version} after {old}");
        b.records.put(&canary, "short".into(), Cond::Absent, Some(SHORT)).await.must("put");
        let gone = || async { b.record(&canary).await.is_none().then_some(()) };
        until(SHORT * 50, "a record with a ttl ends", gone).await;
        b.reads(&claim, "granted", version, "a claim has no ttl that could have ended").await;
        a.locks.release(&grant).await.must("release");
        return;
    }
}

async fn without_a_lock(a: &Parts, b: &Parts, names: &Names) {
    let claim = names.key("without a lock");
    match a.fused.begin(&begin(&claim, Cond::Absent, None, Owner::random())).await.must("begin") {
        Begun::Granted { version, grant: None } => b.reads(&claim, "granted", version, "the claim").await,
        other => panic!("no lock is asked for, got {other:?}"),
    }
}

/// What holds of an attempt holds here, too: floors, modes, the same owner again, leases that have ended.
async fn as_any_other_attempt(store: &StoreFactory, a: &Parts, b: &Parts, names: &Names) {
    let attempt = |name: &'static str, lock: Acquire, owner: Owner| async move {
        let begun = a.fused.begin(&begin(&names.key(name), Cond::Absent, Some(&lock), owner)).await;
        granted(begun, name)
    };
    let key = |name: &str| -> Key { names.key(name) };
    let floor = 1 << 50;
    let (_, high) = attempt("with a floor", request(&key("high")).floor(floor), Owner::random()).await;
    assert!(high.fence.number() > floor, "{} is not above the floor {floor}", high.fence);

    let owner = Owner::random();
    let held = a.locks.try_acquire(&request(&key("own")), owner).await.must("it is free");
    let (_, again) = attempt("the holder itself", request(&key("own")), owner).await;
    assert_eq!(again.fence, held.fence, "a repeated attempt by the holder is the same grant");

    let shared = request(&key("shared")).mode(Mode::Shared).must("a valid mode");
    match b.locks.try_acquire(&shared, Owner::random()).await {
        Ok(_) => {
            let (_, beside) = attempt("beside a reader", shared.clone(), Owner::random()).await;
            assert_eq!(beside.mode, Mode::Shared);
            busy(&b.locks, &request(&shared.key), "a writer beside two readers").await;
        }
        Err(e) => assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}"),
    }
    if is_lease(&a.locks) {
        let old = take(&b.locks, &short(&key("ended"), SHORT), "it is free").await;
        // A store without a readable clock must see the same lease for its whole ttl.
        let (owner, lock) = (Owner::random(), request(&key("ended")));
        let grant = until(store.patient(), "the lease expires", || async {
            let claim = names.key(&format!("take-over {:x}", Owner::random().nonce()));
            match a.fused.begin(&begin(&claim, Cond::Absent, Some(&lock), owner)).await.must("begin") {
                Begun::Granted { grant, .. } => grant,
                Begun::Busy { .. } => None,
                Begun::Found(found) => panic!("a fresh key has a record: {found:?}"),
            }
        })
        .await;
        assert!(grant.fence.number() > old.fence.number(), "{} after {}", grant.fence, old.fence);
        assert!(matches!(b.locks.renew(&old, LONG).await, Renewal::Lost), "the old owner has lost it");
    }
}

/// If the lock is taken, `busy` is written, `Contended` names the holder, and the owner stands in no queue.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_core::{CasLock, MemoryStore};
/// # use stanchion_testkit::conformance::{Client, Outcome, StoreFactory};
/// # fn memory() -> StoreFactory {
/// #     let store = MemoryStore::new();
/// #     StoreFactory::new(move || {
/// #         let store = store.clone();
/// #         async move { Client::new(Arc::new(CasLock::new(store.clone())), Some(Arc::new(store))).separate() }
/// #     })
/// # }
/// use stanchion_testkit::conformance::fused::begin_on_a_busy_lock_leaves_the_claim;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let outcome = begin_on_a_busy_lock_leaves_the_claim(&memory()).await;
/// assert_eq!(outcome, Outcome::Passed);
/// # }
/// ```
pub async fn begin_on_a_busy_lock_leaves_the_claim(store: &StoreFactory) -> Outcome {
    let Some((a, b)) = two(store).await else {
        return no_fused();
    };
    let names = Names::fresh();
    let lock = request(&names.key("lock"));
    for (round, ready_to_wait) in [Wait::No, Wait::Forever].into_iter().enumerate() {
        let held = take(&b.locks, &lock.clone().identity(Identity::new("first", 11)), "it is free").await;
        let (claim, owner) = (names.key(&format!("claim {round}")), Owner::random());
        let asked = lock.clone().wait(ready_to_wait).identity(Identity::new("second", 22));
        let begun = a.fused.begin(&begin(&claim, Cond::Absent, Some(&asked), owner)).await.must("begin");
        let Begun::Busy { version, refused } = begun else { panic!("the lock is taken, got {begun:?}") };
        assert_eq!(refused.kind(), ErrorKind::Contended, "{refused}");
        let holder = refused.holder().must("the refusal names the holder");
        assert_eq!((holder.identity.host.as_str(), holder.identity.pid), ("first", 11));
        b.reads(&claim, "busy", version, "the claim is left").await;
        assert_eq!(b.holders(&lock.key).await, [Some(held.fence)], "the holder is the same");
        assert_eq!(b.waiters(&lock.key).await, 0, "the owner stands in no queue");
        // A queue that remembers the owner would keep the lock for it.
        assert_eq!(b.locks.release(&held).await.must("release"), Released::Released);
        let next = take(&b.locks, &lock, "the lock goes to whoever asks next").await;
        b.locks.release(&next).await.must("release");
    }

    // Nor does it take away the place of an owner that does stand in the queue.
    let held = take(&b.locks, &lock, "it is free").await;
    let (waiting, first) = (lock.clone().wait(Wait::Forever), Owner::random());
    refusal(b.locks.try_acquire(&waiting, first).await, ErrorKind::Contended, "it is taken");
    let begun = a.fused.begin(&begin(&names.key("late"), Cond::Absent, Some(&lock), Owner::random())).await;
    assert!(matches!(begun, Ok(Begun::Busy { .. })), "the lock is taken, got {begun:?}");
    let waiter = tokio::spawn(obtain(Arc::clone(&b.locks), waiting, first, store.patient()));
    b.locks.release(&held).await.must("release");
    let next = waiter.await.expect("the waiter ends").must("the waiter is granted");
    b.locks.release(&next).await.must("release");
    Outcome::Passed
}
