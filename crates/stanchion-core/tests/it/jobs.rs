//! Jobs: unique by key, worked on under a lease, done once, never lost.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Capability, Chaos, ChaosStore, Cond, Enqueue, Error, ErrorKind, FencingToken, Job, JobId, JobState, Jobs, Key,
    ManualClock, MemoryStore, PAYLOAD_MAX_BYTES, Page, Record, RecordStore, Result, RetryPolicy, Version,
};
use stanchion_testkit::eventually;
use stanchion_testkit::pause::hold;
use tokio::time::Instant;

const LEASE: Duration = Duration::from_secs(30);
const MS: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(20);

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn october() -> Enqueue {
    Enqueue::new(key("october"), "all of it")
}

fn with_clock() -> (Arc<ManualClock>, MemoryStore) {
    let clock = Arc::new(ManualClock::default());
    clock.advance(Duration::from_secs(1000));
    (clock.clone(), MemoryStore::with_clock(clock))
}

fn jobs(store: impl RecordStore) -> Jobs {
    Jobs::new(store, "reports").unwrap()
}

async fn take(jobs: &Jobs) -> Job {
    jobs.claim(LEASE).await.unwrap().unwrap()
}

async fn none(jobs: &Jobs) -> bool {
    jobs.claim(LEASE).await.unwrap().is_none()
}

fn lost<T: std::fmt::Debug>(outcome: Result<T>) {
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::LeaseLost);
}

#[tokio::test]
async fn a_key_is_taken_until_its_job_is_done_and_then_free() {
    let jobs = jobs(MemoryStore::new());
    let mut ids = vec![];
    for _ in 0..3 {
        let first = jobs.enqueue(october()).await.unwrap();
        assert!(!first.deduplicated && !ids.contains(&first.job_id), "a new job each time");
        ids.push(first.job_id);
        let other = || Enqueue::new(key("october"), "something else");
        let again = jobs.enqueue(other()).await.unwrap();
        assert_eq!((again.deduplicated, again.job_id), (true, first.job_id), "while queued");
        let job = take(&jobs).await;
        assert_eq!((job.info().id, &job.info().payload[..]), (first.job_id, &b"all of it"[..]));
        let again = jobs.enqueue(other()).await.unwrap();
        assert_eq!((again.deduplicated, again.job_id), (true, first.job_id), "while running");
        let listed = jobs.list(None, 9).await.unwrap();
        assert_eq!((listed.len(), listed[0].state, listed[0].attempts), (1, JobState::Running, 1));
        job.done().await.unwrap();
        assert!(none(&jobs).await);
    }
}

#[tokio::test]
async fn queues_and_keys_do_not_meet() {
    let store = MemoryStore::new();
    let (a, b) = (Jobs::new(store.clone(), "a").unwrap(), Jobs::new(store.clone(), "aa").unwrap());
    assert!(!a.enqueue(october()).await.unwrap().deduplicated);
    assert!(none(&b).await);
    assert!(!b.enqueue(october()).await.unwrap().deduplicated);
    assert!(!a.enqueue(Enqueue::new(key(&"x".repeat(512)), "")).await.unwrap().deduplicated);
    assert!(!a.enqueue(Enqueue::new(key(&"x".repeat(511)), "")).await.unwrap().deduplicated);
    assert_eq!((a.counts().await.unwrap().queued, b.counts().await.unwrap().queued), (3, 1));
    assert!(store.scan("", Page::first(9)).await.unwrap().is_empty(), "users do not see our records");
}

#[tokio::test]
async fn a_window_keeps_the_key_taken_after_the_job_is_done_and_not_for_ever() {
    let (clock, store) = with_clock();
    let jobs = jobs(store).clock(clock.clone());
    for _ in 0..2 {
        let hourly = || october().unique_for(Duration::from_secs(3600)).unwrap();
        let first = jobs.enqueue(hourly()).await.unwrap();
        assert!(!first.deduplicated);
        clock.advance(Duration::from_secs(600));
        let job = take(&jobs).await;
        clock.advance(Duration::from_secs(20));
        job.done().await.unwrap();
        clock.advance(Duration::from_secs(2980) - MS);
        let again = jobs.enqueue(hourly()).await.unwrap();
        assert_eq!((again.deduplicated, again.job_id), (true, first.job_id));
        assert!(none(&jobs).await, "done is done");
        clock.advance(MS);
    }
    assert!(jobs.list(None, 9).await.unwrap().is_empty(), "and nothing is left");
}

