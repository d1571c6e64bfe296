//! One computes, the others wait for its value: no stampede when a cached value expires.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::turn::{Next, Turns, deadline};
use crate::{Error, ErrorKind, Identity, Key, RecordStore, Result, Wait};

/// A turn whose leader died and that nobody asks for again is cleared away by the store this long after its lease.
const GRACE: Duration = Duration::from_secs(60);

/// How long a value is kept when nothing is said.
const TTL: Duration = Duration::from_secs(60);

/// The longest that a value can be kept.
const TTL_MOST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// A cache whose values are computed by one caller at a time, across all processes that share a store.
///
/// Of all callers that miss a key, one (the leader) computes; the others wait for its value. Callers of one process
/// share one look at the store, too; clones share them. If the leader's process dies, its lease lapses and exactly one
/// other computes. An error of the leader goes to its caller and is not cached; one of the waiters is next.
///
/// It saves work and promises no more: a leader that stood still for longer than its lease computes while its
/// successor does. It still gets its own value, but the cache keeps the successor's. For exactly one recorded result
/// use [`Once`](crate::Once); for effects, the guard.
///
/// ```
/// use stanchion_core::{Key, MemoryStore, SingleFlight};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let cache = SingleFlight::new(MemoryStore::new()).ttl(std::time::Duration::from_secs(300))?;
/// let key = Key::new("report:2026-07")?;
/// let slow = async || Ok("the sum of everything".into());
/// let (a, b) = tokio::join!(cache.get_or_compute(&key, slow), cache.get_or_compute(&key, async || panic!("never")));
/// assert_eq!(a?, b?);
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct SingleFlight {
    turns: Turns,
    wait: Wait,
    ttl: Duration,
    flights: Flights,
}

impl SingleFlight {
    /// A cache in `store`.
    ///
    /// ```
    /// let _cache = stanchion_core::SingleFlight::new(stanchion_core::MemoryStore::new());
    /// ```
    pub fn new(store: impl RecordStore) -> Self {
        Self::shared(Arc::new(store))
    }

    /// A cache in a store that others use, too.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// let _cache = stanchion_core::SingleFlight::shared(Arc::new(stanchion_core::MemoryStore::new()));
    /// ```
    #[must_use]
    pub fn shared(store: Arc<dyn RecordStore>) -> Self {
        let turns = Turns::new(store, "flight", "the value is still being computed").swept_after(GRACE);
        Self { turns, wait: Wait::default(), ttl: TTL, flights: Flights::default() }
    }

    /// Sets how long a value is kept, by the store's clock: 1 ms to 10 years, one minute if not set.
    ///
    /// # If it fails
    /// `Invalid`; nothing is silently corrected.
    ///
    /// ```
    /// # use stanchion_core::{MemoryStore, SingleFlight};
    /// assert!(SingleFlight::new(MemoryStore::new()).ttl(std::time::Duration::ZERO).is_err());
    /// ```
    pub fn ttl(mut self, ttl: Duration) -> Result<Self> {
        if ttl < Duration::from_millis(1) || ttl > TTL_MOST {
            return Err(Error::new(ErrorKind::Invalid, "the ttl is outside 1ms to 10 years")
                .with("ttl", format_args!("{ttl:?}")));
        }
        self.ttl = ttl;
        Ok(self)
    }

    /// Sets how long a killed leader still blocks the others: 50 ms to 24 h, 30 s if not set. A computation may take
    /// longer: it is renewed every third of it.
    ///
    /// # If it fails
    /// `Invalid`; nothing is silently corrected.
    ///
    /// ```
    /// # use stanchion_core::{MemoryStore, SingleFlight};
    /// assert!(SingleFlight::new(MemoryStore::new()).lease(std::time::Duration::from_secs(2)).is_ok());
    /// ```
    pub fn lease(mut self, lease: Duration) -> Result<Self> {
        self.turns.lease(lease)?;
        Ok(self)
    }

    /// Sets how long to wait for somebody else's value; 30 s if not set. One's own computation may take as long as it
    /// wants.
    ///
    /// ```
    /// # use stanchion_core::{MemoryStore, SingleFlight, Wait};
    /// let _cache = SingleFlight::new(MemoryStore::new()).wait(Wait::No);
    /// ```
    #[must_use]
    pub const fn wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// The value of `key`: from the cache, from whoever computes it already, or from `compute`.
    ///
    /// A value that was computed but could not be cached (the turn was lost, the store has gone) is returned all the
    /// same, with a warning in the log.
    ///
    /// # If it fails
    /// - what `compute` returned, as it is: nothing is cached, and one of the waiters computes;
    /// - `Contended` when the wait is over: our `compute` did not run;
    /// - `Unexpected`: the value is too large for a record; `compute` is done, and nothing is cached;
    /// - `Unavailable`, `Denied`, `Damaged` from the store: our `compute` did not run. Whether to compute without a
    ///   cache is the caller's choice: it is what lets a stampede through.
    ///
    /// # Cancel safety
    /// Dropping the future drops `compute` where it stands, and lets another one compute.
    ///
    /// ```
    /// use stanchion_core::{Error, ErrorKind, Key, MemoryStore, SingleFlight};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let (cache, key) = (SingleFlight::new(MemoryStore::new()), Key::new("rates")?);
    /// assert!(cache.get_or_compute(&key, async || Err(Error::new(ErrorKind::Unavailable, "no rates"))).await.is_err());
    /// assert_eq!(cache.get_or_compute(&key, async || Ok("1.07".into())).await?, "1.07"); // errors are not cached
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn get_or_compute(&self, key: &Key, compute: impl AsyncFnOnce() -> Result<Bytes>) -> Result<Bytes> {
        let until = deadline(self.wait);
        loop {
            let mut ahead = match self.flights.board(key) {
                Boarded::Leader(flight) => {
                    let value = self.lead(key, until, compute).await?;
                    flight.land(&value);
                    return Ok(value);
                }
                Boarded::Follower(ahead) => ahead,
            };
            let landed = ahead.wait_for(Option::is_some);
            let landed = match until {
                None => landed.await,
                Some(until) => match tokio::time::timeout_at(until, landed).await {
                    Ok(landed) => landed,
                    Err(_) => return Err(self.turns.busy(key, Identity::current(), None)),
                },
            };
            if let Ok(Some(value)) = landed.as_deref() {
                return Ok(value.clone());
            }
            // It failed or was cancelled. One of those who waited for it is next.
        }
    }

