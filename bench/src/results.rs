//! What the rounds gave: one number per round for comparisons, all times together for percentiles.

use serde::Serialize;

use crate::histogram::Histogram;
use crate::job::Tally;
use crate::plan::{Kind, Subject};

/// One subject in one round.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Round {
    /// Operations per second.
    pub(crate) rate: f64,
    /// Time per operation that nobody was inside.
    pub(crate) hand_off_us: f64,
    pub(crate) hold_us: f64,
    /// Most over least operations of a task; the least counts as 1 when it is 0.
    pub(crate) max_min: f64,
    pub(crate) min_task: u64,
    /// Tasks that never got the lock.
    pub(crate) starved: usize,
    pub(crate) overlaps: u64,
    pub(crate) rss_mib: Option<f64>,
}

impl Round {
    #[expect(clippy::cast_precision_loss, reason = "counts and times of a benchmark")]
    pub(crate) fn new(tally: &Tally, seconds: f64, subject: &Subject, kind: Kind) -> Self {
        let operations = tally.operations() as f64;
        let hold_us =
            if kind == Kind::HandOff && operations > 0.0 { tally.hold_ns as f64 / 1e3 / operations } else { 0.0 };
        let most = tally.tasks.iter().max().copied().unwrap_or(0);
        let least = tally.tasks.iter().min().copied().unwrap_or(0);
        debug_assert!(subject.processes * subject.tasks >= tally.tasks.len());
        Self {
            rate: operations / seconds,
            // Holds are cut off at the window's edges, so this cannot go below zero but for the skew of starts.
            hand_off_us: seconds * 1e6 / operations - hold_us,
            hold_us,
            max_min: most as f64 / least.max(1) as f64,
            min_task: least,
            starved: tally.tasks.iter().filter(|n| **n == 0).count(),
            overlaps: tally.overlaps,
            rss_mib: tally.rss_kib.map(|kib| kib as f64 / 1024.0),
        }
    }
}

/// One subject in all rounds.
#[derive(Debug, Serialize)]
pub(crate) struct Standing {
    pub(crate) label: &'static str,
    pub(crate) limit: Option<&'static str>,
    pub(crate) tasks: usize,
    pub(crate) rounds: Vec<Round>,
    pub(crate) times: Histogram,
    /// Why it was not measured to the end: SKIPPED or FAILED, with the reason.
    pub(crate) stopped: Option<String>,
}

impl Standing {
    pub(crate) fn new(subject: &Subject) -> Self {
        Self {
            label: subject.label,
            limit: subject.limit,
            tasks: subject.processes * subject.tasks,
            rounds: Vec::new(),
            times: Histogram::default(),
            stopped: subject.program.as_ref().err().map(|why| format!("SKIPPED: {why}")),
        }
    }

    pub(crate) fn add(&mut self, round: Round, tally: &Tally) {
        if round.rate == 0.0 {
            self.stopped = Some("FAILED: not one operation ended inside the window".into());
            return;
        }
        self.rounds.push(round);
        self.times.merge(&tally.times);
    }

    /// The median over rounds of one number.
    pub(crate) fn median(&self, of: impl Fn(&Round) -> f64) -> f64 {
        median(self.rounds.iter().map(of).collect())
    }

    pub(crate) fn overlaps(&self) -> u64 {
        self.rounds.iter().map(|round| round.overlaps).sum()
    }

    /// The median over rounds of ours over theirs in the same round.
    pub(crate) fn ratio(&self, to: &Self, of: impl Fn(&Round) -> f64) -> Option<f64> {
        let ratios: Vec<_> = self.rounds.iter().zip(&to.rounds).map(|(ours, theirs)| of(ours) / of(theirs)).collect();
        if ratios.is_empty() { None } else { Some(median(ratios)) }
    }
}

/// What the ratio of a benchmark compares.
pub(crate) fn compared(kind: Kind) -> fn(&Round) -> f64 {
    match kind {
        Kind::HandOff => |round| round.hand_off_us,
        Kind::Rate | Kind::Spawn | Kind::Memory => |round| round.rate,
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    match numbers.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => numbers[n / 2],
        n => f64::midpoint(numbers[n / 2 - 1], numbers[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_is_between_the_two_in_the_middle() {
        assert!((median(vec![9.0, 1.0, 3.0, 5.0]) - 4.0).abs() < 1e-9);
        assert!((median(vec![9.0, 1.0, 3.0]) - 3.0).abs() < 1e-9);
    }
}
