//! The graph on shared stores.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stanchion_core::{
    Acquire, Capability, CasLock, ChaosStore, Cond, Error, ErrorKind, FencingToken, Key, Locks, MemoryStore, Page, Ran,
    Record, RecordStore, Version, Wait,
};
use stanchion_memory::{Memory, MemoryError, Mutation, Query, SharedMemory};
use stanchion_testkit::engines::{Postgres, Redis, Server};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::conformance::{addition, all, done, entity};

/// Where the graph's record is.
const RECORD: &str = "\u{1}memory/memory";
/// The lock of its turns.
pub(crate) const TURN: &str = "stanchion-memory/memory";

/// A store of its own for a test.
pub(crate) struct Place {
    pub(crate) url: String,
    /// The engine that can be killed; none for files.
    pub(crate) server: Option<Box<dyn std::ops::Deref<Target = Server> + Send + Sync>>,
    _folder: Option<TempDir>,
}

impl Place {
    pub(crate) async fn sqlite() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        Some(Self { url: format!("sqlite:{}/store.db", folder.path().display()), server: None, _folder: Some(folder) })
    }

    /// With everything on disk before the answer, so that a kill loses nothing.
    pub(crate) async fn redis() -> Option<Self> {
        let server = Redis::options().aof(true).try_start().await.inspect_err(|skip| skip.report()).ok()?;
        Some(Self { url: server.url(), server: Some(Box::new(server)), _folder: None })
    }

    /// With nothing on disk.
    pub(crate) async fn forgetful() -> Option<Self> {
        let options = Redis::options().aof(false).arg("--save").arg("");
        let server = options.try_start().await.inspect_err(|skip| skip.report()).ok()?;
        Some(Self { url: server.url(), server: Some(Box::new(server)), _folder: None })
    }

    pub(crate) async fn postgres() -> Option<Self> {
        let server = Postgres::try_start().await.inspect_err(|skip| skip.report()).ok()?;
        Some(Self { url: server.url(), server: Some(Box::new(server)), _folder: None })
    }
}

/// A handle with a connection of its own.
pub(crate) async fn open(url: &str) -> Arc<SharedMemory> {
    let store = stanchion_stores::open(url).await.unwrap_or_else(|e| panic!("{url}: {e}"));
    let memory = SharedMemory::new(store.records.unwrap(), SharedMemory::DEFAULT_NAME).unwrap();
    Arc::new(memory.fair(Locks::shared(store.locks)))
}

/// Ways to open handles on one graph in a store; the store lives as long as this.
async fn opener(place: Option<Place>) -> Option<impl Fn() -> Arc<dyn Memory> + Send + Sync> {
    let place = place?;
    let mut handles = Vec::new();
    for _ in 0..16 {
        handles.push(open(&place.url).await);
    }
    let handles = std::sync::Mutex::new(handles);
    Some(move || -> Arc<dyn Memory> {
        let _ = &place;
        handles.lock().unwrap().pop().expect("sixteen handles are enough for a case")
    })
}

async fn weak() -> Option<impl Fn() -> Arc<dyn Memory> + Send + Sync> {
    let store = MemoryStore::new();
    Some(move || -> Arc<dyn Memory> { Arc::new(SharedMemory::new(Arc::new(store.clone()), "memory").unwrap()) })
}

async fn strong() -> Option<impl Fn() -> Arc<dyn Memory> + Send + Sync> {
    let store = MemoryStore::new();
    Some(move || -> Arc<dyn Memory> { Arc::new(on(&store)) })
}

crate::memory_conformance!(weak_store, super::weak);
crate::memory_conformance!(strong_store, super::strong);
crate::memory_conformance!(sqlite, async || super::opener(super::Place::sqlite().await).await);
crate::memory_conformance!(redis, async || super::opener(super::Place::redis().await).await);
crate::memory_conformance!(postgres, async || super::opener(super::Place::postgres().await).await);

pub(crate) fn on(store: &MemoryStore) -> SharedMemory {
    let memory = SharedMemory::new(Arc::new(Strong::new(store)), SharedMemory::DEFAULT_NAME).unwrap();
    memory.fair(Locks::new(CasLock::new(store.clone())))
}

fn kept(error: MemoryError) -> stanchion_core::Error {
    match error {
        MemoryError::Kept(error) => error,
        MemoryError::NotFound(error) => panic!("{error}"),
    }
}

async fn version(store: &dyn RecordStore) -> Option<u64> {
    let record = store.get(&Key::from_store(RECORD).unwrap()).await.unwrap();
    record.map(|record| record.version.get())
}

