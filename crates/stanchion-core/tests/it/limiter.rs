//! The limiter: exact at the edge, and never too many, whatever goes wrong.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use proptest::prelude::*;
use stanchion_core::{
    BootTime, Capability, Chaos, ChaosStore, Clock, Cond, Error, ErrorKind, FencingToken, Key, Limiter, ManualClock,
    MemoryStore, PERMITS_MAX, Page, Record, RecordStore, Result, Taken, Version, Window,
};
use tokio::time::Instant;

const MS: Duration = Duration::from_millis(1);
const WINDOW: Duration = Duration::from_secs(1);

fn key() -> Key {
    Key::new("mail/alice").unwrap()
}

/// The most permits in any window of this length.
fn most_in_a_window(mut grants: Vec<u64>, window_ms: u64) -> usize {
    grants.sort_unstable();
    let within = |from: usize| grants[from..].iter().take_while(|at| **at < grants[from] + window_ms).count();
    (0..grants.len()).map(within).max().unwrap_or(0)
}

/// What a window is, without any cleverness: all permits ever, counted anew each time.
struct Naive {
    limit: u32,
    length_ms: u64,
    grants: Vec<u64>,
}

impl Naive {
    fn counting(&self, now: u64) -> usize {
        self.grants.iter().filter(|at| now < **at + self.length_ms).count()
    }

    fn take(&mut self, now: u64, n: u32) -> Taken {
        let free_at = |at: u64| self.counting(at) + n as usize <= self.limit as usize;
        if free_at(now) {
            self.grants.extend((0..n).map(|_| now));
            return Taken::Allowed { left: self.limit - u32::try_from(self.counting(now)).unwrap() };
        }
        let wait = (1..=self.length_ms).find(|wait| free_at(now + wait));
        Taken::Refused { retry_after: wait.map_or(Duration::MAX, Duration::from_millis) }
    }
}

proptest! {
    #[test]
    fn a_window_answers_as_the_naive_model_does(
        limit in 1_u32..8,
        length_ms in 1_u64..60,
        calls in prop::collection::vec((0_u64..25, 1_u32..10), 1..120),
    ) {
        let mut window = Window::new(limit, Duration::from_millis(length_ms)).unwrap();
        let mut naive = Naive { limit, length_ms, grants: vec![] };
        let mut now = 1_000_000;
        for (step, n) in calls {
            now += step;
            prop_assert_eq!(window.take(now, n), naive.take(now, n), "at {}", now);
        }
        prop_assert!(most_in_a_window(naive.grants, length_ms) <= limit as usize);
    }

    #[test]
    fn a_clock_that_is_set_back_never_lets_too_many_pass_nor_blocks_for_longer_than_a_window(
        limit in 1_u32..6,
        length_ms in 1_u64..60,
        calls in prop::collection::vec((0_u64..25, prop::option::weighted(0.1, 1_u64..500)), 1..120),
    ) {
        let mut window = Window::new(limit, Duration::from_millis(length_ms)).unwrap();
        let (mut real, mut behind) = (1_000_000_u64, 0);
        let mut grants = vec![];
        let mut refused_since = None;
        for (step, set_back) in calls {
            real += step;
            behind += set_back.unwrap_or(0);
            match window.take(real - behind, 1) {
                Taken::Allowed { .. } => {
                    grants.push(real);
                    refused_since = None;
                }
                Taken::Refused { retry_after } => {
                    prop_assert!(retry_after <= Duration::from_millis(length_ms));
                    // Each step of the clock may begin the wait anew, once.
                    let since = if set_back.is_some() { real } else { refused_since.unwrap_or(real) };
                    prop_assert!(real - since < length_ms, "refused for {} ms", real - since);
                    refused_since = Some(since);
                }
            }
        }
        prop_assert!(most_in_a_window(grants, length_ms) <= limit as usize);
    }
}

fn with_clock() -> (Arc<ManualClock>, MemoryStore) {
    let clock = Arc::new(ManualClock::default());
    clock.advance(Duration::from_secs(1000));
    (clock.clone(), MemoryStore::with_clock(clock))
}

