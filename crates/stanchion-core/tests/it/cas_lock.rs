//! Locks by compare-and-swap: how many times they ask the store, and that a guess never decides.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Acquire, Capability, CasLock, Cond, ErrorKind, FencingToken, Key, LockBackend, Locks, MemoryStore, Owner, Page,
    Record, RecordStore, Released, Renewal, Result, Version, Wait,
};
use tokio::time::Instant;

/// Counts what it is asked.
#[derive(Debug, Clone, Default)]
struct Counting {
    store: MemoryStore,
    trips: Arc<AtomicU32>,
    listings: Arc<AtomicU32>,
    /// Looks and listings have no answer.
    silent: Arc<AtomicBool>,
}

impl Counting {
    fn trip(&self) -> &MemoryStore {
        self.trips.fetch_add(1, Ordering::SeqCst);
        &self.store
    }

    fn trips(&self) -> u32 {
        self.trips.swap(0, Ordering::SeqCst)
    }

    async fn look(&self) -> &MemoryStore {
        let store = self.trip();
        if self.silent.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        store
    }
}

#[async_trait]
impl RecordStore for Counting {
    fn capability(&self) -> Capability {
        self.store.capability()
    }
    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        self.look().await.get(key).await
    }
    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        self.trip().touch(key, token).await
    }
    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        self.trip().put(key, value, cond, ttl).await
    }
    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        self.trip().delete(key, cond).await
    }
    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        self.listings.fetch_add(1, Ordering::SeqCst);
        self.look().await.scan(prefix, page).await
    }
    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        self.trip().changed(key, since, until).await
    }
}

fn request() -> Acquire {
    Acquire::new(Key::new("deploy").unwrap())
}

#[tokio::test]
async fn taking_a_free_lock_and_giving_it_back_is_one_trip_each() {
    let store = Counting::default();
    let locks = CasLock::new(store.clone());
    for _ in 0..3 {
        let grant = locks.try_acquire(&request(), Owner::random()).await.unwrap();
        assert_eq!(store.trips(), 1, "taking");
        assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
        assert_eq!(store.trips(), 1, "giving back");
    }
}

#[tokio::test]
async fn a_lock_that_others_have_changed_meanwhile_is_read_before_it_is_given_back() {
    let store = MemoryStore::new();
    let (a, b) = (CasLock::new(store.clone()), CasLock::new(store.clone()));
    let shared = request().mode(stanchion_core::Mode::Shared).unwrap();
    let (one, two) = (Owner::random(), Owner::random());
    let first = a.try_acquire(&shared, one).await.unwrap();
    let second = b.try_acquire(&shared, two).await.unwrap();
    assert_eq!(a.release(&first).await.unwrap(), Released::Released);
    let refused = a.try_acquire(&request(), Owner::random()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Contended, "the other reader is still there");
    assert_eq!(b.release(&second).await.unwrap(), Released::Released);
    a.try_acquire(&request(), Owner::random()).await.unwrap();
}

#[tokio::test]
async fn what_was_taken_away_or_has_ended_is_not_held() {
    let store = MemoryStore::new();
    let (a, b) = (CasLock::new(store.clone()), CasLock::new(store.clone()));
    let taken = a.try_acquire(&request(), Owner::random()).await.unwrap();
    b.evict(&taken.key).await.unwrap();
    let next = b.try_acquire(&request(), Owner::random()).await.unwrap();
    assert!(next.fence.number() > taken.fence.number());
    assert_eq!(a.release(&taken).await.unwrap(), Released::NotHeld);
    assert!(matches!(b.renew(&next, Duration::from_secs(9)).await, Renewal::Renewed), "and nothing was changed");
    assert_eq!(b.release(&next).await.unwrap(), Released::Released);
}

