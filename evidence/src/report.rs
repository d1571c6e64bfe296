//! What a layer saw.

use serde::{Deserialize, Serialize};

/// The outcome of one layer, for people and for `docs/evidence.md`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    pub layer: String,
    /// Which commit was tried, and on what machine.
    #[serde(default)]
    pub ground: String,
    pub seed: u64,
    /// How long it took.
    pub seconds: f64,
    /// The seconds that it was given: what is done depends on them.
    #[serde(default)]
    pub given: u64,
    /// What was done, as numbers that add up over layers: `operations`, `faults`, `states`, `calls`.
    pub counts: Vec<Count>,
    pub tables: Vec<Table>,
    /// Runs with the guard off; each must have failed.
    pub controls: Vec<Control>,
    pub violations: Vec<Violation>,
    /// Interesting events that did not happen, and whatever else makes this run prove nothing.
    pub void: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Count {
    pub name: String,
    pub value: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table {
    pub heading: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Control {
    pub name: String,
    /// A control that did not fail makes its layer void.
    pub failed: bool,
    pub detail: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Violation {
    /// Of `S1`-`S7`, `L1`-`L5`, `D1`, `D2`.
    pub property: String,
    pub what: String,
    /// The command that shows it again.
    pub replay: String,
}

/// What the whole run means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    Held,
    Violated,
    /// Nothing was violated, but the run could not have shown a violation.
    Void,
}

impl Report {
    #[must_use]
    pub fn new(layer: &str, seed: u64) -> Report {
        Report { layer: layer.to_owned(), seed, ..Report::default() }
    }

    pub fn count(&mut self, name: &str, value: u64) {
        match self.counts.iter_mut().find(|count| count.name == name) {
            Some(count) => count.value += value,
            None => self.counts.push(Count { name: name.to_owned(), value }),
        }
    }

    /// As a person reads it on a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines =
            vec![format!("{} (seed {}, {:.1} s): {:?}", self.layer, self.seed, self.seconds, self.meaning())];
        lines.extend(self.counts.iter().map(|count| format!("  {} {}", count.value, count.name)));
        for table in &self.tables {
            lines.push(format!("  {}: {}", table.heading, table.columns.join(" | ")));
            lines.extend(table.rows.iter().map(|row| format!("    {}", row.join(" | "))));
        }
        for control in &self.controls {
            let verdict = if control.failed { "failed, as it must" } else { "DID NOT FAIL" };
            lines.push(format!("  control {}: {verdict}: {}", control.name, control.detail));
        }
        lines.extend(self.void.iter().map(|reason| format!("  VOID: {reason}")));
        let violation = |v: &Violation| format!("  VIOLATED {}: {}; again: {}", v.property, v.what, v.replay);
        lines.extend(self.violations.iter().map(violation));
        lines.push(String::new());
        lines.join("\n")
    }

    #[must_use]
    pub fn meaning(&self) -> Meaning {
        if !self.violations.is_empty() {
            Meaning::Violated
        } else if !self.void.is_empty() || self.controls.iter().any(|control| !control.failed) {
            Meaning::Void
        } else {
            Meaning::Held
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_that_did_not_fail_makes_the_run_void() {
        let mut report = Report::new("any", 1);
        assert_eq!(report.meaning(), Meaning::Held);
        report.controls.push(Control { name: "no fence".into(), failed: false, detail: String::new() });
        assert_eq!(report.meaning(), Meaning::Void);
        report.violations.push(Violation { property: "S2".into(), what: "lost".into(), replay: String::new() });
        assert_eq!(report.meaning(), Meaning::Violated);
    }
}
