//! The window's edge, judged by the engine's own clock, with fifty callers in five processes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Capability, Cond, ErrorKind, FencingToken, Key, Limiter, MemoryStore, Page, Record, RecordStore, Result, Taken,
    Version,
};
use stanchion_testkit::eventually;

use super::engine::{PATIENCE, Place, helpers_store};
use super::talk::{Helper, obey, store_now};

const LIMIT: u32 = 10;
const WINDOW: Duration = Duration::from_secs(3);
const WINDOW_MS: u64 = 3000;
/// When the callers come, counted from the first permit; and for how long.
const COME_AT_MS: u64 = 2100;
const STAY: Duration = Duration::from_millis(4500);
const PROCESSES: usize = 5;
const CALLERS: usize = 50;

on_every_engine!(in_no_window_do_too_many_pass);

async fn in_no_window_do_too_many_pass(place: Place) {
    judge(&place.records().await, Helper::start_many(&place, PROCESSES).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_no_window_do_too_many_pass_in_memory() {
    let store: Arc<dyn RecordStore> = Arc::new(MemoryStore::new());
    judge(&store, vec![]).await;
}

async fn helper() {
    let store = helpers_store().await.records.unwrap();
    obey(async |words| callers(&store, CALLERS / PROCESSES, words[0]).await.write()).await;
}

/// How to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Sliding,
    /// The control: a counter that begins anew when its time is over, as in `INCR` and `EXPIRE`.
    Fixed,
}

impl Way {
    const fn word(self) -> &'static str {
        match self {
            Self::Sliding => "sliding",
            Self::Fixed => "fixed",
        }
    }
}

/// One permit opens the window; late in it, fifty callers come and stay beyond its end. The control lets almost twice
/// the limit pass around the end, or the test is void.
async fn judge(store: &Arc<dyn RecordStore>, mut helpers: Vec<Helper>) {
    let passed = all(store, &mut helpers, "once").await.permits.len();
    assert_eq!(passed, LIMIT as usize, "of {CALLERS} callers at once, exactly the limit");

    let (first, sliding) = around_the_edge(store, &mut helpers, Way::Sliding).await;
    let most = most_in_a_window(&sliding);
    assert!(most <= LIMIT as usize, "{most} within {WINDOW:?}: {sliding:?}");
    let before_the_edge = sliding.iter().filter(|at| **at < first + WINDOW_MS).count();
    assert_eq!(before_the_edge, LIMIT as usize, "the window is used to the full: {first} {sliding:?}");
    assert!(sliding.len() >= 2 * LIMIT as usize, "and so is the next: {first} {sliding:?}");

    let (_, fixed) = around_the_edge(store, &mut helpers, Way::Fixed).await;
    let most = most_in_a_window(&fixed);
    assert!(most > LIMIT as usize, "void: the control let only {most} pass: {fixed:?}");
}

/// The times of all permits, and that of the first one.
async fn around_the_edge(store: &Arc<dyn RecordStore>, helpers: &mut [Helper], way: Way) -> (u64, Vec<u64>) {
    let spy = Spy::new(store, way.word());
    assert!(take(&spy, way).await.is_allowed());
    let mut seen = spy.seen();
    let first = *seen.times.values().next().unwrap();
    eventually(PATIENCE, "the window is almost over", || async { store_now(store).await >= first + COME_AT_MS }).await;
    seen.add(all(store, helpers, way.word()).await);
    let times: Vec<u64> = seen.permits.iter().map(|version| seen.times[version]).collect();
    (first, times)
}

/// Lets all callers do this, in helper processes if there are any.
async fn all(store: &Arc<dyn RecordStore>, helpers: &mut [Helper], what: &str) -> Seen {
    if helpers.is_empty() {
        return callers(store, CALLERS, what).await;
    }
    for helper in helpers.iter_mut() {
        helper.tell(what);
    }
    let mut seen = Seen::default();
    for helper in helpers {
        seen.add(Seen::parse(&helper.answer().await));
    }
    seen
}

async fn callers(store: &Arc<dyn RecordStore>, count: usize, what: &str) -> Seen {
    let spy = Spy::new(store, what);
    let (once, way) = match what {
        "once" => (true, Way::Sliding),
        "sliding" => (false, Way::Sliding),
        _ => (false, Way::Fixed),
    };
    let began = Instant::now();
    let tasks: Vec<_> = (0..count)
        .map(|_| {
            let spy = spy.clone();
            tokio::spawn(async move {
                let mut allowed = 0;
                loop {
                    match take(&spy, way).await {
                        Taken::Allowed { .. } => allowed += 1,
                        // All of them come back at the very edge.
                        Taken::Refused { retry_after } => tokio::time::sleep(retry_after).await,
                    }
                    if once || began.elapsed() > STAY {
                        return allowed;
                    }
                }
            })
        })
        .collect();
    let mut allowed = 0;
    for task in tasks {
        allowed += task.await.unwrap();
    }
    let seen = spy.seen();
    assert_eq!(seen.permits.len(), allowed, "every permit is one write");
    seen
}