#[tokio::test]
async fn a_job_that_outlives_its_window_keeps_the_key_until_it_is_done() {
    let (clock, store) = with_clock();
    let jobs = jobs(store);
    let short = || october().unique_for(Duration::from_secs(60)).unwrap();
    jobs.enqueue(short()).await.unwrap();
    clock.advance(Duration::from_secs(3600));
    assert!(jobs.enqueue(short()).await.unwrap().deduplicated, "still queued");
    take(&jobs).await.done().await.unwrap();
    assert!(!jobs.enqueue(short()).await.unwrap().deduplicated);
}

#[tokio::test]
async fn a_lease_ends_by_the_store_s_clock_and_the_late_worker_is_refused() {
    let (clock, store) = with_clock();
    let jobs = jobs(store);
    jobs.enqueue(october()).await.unwrap();
    let (mut late, mut late_too) = (take(&jobs).await, None);
    clock.advance(LEASE - MS);
    assert!(none(&jobs).await);
    late.extend().await.unwrap();
    clock.advance(LEASE - MS);
    assert!(none(&jobs).await, "extended");
    clock.advance(MS);
    for attempt in 2..=3 {
        let next = take(&jobs).await;
        assert_eq!((next.info().attempts, next.info().id), (attempt, late.info().id));
        assert!(next.info().fence.unwrap().number() > late.info().fence.unwrap().number());
        assert!(none(&jobs).await, "one other, not two");
        lost(late.extend().await);
        if attempt == 2 {
            late_too = Some(next);
            clock.advance(LEASE);
        } else {
            lost(late_too.take().unwrap().failed(Duration::ZERO, "late").await);
            next.done().await.unwrap();
        }
    }
    lost(late.done().await);
    let counts = jobs.counts().await.unwrap();
    assert_eq!((counts.queued, counts.running, counts.done, counts.dead), (0, 0, 1, 0));
}

#[tokio::test]
async fn a_worker_whose_lease_ended_unnoticed_may_still_report() {
    let (clock, store) = with_clock();
    let jobs = jobs(store);
    jobs.enqueue(october()).await.unwrap();
    let job = take(&jobs).await;
    clock.advance(10 * LEASE);
    job.done().await.unwrap();
    assert!(none(&jobs).await);
}

#[tokio::test]
async fn a_failed_job_comes_back_after_its_pause_and_dies_after_its_last_attempt() {
    let (clock, store) = with_clock();
    let jobs = jobs(store);
    let twice = || october().attempts(2).unwrap();
    let first = jobs.enqueue(twice()).await.unwrap();
    let state = take(&jobs).await.failed(Duration::from_secs(5), "no paper").await.unwrap();
    assert_eq!(state, JobState::Queued);
    clock.advance(Duration::from_secs(5) - MS);
    assert!(none(&jobs).await);
    clock.advance(MS);
    let job = take(&jobs).await;
    assert_eq!((job.info().attempts, job.info().failure.as_str()), (2, "no paper"));
    assert_eq!(job.failed(Duration::from_secs(5), "no ink").await.unwrap(), JobState::Dead);
    clock.advance(Duration::from_secs(3600));
    assert!(none(&jobs).await);

    let second = jobs.enqueue(twice()).await.unwrap();
    assert!(!second.deduplicated, "a dead job does not hold its key");
    let dead = jobs.dead(None, 9).await.unwrap();
    assert_eq!(dead.len(), 1, "and is kept");
    assert_eq!((dead[0].id, dead[0].failure.as_str(), dead[0].attempts), (first.job_id, "no ink", 2));
    assert_eq!(&dead[0].payload[..], b"all of it");
    assert!(jobs.forget(first.job_id).await.unwrap());
    assert_eq!(jobs.counts().await.unwrap().dead, 0);
}