/// The look after a wait that is over names the holder: one trip, because some stores list by reading everything.
#[tokio::test]
async fn the_holder_of_one_lock_is_found_without_a_listing() {
    let store = Counting::default();
    let locks = CasLock::new(store.clone());
    let grant = locks.try_acquire(&request(), Owner::random()).await.unwrap();
    let longer = Acquire::new(Key::new("deploy/eu").unwrap());
    locks.try_acquire(&longer, Owner::random()).await.unwrap();
    store.trips();
    let first = locks.list("deploy", Page::first(1)).await.unwrap();
    assert_eq!((first.len(), &first[0].key), (1, &grant.key));
    assert_eq!(first[0].holders[0].fence, Some(grant.fence));
    assert_eq!((store.trips(), store.listings.load(Ordering::SeqCst)), (1, 0));
    // What only begins like this is found as before, and so is what comes after the first.
    let keys = |found: Vec<stanchion_core::LockInfo>| found.into_iter().map(|info| info.key).collect::<Vec<_>>();
    assert_eq!(keys(locks.list("depl", Page::first(1)).await.unwrap()), std::slice::from_ref(&grant.key));
    assert_eq!(keys(locks.list("", Page::first(1)).await.unwrap()), std::slice::from_ref(&grant.key));
    let rest = Page { after: Some(grant.key.clone()), limit: 1 };
    assert_eq!(keys(locks.list("deploy", rest).await.unwrap()), [longer.key]);
    assert_eq!(locks.list("deploy", Page::first(9)).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_wait_behind_another_task_ends_in_time_although_the_store_is_silent() {
    let store = Counting::default();
    let locks = Locks::new(CasLock::new(store.clone()));
    let held = locks.acquire(&request()).await.unwrap();
    let first = tokio::spawn({
        let locks = locks.clone();
        async move { locks.acquire(&request()).await.map(drop) }
    });
    stanchion_testkit::eventually(Duration::from_secs(5), "the first one waits at the store", || async {
        store.trips.load(Ordering::SeqCst) >= 3
    })
    .await;
    let soon = request().wait(Wait::For(Duration::from_millis(20)));
    let busy = locks.acquire(&soon).await.unwrap_err();
    assert_eq!((busy.kind(), busy.holder().is_some()), (ErrorKind::Contended, true), "{busy}");
    store.silent.store(true, Ordering::SeqCst);
    let late = tokio::time::timeout(Duration::from_secs(5), locks.acquire(&soon));
    let error = late.await.expect("the look for the holder outlived the wait").unwrap_err();
    assert_eq!((error.kind(), error.holder().is_none()), (ErrorKind::Contended, true), "{error}");
    first.abort();
    drop(held);
}

/// From the highest number there is none that is higher, so it is never reached.
#[tokio::test]
async fn a_floor_that_leaves_no_room_for_later_fences_is_refused() {
    let locks = CasLock::new(MemoryStore::new());
    for floor in [u64::MAX, u64::MAX - 1, u64::MAX / 4 + 1] {
        let refused = locks.try_acquire(&request().floor(floor), Owner::random()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid, "{floor}: {refused}");
    }
    let high = locks.try_acquire(&request().floor(u64::MAX / 4), Owner::random()).await.unwrap();
    locks.release(&high).await.unwrap();
    let higher = locks.try_acquire(&request(), Owner::random()).await.unwrap();
    assert!(u64::MAX / 4 < high.fence.number() && high.fence.number() < higher.fence.number());
}

#[tokio::test]
async fn an_identity_made_by_hand_does_not_break_the_record() {
    let locks = CasLock::new(MemoryStore::new());
    let identity = stanchion_core::Identity { host: "a\nb".into(), pid: 7, label: "x\r\ny\u{1}".into() };
    let grant = locks.try_acquire(&request().identity(identity), Owner::random()).await.unwrap();
    let refused = locks.try_acquire(&request(), Owner::random()).await.unwrap_err();
    assert_eq!((refused.kind(), refused.holder().unwrap().fence), (ErrorKind::Contended, Some(grant.fence)));
    assert_eq!(refused.holder().unwrap().identity.to_string(), "ab pid 7 (xy)");
    assert_eq!(locks.release(&grant).await.unwrap(), Released::Released);
}
