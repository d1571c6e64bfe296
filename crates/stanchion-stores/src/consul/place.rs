//! The places that this process has in lines, and the task that clears those which nobody keeps.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use stanchion_core::{FencingToken, Key, Owner};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::api::Op;
use super::http::Shared;
use super::session::{Session, Sessions};
use crate::line::Deadlines;

/// How often the deletion of a place is tried; then its session ends, and others clear it.
const CLEAR_TRIES: u32 = 20;
/// Orphans and busy keys that are remembered.
const SEEN_MOST: usize = 4096;
/// For so long a key counts as busy after somebody did not get it.
const BUSY: Duration = Duration::from_secs(10);

/// One owner's place.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) name: String,
    pub(super) session: Arc<Session>,
    /// What it moves to: it may be there already.
    pub(super) moving: Option<Arc<Session>>,
    /// What is written there.
    pub(super) card: String,
    /// It is known to be written.
    pub(super) entered: bool,
    /// The entry's index when we last saw it; 0 if it may be another one by now.
    pub(super) index: u64,
    /// How many writes to this name were sent.
    pub(super) writes: u32,
    /// One grant has one fence, also when the lift is raised meanwhile.
    pub(super) granted: Option<FencingToken>,
    pub(super) watch: Option<Watch>,
    /// As of which index we were told of the whole line. It counts those who left, too, which no entry shows.
    pub(super) told: u64,
}

/// What a waiter waits for.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    pub(super) name: String,
    pub(super) tree: bool,
    pub(super) index: u64,
    /// Worth a look then, whatever happens.
    pub(super) until: Option<Instant>,
}

/// Everything that outlives a single call.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) http: Shared,
    pub(super) sessions: Sessions,
    pub(super) deadlines: Deadlines,
    places: Mutex<HashMap<Owner, Place>>,
    /// When we first saw an orphan: its name and index.
    orphans: Mutex<HashMap<(String, u64), Instant>>,
    /// Keys that somebody did not get, and when.
    busy: Mutex<HashMap<Key, Instant>>,
    /// Names that were given back. Consul keeps a tombstone of each deleted name for 15 minutes, and every look at a line passes all
    /// of them: with a name for each grant a busy lock would become slower with every grant.
    names: Mutex<HashMap<Key, Vec<String>>>,
    keeper: Mutex<Option<JoinHandle<()>>>,
    closed: Notify,
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    pub(super) fn new(http: Shared, sessions: Sessions) -> Self {
        Self {
            http,
            sessions,
            deadlines: Deadlines::default(),
            places: Mutex::default(),
            orphans: Mutex::default(),
            busy: Mutex::default(),
            names: Mutex::default(),
            keeper: Mutex::default(),
            closed: Notify::new(),
        }
    }

    pub(super) fn place(&self, owner: Owner) -> Option<Place> {
        open(&self.places).get(&owner).cloned()
    }

    /// To be said before the entry is written.
    pub(super) fn set(self: &Arc<Self>, alive: &Arc<()>, key: &Key, owner: Owner, place: Place, end: Instant) {
        open(&self.places).insert(owner, place);
        self.deadlines.set(key, owner, end);
        let mut keeper = open(&self.keeper);
        // A keeper whose runtime has been shut down is replaced on the runtime of this caller.
        if keeper.as_ref().is_none_or(JoinHandle::is_finished) {
            *keeper = Some(tokio::spawn(keep(Arc::clone(self), Arc::downgrade(alive))));
        }
    }

    /// Changes a place that is still ours; `false` if it is not.
    pub(super) fn update(&self, owner: Owner, name: &str, change: impl FnOnce(&mut Place)) -> bool {
        let mut places = open(&self.places);
        let place = places.get_mut(&owner).filter(|place| place.name == name);
        place.map(change).is_some()
    }

    /// Counts a write to the name of a place, before it is sent. `false`: the place is ours no more, and its name may be another's.
    pub(super) fn count_write(&self, owner: Owner, name: &str) -> bool {
        self.update(owner, name, |place| place.writes += 1)
    }

    /// A name for a new entry: one that was given back, if there is any.
    pub(super) fn name(&self, key: &Key, line: &str, owner: Owner) -> String {
        let used = open(&self.names).get_mut(key).and_then(Vec::pop);
        used.unwrap_or_else(|| format!("{line}{}.{:016x}", owner.to_hex(), Owner::random().nonce()))
    }

    /// The entry is deleted. Its name serves again, unless a write to it may still be under way: exactly two were sent, the one that made
    /// the entry and the one that deleted it, and both were answered.
    pub(super) fn give_name(&self, key: &Key, left: Place) {
        if left.entered && left.writes == 2 {
            let mut names = open(&self.names);
            if names.len() >= SEEN_MOST {
                names.clear();
            }
            names.entry(key.clone()).or_default().push(left.name);
        }
    }

    /// The place is ours no more; its entry may still stand.
    pub(super) fn leave(&self, owner: Owner) -> Option<Place> {
        self.deadlines.forget(owner);
        open(&self.places).remove(&owner)
    }

    /// Deletes an entry of ours, however often it takes.
    pub(super) async fn clear(&self, name: &str) {
        for _ in 0..CLEAR_TRIES {
            match self.http.write(&[Op::delete(name)]).await {
                Ok(_) => return,
                Err(error) => tracing::debug!(%error, "could not leave the line, trying again"),
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// As [`clear`](Self::clear), without waiting for it.
    pub(super) fn clear_later(self: &Arc<Self>, name: String) {
        let core = Arc::clone(self);
        Handle::current().spawn(async move { core.clear(&name).await });
    }

    /// Since when we know that this entry's session has ended: a hint, because others may have known it before.
    pub(super) fn orphaned_since(&self, name: &str, index: u64) -> Instant {
        let mut seen = open(&self.orphans);
        if seen.len() >= SEEN_MOST {
            seen.retain(|_, since| since.elapsed() < Duration::from_secs(300));
        }
        *seen.entry((name.to_owned(), index)).or_insert_with(Instant::now)
    }

    pub(super) fn orphan_gone(&self, name: &str, index: u64) {
        open(&self.orphans).remove(&(name.to_owned(), index));
    }

    /// Somebody did not get this key just now.
    pub(super) fn busy(&self, key: &Key) {
        let mut busy = open(&self.busy);
        if busy.len() >= SEEN_MOST {
            busy.retain(|_, at| at.elapsed() < BUSY);
        }
        if busy.len() < SEEN_MOST {
            busy.insert(key.clone(), Instant::now());
        }
    }

    /// It is worth a look before anything is written.
    pub(super) fn was_busy(&self, key: &Key) -> bool {
        open(&self.busy).get(key).is_some_and(|at| at.elapsed() < BUSY)
    }

    /// The store was dropped.
    pub(super) fn close(&self) {
        self.closed.notify_one();
    }
}

/// Takes out of line whom nobody keeps. When the store is dropped it stays until the last deadline, because somebody may still
/// believe in a grant, and then ends the sessions.
async fn keep(core: Arc<Core>, alive: Weak<()>) {
    loop {
        if alive.strong_count() == 0 && open(&core.places).is_empty() {
            core.sessions.end().await;
            return;
        }
        let due = tokio::select! {
            due = core.deadlines.due() => due,
            () = core.closed.notified() => continue,
        };
        for (_, owner) in due {
            if let Some(place) = open(&core.places).remove(&owner) {
                core.clear_later(place.name);
            }
        }
    }
}
