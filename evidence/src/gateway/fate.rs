//! What the seed decides: how long things take, what is lost, and who dies.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::simulation::rng::Rng;

/// What can happen in a world. All of it has to, somewhere in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A question to the store never arrives.
    LostQuestion,
    /// The store does what it is asked, and its answer is lost.
    LostAnswer,
    /// The gateway is killed, and its server with it.
    BothKilled,
    /// The gateway is killed, and its server finishes what it has begun.
    GatewayKilled,
    /// The server is killed while its gateway lives.
    ServerKilled,
    /// A client waits no longer, and asks again.
    Impatience,
    /// A client was told what an earlier attempt has done.
    ToldAgain,
    /// A client was told that nobody knows.
    ToldUnknown,
    /// A client was told that nothing has run.
    ToldNotRun,
}

pub(super) const EVENTS: [Event; 9] = [
    Event::LostQuestion,
    Event::LostAnswer,
    Event::BothKilled,
    Event::GatewayKilled,
    Event::ServerKilled,
    Event::Impatience,
    Event::ToldAgain,
    Event::ToldUnknown,
    Event::ToldNotRun,
];

impl Event {
    /// Done to a world, and not only seen in it.
    pub(super) const fn is_fault(self) -> bool {
        !matches!(self, Self::ToldAgain | Self::ToldUnknown | Self::ToldNotRun)
    }
}

/// The seed's decisions, and what came of them.
#[derive(Debug, Clone)]
pub(super) struct Dice(Arc<Mutex<Drawn>>);

#[derive(Debug)]
struct Drawn {
    rng: Rng,
    /// In 65536 trips to the store.
    losses: u32,
    seen: BTreeMap<Event, u64>,
}

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let losses = rng.pick(&[0, 0, 200, 2_000]);
        Self(Arc::new(Mutex::new(Drawn { rng, losses, seen: BTreeMap::new() })))
    }

    fn drawn(&self) -> MutexGuard<'_, Drawn> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn below(&self, bound: u64) -> u64 {
        self.drawn().rng.below(bound)
    }

    /// Often short, sometimes about as long as `longest`.
    pub(super) fn pause(&self, longest: Duration) -> Duration {
        let mut drawn = self.drawn();
        let share = [1, 10, 100, 1000][usize::try_from(drawn.rng.below(4)).unwrap_or(0)];
        let most = u64::try_from(longest.as_micros()).unwrap_or(u64::MAX) / 1000 * share;
        Duration::from_micros(drawn.rng.below(most.clamp(1, u64::from(u32::MAX))))
    }

    /// One way to the store. A lease outlasts many of them.
    pub(super) fn trip(&self) -> Duration {
        self.pause(Duration::from_millis(500))
    }

    /// Whether something is lost on this way.
    pub(super) fn happens(&self, event: Event) -> bool {
        let mut drawn = self.drawn();
        let losses = drawn.losses;
        let happens = losses > 0 && drawn.rng.chance(losses);
        drop(drawn);
        if happens {
            self.saw(event);
        }
        happens
    }

    pub(super) fn saw(&self, event: Event) {
        *self.drawn().seen.entry(event).or_default() += 1;
    }

    pub(super) fn seen(&self) -> BTreeMap<Event, u64> {
        self.drawn().seen.clone()
    }
}

/// Whether a process lives.
#[derive(Debug, Clone, Default)]
pub(super) struct Life(Arc<AtomicBool>);

impl Life {
    pub(super) fn end(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Never comes back to who is dead.
    pub(super) async fn or_never(&self) {
        if self.is_over() {
            std::future::pending::<()>().await;
        }
    }
}