#[tokio::test]
async fn graphs_of_different_names_do_not_meet() {
    let store = MemoryStore::new();
    let [blue, red] = ["blue", "red"].map(|name| SharedMemory::new(Arc::new(store.clone()), name).unwrap());
    done(&blue, Mutation::CreateEntities(vec![entity("b", &[])])).await;
    done(&red, Mutation::CreateEntities(vec![entity("r", &[])])).await;
    assert_eq!(all(&blue).await.entities, [entity("b", &[])]);
    assert_eq!(all(&red).await.entities, [entity("r", &[])]);
    assert!(SharedMemory::new(Arc::new(store.clone()), "new\nline").is_err());
    assert!(SharedMemory::new(Arc::new(store.clone()), &"x".repeat(495)).is_ok());
    assert!(SharedMemory::new(Arc::new(store), &"x".repeat(496)).is_err());
}

#[tokio::test]
async fn who_waits_at_the_same_time_is_written_together_and_each_is_answered() {
    // One at a time and slow, so that the others wait meanwhile.
    let store = MemoryStore::new();
    let slow = ChaosStore::new(Strong::new(&store), "delay=20ms,seed=7".parse().unwrap());
    let memory = Arc::new(SharedMemory::new(Arc::new(slow), "memory").unwrap());
    done(&*memory, Mutation::CreateEntities(vec![entity("a", &[])])).await;
    let before = version(&store).await.unwrap();
    let calls = (0..100).map(|n| {
        let memory = Arc::clone(&memory);
        tokio::spawn(async move {
            let name = if n % 10 == 0 { "nobody" } else { "a" };
            (n, memory.change(addition(name, &[&n.to_string()])).await)
        })
    });
    let mut told = 0;
    for call in calls.collect::<Vec<_>>() {
        let (n, answer) = call.await.unwrap();
        assert_eq!(answer.is_err(), n % 10 == 0, "{n}: {answer:?}");
        told += usize::from(answer.is_ok());
    }
    assert_eq!(all(&*memory).await.entities[0].observations.len(), told);
    let writes = version(&store).await.unwrap() - before;
    assert!(writes <= 10, "{writes} writes for {told} mutations are no groups");
}

#[tokio::test]
async fn without_others_a_write_reads_nothing() {
    let store = MemoryStore::new();
    let (strong, reads) = (Strong::new(&store), |store: &Strong| store.reads.load(Ordering::Relaxed));
    let memory = SharedMemory::new(Arc::new(strong.clone()), "memory").unwrap();
    for n in 0..5 {
        done(&memory, Mutation::CreateEntities(vec![entity(n.to_string(), &[])])).await;
    }
    assert_eq!(reads(&strong), 1);
    done(&on(&store), Mutation::CreateEntities(vec![entity("theirs", &[])])).await;
    done(&memory, Mutation::CreateEntities(vec![entity("ours", &[])])).await;
    assert_eq!(reads(&strong), 2);
    assert_eq!(all(&memory).await.entities.len(), 7);
}

#[tokio::test]
async fn what_changes_nothing_writes_nothing_and_is_not_answered_from_what_was_known() {
    let store = MemoryStore::new();
    let (ours, theirs) = (on(&store), on(&store));
    done(&ours, Mutation::CreateEntities(vec![entity("a", &[])])).await;
    done(&theirs, Mutation::CreateEntities(vec![entity("b", &[])])).await;
    let before = version(&store).await;
    // We have not seen `b` yet, and must not say that it is not there, nor that it is new.
    let created = done(&ours, Mutation::CreateEntities(vec![entity("b", &["x"])])).await;
    assert_eq!(created, stanchion_memory::Outcome::Entities(vec![]));
    assert_eq!(version(&store).await, before);
    done(&theirs, Mutation::CreateEntities(vec![entity("c", &[])])).await;
    done(&ours, addition("c", &["seen"])).await;
    assert_eq!(all(&theirs).await.entities[2], entity("c", &["seen"]));
}

#[tokio::test]
async fn a_graph_of_seventeen_mebibytes_is_refused_before_anything_is_written() {
    let store = MemoryStore::new();
    let memory = on(&store);
    let large = |name: String| entity(name, &[&"x".repeat(1 << 20)]);
    for n in 0..15 {
        done(&memory, Mutation::CreateEntities(vec![large(n.to_string())])).await;
    }
    let before = version(&store).await;
    let more = Mutation::CreateEntities(vec![large("15".into()), large("16".into())]);
    let error = kept(memory.change(more.clone()).await.unwrap_err());
    assert_eq!((error.kind(), error.ran()), (ErrorKind::Invalid, Ran::No));
    assert!(error.to_string().contains("limit: 16776192") && error.next_step().is_some(), "{error}");
    assert_eq!((version(&store).await, all(&memory).await.entities.len()), (before, 15));
    // There is a way out.
    done(&memory, Mutation::DeleteEntities(vec!["0".into(), "1".into()])).await;
    done(&memory, more).await;
    assert_eq!(all(&memory).await.entities.len(), 15);
}

