//! Who of this process waits for which change.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stanchion_core::{Key, Owner};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::line::{Line, Turn};

/// A waiter that nobody asked about for this long was forgotten by its caller.
const FORGOTTEN: Duration = Duration::from_secs(2 * 3600);

#[derive(Debug, Default)]
pub(super) struct Board {
    places: Mutex<BTreeMap<u64, Arc<Place>>>,
    watches: Mutex<BTreeMap<u64, Watched>>,
    numbers: AtomicU64,
    /// Rings when there is something new to listen for.
    pub(super) news: Notify,
}

/// A lock waiter; it stays between `try_acquire` and `wait`.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) owner: Owner,
    pub(super) key: Key,
    /// What the waiter has seen.
    pub(super) rev: AtomicU64,
    /// It waits at this moment.
    pub(super) waiting: AtomicBool,
    pub(super) ours: AtomicBool,
    /// When to try if nobody calls.
    pub(super) at: Mutex<Instant>,
    /// Wakes for both; keeps one call for a waiter that is not there yet.
    pub(super) bell: Notify,
}

/// A record that somebody waits on.
#[derive(Debug, Clone)]
pub(super) struct Watched {
    pub(super) key: Key,
    /// The version it has seen; `None`: absent.
    pub(super) since: Option<u64>,
    pub(super) bell: Arc<Notify>,
}

/// Everything to listen for.
#[derive(Debug, Default)]
pub(super) struct Interests {
    pub(super) places: Vec<Arc<Place>>,
    pub(super) watches: Vec<Watched>,
}

impl Interests {
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty() && self.watches.is_empty()
    }
}

pub(super) fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Place {
    /// The row was seen like this: is it our turn?
    pub(super) fn see(&self, line: &Line) {
        match line.turn(self.owner) {
            Turn::Now => self.ours.store(true, Ordering::SeqCst),
            Turn::In(us) => *open(&self.at) = Instant::now() + Duration::from_micros(us),
        }
        self.rev.store(line.rev, Ordering::SeqCst);
        self.bell.notify_one();
    }
}

impl Board {
    /// The place of this waiter.
    pub(super) fn place(&self, key: &Key, owner: Owner) -> Arc<Place> {
        let mut places = open(&self.places);
        if places.len() > 1024 {
            let now = Instant::now();
            places.retain(|_, place| now.saturating_duration_since(*open(&place.at)) < FORGOTTEN);
        }
        let place = places.entry(owner.nonce()).or_insert_with(|| {
            Arc::new(Place {
                owner,
                key: key.clone(),
                rev: AtomicU64::new(0),
                waiting: AtomicBool::new(false),
                ours: AtomicBool::new(false),
                at: Mutex::new(Instant::now()),
                bell: Notify::new(),
            })
        });
        Arc::clone(place)
    }

    /// Has this waiter been refused before?
    pub(super) fn knows(&self, owner: Owner) -> bool {
        open(&self.places).contains_key(&owner.nonce())
    }

    pub(super) fn leave(&self, owner: Owner) {
        open(&self.places).remove(&owner.nonce());
    }

    /// Waits on a record until the answer is dropped.
    pub(super) fn watch(self: &Arc<Self>, key: &Key, since: Option<u64>) -> Watch {
        let bell = Arc::new(Notify::new());
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let watched = Watched { key: key.clone(), since, bell: Arc::clone(&bell) };
        open(&self.watches).insert(number, watched);
        self.news.notify_one();
        Watch { board: Arc::clone(self), number, bell }
    }

    pub(super) fn interests(&self) -> Interests {
        let places = open(&self.places).values().filter(|p| p.waiting.load(Ordering::SeqCst)).cloned().collect();
        Interests { places, watches: open(&self.watches).values().cloned().collect() }
    }

    /// We changed a row ourselves: those of us who wait for it need not be told by the server.
    pub(super) fn tell(&self, key: &Key, line: &Line) {
        let places: Vec<_> = open(&self.places).values().filter(|place| place.key == *key).cloned().collect();
        for place in places {
            place.see(line);
        }
    }

    /// Something may have been missed: everybody looks again.
    pub(super) fn shake(&self) {
        for place in open(&self.places).values() {
            place.ours.store(true, Ordering::SeqCst);
            place.bell.notify_one();
        }
        for watched in open(&self.watches).values() {
            watched.bell.notify_one();
        }
    }
}

/// Ends the watching when dropped.
#[derive(Debug)]
pub(super) struct Watch {
    board: Arc<Board>,
    number: u64,
    pub(super) bell: Arc<Notify>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        open(&self.board.watches).remove(&self.number);
    }
}

/// Nobody listens for a waiter whose caller has gone.
pub(super) struct Waiting<'a>(pub(super) &'a AtomicBool);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}