    /// Alone in this process: looks at the store, and computes if it is our turn.
    async fn lead(
        &self,
        key: &Key,
        until: Option<Instant>,
        compute: impl AsyncFnOnce() -> Result<Bytes>,
    ) -> Result<Bytes> {
        let turn = match self.turns.next(key, until).await? {
            Next::Value(value) => return Ok(value),
            Next::Turn(turn) => turn,
        };
        let value = match compute().await {
            Ok(value) => value,
            Err(error) => {
                turn.give_back().await;
                return Err(error);
            }
        };
        match turn.record(value.clone(), Some(self.ttl)).await {
            Err(error) if error.kind() == ErrorKind::Unexpected => return Err(error),
            Err(error) => tracing::warn!(%key, %error, "computed, but not cached"),
            Ok(()) => {}
        }
        Ok(value)
    }

    /// The cached value, if there is one.
    ///
    /// # If it fails
    /// From the store, or `Damaged`.
    ///
    /// ```
    /// # use stanchion_core::{Key, MemoryStore, SingleFlight};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// assert_eq!(SingleFlight::new(MemoryStore::new()).get(&Key::new("a")?).await?, None);
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn get(&self, key: &Key) -> Result<Option<Bytes>> {
        self.turns.get(key).await
    }

    /// Forgets `key`; says whether there was anything to forget. What is being computed at this moment is not cached;
    /// only those who share the leader's process still get it. So a call of **this** process that begins after
    /// `forget` sees a newer value; in the process of a leader that began earlier, a call may still join it.
    ///
    /// # If it fails
    /// From the store. After `OutcomeUnknown` it may be forgotten; forgetting again is safe.
    ///
    /// ```
    /// # use stanchion_core::{Key, MemoryStore, SingleFlight};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let (cache, key) = (SingleFlight::new(MemoryStore::new()), Key::new("a")?);
    /// cache.get_or_compute(&key, async || Ok("old".into())).await?;
    /// assert!(cache.forget(&key).await?);
    /// assert_eq!(cache.get_or_compute(&key, async || Ok("new".into())).await?, "new");
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn forget(&self, key: &Key) -> Result<bool> {
        let forgotten = self.turns.forget(key).await;
        // After the store: a flight that began before has perhaps looked already, and nobody may join it any more.
        self.flights.close(key);
        forgotten
    }
}

/// The calls of this process that are on their way, one per key.
#[derive(Debug, Clone, Default)]
struct Flights(Arc<Mutex<HashMap<Key, watch::Receiver<Option<Bytes>>>>>);

enum Boarded {
    Leader(Flight),
    Follower(watch::Receiver<Option<Bytes>>),
}

/// The one call that goes to the store. Dropped without a value, it lets one of its followers go.
struct Flight {
    flights: Flights,
    key: Key,
    value: watch::Sender<Option<Bytes>>,
}

impl Flights {
    fn map(&self) -> MutexGuard<'_, HashMap<Key, watch::Receiver<Option<Bytes>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn board(&self, key: &Key) -> Boarded {
        match self.map().entry(key.clone()) {
            Entry::Occupied(ahead) => Boarded::Follower(ahead.get().clone()),
            Entry::Vacant(free) => {
                let (value, follower) = watch::channel(None);
                free.insert(follower);
                Boarded::Leader(Flight { flights: self.clone(), key: key.clone(), value })
            }
        }
    }

    /// Nobody joins the present flight any more; who is on board stays.
    fn close(&self, key: &Key) {
        self.map().remove(key);
    }
}

impl Flight {
    fn land(self, value: &Bytes) {
        self.value.send_replace(Some(value.clone()));
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        // Before the followers hear of it, so that none of them finds this flight again. After `close` the key may
        // belong to another one.
        let mut map = self.flights.map();
        if map.get(&self.key).is_some_and(|ours| ours.same_channel(&self.value.subscribe())) {
            map.remove(&self.key);
        }
    }
}