#[tokio::test]
async fn a_damaged_record_is_an_answer_of_its_own_and_is_not_written_over() {
    let store = MemoryStore::new();
    let key = Key::from_store(RECORD).unwrap();
    let intact = on(&store);
    done(&intact, Mutation::CreateEntities(vec![entity("a", &[])])).await;
    let good = store.get(&key).await.unwrap().unwrap();
    let mut cut = good.value.to_vec();
    cut.truncate(cut.len() - 5);
    let mut no_text = good.value.to_vec();
    let last = no_text.len() - 5;
    no_text[last] = 0xff;
    for bad in [cut, no_text, b"something else".to_vec()] {
        let version = store.get(&key).await.unwrap().unwrap().version;
        store.put(&key, bad.clone().into(), Cond::Version(version), None).await.unwrap();
        for memory in [&intact, &on(&store)] {
            assert_eq!(kept(memory.read(Query::All).await.unwrap_err()).kind(), ErrorKind::Damaged);
            let error = memory.change(Mutation::CreateEntities(vec![entity("b", &[])])).await.unwrap_err();
            assert_eq!(kept(error).kind(), ErrorKind::Damaged);
        }
        assert_eq!(store.get(&key).await.unwrap().unwrap().value, bad);
    }
}

#[tokio::test]
async fn a_store_that_forgot_is_told_once_and_not_in_silence() {
    let store = MemoryStore::new();
    let key = Key::from_store(RECORD).unwrap();
    let memory = on(&store);
    done(&memory, Mutation::CreateEntities(vec![entity("a", &[])])).await;
    let version = store.get(&key).await.unwrap().unwrap().version;
    store.delete(&key, Cond::Version(version)).await.unwrap();
    let (graph, notices) = memory.read(Query::All).await.unwrap();
    assert_eq!((graph.entities.len(), notices.len(), notices[0].kind), (0, 1, "graph_deleted"));
    assert!(memory.read(Query::All).await.unwrap().1.is_empty());

    let changed = memory.change(Mutation::CreateEntities(vec![entity("b", &[])])).await.unwrap();
    assert!(changed.notices.is_empty());
    let version = store.get(&key).await.unwrap().unwrap().version;
    store.delete(&key, Cond::Version(version)).await.unwrap();
    // Also a writer hears of it, and what it writes is all there is.
    let changed = memory.change(Mutation::CreateEntities(vec![entity("c", &[])])).await.unwrap();
    assert_eq!(changed.notices.iter().map(|one| one.kind).collect::<Vec<_>>(), ["graph_deleted"]);
    assert_eq!(all(&memory).await.entities, [entity("c", &[])]);
}

#[tokio::test]
async fn lost_answers_are_settled_and_a_store_that_is_away_is_said_to_be() {
    let store = MemoryStore::new();
    let lossy = ChaosStore::new(Strong::new(&store), "lost=0.3,seed=3".parse().unwrap());
    let memory = SharedMemory::new(Arc::new(lossy), "memory").unwrap();
    let mut made = Vec::new();
    for n in 0..60 {
        match memory.change(Mutation::CreateEntities(vec![entity(n.to_string(), &[])])).await {
            Ok(_) => made.push(n.to_string()),
            Err(error) => panic!("nobody else writes, so it can be settled: {error:?}"),
        }
    }
    let names: Vec<String> = all(&on(&store)).await.entities.into_iter().map(|one| one.name).collect();
    assert_eq!(names, made);

    let away = ChaosStore::new(Strong::new(&store), "error=1".parse().unwrap());
    let memory = SharedMemory::new(Arc::new(away), "memory").unwrap();
    let error = kept(memory.change(Mutation::CreateEntities(vec![entity("x", &[])])).await.unwrap_err());
    assert_eq!((error.kind(), error.ran()), (ErrorKind::Unavailable, Ran::No));
    assert_eq!(kept(memory.read(Query::All).await.unwrap_err()).kind(), ErrorKind::Unavailable);
    assert_eq!(all(&on(&store)).await.entities.len(), 60);
}

