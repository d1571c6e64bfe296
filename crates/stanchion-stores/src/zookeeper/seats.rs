//! The entries of this store: in which session each was made, what was granted, what it waits for.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stanchion_core::{FencingToken, Key, Owner};
use tokio::time::Instant;

use super::link::Session;
use crate::line::Deadlines;

/// One entry.
#[derive(Debug, Clone)]
pub(super) struct Seat {
    pub(super) session: Arc<Session>,
    /// The session's number when the entry was made. In another one it is not ours any more.
    pub(super) number: i64,
    pub(super) granted: Option<FencingToken>,
    pub(super) ahead: Ahead,
}

/// What a waiter waits for.
#[derive(Debug, Clone, Default)]
pub(super) enum Ahead {
    #[default]
    Nobody,
    /// The path of one entry.
    One(String),
    /// The names of all entries before it.
    Any(BTreeSet<String>),
}

#[derive(Debug, Default)]
pub(super) struct Seats {
    by_owner: Mutex<State>,
    pub(super) deadlines: Arc<Deadlines>,
}

#[derive(Debug, Default)]
struct State {
    seats: HashMap<Owner, Seat>,
    /// Entries may have been made in these sessions, without an answer. A session's requests are served in their order,
    /// also over a new connection, so what is asked there comes after them.
    tried: HashMap<Owner, Arc<Session>>,
    /// Their entries are being deleted: no attempt may find them in between.
    leaving: HashSet<Owner>,
}

impl Seats {
    /// An attempt begins, in `session` if the owner has no seat yet: the deadline is set, and the seat there is given.
    /// `Err` while the owner's last entry is being deleted.
    pub(super) fn enter(
        &self,
        key: &Key,
        owner: Owner,
        end: Instant,
        session: &Arc<Session>,
    ) -> Result<Option<Seat>, ()> {
        let mut state = self.state();
        if state.leaving.contains(&owner) {
            return Err(());
        }
        let seat = state.seats.get(&owner).cloned();
        if seat.is_none() {
            state.tried.insert(owner, Arc::clone(session));
        }
        if seat.is_none() || !self.deadlines.extend(owner, end) {
            self.deadlines.set(key, owner, end);
        }
        Ok(seat)
    }

    /// Where the entry of this owner was made, if it was made here.
    pub(super) fn session(&self, owner: Owner) -> Option<Arc<Session>> {
        let state = self.state();
        state.seats.get(&owner).map(|seat| &seat.session).or_else(|| state.tried.get(&owner)).cloned()
    }

    pub(super) fn get(&self, owner: Owner) -> Option<Seat> {
        self.state().seats.get(&owner).cloned()
    }

    pub(super) fn sit(&self, owner: Owner, seat: Seat) {
        let mut state = self.state();
        state.tried.remove(&owner);
        state.seats.insert(owner, seat);
    }

    /// The entry is gone.
    pub(super) fn forget(&self, owner: Owner) {
        let mut state = self.state();
        state.seats.remove(&owner);
        state.tried.remove(&owner);
        self.deadlines.forget(owner);
    }

    /// Whether the entry may be deleted, because no attempt has come for it since its deadline.
    pub(super) fn leave(&self, owner: Owner) -> bool {
        let mut state = self.state();
        if self.deadlines.extend(owner, Instant::now()) {
            return false;
        }
        state.leaving.insert(owner)
    }

    /// The entry was deleted, or that must be tried again at `end`.
    pub(super) fn left(&self, key: &Key, owner: Owner, again: Option<Instant>) {
        let mut state = self.state();
        state.leaving.remove(&owner);
        match again {
            Some(end) => self.deadlines.set(key, owner, end),
            None => {
                state.seats.remove(&owner);
                state.tried.remove(&owner);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.by_owner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