#[tokio::test]
async fn a_job_that_kills_its_workers_is_dead_in_the_end() {
    let (clock, store) = with_clock();
    let jobs = jobs(store);
    let added = jobs.enqueue(october().attempts(3).unwrap()).await.unwrap();
    for _ in 0..3 {
        drop(take(&jobs).await);
        clock.advance(LEASE);
    }
    assert!(none(&jobs).await);
    let dead = jobs.dead(None, 9).await.unwrap();
    assert_eq!((dead.len(), dead[0].id, dead[0].attempts), (1, added.job_id, 3));
    assert!(dead[0].failure.contains("worker"), "{:?}", dead[0].failure);
    assert!(jobs.list(None, 9).await.unwrap().is_empty());
}

/// What happens at the next write to a key with this text in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meddling {
    Nothing,
    /// It happens, and its answer is lost.
    Lost,
    /// It does not happen.
    Refused,
    /// Its answer is lost, and it happens only just before the next one.
    Delayed,
}

#[derive(Debug)]
struct Meddled {
    inner: MemoryStore,
    text: &'static str,
    plan: Mutex<Vec<Meddling>>,
    late: Mutex<Option<(Key, Bytes, Cond)>>,
    scanned: Arc<Mutex<BTreeSet<Key>>>,
}

impl Meddled {
    fn new(inner: &MemoryStore, text: &'static str, plan: &[Meddling]) -> Self {
        let plan = plan.iter().rev().copied().collect();
        Self { inner: inner.clone(), text, plan: Mutex::new(plan), late: Mutex::default(), scanned: Arc::default() }
    }
}

