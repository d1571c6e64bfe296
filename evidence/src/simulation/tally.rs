//! What many worlds amount to. Sums only, so that it does not matter who played which.

use super::fault::FAULTS;
use super::property::PROPERTIES;
use super::rng::mix;
use super::scenario::{BACKENDS, Scenario, Work};
use super::sometimes::Sometimes;
use super::{Breach, Counts, Outcome};

/// One engine and one kind of work.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    pub(super) worlds: u64,
    pub(super) counts: Counts,
    /// Worlds in which what is not promised did not hold: how many, and the first.
    pub(super) excused: [(u64, u64); PROPERTIES.len()],
}

/// A world in which a promise was broken.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) seed: u64,
    pub(super) breach: Breach,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) cells: [Cell; 2 * BACKENDS.len()],
    pub(super) found: Vec<Found>,
    pub(super) sometimes: Sometimes,
    pub(super) hash: u64,
    /// Of processors.
    pub(super) worked: std::time::Duration,
}

/// Enough to look at; more are only counted.
const FOUND_MAX: usize = 20;

impl Tally {
    pub(super) fn take(&mut self, seed: u64, scenario: &Scenario, outcome: &Outcome) {
        let cell = &mut self.cells[2 * scenario.backend as usize + usize::from(scenario.work == Work::Calls)];
        cell.worlds += 1;
        cell.counts.add(&outcome.counts);
        for (at, property) in PROPERTIES.iter().enumerate() {
            if outcome.excused.iter().any(|breach| breach.property == *property) {
                let (worlds, first) = &mut cell.excused[at];
                *first = if *worlds == 0 { seed } else { seed.min(*first) };
                *worlds += 1;
            }
        }
        if let Some(breach) = outcome.violations.first()
            && self.found.len() < FOUND_MAX
        {
            self.found.push(Found { seed, breach: *breach });
        }
        self.sometimes.add(&outcome.sometimes);
        self.hash = self.hash.wrapping_add(mix(outcome.trace_hash));
    }

    pub(super) fn add(&mut self, other: &Tally) {
        for (cell, other) in self.cells.iter_mut().zip(&other.cells) {
            cell.worlds += other.worlds;
            cell.counts.add(&other.counts);
            for ((worlds, first), (more, another)) in cell.excused.iter_mut().zip(other.excused) {
                *first = match (*worlds, more) {
                    (_, 0) => *first,
                    (0, _) => another,
                    _ => another.min(*first),
                };
                *worlds += more;
            }
        }
        self.found.extend_from_slice(&other.found);
        self.found.sort_by_key(|found| found.seed);
        self.found.truncate(FOUND_MAX);
        self.sometimes.add(&other.sometimes);
        self.hash = self.hash.wrapping_add(other.hash);
        self.worked += other.worked;
    }

    pub(super) fn all(&self) -> Counts {
        let mut all = Counts::default();
        self.cells.iter().for_each(|cell| all.add(&cell.counts));
        all
    }
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.operations += other.operations;
        self.events += other.events;
        self.simulated += other.simulated;
        for at in 0..FAULTS.len() {
            self.faults[at] += other.faults[at];
        }
    }
}
