//! The table and the targets.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::Outcome;
use crate::target::Verdict;

/// What is asked of a line.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wish {
    AtLeast(f64),
    Below(f64),
}

type Measure = fn(Option<&Path>, u32) -> Outcome<f64>;

/// One thing that is measured in every round.
pub(super) struct Line {
    pub(super) name: &'static str,
    /// Of what so many are done in a second; without it, seconds are measured.
    unit: Option<&'static str>,
    wish: Option<Wish>,
    how: Measure,
    values: Vec<f64>,
    /// Why it was not measured to the end.
    pub(super) stopped: Option<String>,
}

impl Line {
    /// So many in a second.
    pub(super) fn rate(name: &'static str, unit: &'static str, wish: Option<Wish>, how: Measure) -> Self {
        Self { unit: Some(unit), ..Self::time(name, wish, how) }
    }

    /// Seconds.
    pub(super) fn time(name: &'static str, wish: Option<Wish>, how: Measure) -> Self {
        Self { name, unit: None, wish, how, values: Vec::new(), stopped: None }
    }

    pub(super) fn measure(&mut self, peers: Option<&Path>, round: u32) -> Outcome<f64> {
        let value = (self.how)(peers, round)?;
        self.values.push(value);
        Ok(value)
    }

    pub(super) fn shown(&self, value: f64) -> String {
        match self.unit {
            Some(unit) => format!("{:.2} M {unit}/s", value / 1e6),
            None => format!("{value:.3} s"),
        }
    }

    fn median(&self) -> Option<f64> {
        let mut values = self.values.clone();
        values.sort_by(f64::total_cmp);
        let (low, high) = (values.len().checked_sub(1)? / 2, values.len() / 2);
        Some(f64::midpoint(*values.get(low)?, *values.get(high)?))
    }

    pub(super) fn verdict(&self) -> Option<Verdict> {
        let (wish, median) = (self.wish?, self.median());
        let text = match wish {
            Wish::AtLeast(least) => format!("{}: at least {}", self.name, self.shown(least)),
            Wish::Below(most) => format!("{}: below {}", self.name, self.shown(most)),
        };
        let is_met = |value: f64| match wish {
            Wish::AtLeast(least) => value >= least,
            Wish::Below(most) => value < most,
        };
        Some(match median {
            None => Verdict::NotMeasured(text),
            Some(value) if is_met(value) => Verdict::Met(format!("{text}: {}", self.shown(value))),
            Some(value) => Verdict::Missed(format!("{text}: {}", self.shown(value))),
        })
    }

    pub(super) fn record(&self) -> Value {
        json!({ "name": self.name, "values": self.values, "unit": self.unit.unwrap_or("s"), "stopped": self.stopped })
    }
}

pub(super) fn table(lines: &[Line]) -> String {
    let mut text = "| what | median | least | most | rounds |\n|---|---|---|---|---|\n".to_owned();
    for line in lines {
        let Some(median) = line.median() else { continue };
        let least = line.values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = line.values.iter().copied().fold(0.0, f64::max);
        let [median, least, most] = [median, least, most].map(|value| line.shown(value));
        writeln!(text, "| {} | {median} | {least} | {most} | {} |", line.name, line.values.len()).ok();
    }
    let stopped = lines.iter().filter_map(|line| Some((line.name, line.stopped.as_ref()?)));
    text.extend(stopped.map(|(name, why)| format!("\n- {name}: **FAILED**: {why}\n")));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_judged_by_its_median_and_one_that_never_ran_is_not_judged() {
        let mut numbers = [3.0, 9.0, 1.0].into_iter();
        let mut line = Line::time("x", Some(Wish::Below(4.0)), |_, round| Ok([3.0, 9.0, 1.0][round as usize]));
        assert!(matches!(line.verdict(), Some(Verdict::NotMeasured(_))));
        for round in 0..3 {
            assert_eq!(line.measure(None, round).ok(), numbers.next());
        }
        assert_eq!(line.verdict(), Some(Verdict::Met("x: below 4.000 s: 3.000 s".into())));
        line.wish = Some(Wish::AtLeast(4.0));
        assert!(matches!(line.verdict(), Some(Verdict::Missed(_))));
    }
}