fn retry_after(taken: Taken) -> Duration {
    match taken {
        Taken::Refused { retry_after } => retry_after,
        allowed => panic!("{allowed:?}"),
    }
}

#[tokio::test]
async fn the_edge_is_exact_and_the_wait_is_too() {
    let (clock, store) = with_clock();
    let limiter = Limiter::new(store, 3, WINDOW).unwrap();
    for left in [2, 1, 0] {
        assert_eq!(limiter.try_take(&key()).await.unwrap(), Taken::Allowed { left });
        clock.advance(100 * MS);
    }
    for free in [1, 2, 3] {
        let wait = retry_after(limiter.try_take_many(&key(), free).await.unwrap());
        assert_eq!(wait, 700 * MS + 100 * MS * (free - 1));
    }
    clock.advance(699 * MS);
    assert_eq!(retry_after(limiter.try_take(&key()).await.unwrap()), MS);
    clock.advance(MS);
    assert_eq!(limiter.try_take(&key()).await.unwrap(), Taken::Allowed { left: 0 });
    assert_eq!(retry_after(limiter.try_take(&key()).await.unwrap()), 100 * MS);
}

#[tokio::test]
async fn keys_and_windows_count_apart_and_limits_of_one_window_share() {
    let (clock, store) = with_clock();
    let limiter = |limit, window| Limiter::new(store.clone(), limit, window).unwrap();
    let (small, large, long) = (limiter(1, WINDOW), limiter(3, WINDOW), limiter(2, 10 * WINDOW));
    assert!(small.try_take(&key()).await.unwrap().is_allowed());
    assert!(small.try_take(&Key::new("mail/bob").unwrap()).await.unwrap().is_allowed());
    assert_eq!(large.try_take(&key()).await.unwrap(), Taken::Allowed { left: 1 });
    assert!(!small.try_take(&key()).await.unwrap().is_allowed());
    assert!(long.try_take(&key()).await.unwrap().is_allowed());
    clock.advance(WINDOW);
    assert_eq!(small.try_take(&key()).await.unwrap(), Taken::Allowed { left: 0 });
    assert_eq!(long.try_take(&key()).await.unwrap(), Taken::Allowed { left: 0 });
}

