//! Who of this process waits for which change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stanchion_core::{Key, Owner};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::line::{Line, Turn};

/// A waiter that nobody asked about for this long was forgotten by its caller.
const FORGOTTEN: Duration = Duration::from_secs(2 * 3600);

/// How many keys are remembered as crowded.
const CROWDED: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Board {
    places: Mutex<BTreeMap<u64, Arc<Place>>>,
    watches: Mutex<BTreeMap<u64, Watched>>,
    /// The keys that the listener's present statement waits for.
    heard: Mutex<BTreeSet<Key>>,
    /// Keys in whose rows somebody waits. A hint: what is forgotten costs a statement.
    crowded: Mutex<BTreeSet<Vec<u8>>>,
    numbers: AtomicU64,
    /// Rings when there is something new to listen for.
    pub(super) news: Notify,
}

/// A lock waiter; it stays between `try_acquire` and `wait`.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) owner: Owner,
    pub(super) key: Key,
    /// It waits at this moment.
    pub(super) waiting: AtomicBool,
    seen: Mutex<Seen>,
    /// Wakes for what is seen; keeps one call for a waiter that is not there yet.
    pub(super) bell: Notify,
}

/// What a waiter knows.
#[derive(Debug)]
struct Seen {
    /// The newest row it was told of; 0: none yet.
    rev: u64,
    /// It should try at once.
    ours: bool,
    /// When to try if nobody calls.
    at: Instant,
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
    /// Keys, and what their waiters have seen.
    pub(super) places: BTreeSet<(Key, u64)>,
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
    /// The row was seen like this: is it our turn? The answer to a question may come after news of a later change.
    pub(super) fn see(&self, line: &Line) {
        let mut seen = open(&self.seen);
        if line.rev < seen.rev {
            return;
        }
        match line.turn(self.owner) {
            Turn::Now => seen.ours = true,
            Turn::In(us) => {
                // The same row once more, later: only the times differ.
                seen.ours &= line.rev == seen.rev;
                seen.at = Instant::now() + Duration::from_micros(us);
            }
        }
        seen.rev = line.rev;
        drop(seen);
        self.bell.notify_one();
    }

    /// Whether to try at once, or else when.
    pub(super) fn when(&self) -> Option<Instant> {
        let mut seen = open(&self.seen);
        if std::mem::take(&mut seen.ours) { None } else { Some(seen.at) }
    }

    fn rev(&self) -> u64 {
        open(&self.seen).rev
    }
}

impl Board {
    /// The place of this waiter.
    pub(super) fn place(&self, key: &Key, owner: Owner) -> Arc<Place> {
        let mut places = open(&self.places);
        if places.len() > 1024 {
            let now = Instant::now();
            places.retain(|_, place| now.saturating_duration_since(open(&place.seen).at) < FORGOTTEN);
        }
        let place = places.entry(owner.nonce()).or_insert_with(|| {
            Arc::new(Place {
                owner,
                key: key.clone(),
                waiting: AtomicBool::new(false),
                seen: Mutex::new(Seen { rev: 0, ours: false, at: Instant::now() }),
                bell: Notify::new(),
            })
        });
        Arc::clone(place)
    }

    /// Whether somebody waited for it when the row was last seen.
    pub(super) fn is_crowded(&self, key: &Key) -> bool {
        open(&self.crowded).contains(key.as_str().as_bytes())
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

    /// What the listener's next statement has to wait for.
    pub(super) async fn interests(&self) -> Interests {
        // Whatever rang until now is among what follows.
        tokio::select! {
            biased;
            () = self.news.notified() => {}
            () = std::future::ready(()) => {}
        }
        let mut heard = open(&self.heard);
        let waiting = |place: &&Arc<Place>| place.waiting.load(Ordering::SeqCst);
        let seen = |place: &Arc<Place>| (place.key.clone(), place.rev());
        let places: BTreeSet<_> = open(&self.places).values().filter(waiting).map(seen).collect();
        *heard = places.iter().map(|(key, _)| key.clone()).collect();
        Interests { places, watches: open(&self.watches).values().cloned().collect() }
    }

    /// One that waits (it says so already) wants to hear of its key. A statement that waits for the key anyway need not be
    /// ended for it: if that has not begun it sees what differs, and if it sleeps the call ends it.
    pub(super) fn listen_for(&self, key: &Key) {
        if !open(&self.heard).contains(key) {
            self.news.notify_one();
        }
    }

    /// A row was seen, or changed by ourselves: those of us who wait for it need not be told by the server.
    pub(super) fn tell(&self, key: &[u8], line: &Line) {
        {
            let mut crowded = open(&self.crowded);
            if crowded.len() > CROWDED {
                crowded.clear();
            }
            if line.waiters.is_empty() {
                crowded.remove(key);
            } else {
                crowded.insert(key.to_vec());
            }
        }
        for place in open(&self.places).values().filter(|place| place.key.as_str().as_bytes() == key) {
            place.see(line);
        }
    }

    /// Something may have been missed: everybody looks again.
    pub(super) fn shake(&self) {
        for place in open(&self.places).values() {
            open(&place.seen).ours = true;
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
