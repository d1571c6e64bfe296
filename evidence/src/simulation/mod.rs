//! A simulator of discrete events over the sans-IO cores: real lease machine, real quorum arithmetic, real fences, real claim
//! machine; models of engines, networks, clocks and processes around them. One seed is one world.
//!
//! `stanchion-evidence simulation --seed N --worlds 1` plays the world `N` alone: that is how a found one is seen again.

mod caller;
mod calls;
pub mod controls;
mod engine;
pub mod fault;
mod holder;
mod nemesis;
mod network;
mod oracle;
pub mod property;
mod queue;
mod quorum;
mod recording;
pub mod rng;
mod run;
pub mod scenario;
mod shrink;
pub mod sometimes;
mod tally;
mod vault;
mod wire;
mod worker;
mod world;

pub use oracle::Breach;
pub use run::{run, world_seed};
pub use shrink::shrink;

use fault::FAULTS;
use property::Properties;
use scenario::Scenario;
use sometimes::Sometimes;
use world::World;

/// What became of one world.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was promised, and did not hold.
    pub violations: Vec<Breach>,
    /// What did not hold, and is not promised after the faults of this world.
    pub excused: Vec<Breach>,
    /// The same seed and scenario give the same.
    pub trace_hash: u64,
    pub counts: Counts,
    pub sometimes: Sometimes,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub operations: u64,
    pub events: u64,
    pub faults: [u64; FAULTS.len()],
    /// Microseconds of the world.
    pub simulated: u64,
}

impl Counts {
    #[must_use]
    pub fn faults_in_all(&self) -> u64 {
        self.faults.iter().sum()
    }
}

/// Plays one world.
#[must_use]
pub fn run_one(seed: u64, scenario: &Scenario) -> Outcome {
    Player::default().play(seed, scenario)
}

/// Plays worlds one after the other, in memory that is used again.
#[derive(Debug)]
pub struct Player(Box<World>);

impl Default for Player {
    fn default() -> Player {
        Player(Box::new(World::new()))
    }
}

impl Player {
    pub fn play(&mut self, seed: u64, scenario: &Scenario) -> Outcome {
        let world = &mut *self.0;
        world.play(seed, scenario);
        let mut excuse = Properties::default();
        for fault in FAULTS.iter().filter(|fault| world.injected & fault.bit() != 0) {
            excuse = excuse.and(fault.excuses(scenario));
        }
        let (excused, violations) =
            world.oracle.breaches.iter().copied().partition(|breach: &Breach| excuse.has(breach.property));
        let mut sometimes = world.sometimes;
        sometimes.takeover += world.oracle.takeovers;
        let counts = Counts {
            operations: world.oracle.ended,
            events: world.events,
            faults: world.faults,
            simulated: world.now - world::EPOCH,
        };
        Outcome { violations, excused, trace_hash: world.hash, counts, sometimes }
    }
}
