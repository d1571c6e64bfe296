//! Optimistic updates: exact under contention, and honest when answers are lost.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Capability, ChaosStore, Cond, Error, ErrorKind, FencingToken, Key, MemoryStore, Page, Ran, Record, RecordStore,
    Result, RetryPolicy, Version, Versioned,
};
use tokio::time::Instant;

fn key() -> Key {
    Key::new("balance").unwrap()
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a change")]
fn plus_one(value: Option<&[u8]>) -> Result<Bytes> {
    Ok((number(value.unwrap_or(b"0")) + 1).to_string().into())
}

fn number(value: &[u8]) -> u32 {
    std::str::from_utf8(value).unwrap().parse().unwrap()
}

async fn read(store: &MemoryStore) -> u32 {
    let found = Versioned::new(store.clone()).get(&key()).await.unwrap();
    found.map_or(0, |(value, _)| number(&value))
}

/// Patient enough that only lost answers, never contention, end an update.
fn patient() -> RetryPolicy {
    RetryPolicy::default().budget(100_000).deadline(Duration::from_secs(3600))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_tasks_of_ten_increments_make_fifty() {
    let store = MemoryStore::new();
    let values = Versioned::new(store.clone()).retry(patient());
    let tasks: Vec<_> = (0..5)
        .map(|_| {
            let values = values.clone();
            tokio::spawn(async move {
                for _ in 0..10 {
                    values.update(&key(), plus_one).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(read(&store).await, 50);
}

/// What happens to the put of this number.
type Meddle = fn(u32) -> Meddling;

/// A store in which something happens around a write of ours.
#[derive(Debug)]
struct Meddled {
    inner: MemoryStore,
    before_put: Meddle,
    puts: AtomicU32,
    delayed: Mutex<Option<(Bytes, Cond)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meddling {
    Nothing,
    /// A rival writes first.
    Rival,
    /// The write happens, its answer is lost, and then so many rivals write.
    LostThenRivals(u32),
    /// The request comes twice, and the caller is told what became of the second copy; then so many rivals write.
    Doubled(u32),
    /// A rival writes first, and that the write was refused is not told.
    LostBehindRival,
    /// The caller gives up on the write, which is still on its way and arrives before the next one.
    Delayed,
}

impl Meddled {
    fn new(inner: &MemoryStore, before_put: Meddle) -> Self {
        Self { inner: inner.clone(), before_put, puts: AtomicU32::new(0), delayed: Mutex::default() }
    }

    async fn rival(&self) {
        Versioned::new(self.inner.clone()).update(&key(), plus_one).await.unwrap();
    }
}

fn lost() -> Error {
    Error::new(ErrorKind::OutcomeUnknown, "the answer is lost")
}

#[async_trait]
impl RecordStore for Meddled {
    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        let delayed = self.delayed.lock().unwrap().take();
        if let Some((value, cond)) = delayed {
            // Nobody waits for this answer any more.
            self.inner.put(key, value, cond, None).await.ok();
        }
        match (self.before_put)(self.puts.fetch_add(1, Ordering::SeqCst)) {
            Meddling::Nothing => self.inner.put(key, value, cond, ttl).await,
            Meddling::Rival => {
                self.rival().await;
                self.inner.put(key, value, cond, ttl).await
            }
            Meddling::LostThenRivals(rivals) => {
                self.inner.put(key, value, cond, ttl).await?;
                for _ in 0..rivals {
                    self.rival().await;
                }
                Err(lost())
            }
            Meddling::Doubled(rivals) => {
                self.inner.put(key, value.clone(), cond, ttl).await?;
                let second = self.inner.put(key, value, cond, ttl).await;
                for _ in 0..rivals {
                    self.rival().await;
                }
                second
            }
            Meddling::LostBehindRival => {
                self.rival().await;
                self.inner.put(key, value, cond, ttl).await.map_err(|_| lost())
            }
            Meddling::Delayed => {
                *self.delayed.lock().unwrap() = Some((value, cond));
                Err(lost())
            }
        }
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        self.inner.get(key).await
    }
    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        self.inner.touch(key, token).await
    }
    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        self.inner.delete(key, cond).await
    }
    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        self.inner.scan(prefix, page).await
    }
    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        self.inner.changed(key, since, until).await
    }
}

#[tokio::test(start_paused = true)]
async fn the_conflict_budget_ends_in_a_conflict_and_writes_nothing() {
    let inner = MemoryStore::new();
    let values = Versioned::new(Meddled::new(&inner, |_| Meddling::Rival)).retry(RetryPolicy::default().budget(3));
    let mut applied = 0;
    let error = values
        .update(&key(), |value| {
            applied += 1;
            plus_one(value)
        })
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("conflicts: 4"), "{error}");
    assert_eq!((applied, read(&inner).await), (4, 4), "the first try and three more; only the rival has written");
}

#[tokio::test(start_paused = true)]
async fn conflicts_are_reported() {
    let inner = MemoryStore::new();
    let values = Versioned::new(Meddled::new(&inner, |n| if n < 2 { Meddling::Rival } else { Meddling::Nothing }));
    assert_eq!(values.update(&key(), plus_one).await.unwrap().conflicts, 2);
    assert_eq!(read(&inner).await, 3);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_resolved_as_long_as_the_writer_is_remembered() {
    let meddlings: [(u32, Meddle); 3] = [
        (0, |_| Meddling::LostThenRivals(0)),
        (3, |_| Meddling::LostThenRivals(3)),
        (7, |_| Meddling::LostThenRivals(7)),
    ];
    for (rivals, meddle) in meddlings {
        let inner = MemoryStore::new();
        let updated = Versioned::new(Meddled::new(&inner, meddle)).update(&key(), plus_one).await.unwrap();
        assert_eq!(updated.version.is_some(), rivals == 0, "a replaced version is not named");
        assert_eq!(read(&inner).await, rivals + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_that_cannot_be_resolved_is_said_to_be_unknown() {
    let inner = MemoryStore::new();
    let values = Versioned::new(Meddled::new(&inner, |_| Meddling::LostThenRivals(8)));
    assert_eq!(values.update(&key(), plus_one).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(read(&inner).await, 9, "written once, and not again");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_arrives_after_it_was_given_up_counts_once() {
    let inner = MemoryStore::new();
    let values = Versioned::new(Meddled::new(&inner, |n| if n == 0 { Meddling::Delayed } else { Meddling::Nothing }));
    let outcome = values.update(&key(), plus_one).await;
    match outcome {
        Ok(_) => assert_eq!(read(&inner).await, 1, "one update was acknowledged"),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
            assert!(read(&inner).await <= 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_was_doubled_on_its_way_counts_once_although_its_second_copy_was_refused() {
    let meddlings: [(u32, Meddle); 2] = [(0, |_| Meddling::Doubled(0)), (7, |_| Meddling::Doubled(7))];
    for (rivals, meddle) in meddlings {
        for budget in [0, 5] {
            let inner = MemoryStore::new();
            let values = Versioned::new(Meddled::new(&inner, meddle)).retry(RetryPolicy::default().budget(budget));
            let updated = values.update(&key(), plus_one).await.unwrap();
            assert_eq!((updated.version.is_some(), updated.conflicts), (rivals == 0, 1));
            assert_eq!(read(&inner).await, rivals + 1, "written once");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_last_try_that_was_not_answered_and_came_to_nothing_is_a_conflict() {
    let inner = MemoryStore::new();
    let store = Meddled::new(&inner, |_| Meddling::LostBehindRival);
    let error =
        Versioned::new(store).retry(RetryPolicy::default().budget(0)).update(&key(), plus_one).await.unwrap_err();
    assert_eq!((error.kind(), error.ran()), (ErrorKind::Conflict, Ran::No));
    assert_eq!(read(&inner).await, 1, "the rival's");
}

#[tokio::test(start_paused = true)]
async fn a_change_that_fails_writes_nothing() {
    let store = MemoryStore::new();
    let refuse = |_: Option<&[u8]>| Err(Error::new(ErrorKind::Invalid, "no money"));
    assert_eq!(Versioned::new(store.clone()).update(&key(), refuse).await.unwrap_err().kind(), ErrorKind::Invalid);
    assert!(store.get(&key()).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_record_of_somebody_else_is_damaged_and_stays() {
    let store = MemoryStore::new();
    store.put(&key(), "plain".into(), Cond::Absent, None).await.unwrap();
    assert_eq!(Versioned::new(store.clone()).update(&key(), plus_one).await.unwrap_err().kind(), ErrorKind::Damaged);
    assert_eq!(store.get(&key()).await.unwrap().unwrap().value, "plain");
}

const TASKS: u32 = 8;
const UPDATES: u32 = 50;

/// Runs `increment` by eight tasks, fifty times each; counts what was acknowledged and what is unknown.
async fn storm<F, Fut>(increment: F) -> (u32, u32)
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<()>> + Send,
{
    let (increment, mut tasks) = (Arc::new(increment), Vec::new());
    for _ in 0..TASKS {
        let increment = Arc::clone(&increment);
        tasks.push(tokio::spawn(async move {
            let (mut acknowledged, mut unknown) = (0, 0);
            for _ in 0..UPDATES {
                match increment().await {
                    Ok(()) => acknowledged += 1,
                    Err(error) if error.kind() == ErrorKind::OutcomeUnknown => unknown += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            (acknowledged, unknown)
        }));
    }
    let mut sum = (0, 0);
    for task in tasks {
        let (acknowledged, unknown) = task.await.unwrap();
        sum = (sum.0 + acknowledged, sum.1 + unknown);
    }
    sum
}

fn lossy(inner: &MemoryStore, seed: u32) -> ChaosStore<MemoryStore> {
    ChaosStore::new(inner.clone(), format!("delay=3ms,lost=0.3,seed={seed}").parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn lost_answers_neither_lose_nor_repeat_an_acknowledged_increment() {
    let mut acknowledged_in_all = 0;
    for seed in 1..=5 {
        let inner = MemoryStore::new();
        let values = Versioned::new(lossy(&inner, seed)).retry(patient());
        let (acknowledged, unknown) = storm(move || {
            let values = values.clone();
            async move { values.update(&key(), plus_one).await.map(drop) }
        })
        .await;
        let kept = read(&inner).await;
        eprintln!("versioned, seed {seed}: {acknowledged} acknowledged, {unknown} unknown, {kept} kept");
        assert_eq!(acknowledged + unknown, TASKS * UPDATES);
        assert!(
            (acknowledged..=acknowledged + unknown).contains(&kept),
            "seed {seed}: {acknowledged}+{unknown} {kept}"
        );
        acknowledged_in_all += acknowledged;
    }
    assert!(acknowledged_in_all > 5 * TASKS * UPDATES * 9 / 10, "nearly all are resolved: {acknowledged_in_all}");
}

#[tokio::test(start_paused = true)]
async fn control_a_blind_retry_after_a_lost_answer_counts_twice() {
    let inner = MemoryStore::new();
    let store = Arc::new(lossy(&inner, 1));
    let (acknowledged, unknown) = storm(move || {
        let store = Arc::clone(&store);
        async move {
            loop {
                let found = store.get(&key()).await?;
                let cond = found.as_ref().map_or(Cond::Absent, |record| Cond::Version(record.version));
                let value = plus_one(found.as_ref().map(|record| &record.value[..]))?;
                match store.put(&key(), value, cond, None).await {
                    Ok(_) => return Ok(()),
                    Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::OutcomeUnknown) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    })
    .await;
    let kept = number(&inner.get(&key()).await.unwrap().unwrap().value);
    eprintln!("blind retry: {acknowledged} acknowledged, {unknown} unknown, {kept} kept");
    assert!(kept > acknowledged + unknown, "void: the faults do not reach the writers");
}