async fn take(spy: &Arc<Spy>, way: Way) -> Taken {
    let key = Key::new(&spy.name).unwrap();
    let store: Arc<dyn RecordStore> = spy.clone();
    // Whoever asks once must not wait for an hour.
    let window = if spy.name == "once" { Duration::from_secs(3600) } else { WINDOW };
    match way {
        Way::Sliding => match Limiter::shared(store, LIMIT, window).unwrap().try_take(&key).await.unwrap() {
            Taken::Refused { .. } if spy.name == "once" => Taken::Refused { retry_after: Duration::ZERO },
            taken => taken,
        },
        Way::Fixed => fixed_window(&store, &key).await,
    }
}

/// A counter per window, right in every other respect.
async fn fixed_window(store: &Arc<dyn RecordStore>, key: &Key) -> Taken {
    loop {
        let found = store.get(key).await.unwrap();
        let (count, left, cond, began) = match &found {
            None => (0, WINDOW, Cond::Absent, 0),
            Some(record) => {
                let text = String::from_utf8_lossy(&record.value).into_owned();
                let (count, began) = text.split_once(' ').unwrap();
                let times = record.times.unwrap();
                let began = began.parse().ok().filter(|began| *began > 0).unwrap_or(times.written_ms);
                let left = (began + WINDOW_MS).saturating_sub(times.now_ms).max(1);
                (count.parse().unwrap(), Duration::from_millis(left), Cond::Version(record.version), began)
            }
        };
        if count >= LIMIT {
            return Taken::Refused { retry_after: left };
        }
        match store.put(key, format!("{} {began}", count + 1).into(), cond, Some(left)).await {
            Ok(_) => return Taken::Allowed { left: LIMIT - count - 1 },
            Err(e) if e.kind() == ErrorKind::Conflict => tokio::task::yield_now().await,
            Err(e) => panic!("{e}"),
        }
    }
}

fn most_in_a_window(times: &[u64]) -> usize {
    let within = |from: u64| times.iter().filter(|at| (from..from + WINDOW_MS).contains(at)).count();
    times.iter().map(|from| within(*from)).max().unwrap_or(0)
}

/// Which versions were permits, and when the engine wrote which version.
#[derive(Debug, Clone, Default)]
struct Seen {
    permits: BTreeSet<u64>,
    times: BTreeMap<u64, u64>,
}

impl Seen {
    fn add(&mut self, other: Self) {
        self.permits.extend(other.permits);
        self.times.extend(other.times);
    }

    fn write(&self) -> String {
        let permits: Vec<_> = self.permits.iter().map(ToString::to_string).collect();
        let times: Vec<_> = self.times.iter().map(|(version, ms)| format!("{version}={ms}")).collect();
        format!("{};{}", permits.join(","), times.join(","))
    }

    fn parse(text: &str) -> Self {
        let (permits, times) = text.split_once(';').unwrap();
        let parts =
            |text: &'_ str| text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        let time = |part: String| {
            let (version, ms) = part.split_once('=').unwrap();
            (version.parse().unwrap(), ms.parse().unwrap())
        };
        Self {
            permits: parts(permits).iter().map(|version| version.parse().unwrap()).collect(),
            times: parts(times).into_iter().map(time).collect(),
        }
    }
}

/// A store that notes every write to the limiter's record, and the engine's time of every version that is read. Each
/// write is read at once: it is the present version, or another process has read it before it wrote the next.
#[derive(Debug)]
struct Spy {
    inner: Arc<dyn RecordStore>,
    name: String,
    seen: Mutex<Seen>,
}

impl Spy {
    fn new(inner: &Arc<dyn RecordStore>, name: &str) -> Arc<Self> {
        Arc::new(Self { inner: inner.clone(), name: name.to_owned(), seen: Mutex::default() })
    }

    fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }
}

#[async_trait]
impl RecordStore for Spy {
    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        let found = self.inner.get(key).await?;
        if let Some(record) = &found {
            let (version, times) = (record.version.get(), record.times.unwrap());
            self.seen.lock().unwrap().times.insert(version, times.written_ms);
        }
        Ok(found)
    }

    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        let version = self.inner.put(key, value, cond, ttl).await?;
        self.seen.lock().unwrap().permits.insert(version.get());
        self.get(key).await?;
        Ok(version)
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
    async fn changed(&self, key: &Key, since: Option<Version>, until: tokio::time::Instant) -> Result<()> {
        self.inner.changed(key, since, until).await
    }
}