#[async_trait]
impl RecordStore for Meddled {
    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        let late = self.late.lock().unwrap().take();
        if let Some((key, value, cond)) = late {
            // Nobody waits for this answer any more.
            self.inner.put(&key, value, cond, ttl).await.ok();
        }
        if !key.as_str().contains(self.text) {
            return self.inner.put(key, value, cond, ttl).await;
        }
        let lost = || Error::new(ErrorKind::OutcomeUnknown, "the answer is lost");
        let meddling = self.plan.lock().unwrap().pop();
        match meddling.unwrap_or(Meddling::Nothing) {
            Meddling::Nothing => self.inner.put(key, value, cond, ttl).await,
            Meddling::Lost => self.inner.put(key, value, cond, ttl).await.and_then(|_| Err(lost())),
            Meddling::Refused => Err(Error::new(ErrorKind::Unavailable, "not sent")),
            Meddling::Delayed => {
                *self.late.lock().unwrap() = Some((key.clone(), value, cond));
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
        let found = self.inner.scan(prefix, page).await?;
        self.scanned.lock().unwrap().extend(found.iter().map(|(at, _)| at.clone()));
        Ok(found)
    }
    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<()> {
        self.inner.changed(key, since, until).await
    }
}

/// The one step that is two writes: a dead job moves to the dead ones. A crash between them loses nothing.
#[tokio::test]
async fn a_crash_on_the_way_to_the_dead_neither_loses_the_job_nor_blocks_its_key() {
    for by in ["enqueue", "claim"] {
        let store = MemoryStore::new();
        let crashing = jobs(Meddled::new(&store, "dead/", &[Meddling::Refused]));
        let healthy = jobs(store.clone());
        let first = crashing.enqueue(october().attempts(1).unwrap()).await.unwrap();
        let state = take(&crashing).await.failed(Duration::ZERO, "no paper").await.unwrap();
        assert_eq!(state, JobState::Dead);
        assert!(healthy.dead(None, 9).await.unwrap().is_empty(), "the copy was not made: that is the crash");
        assert_eq!(healthy.counts().await.unwrap().dead, 1, "but it is counted");
        if by == "claim" {
            assert!(none(&healthy).await);
            assert!(healthy.list(None, 9).await.unwrap().is_empty());
        }
        let second = healthy.enqueue(october()).await.unwrap();
        assert!(!second.deduplicated && second.job_id != first.job_id, "{by}");
        let dead = healthy.dead(None, 9).await.unwrap();
        assert_eq!((dead.len(), dead[0].id), (1, first.job_id), "{by}");
        assert_eq!(take(&healthy).await.info().id, second.job_id);
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_adds_one_job() {
    for plan in [&[Meddling::Lost][..], &[Meddling::Delayed], &[Meddling::Delayed, Meddling::Lost]] {
        let store = MemoryStore::new();
        let added = jobs(Meddled::new(&store, "job/", plan)).enqueue(october()).await.unwrap();
        assert!(!added.deduplicated, "{plan:?}");
        let jobs = jobs(store);
        let listed: Vec<JobId> = jobs.list(None, 9).await.unwrap().iter().map(|job| job.id).collect();
        assert_eq!(listed, [added.job_id], "{plan:?}");
    }
}

/// While the answer is on its way, the job is done, or dies; the enqueue must not add it a second time.
#[tokio::test(start_paused = true)]
async fn a_job_that_ended_before_its_lost_answer_is_not_added_again() {
    for ending in ["done", "dead", "done, and another was done since"] {
        let store = MemoryStore::new();
        let held = hold("jobs.enqueue-in-doubt");
        let (shaky, calm) = (jobs(Meddled::new(&store, "job/", &[Meddling::Lost])), jobs(store));
        let slow = tokio::spawn(async move { shaky.enqueue(october().attempts(1).unwrap()).await });
        held.reached(PATIENCE).await;
        let job = take(&calm).await;
        let id = job.info().id;
        match ending {
            "dead" => assert_eq!(job.failed(Duration::ZERO, "no paper").await.unwrap(), JobState::Dead),
            _ => job.done().await.unwrap(),
        }
        if ending.contains("another") {
            assert!(!calm.enqueue(october()).await.unwrap().deduplicated);
            take(&calm).await.done().await.unwrap();
        }
        held.release();
        let outcome = slow.await.unwrap();
        if ending.contains("another") {
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::OutcomeUnknown, "nobody can know");
        } else {
            let enqueued = outcome.unwrap();
            assert_eq!((enqueued.deduplicated, enqueued.job_id), (false, id), "{ending}");
        }
        assert!(none(&calm).await, "{ending}: it would run twice");
    }
}

#[tokio::test(start_paused = true)]
async fn lost_answers_to_claims_and_reports_are_resolved_by_reading() {
    use Meddling::{Delayed, Lost, Nothing};
    for plan in [[Nothing, Lost, Nothing, Nothing], [Nothing, Nothing, Lost, Lost], [Nothing, Lost, Delayed, Delayed]] {
        let store = MemoryStore::new();
        let jobs = jobs(Meddled::new(&store, "job/", &plan));
        jobs.enqueue(october()).await.unwrap();
        let mut job = take(&jobs).await;
        job.extend().await.unwrap();
        job.done().await.unwrap();
        assert!(none(&jobs).await);
        assert!(!jobs.enqueue(october()).await.unwrap().deduplicated, "{plan:?}");
    }
    let store = MemoryStore::new();
    let jobs = jobs(Meddled::new(&store, "job/", &[Nothing, Nothing, Lost]));
    jobs.enqueue(october()).await.unwrap();
    let state = take(&jobs).await.failed(Duration::ZERO, "no paper").await.unwrap();
    assert_eq!(state, JobState::Queued);
    assert_eq!(take(&jobs).await.info().attempts, 2);
}

/// Whatever is lost: no job is acknowledged as done twice, and in the end all are done.
#[tokio::test(start_paused = true)]
async fn under_chaos_every_job_is_done_and_none_is_reported_twice() {
    for seed in 0..10 {
        let (clock, store) = with_clock();
        let chaos: Chaos = format!("lost=0.2,error=0.1,seed={seed}").parse().unwrap();
        let (shaky, calm) = (jobs(ChaosStore::new(store.clone(), chaos)), jobs(store));
        let mut added = BTreeMap::new();
        for n in 0..20 {
            let job = Enqueue::new(key(&format!("job {n}")), "").attempts(1000).unwrap();
            let id = loop {
                match shaky.enqueue(job.clone()).await {
                    Ok(enqueued) => break enqueued.job_id,
                    Err(e) => assert!(matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::OutcomeUnknown), "{e}"),
                }
            };
            added.insert(id, 0);
        }
        assert_eq!(calm.counts().await.unwrap().queued, 20, "seed {seed}: each once");
        for _ in 0..10_000 {
            let counts = calm.counts().await.unwrap();
            if counts.queued + counts.running == 0 {
                break;
            }
            match shaky.claim(LEASE).await {
                Ok(Some(job)) => {
                    let id = job.info().id;
                    match job.done().await {
                        Ok(()) => *added.get_mut(&id).unwrap() += 1,
                        Err(e) => assert_ne!(e.kind(), ErrorKind::LeaseLost, "nobody else is there: {e}"),
                    }
                }
                Ok(None) => clock.advance(Duration::from_secs(5)),
                Err(e) => assert!(matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::OutcomeUnknown), "{e}"),
            }
        }
        assert!(added.values().all(|times| *times <= 1), "seed {seed}: {added:?}");
        let counts = calm.counts().await.unwrap();
        assert_eq!((counts.queued, counts.running, counts.dead), (0, 0, 0), "seed {seed}: {added:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_workers_do_two_hundred_jobs_once_each() {
    let jobs = jobs(MemoryStore::new());
    for n in 0..200 {
        jobs.enqueue(Enqueue::new(key(&format!("job {n}")), n.to_string())).await.unwrap();
    }
    let runs = Arc::new(Mutex::new(BTreeMap::<Bytes, u32>::new()));
    let workers: Vec<_> = (0..20)
        .map(|_| {
            let (jobs, runs) = (jobs.clone(), Arc::clone(&runs));
            tokio::spawn(async move {
                let work = |runs: Arc<Mutex<BTreeMap<Bytes, u32>>>| {
                    move |job: stanchion_core::JobInfo| async move {
                        *runs.lock().unwrap().entry(job.payload).or_default() += 1;
                        Ok::<(), Error>(())
                    }
                };
                while jobs.work_one(LEASE, work(Arc::clone(&runs))).await.unwrap().is_some() {}
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    // A worker that meets only others' jobs goes home; whatever is left, one more finds.
    while let Some(job) = jobs.claim(LEASE).await.unwrap() {
        *runs.lock().unwrap().entry(job.info().payload.clone()).or_default() += 1;
        job.done().await.unwrap();
    }
    let runs = runs.lock().unwrap();
    assert_eq!(runs.len(), 200);
    assert!(runs.values().all(|times| *times == 1));
}

#[tokio::test]
async fn a_look_for_work_is_bounded_and_the_next_one_goes_on() {
    let store = MemoryStore::new();
    let watched = Meddled::new(&store, "job/", &[]);
    let scanned = Arc::clone(&watched.scanned);
    let jobs = jobs(watched);
    jobs.enqueue(Enqueue::new(key("busy"), "")).await.unwrap();
    let _busy = take(&jobs).await;
    let (_, record) = store.scan("\u{1}job/reports/", Page::first(1)).await.unwrap().remove(0);
    for n in 1_u32..19_000 {
        // Spread over all beginnings, as hashes are.
        let at = Key::from_store(&format!("\u{1}job/reports/{:08x}", n.wrapping_mul(0x9e37_79b9))).unwrap();
        store.put(&at, record.value.clone(), Cond::Absent, None).await.unwrap();
    }
    scanned.lock().unwrap().clear();
    assert!(none(&jobs).await);
    let once = scanned.lock().unwrap().len();
    assert!((9_900..=10_000).contains(&once), "one look has read {once}");
    assert!(none(&jobs).await);
    assert_eq!(scanned.lock().unwrap().len(), 19_000, "two looks have read all");

    let added = jobs.enqueue(october()).await.unwrap();
    let found = match jobs.claim(LEASE).await.unwrap() {
        Some(job) => job,
        None => take(&jobs).await,
    };
    assert_eq!(found.info().id, added.job_id);
}

#[tokio::test]
async fn a_damaged_record_does_not_stop_the_others() {
    let store = MemoryStore::new();
    let jobs = jobs(store.clone());
    jobs.enqueue(october()).await.unwrap();
    let (at, record) = store.scan("\u{1}job/", Page::first(1)).await.unwrap().remove(0);
    store.put(&at, "nonsense".into(), Cond::Version(record.version), None).await.unwrap();
    jobs.enqueue(Enqueue::new(key("november"), "")).await.unwrap();
    assert_eq!(take(&jobs).await.info().key, key("november"));
    for error in [jobs.enqueue(october()).await.unwrap_err(), jobs.list(None, 9).await.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Damaged);
    }
}

#[tokio::test]
async fn bad_input_is_refused_and_changes_nothing() {
    let store = MemoryStore::new();
    for queue in ["", "a/b", "a\nb", &"x".repeat(65)] {
        assert_eq!(Jobs::new(store.clone(), queue).unwrap_err().kind(), ErrorKind::Invalid, "{queue:?}");
    }
    let jobs = jobs(store);
    let large = Enqueue::new(key("a"), vec![0; PAYLOAD_MAX_BYTES + 1]);
    assert_eq!(jobs.enqueue(large).await.unwrap_err().kind(), ErrorKind::Invalid);
    assert!(jobs.enqueue(Enqueue::new(key("a"), vec![b'\n'; PAYLOAD_MAX_BYTES])).await.is_ok());
    for lease in [Duration::ZERO, 10 * MS, Duration::from_secs(90_000)] {
        assert_eq!(jobs.claim(lease).await.unwrap_err().kind(), ErrorKind::Invalid);
    }
    let error = take(&jobs).await.failed(Duration::from_secs(90_000), "").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(Enqueue::new(key("a"), "").unique_for(Duration::MAX).is_err());
    assert!(Enqueue::new(key("a"), "").attempts(1001).is_err());
}

#[tokio::test]
async fn work_that_takes_longer_than_its_lease_keeps_it() {
    let jobs = jobs(MemoryStore::new());
    jobs.enqueue(october()).await.unwrap();
    let lease = Duration::from_millis(600);
    let (rival, looks) = (jobs.clone(), AtomicU32::new(0));
    let worked = jobs.work_one(lease, |_| async {
        let began = std::time::Instant::now();
        eventually(PATIENCE, "two leases have passed", || async {
            assert!(rival.claim(lease).await.unwrap().is_none(), "taken from a living worker");
            looks.fetch_add(1, Ordering::Relaxed);
            began.elapsed() > 2 * lease
        })
        .await;
        Ok::<(), Error>(())
    });
    assert_eq!(worked.await.unwrap().unwrap().state, JobState::Done);
    assert!(looks.into_inner() > 3);
}

#[tokio::test]
async fn work_on_a_lost_job_is_dropped() {
    let (clock, store) = with_clock();
    let jobs = jobs(store);
    jobs.enqueue(october()).await.unwrap();
    let lease = Duration::from_millis(300);
    let thief = jobs.clone();
    let dropped = Arc::new(());
    let inside = Arc::clone(&dropped);
    let worked = jobs.work_one(lease, |_| async move {
        let _inside = inside;
        clock.advance(lease);
        thief.claim(LEASE).await.unwrap().unwrap().done().await.unwrap();
        std::future::pending::<Result<()>>().await
    });
    let error = tokio::time::timeout(PATIENCE, worked).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LeaseLost, "{error}");
    assert_eq!(Arc::strong_count(&dropped), 1);
}

#[tokio::test]
async fn work_that_fails_is_tried_again_with_growing_pauses_until_it_is_dead() {
    let (clock, store) = with_clock();
    let pauses = RetryPolicy::default().pauses(MS, 2 * MS).unwrap();
    let jobs = jobs(store).backoff(pauses);
    jobs.enqueue(october().attempts(3).unwrap()).await.unwrap();
    for state in [JobState::Queued, JobState::Queued, JobState::Dead] {
        let worked = jobs.work_one(LEASE, |_| async { Err("no paper") }).await.unwrap().unwrap();
        assert_eq!(worked.state, state);
        clock.advance(10 * MS);
    }
    assert_eq!(jobs.dead(None, 9).await.unwrap()[0].failure, "no paper");
}

#[tokio::test]
async fn without_a_clock_a_lease_ends_when_we_have_seen_it_stand_for_so_long() {
    let (store, clock) = (MemoryStore::without_clock(), Arc::new(ManualClock::default()));
    let new = || jobs(store.clone()).clock(clock.clone());
    let (owner, other) = (new(), new());
    owner.enqueue(october()).await.unwrap();
    let mut job = take(&owner).await;
    clock.advance(10 * LEASE);
    assert!(none(&other).await, "it sees the record for the first time");
    clock.advance(LEASE - MS);
    assert!(none(&other).await);
    job.extend().await.unwrap();
    clock.advance(MS);
    assert!(none(&other).await, "a new version is a sign of life");
    clock.advance(LEASE);
    let taken = take(&other).await;
    assert_eq!(taken.info().attempts, 2);
    lost(job.done().await);
    taken.done().await.unwrap();
    assert!(!other.enqueue(october()).await.unwrap().deduplicated);
}
