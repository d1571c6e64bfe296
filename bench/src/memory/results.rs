//! What was measured: numbers per round, and how they are compared.

use std::collections::BTreeMap;

use serde::Serialize;

use super::call::Call;
use crate::histogram::Histogram;

/// One number of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Column {
    /// From the start of the process to the answer to `initialize`, in microseconds.
    Start,
    /// The first call of a process, which has to read the file, in microseconds.
    First,
    /// The median of a call, in microseconds.
    Call(Call),
    /// Proportional memory after all calls, in megabytes.
    Memory,
    /// All writes of all processes, in microseconds.
    Wall,
    /// Acknowledged writes that are in the file afterwards.
    Kept,
}

impl Column {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::First => "first call",
            Self::Call(call) => call.tool(),
            Self::Memory => "PSS",
            Self::Wall => "time",
            Self::Kept => "kept",
        }
    }
}

/// One line in one round.
#[derive(Debug, Default)]
pub(super) struct Round {
    pub(super) numbers: BTreeMap<Column, f64>,
    pub(super) times: BTreeMap<Call, Histogram>,
}

impl Round {
    pub(super) fn add(&mut self, call: Call, times: Histogram) {
        let p50 = times.quantile(0.5).as_secs_f64() * 1e6;
        self.numbers.insert(Column::Call(call), p50);
        self.times.insert(call, times);
    }
}

/// One line in all rounds.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) label: &'static str,
    pub(super) rounds: Vec<Round>,
    /// Why it was not measured, or not to the end.
    pub(super) stopped: Option<String>,
}

impl Standing {
    fn numbers(&self, column: Column) -> Vec<f64> {
        self.rounds.iter().filter_map(|round| round.numbers.get(&column).copied()).collect()
    }

    /// The median over rounds; `None` where it was not measured.
    pub(super) fn median(&self, column: Column) -> Option<f64> {
        median(self.numbers(column))
    }

    /// The least of all rounds.
    pub(super) fn least(&self, column: Column) -> Option<f64> {
        self.numbers(column).into_iter().reduce(f64::min)
    }

    /// Of all calls in all rounds, in microseconds.
    pub(super) fn p99(&self, call: Call) -> Option<f64> {
        let mut all = Histogram::default();
        self.rounds.iter().filter_map(|round| round.times.get(&call)).for_each(|times| all.merge(times));
        (!all.is_empty()).then(|| all.quantile(0.99).as_secs_f64() * 1e6)
    }

    /// The median over rounds of `other / self` in the same round: how many times faster this one is.
    pub(super) fn ahead_of(&self, other: &Self, column: Column) -> Option<f64> {
        let pairs = self.rounds.iter().zip(&other.rounds);
        let ratio = |(a, b): (&Round, &Round)| Some(b.numbers.get(&column)? / a.numbers.get(&column)?);
        median(pairs.filter_map(ratio).collect())
    }

    pub(super) fn failed(&self) -> bool {
        self.stopped.as_ref().is_some_and(|why| why.starts_with("FAILED"))
    }

    /// For `--json`.
    pub(super) fn record(&self) -> impl Serialize {
        let round = |round: &Round| -> BTreeMap<&'static str, f64> {
            round.numbers.iter().map(|(column, number)| (column.name(), *number)).collect()
        };
        let rounds: Vec<_> = self.rounds.iter().map(round).collect();
        serde_json::json!({ "label": self.label, "rounds": rounds, "stopped": self.stopped })
    }
}

fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    match numbers.len() {
        0 => None,
        n if n % 2 == 1 => Some(numbers[n / 2]),
        n => Some(f64::midpoint(numbers[n / 2 - 1], numbers[n / 2])),
    }
}

#[cfg(test)]
pub(super) fn standing(label: &'static str, column: Column, numbers: &[f64]) -> Standing {
    let round = |number: &f64| Round { numbers: [(column, *number)].into(), ..Round::default() };
    Standing { label, rounds: numbers.iter().map(round).collect(), stopped: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_ahead_is_taken_inside_each_round() {
        // A slow second round moves both and must not move the ratio.
        let (ours, other) =
            (standing("ours", Column::Wall, &[1.0, 10.0, 1.0]), standing("other", Column::Wall, &[5.0, 50.0, 5.0]));
        assert_eq!(ours.ahead_of(&other, Column::Wall), Some(5.0));
        assert_eq!(ours.ahead_of(&other, Column::Memory), None);
    }
}
