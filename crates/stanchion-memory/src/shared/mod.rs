//! The graph on a shared store: one record, changed by optimistic updates.
//!
//! A caller's mutation goes to the process's one [`writer`] task; whoever waits at the same time is written together. The writer
//! plans on the graph that it knows and writes on the condition that this is still the last one, so that without others a write
//! is one trip; else it reads anew and plans again. A commit whose answer is lost is settled by reading (`Versioned`).
//! That slow writers get on beside quick ones is the matter of [`turns`].

mod attempt;
mod group;
mod snapshot;
mod turns;
mod writer;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use stanchion_core::{Error, ErrorKind, Key, Locks, RecordStore, Result, Version, Versioned};
use tokio::sync::mpsc::{self, error::SendTimeoutError};
use tokio::sync::oneshot;
use tokio::time::Instant;

use self::attempt::Attempt;
use self::snapshot::Cache;
use self::turns::Turns;
use self::writer::{Place, Waiting};
use crate::{Changed, Memory, MemoryError, Mutation, Notice, Query, Selection};

/// How long one wait for a change takes at most; then comes the next.
const ROUND: Duration = Duration::from_secs(30);
/// Between two looks that found nothing, or no store.
const PAUSE: Duration = Duration::from_millis(500);

/// A graph in a store that many processes and machines share.
///
/// The whole graph is one record, so it is at most 16 MiB as JSONL; a mutation that would make it larger is refused.
/// A call that is dropped before its answer may still happen.
///
/// ```
/// use std::sync::Arc;
/// use stanchion_core::MemoryStore;
/// use stanchion_memory::{Entity, Memory, Mutation, Query, SharedMemory};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// let [ours, theirs] = [(); 2].map(|()| SharedMemory::new(Arc::new(store.clone()), SharedMemory::DEFAULT_NAME));
/// let ada = Entity { name: "Ada".into(), entity_type: "person".into(), observations: vec![] };
/// ours?.change(Mutation::CreateEntities(vec![ada.clone()])).await?;
/// let (graph, _) = theirs?.read(Query::All).await?;
/// assert_eq!(graph.entities, [ada]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct SharedMemory {
    place: Arc<Place>,
    /// To the task that writes. It ends with us.
    queue: Mutex<Option<mpsc::Sender<Waiting>>>,
    /// The version that the last `changed` was about; `None` before the first.
    told: Mutex<Option<Option<Version>>>,
}

impl SharedMemory {
    /// The graph's name when none is given.
    ///
    /// ```
    /// assert_eq!(stanchion_memory::SharedMemory::DEFAULT_NAME, "memory");
    /// ```
    pub const DEFAULT_NAME: &'static str = "memory";

    /// The graph `name` in `store`. A store may hold several.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`]: the name is empty, longer than 495 bytes or has control characters in it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use stanchion_memory::SharedMemory;
    /// let store = Arc::new(stanchion_core::MemoryStore::new());
    /// assert!(SharedMemory::new(store.clone(), "team-blue").is_ok());
    /// assert!(SharedMemory::new(store, "").is_err());
    /// ```
    pub fn new(store: Arc<dyn RecordStore>, name: &str) -> Result<Self> {
        Key::new(name)?;
        let turn = Key::new(format!("stanchion-memory/{name}"))?;
        // A record of our own, which no key of a user can meet.
        let key = Key::from_store(&format!("\u{1}memory/{name}"))?;
        Ok(Self::at(Place { store, key, turn, turns: None, cache: Cache::default() }))
    }

