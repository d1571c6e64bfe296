//! Locks by compare-and-swap: how many times they ask the store, and that a guess never decides.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Acquire, Capability, CasLock, Cond, ErrorKind, FencingToken, Key, LockBackend, MemoryStore, Owner, Page, Record,
    RecordStore, Released, Renewal, Result, Version,
};
use tokio::time::Instant;

/// Counts what it is asked.
#[derive(Debug, Clone, Default)]
struct Counting {
    store: MemoryStore,
    trips: Arc<AtomicU32>,
}

impl Counting {
    fn trip(&self) -> &MemoryStore {
        self.trips.fetch_add(1, Ordering::SeqCst);
        &self.store
    }

    fn trips(&self) -> u32 {
        self.trips.swap(0, Ordering::SeqCst)
    }
}

#[async_trait]
impl RecordStore for Counting {
    fn capability(&self) -> Capability {
        self.store.capability()
    }
    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        self.trip().get(key).await
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
        self.trip().scan(prefix, page).await
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