#[tokio::test]
async fn long_keys_and_keys_that_look_like_our_hashes_do_not_meet() {
    let limiter = Limiter::new(MemoryStore::new(), 1, WINDOW).unwrap();
    for text in ["x".repeat(512), "x".repeat(511), "#".to_owned(), "#a".to_owned(), "a".to_owned()] {
        assert!(limiter.try_take(&Key::new(&text).unwrap()).await.unwrap().is_allowed(), "{text}");
        assert!(!limiter.try_take(&Key::new(&text).unwrap()).await.unwrap().is_allowed(), "{text}");
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_key_one_window_after_its_last_permit() {
    let (clock, store) = with_clock();
    let limiter = Limiter::new(store.clone(), 3, WINDOW).unwrap();
    assert!(limiter.try_take(&key()).await.unwrap().is_allowed());
    assert_eq!(store.scan("\u{1}", Page::first(9)).await.unwrap().len(), 1);
    assert!(store.scan("", Page::first(9)).await.unwrap().is_empty(), "users do not see our records");
    clock.advance(WINDOW);
    assert!(store.scan("\u{1}", Page::first(9)).await.unwrap().is_empty());
}

#[test]
fn settings_out_of_range_are_refused() {
    for (limit, window) in [
        (0, WINDOW),
        (PERMITS_MAX + 1, WINDOW),
        (1, Duration::ZERO),
        (1, Duration::from_micros(999)),
        (1, Duration::from_micros(1500)),
        (1, Duration::from_secs(86_401)),
    ] {
        let error = Limiter::new(MemoryStore::new(), limit, window).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{limit} in {window:?}");
    }
}

#[tokio::test]
async fn more_than_the_limit_at_once_is_invalid_and_takes_nothing() {
    let limiter = Limiter::new(MemoryStore::new(), 2, WINDOW).unwrap();
    for n in [0, 3] {
        assert_eq!(limiter.try_take_many(&key(), n).await.unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert_eq!(limiter.try_take(&key()).await.unwrap(), Taken::Allowed { left: 1 });
}

#[tokio::test]
async fn a_damaged_record_refuses_and_heals_by_itself() {
    let (clock, store) = with_clock();
    let limiter = Limiter::new(store.clone(), 1, WINDOW).unwrap();
    assert!(limiter.try_take(&key()).await.unwrap().is_allowed());
    let (at, record) = store.scan("\u{1}", Page::first(1)).await.unwrap().remove(0);
    store.put(&at, "nonsense".into(), Cond::Version(record.version), Some(WINDOW)).await.unwrap();
    assert_eq!(limiter.try_take(&key()).await.unwrap_err().kind(), ErrorKind::Damaged);
    clock.advance(WINDOW);
    assert!(limiter.try_take(&key()).await.unwrap().is_allowed());
}

/// A clock that can be set.
#[derive(Debug)]
struct Settable(AtomicU64);

impl Clock for Settable {
    fn now(&self) -> BootTime {
        BootTime::from_boot(Duration::from_millis(self.0.load(Ordering::SeqCst)))
    }
}

#[tokio::test]
async fn an_engine_whose_clock_is_set_back_an_hour_blocks_for_one_window_only() {
    let hour = 3_600_000;
    let clock = Arc::new(Settable(AtomicU64::new(2 * hour)));
    let limiter = Limiter::new(MemoryStore::with_clock(clock.clone()), 2, WINDOW).unwrap();
    for _ in 0..2 {
        assert!(limiter.try_take(&key()).await.unwrap().is_allowed());
    }
    clock.0.fetch_sub(hour, Ordering::SeqCst);
    assert_eq!(retry_after(limiter.try_take(&key()).await.unwrap()), WINDOW);
    clock.0.fetch_add(999, Ordering::SeqCst);
    assert_eq!(retry_after(limiter.try_take(&key()).await.unwrap()), MS, "the wait has begun at the first look");
    clock.0.fetch_add(1, Ordering::SeqCst);
    assert_eq!(limiter.try_take(&key()).await.unwrap(), Taken::Allowed { left: 1 });
    // Set back while one is there that ends only now: that one is kept, and no more pass than the limit.
    clock.0.fetch_sub(500, Ordering::SeqCst);
    assert_eq!(limiter.try_take(&key()).await.unwrap(), Taken::Allowed { left: 0 });
    assert_eq!(retry_after(limiter.try_take(&key()).await.unwrap()), WINDOW);
}

/// What happens at the next write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meddling {
    /// The clock goes on before it.
    Slow(Duration),
    /// It happens, and its answer is lost.
    Lost,
    /// It happens, its answer is lost, and a rival takes a permit.
    LostThenRival,
    /// Its answer is lost, and it happens only just before the next one.
    Delayed,
}

#[derive(Debug)]
struct Meddled {
    inner: MemoryStore,
    clock: Arc<ManualClock>,
    plan: Mutex<Vec<Meddling>>,
    late: Mutex<Option<(Bytes, Cond)>>,
}

impl Meddled {
    fn new(inner: &MemoryStore, clock: &Arc<ManualClock>, plan: &[Meddling]) -> Self {
        let plan = plan.iter().rev().copied().collect();
        Self { inner: inner.clone(), clock: clock.clone(), plan: Mutex::new(plan), late: Mutex::default() }
    }
}

#[async_trait]
impl RecordStore for Meddled {
    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        let late = self.late.lock().unwrap().take();
        if let Some((value, cond)) = late {
            // Nobody waits for this answer any more.
            self.inner.put(key, value, cond, ttl).await.ok();
        }
        let lost = || Error::new(ErrorKind::OutcomeUnknown, "the answer is lost");
        let meddling = self.plan.lock().unwrap().pop();
        match meddling {
            None => self.inner.put(key, value, cond, ttl).await,
            Some(Meddling::Slow(by)) => {
                self.clock.advance(by);
                self.inner.put(key, value, cond, ttl).await
            }
            Some(Meddling::Delayed) => {
                *self.late.lock().unwrap() = Some((value, cond));
                Err(lost())
            }
            Some(lost_then) => {
                self.inner.put(key, value, cond, ttl).await?;
                if lost_then == Meddling::LostThenRival {
                    let rival = Limiter::new(self.inner.clone(), 100, WINDOW).unwrap();
                    assert!(rival.try_take(&Key::new("mail/alice").unwrap()).await.unwrap().is_allowed());
                }
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

/// A caller that reads at 0 and writes at 500 holds its permit until 1500, not until 1000.
#[tokio::test]
async fn a_slow_caller_s_permit_counts_from_its_write() {
    for first in [false, true] {
        let (clock, store) = with_clock();
        let prompt = Limiter::new(store.clone(), 2, WINDOW).unwrap();
        let meddled = Meddled::new(&store, &clock, &[Meddling::Slow(500 * MS)]);
        let slow = Limiter::new(meddled, 2, WINDOW).unwrap();
        if !first {
            assert!(prompt.try_take(&key()).await.unwrap().is_allowed());
            clock.advance(MS);
        }
        let read_at = clock.now();
        assert!(slow.try_take(&key()).await.unwrap().is_allowed());
        let written_at = clock.now();
        assert_eq!(written_at - read_at, 500 * MS);
        // Both permits are used; the slow one's is the only one left after the first has ended.
        clock.advance(499 * MS);
        assert!(prompt.try_take(&key()).await.unwrap().is_allowed());
        clock.advance(MS);
        let wait = retry_after(prompt.try_take(&key()).await.unwrap());
        assert_eq!(wait, 500 * MS, "counted from the read, it would be free by now: the control of this test");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_found_in_the_record_and_takes_one_permit() {
    for plan in [&[Meddling::Lost][..], &[Meddling::Delayed], &[Meddling::Delayed, Meddling::Lost]] {
        let (clock, store) = with_clock();
        let limiter = Limiter::new(Meddled::new(&store, &clock, plan), 5, WINDOW).unwrap();
        assert_eq!(limiter.try_take(&key()).await.unwrap(), Taken::Allowed { left: 4 }, "{plan:?}");
        assert_eq!(limiter.try_take(&key()).await.unwrap(), Taken::Allowed { left: 3 }, "{plan:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_that_cannot_be_found_counts_as_taken() {
    let (clock, store) = with_clock();
    let limiter = Limiter::new(Meddled::new(&store, &clock, &[Meddling::LostThenRival]), 5, WINDOW).unwrap();
    assert_eq!(limiter.try_take(&key()).await.unwrap(), Taken::Allowed { left: 2 }, "lost, rival's, ours");
    let limiter = Limiter::new(Meddled::new(&store, &clock, &[Meddling::LostThenRival]), 5, WINDOW).unwrap();
    let wait = retry_after(limiter.try_take(&key()).await.unwrap());
    assert_eq!(wait, WINDOW, "the lost one was the fourth, the rival's the fifth: refused rather than too many");
}

#[tokio::test(start_paused = true)]
async fn with_lost_answers_and_errors_never_too_many_pass() {
    for seed in 0..20 {
        let (clock, store) = with_clock();
        let chaos: Chaos = format!("lost=0.3,error=0.1,seed={seed}").parse().unwrap();
        let limiter = Limiter::new(ChaosStore::new(store, chaos), 3, 20 * MS).unwrap();
        let (mut grants, mut refused) = (vec![], 0);
        for _ in 0..300 {
            clock.advance(MS);
            match limiter.try_take(&key()).await {
                Ok(Taken::Allowed { .. }) => grants.push(u64::try_from(clock.now().since_boot().as_millis()).unwrap()),
                Ok(Taken::Refused { .. }) => refused += 1,
                Err(e) => assert!(matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::OutcomeUnknown), "{e}"),
            }
        }
        assert!(refused > 0 && grants.len() > 20, "seed {seed}: {} granted, {refused} refused", grants.len());
        assert!(most_in_a_window(grants, 20) <= 3, "seed {seed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_simultaneous_callers_exactly_the_limit_pass() {
    for store in [MemoryStore::new(), MemoryStore::without_clock()] {
        let limiter = Limiter::new(store, 10, Duration::from_secs(3600)).unwrap();
        let callers: Vec<_> = (0..50)
            .map(|_| {
                let limiter = limiter.clone();
                tokio::spawn(async move { limiter.try_take(&key()).await.unwrap().is_allowed() })
            })
            .collect();
        let mut passed = 0;
        for caller in callers {
            passed += usize::from(caller.await.unwrap());
        }
        assert_eq!(passed, 10);
    }
}

/// Two processes, each with its own eyes: none gives a permit while one of the other's may still count.
#[tokio::test]
async fn without_a_clock_a_permit_ends_when_we_have_seen_it_for_a_window() {
    let (store, clock) = (MemoryStore::without_clock(), Arc::new(ManualClock::default()));
    let minute = Duration::from_secs(60);
    let limiter = || Limiter::new(store.clone(), 2, 60 * minute).unwrap().clock(clock.clone());
    let (first, second) = (limiter(), limiter());
    let mut grants = vec![];
    let minutes = || clock.now().since_boot().as_secs() / 60;
    while minutes() < 250 {
        for limiter in [&first, &second] {
            match limiter.try_take(&key()).await.unwrap() {
                Taken::Allowed { .. } => grants.push(minutes()),
                Taken::Refused { retry_after } => assert!(retry_after <= 60 * minute),
            }
        }
        clock.advance(minute);
    }
    assert!(most_in_a_window(grants.clone(), 60) <= 2, "{grants:?}");
    assert!(grants.len() >= 8, "it goes on: {grants:?}");

    let newcomer = limiter();
    assert_eq!(retry_after(newcomer.try_take(&key()).await.unwrap()), 60 * minute, "it has seen nothing end yet");
    // The present ones end, but the newcomer cannot know that before it has watched for a whole window.
    clock.advance(59 * minute);
    assert_eq!(retry_after(newcomer.try_take(&key()).await.unwrap()), minute);
    clock.advance(minute);
    assert!(newcomer.try_take(&key()).await.unwrap().is_allowed());
}

/// A record that ended and began anew counts its permits from one again; they are not those we have seen before.
#[tokio::test]
async fn without_a_clock_permits_of_a_new_record_are_not_taken_for_old_ones() {
    let (store, clock) = (MemoryStore::without_clock(), Arc::new(ManualClock::default()));
    let minute = Duration::from_secs(60);
    let limiter = || Limiter::new(store.clone(), 2, 60 * minute).unwrap().clock(clock.clone());
    let (first, second) = (limiter(), limiter());
    assert!(first.try_take_many(&key(), 2).await.unwrap().is_allowed());
    let (at, record) = store.scan("\u{1}", Page::first(1)).await.unwrap().remove(0);
    // As its ttl would.
    store.delete(&at, Cond::Version(record.version)).await.unwrap();
    clock.advance(60 * minute);
    assert!(second.try_take_many(&key(), 2).await.unwrap().is_allowed());
    assert!(!first.try_take(&key()).await.unwrap().is_allowed());
}

#[tokio::test]
async fn a_refusal_writes_nothing() {
    let (clock, store) = with_clock();
    let wire = crate::wire::Wire::to(&store);
    let limiter = Limiter::new(wire.clone(), 2, WINDOW).unwrap();
    for _ in 0..2 {
        assert!(limiter.try_take(&key()).await.unwrap().is_allowed());
    }
    let written = wire.writes.load(Ordering::SeqCst);
    for _ in 0..3 {
        assert!(!limiter.try_take(&key()).await.unwrap().is_allowed());
        clock.advance(MS);
    }
    assert_eq!(wire.writes.load(Ordering::SeqCst), written);
}
