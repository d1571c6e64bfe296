//! Every interleaving of a few clients, with the code that ships: the clients run it, each of their requests to a
//! store waits until the schedule lets it through, and the schedule is chosen by a search.
//!
//! A schedule costs one for each switch to another client, lost answer, death and leap of time. The search visits all
//! schedules of cost 0, then 1, and so on: so the first one that breaks something is a shortest explanation of it.

mod board;
mod search;
mod wire;

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stanchion_core::{Clock as _, ManualClock, MemoryStore};

pub use self::board::{Board, Passed};
pub use self::search::{Explored, explore};
use self::wire::Place;
pub use self::wire::Wire;
use super::exhibit::Broken;

pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Pass(usize),
    Lose(usize),
    Kill(usize),
    Tick(Duration),
    Forget,
}

/// How often something may happen in one schedule.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// Switches, losses, deaths and leaps of time together.
    pub cost: usize,
    pub losses: usize,
    pub deaths: usize,
    pub ticks: usize,
    pub tick: Duration,
    pub forgets: usize,
    /// Time may also pass between a write and its answer.
    pub slow: bool,
}

/// What a room's clients share.
#[derive(Debug)]
pub struct World {
    pub clock: Arc<ManualClock>,
    pub board: Board,
    locks: Arc<Place>,
    records: Arc<Place>,
    slow: bool,
}

/// A room that is being visited: its clients, and what is said of the end.
pub struct Visit {
    pub clients: Vec<BoxFuture<()>>,
    /// Whether something is broken already: then the schedule ends there.
    pub is_broken: Box<dyn Fn() -> bool + Send>,
    pub judge: BoxFuture<Option<Broken>>,
}

impl std::fmt::Debug for Visit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Visit").field("clients", &self.clients.len()).finish_non_exhaustive()
    }
}

/// Sets the clients up.
pub type Room = fn(&World) -> Visit;

impl World {
    fn new(limits: &Limits) -> Self {
        let clock = Arc::new(ManualClock::default());
        // Ages are differences; a world does not begin at its boot.
        clock.advance(Duration::from_secs(1000));
        let place = || Arc::new(Place(Mutex::new(MemoryStore::with_clock(clock.clone()))));
        let (locks, records) = (place(), place());
        Self { clock, board: Board::default(), locks, records, slow: limits.slow }
    }

    /// A client's way to the records.
    #[must_use]
    pub fn wire(&self, client: usize) -> Wire {
        Wire { client, board: self.board.clone(), place: Arc::clone(&self.records), slow: self.slow }
    }

    /// A client's way to the lock service, which is another store than the one with the records, and may forget.
    #[must_use]
    pub fn lock_wire(&self, client: usize) -> Wire {
        Wire { place: Arc::clone(&self.locks), ..self.wire(client) }
    }

    /// The records, for the judge.
    #[must_use]
    pub fn records(&self) -> MemoryStore {
        self.records.store()
    }

    /// The lock service, for the judge.
    #[must_use]
    pub fn lock_service(&self) -> MemoryStore {
        self.locks.store()
    }

    fn apply(&self, step: Step) {
        self.board.take(step);
        match step {
            Step::Tick(time) => self.clock.advance(time),
            Step::Forget => {
                let empty = MemoryStore::with_clock(self.clock.clone());
                *self.locks.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = empty;
            }
            Step::Pass(_) | Step::Lose(_) | Step::Kill(_) => {}
        }
    }

    /// The time of the world.
    #[must_use]
    pub fn now(&self) -> stanchion_core::BootTime {
        self.clock.now()
    }
}