    /// With these locks, processes that write at the same time take turns, so that a slow one is not starved by quick ones: who
    /// writes on and on takes the turn for a write every 200 ms, and so waits behind everybody who has waited longer. Whoever
    /// finds the graph as it left it itself a second ago or longer takes no turn, and writes in one trip.
    ///
    /// The turn is the lock `stanchion-memory/NAME`; use that key for nothing else. It keeps nothing safe here: without locks, or
    /// without an answer from them for 5 s, everything is as right, only less fair. All processes on a graph should have the
    /// same ones.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use stanchion_core::{CasLock, Locks, MemoryStore};
    /// use stanchion_memory::SharedMemory;
    /// let store = MemoryStore::new();
    /// let _memory = SharedMemory::new(Arc::new(store.clone()), "memory")?.fair(Locks::new(CasLock::new(store)));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn fair(self, locks: Locks) -> Self {
        let Place { store, key, turn, .. } = &*self.place;
        let (store, key, turn) = (Arc::clone(store), key.clone(), turn.clone());
        let turns = Some(Arc::new(Turns::new(locks, turn.clone())));
        Self::at(Place { store, key, turn, turns, cache: Cache::default() })
    }

    fn at(place: Place) -> Self {
        Self { place: Arc::new(place), queue: Mutex::new(None), told: Mutex::new(None) }
    }

    /// The way to the task that writes. It is begun with the first mutation, and again if its runtime has ended.
    fn queue(&self) -> mpsc::Sender<Waiting> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queue.as_ref().filter(|queue| !queue.is_closed()) {
            return queue.clone();
        }
        let (sender, receiver) = mpsc::channel(writer::QUEUE);
        tokio::spawn(writer::run(Arc::clone(&self.place), receiver));
        queue.insert(sender).clone()
    }

    async fn version(&self) -> Result<Option<Version>> {
        Ok(self.place.store.get(&self.place.key).await?.map(|record| record.version))
    }

    fn told(&self) -> std::sync::MutexGuard<'_, Option<Option<Version>>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a caller knows who asks for the first time: what was read here last, else what is there now.
    async fn first(&self) -> Result<Option<Version>> {
        match self.place.cache.last() {
            Some(last) => Ok(last.version()),
            None => self.version().await,
        }
    }

    /// Waits one round. `true` if the graph is another.
    async fn waited(&self) -> Result<bool> {
        let told = *self.told();
        let since = match told {
            Some(since) => since,
            None => {
                let since = self.first().await?;
                *self.told().get_or_insert(since)
            }
        };
        let until = Instant::now() + ROUND;
        self.place.store.changed(&self.place.key, since, until).await?;
        // A round that went to its end found nothing; a change at that moment is found by the next one.
        if Instant::now() >= until {
            return Ok(false);
        }
        let now = self.version().await?;
        if now == since {
            tokio::time::sleep(PAUSE).await;
            return Ok(false);
        }
        *self.told() = Some(now);
        Ok(true)
    }
}

#[async_trait]
impl Memory for SharedMemory {
    async fn change(&self, mutation: Mutation) -> Result<Changed, MemoryError> {
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting { mutation, since: Instant::now(), answer };
        self.queue().send_timeout(waiting, writer::WAIT).await.map_err(|refused| match refused {
            SendTimeoutError::Timeout(_) => writer::busy(),
            SendTimeoutError::Closed(_) => {
                Error::new(ErrorKind::Unavailable, "the task that writes the graph is gone; nothing was changed")
            }
        })?;
        let ended = |_| Error::new(ErrorKind::OutcomeUnknown, "the task that writes the graph ended before its answer");
        answered.await.map_err(ended)?
    }

    async fn read(&self, query: Query) -> Result<(Selection, Vec<Notice>), MemoryError> {
        let Place { store, key, cache, .. } = &*self.place;
        let before = cache.last();
        let attempt = Attempt::new(Arc::clone(store), None, None);
        let value = Versioned::shared(attempt.clone()).get(key).await?.map(|(value, _)| value);
        let snapshot =
            cache.snapshot(key, before.as_ref(), attempt.read().0.as_ref(), value.as_deref().unwrap_or_default())?;
        Ok((snapshot.graph.select(&query), cache.notices()))
    }

    async fn changed(&self) {
        loop {
            match self.waited().await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => {
                    tracing::debug!(%error, "no store to watch");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}
