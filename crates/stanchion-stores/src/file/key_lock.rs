//! One key of this process: who holds, who waits, and the thread that waits for them in the kernel.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use stanchion_core::{Acquire, Error, ErrorKind, Grant, Holder, Mode, Owner, Released, Result, Wait, contended};
use tokio::sync::Notify;

use super::bell::Bell;
use super::held::{Files, Held, Tried};
use super::lockfile::{Lockfile, trouble};
use super::queue::{Patience, Ticket};

/// How long a thread stays for the next waiter before it ends.
const LINGER: Duration = Duration::from_secs(2);

/// A lock that was got for a waiter who does not fetch it is given back after this long: a caller that
/// forgot to withdraw must not hold up the others for ever.
const FETCH: Duration = Duration::from_secs(10);

/// A slot that its process took to the grave is free a moment after its file closed, so the bell alone
/// could come too early.
const SLOT_LOOK: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct KeyLock {
    pub(super) files: Files,
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// An open, unlocked file for the next attempt.
    idle: Option<Lockfile>,
    holds: HashMap<Owner, Held>,
    waiters: VecDeque<Waiter>,
    /// Which threads run: `[together, alone]`. A thread that hangs in the kernel for a waiter who left
    /// cannot be called back; it serves the next one. Two of them, because a lock wanted alone can hang
    /// while one wanted together would be granted.
    serving: [bool; 2],
}

#[derive(Debug)]
struct Waiter {
    owner: Owner,
    req: Acquire,
    ticket: Option<Ticket>,
    number: u64,
    outcome: Option<(Result<Held>, Instant)>,
    bell: Arc<Notify>,
}

const fn alone(mode: Mode) -> bool {
    matches!(mode, Mode::Exclusive)
}