#[tokio::test]
async fn a_caller_that_leaves_does_not_stop_the_others() {
    let store = MemoryStore::new();
    let slow = ChaosStore::new(Strong::new(&store), "delay=20ms,seed=1".parse().unwrap());
    let memory = Arc::new(SharedMemory::new(Arc::new(slow), "memory").unwrap());
    let call = |name: String| {
        let memory = Arc::clone(&memory);
        tokio::spawn(async move { memory.change(Mutation::CreateEntities(vec![entity(name, &[])])).await })
    };
    let calls: Vec<_> = (0..30).map(|n| call(n.to_string())).collect();
    tokio::task::yield_now().await;
    calls.iter().step_by(3).for_each(tokio::task::JoinHandle::abort);
    let mut acknowledged = Vec::new();
    for (n, call) in calls.into_iter().enumerate() {
        match call.await {
            Ok(answer) => {
                answer.unwrap();
                acknowledged.push(n.to_string());
            }
            Err(error) => assert!(error.is_cancelled() && n % 3 == 0, "{n}: {error}"),
        }
    }
    assert!(acknowledged.len() >= 20);
    let names: Vec<String> = all(&*memory).await.entities.into_iter().map(|one| one.name).collect();
    assert!(acknowledged.iter().all(|name| names.contains(name)));
}

#[tokio::test]
async fn who_watches_is_told_of_what_others_change_and_of_nothing_else() {
    for place in [Place::sqlite().await, Place::redis().await, Place::postgres().await].into_iter().flatten() {
        let (ours, theirs) = (open(&place.url).await, open(&place.url).await);
        all(&*ours).await;
        let patience = Duration::from_secs(20);
        for n in 0..5 {
            let quiet = tokio::time::timeout(Duration::from_millis(50), ours.changed()).await;
            assert!(quiet.is_err(), "{}: nothing has changed", place.url);
            done(&*theirs, Mutation::CreateEntities(vec![entity(n.to_string(), &[])])).await;
            tokio::time::timeout(patience, ours.changed()).await.expect("a change is told");
        }
    }
}

/// A store in memory that promises not to forget, so that what is known of it is used. It can have somebody who is always
/// faster, unless we hold the turn.
#[derive(Debug, Clone)]
struct Strong {
    store: MemoryStore,
    reads: Arc<AtomicUsize>,
    meddles: Option<Locks>,
}

impl Strong {
    fn new(store: &MemoryStore) -> Self {
        Self { store: store.clone(), reads: Arc::default(), meddles: None }
    }
}

#[async_trait]
impl RecordStore for Strong {
    fn capability(&self) -> Capability {
        Capability { weak: None, ..self.store.capability() }
    }
    async fn get(&self, key: &Key) -> Result<Option<Record>, Error> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.store.get(key).await
    }
    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>, Error> {
        self.store.touch(key, token).await
    }
    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version, Error> {
        let turn = Acquire::new(Key::new(TURN)?).wait(Wait::No);
        if let Some(locks) = &self.meddles
            && let Ok(turn) = locks.acquire(&turn).await
        {
            if let Some(record) = self.store.get(key).await? {
                self.store.put(key, record.value, Cond::Version(record.version), None).await?;
            }
            turn.release().await?;
        }
        self.store.put(key, value, cond, ttl).await
    }
    async fn delete(&self, key: &Key, cond: Cond) -> Result<(), Error> {
        self.store.delete(key, cond).await
    }
    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>, Error> {
        self.store.scan(prefix, page).await
    }
    async fn changed(&self, key: &Key, since: Option<Version>, until: Instant) -> Result<(), Error> {
        self.store.changed(key, since, until).await
    }
}

#[tokio::test(start_paused = true)]
async fn who_always_loses_takes_a_turn_and_without_turns_is_told_that_nothing_ran() {
    let store = MemoryStore::new();
    let locks = Locks::new(CasLock::new(store.clone()));
    done(&on(&store), Mutation::CreateEntities(vec![entity("a", &[])])).await;
    let meddled = || Arc::new(Strong { meddles: Some(locks.clone()), ..Strong::new(&store) });
    let unfair = SharedMemory::new(meddled(), SharedMemory::DEFAULT_NAME).unwrap();
    let error = kept(unfair.change(Mutation::CreateEntities(vec![entity("b", &[])])).await.unwrap_err());
    assert_eq!((error.kind(), error.ran()), (ErrorKind::Contended, Ran::No));
    let fair = SharedMemory::new(meddled(), SharedMemory::DEFAULT_NAME).unwrap().fair(locks.clone());
    done(&fair, Mutation::CreateEntities(vec![entity("c", &[])])).await;
    assert_eq!(all(&on(&store)).await.entities, [entity("a", &[]), entity("c", &[])]);
    let turn = Acquire::new(Key::new(TURN).unwrap()).wait(Wait::No);
    assert!(locks.acquire(&turn).await.is_ok(), "the turn was given back");
}