impl KeyLock {
    pub(super) fn new(files: Files) -> Self {
        Self { files, state: Mutex::default(), moved: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic in between would leave a lock listed or not listed, both of which the next call can read.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Unless another thread keeps it: it may be waiting there for the queue.
    fn state_now(&self) -> Option<MutexGuard<'_, State>> {
        // A thread that does not wait is through within microseconds.
        for _ in 0..32 {
            match self.state.try_lock() {
                Ok(state) => return Some(state),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        }
        None
    }

    /// Whether nothing would be lost by forgetting this key.
    pub(super) fn is_idle(&self) -> bool {
        let Some(state) = self.state_now() else { return false };
        state.holds.is_empty() && state.waiters.is_empty() && state.serving == [false, false]
    }

    pub(super) fn try_acquire(self: &Arc<Self>, req: &Acquire, owner: Owner) -> Result<Grant> {
        let mut state = self.state();
        let holder = match self.try_in_turn(&mut state, req, owner, Patience::Bounded)? {
            Tried::Got(grant) => return Ok(grant),
            Tried::Busy(holder) => holder,
        };
        if req.wait != Wait::No && !state.waiters.iter().any(|w| w.owner == owner) {
            self.enqueue(&mut state, req, owner)?;
        }
        Err(contended(&self.files.key, holder.or_else(|| self.signed(&state)).or_else(|| self.next_in_line())))
    }

    /// As [`try_acquire`](Self::try_acquire), but waits for nothing, and never joins the queue. Whatever cannot be seen at
    /// once is busy.
    pub(super) fn try_now(&self, req: &Acquire, owner: Owner) -> Result<Grant> {
        let Some(mut state) = self.state_now() else { return Err(contended(&self.files.key, None)) };
        match self.try_in_turn(&mut state, req, owner, Patience::No)? {
            Tried::Got(grant) => Ok(grant),
            Tried::Busy(holder) => Err(contended(&self.files.key, holder.or_else(|| self.signed(&state)))),
        }
    }

    fn try_in_turn(&self, state: &mut State, req: &Acquire, owner: Owner, patience: Patience) -> Result<Tried<Grant>> {
        if let Some(held) = state.holds.get(&owner) {
            return Ok(Tried::Got(grant(req, owner, held)));
        }
        if let Some(place) = state.waiters.iter().position(|w| w.owner == owner) {
            return self.collect(state, place, req, owner);
        }
        // Nobody overtakes: neither the waiters of this process nor those of others.
        if !state.waiters.is_empty() || (!self.files.queue.is_empty() && self.files.queue.has_live(patience)?) {
            return Ok(Tried::Busy(None));
        }
        Ok(match self.attempt(state, req, owner)? {
            Tried::Got(held) => {
                let grant = grant(req, owner, &held);
                state.holds.insert(owner, held);
                Tried::Got(grant)
            }
            Tried::Busy(holder) => Tried::Busy(holder),
        })
    }

    fn attempt(&self, state: &mut State, req: &Acquire, owner: Owner) -> Result<Tried<Held>> {
        let alone = alone(req.mode);
        // Our own holders first: if a stranger has removed the file, the kernel no longer knows of them.
        if state.holds.values().any(|held| alone || matches!(held.mode, Mode::Exclusive)) {
            return Ok(Tried::Busy(None));
        }
        let lock = state.idle.take().map_or_else(|| self.files.open(), Ok)?;
        match self.files.try_lock(lock, alone)? {
            Err((lock, holder)) => {
                state.idle = Some(lock);
                Ok(Tried::Busy(holder))
            }
            Ok(lock) if alone => self.files.sign_alone(lock, req, owner).map(Tried::Got),
            Ok(lock) => self.files.sign_together(lock, req, owner).map_err(|(_, e)| e),
        }
    }

    /// Who holds, according to the lock file.
    fn signed(&self, state: &State) -> Option<Holder> {
        let file = state.holds.values().map(|held| &held.lock).chain(&state.idle).next();
        let found = match file {
            Some(lock) => self.files.holders(&lock.file),
            None => self.files.holders(&self.files.open().ok()?.file),
        };
        found.into_iter().next()
    }

    /// Between a release and the next in line's signature nobody holds: then it is the next in line.
    fn next_in_line(&self) -> Option<Holder> {
        self.files.queue.waiters().ok()?.into_iter().next().map(|(who, _)| Holder::new(who))
    }

    fn enqueue(self: &Arc<Self>, state: &mut State, req: &Acquire, owner: Owner) -> Result<()> {
        let ticket = self.files.queue.join(&req.identity)?;
        let number = ticket.number;
        let (ticket, bell) = (Some(ticket), Arc::new(Notify::new()));
        state.waiters.push_back(Waiter { owner, req: req.clone(), ticket, number, outcome: None, bell });
        let lane = usize::from(alone(req.mode));
        if !state.serving[lane] {
            let this = Arc::clone(self);
            std::thread::Builder::new()
                .name("stanchion-wait".into())
                .stack_size(256 << 10)
                .spawn(move || this.serve(lane == 1))
                .map_err(|e| {
                    state.waiters.pop_back();
                    Error::new(ErrorKind::Unavailable, "cannot start a thread to wait for the lock").because(e)
                })?;
            state.serving[lane] = true;
        }
        self.moved.notify_all();
        Ok(())
    }

    fn collect(&self, state: &mut State, place: usize, req: &Acquire, owner: Owner) -> Result<Tried<Grant>> {
        if state.waiters[place].outcome.is_none() {
            return Ok(Tried::Busy(None));
        }
        let outcome = state.waiters.remove(place).and_then(|waiter| waiter.outcome);
        self.moved.notify_all();
        match outcome {
            Some((Ok(held), _)) => {
                let held = self.files.lift(held, req, owner)?;
                let grant = grant(req, owner, &held);
                state.holds.insert(owner, held);
                Ok(Tried::Got(grant))
            }
            Some((Err(e), _)) => Err(e),
            None => Err(Error::new(ErrorKind::Unexpected, "a waiter without an outcome").with("key", &self.files.key)),
        }
    }

    /// What rings when it is this owner's turn; a new place in the queue if it has none.
    pub(super) fn bell(self: &Arc<Self>, req: &Acquire, owner: Owner) -> Result<Option<Arc<Notify>>> {
        let mut state = self.state();
        if state.holds.contains_key(&owner) {
            return Ok(None);
        }
        if !state.waiters.iter().any(|w| w.owner == owner) {
            self.enqueue(&mut state, req, owner)?;
        }
        let waiter = state.waiters.iter().find(|w| w.owner == owner && w.outcome.is_none());
        Ok(waiter.map(|w| Arc::clone(&w.bell)))
    }

    pub(super) fn withdraw(&self, owner: Owner) {
        let mut state = self.state();
        let Some(place) = state.waiters.iter().position(|w| w.owner == owner) else { return };
        let Some(waiter) = state.waiters.remove(place) else { return };
        self.moved.notify_all();
        if let Some((Ok(held), _)) = waiter.outcome {
            self.give_back(&mut state, held);
        }
        drop(state);
        if let Some(ticket) = waiter.ticket {
            self.files.queue.leave(ticket, Patience::Bounded);
        }
    }

    pub(super) fn holds(&self, owner: Owner) -> bool {
        let state = self.state();
        // Somebody may have removed the file: then others lock a new one, and we hold nothing.
        state.holds.get(&owner).is_some_and(|held| held.lock.is_current(&self.files.path).unwrap_or(true))
    }

    pub(super) fn release(&self, owner: Owner) -> Released {
        let mut state = self.state();
        let Some(held) = state.holds.remove(&owner) else { return Released::NotHeld };
        let gone = held.lock.is_gone();
        self.give_back(&mut state, held);
        if gone { Released::NotHeld } else { Released::Released }
    }

    #[cfg(unix)]
    pub(super) fn lend<T>(&self, owner: Owner, give: impl Fn(&std::fs::File) -> std::io::Result<T>) -> Result<Vec<T>> {
        let mut state = self.state();
        let Some(held) = state.holds.get_mut(&owner) else {
            return Err(Error::new(ErrorKind::LeaseLost, "this lock is not held").with("key", &self.files.key));
        };
        let given: std::io::Result<Vec<T>> = held.files().map(give).collect();
        held.lent = true;
        given.map_err(|e| trouble("cannot hand on the lock file", &self.files.path, e))
    }

    fn give_back(&self, state: &mut State, held: Held) {
        let lock = self.files.release(held);
        state.idle = state.idle.take().or(lock);
    }

    /// The thread: takes its waiters one after the other through the queue and to the lock.
    fn serve(self: Arc<Self>, alone: bool) {
        while let Some((owner, number)) = self.next_to_serve(alone) {
            let before = match self.files.queue.predecessor(number) {
                // The ticket is freed when its owner has the lock, leaves or dies; then look again.
                Ok(Some(ticket)) => ticket
                    .lock(false)
                    .map(|()| true)
                    .map_err(|e| trouble("cannot wait for a ticket", &self.files.path, e)),
                Ok(None) => Ok(false),
                Err(e) => Err(e),
            };
            match before {
                Ok(true) => {}
                Ok(false) => self.wait_for_lock(owner, alone),
                Err(e) => self.settle(self.state(), owner, Err(e)),
            }
        }
    }

    fn next_to_serve(&self, alone_lane: bool) -> Option<(Owner, u64)> {
        let end = Instant::now() + LINGER;
        let mut state = self.state();
        loop {
            let lane = |w: &Waiter| alone(w.req.mode) == alone_lane;
            let forgotten =
                |w: &Waiter| lane(w) && w.outcome.as_ref().is_some_and(|(_, since)| since.elapsed() > FETCH);
            if let Some(place) = state.waiters.iter().position(forgotten) {
                if let Some((Ok(held), _)) = state.waiters.remove(place).and_then(|w| w.outcome) {
                    tracing::warn!(key = %self.files.key, "a lock that nobody fetched was given back");
                    self.give_back(&mut state, held);
                }
                continue;
            }
            let mut mine = state.waiters.iter().filter(|w| lane(w));
            // Not before the last grant is fetched: its file is locked, and we would hang on ourselves.
            let patience = match mine.clone().any(|w| w.outcome.is_some()) {
                true => FETCH,
                false => match mine.next() {
                    Some(waiter) => return Some((waiter.owner, waiter.number)),
                    None => end.saturating_duration_since(Instant::now()),
                },
            };
            if patience.is_zero() {
                state.serving[usize::from(alone_lane)] = false;
                return None;
            }
            state = self.moved.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Nobody is before us: waits in the kernel for the lock itself.
    fn wait_for_lock(&self, owner: Owner, alone: bool) {
        let idle = self.state().idle.take();
        let mut lock = match idle.map_or_else(|| self.files.open(), Ok) {
            Ok(lock) => lock,
            Err(e) => return self.settle(self.state(), owner, Err(e)),
        };
        let mut bell = None;
        loop {
            let locked = lock.lock(alone).and_then(|()| lock.is_current(&self.files.path));
            let state = self.state();
            let Some(waiter) = state.waiters.iter().find(|w| w.owner == owner && w.outcome.is_none()) else {
                // Withdrawn while we hung in the kernel: what came late goes back at once.
                lock.unlock();
                return;
            };
            let req = waiter.req.clone();
            match locked {
                Ok(true) if alone => return self.settle(state, owner, self.files.sign_alone(lock, &req, owner)),
                Ok(true) => match self.files.sign_together(lock, &req, owner) {
                    Ok(Tried::Got(held)) => return self.settle(state, owner, Ok(held)),
                    Err((_, e)) => return self.settle(state, owner, Err(e)),
                    Ok(Tried::Busy(_)) => {
                        drop(state);
                        // Listening begins before the next look, so no release is missed.
                        let waited = match &bell {
                            Some(bell) => Bell::wait(bell, SLOT_LOOK),
                            None => Bell::new(&self.files.path).map(|new| bell = Some(new)),
                        };
                        if let Err(e) = waited {
                            let e = trouble("cannot watch the lock file", &self.files.path, e);
                            return self.settle(self.state(), owner, Err(e));
                        }
                        match self.files.open() {
                            Ok(opened) => lock = opened,
                            Err(e) => return self.settle(self.state(), owner, Err(e)),
                        }
                    }
                },
                Ok(false) => match self.files.open() {
                    Ok(opened) => lock = opened,
                    Err(e) => return self.settle(state, owner, Err(e)),
                },
                Err(e) => {
                    return self.settle(state, owner, Err(trouble("cannot wait for the lock", &self.files.path, e)));
                }
            }
        }
    }

    /// Tells the waiter, then makes room for the next one.
    fn settle(&self, mut state: MutexGuard<'_, State>, owner: Owner, outcome: Result<Held>) {
        let Some(waiter) = state.waiters.iter_mut().find(|w| w.owner == owner) else {
            if let Ok(held) = outcome {
                self.give_back(&mut state, held);
            }
            return;
        };
        waiter.outcome = Some((outcome, Instant::now()));
        // Before the waiter knows: else it could be done with the lock while its ticket still holds up others.
        drop(waiter.ticket.take());
        waiter.bell.notify_one();
        drop(state);
        self.files.queue.sweep();
    }
}

fn grant(req: &Acquire, owner: Owner, held: &Held) -> Grant {
    Grant::new(req.key.clone(), owner, held.fence, held.mode, req.ttl)
}
