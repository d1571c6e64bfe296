//! The targets of this suite, printed beside their results. Nothing fails because of a time.

use super::call::Call;
use super::report::{number, time};
use super::results::{Column, Standing};
use super::subject::{BARE, OFFICIAL, OURS};
use super::table::{Measured, SIZES};
use crate::target::Verdict;

/// Labels name lines, and `table` the table they are in.
#[derive(Debug, Clone)]
pub(super) enum Target {
    /// Costs at most so many times as much in a large graph as in an empty one.
    Grows { column: Column, from: &'static str, to: &'static str, most: f64 },
    /// So many times as fast as another line.
    Ahead { of: &'static str, column: Column, table: &'static str, least: f64 },
    /// At most so much.
    Most { column: Column, table: &'static str, most: f64 },
    /// Never fewer than this.
    Least { column: Column, table: &'static str, least: f64 },
}

pub(super) fn all() -> Vec<Target> {
    let large = "memory-50k";
    let create = Column::Call(Call::CreateEntities);
    let ahead = |of, call, table, least| Target::Ahead { of, column: Column::Call(call), table, least };
    let mut all = vec![
        Target::Grows { column: create, from: "memory-0", to: large, most: 1.5 },
        ahead(BARE, Call::CreateEntities, "memory-0", 0.5),
        ahead(BARE, Call::CreateEntities, large, 0.5),
        ahead(BARE, Call::CreateEntities, "memory-50k-one-core", 0.5),
        ahead(OFFICIAL, Call::CreateEntities, large, 500.0),
        ahead(OFFICIAL, Call::AddObservations, large, 5.0),
    ];
    for call in [Call::SearchNodes, Call::OpenNodes] {
        all.extend(SIZES.map(|(table, _)| ahead(OFFICIAL, call, table, 1.0)));
    }
    all.extend([
        Target::Ahead { of: OFFICIAL, column: Column::Wall, table: "memory-5x200", least: 1.0 },
        Target::Least { column: Column::Kept, table: "memory-5x200", least: 1000.0 },
        Target::Most { column: Column::Memory, table: large, most: 60.0 },
    ]);
    all
}

impl Target {
    pub(super) fn judge(&self, measured: &[Measured]) -> Verdict {
        let find = |table: &str, label: &str| -> Option<&Standing> {
            measured.iter().find(|m| m.table.name == table)?.standings.iter().find(|s| s.label == label)
        };
        let (text, judged) = match *self {
            Self::Grows { column, from, to, most } => {
                let of = |table| find(table, OURS)?.median(column);
                let ratio = of(to).zip(of(from)).map(|(to, from)| to / from);
                let text = format!("{} costs ≤ {most} × as much in {to} as in {from}", column.name());
                (text, ratio.map(|r| (format!("{r:.2} ×"), r <= most)))
            }
            Self::Ahead { of, column, table, least } => {
                let ratio =
                    find(table, OURS).zip(find(table, of)).and_then(|(ours, other)| ours.ahead_of(other, column));
                let text = format!("{} in {table} ≥ {least} × as fast as {of}", column.name());
                (text, ratio.map(|r| (format!("{r:.2} ×"), r >= least)))
            }
            Self::Most { column, table, most } => {
                let value = find(table, OURS).and_then(|ours| ours.median(column));
                let text = format!("{} in {table} ≤ {}", column.name(), number(column, most));
                (text, value.map(|v| (number(column, v), v <= most)))
            }
            Self::Least { column, table, least } => {
                let value = find(table, OURS).and_then(|ours| ours.least(column));
                let text = format!("{} in {table} is {} in every round", column.name(), number(column, least));
                (text, value.map(|v| (number(column, v), v >= least)))
            }
        };
        let absolute = self.absolute(measured);
        match judged {
            None => Verdict::NotMeasured(text),
            Some((value, true)) => Verdict::Met(format!("{text}: {value}{absolute}")),
            Some((value, false)) => Verdict::Missed(format!("{text}: {value}{absolute}")),
        }
    }

    /// The two medians behind a ratio.
    fn absolute(&self, measured: &[Measured]) -> String {
        let median = |table: &str, label: &str, column| {
            let standings = &measured.iter().find(|m| m.table.name == table)?.standings;
            standings.iter().find(|s| s.label == label)?.median(column).map(time)
        };
        let pair = match *self {
            Self::Grows { column, from, to, .. } => median(to, OURS, column).zip(median(from, OURS, column)),
            Self::Ahead { of, column, table, .. } => median(table, OURS, column).zip(median(table, of, column)),
            Self::Most { .. } | Self::Least { .. } => None,
        };
        pair.map_or_else(String::new, |(ours, other)| format!(" ({ours}, {other})"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::standing;
    use super::super::table::tables;
    use super::*;

    fn measured(name: &str, standings: Vec<Standing>) -> Measured {
        Measured { table: tables().into_iter().find(|table| table.name == name).unwrap(), standings }
    }

    #[test]
    fn a_target_is_missed_met_or_not_measured() {
        let target = Target::Ahead { of: OFFICIAL, column: Column::Wall, table: "memory-5x200", least: 1.0 };
        let judge = |ours: &[f64]| {
            let standings =
                vec![standing(OFFICIAL, Column::Wall, &[900.0, 1100.0]), standing(OURS, Column::Wall, ours)];
            target.judge(&[measured("memory-5x200", standings)])
        };
        assert!(matches!(judge(&[100.0, 100.0]), Verdict::Met(_)));
        assert!(matches!(judge(&[2000.0, 2000.0]), Verdict::Missed(_)));
        assert!(matches!(judge(&[]), Verdict::NotMeasured(_)));
        assert!(matches!(target.judge(&[]), Verdict::NotMeasured(_)));
    }

    #[test]
    fn one_round_that_lost_a_write_misses_the_target() {
        let target = Target::Least { column: Column::Kept, table: "memory-5x200", least: 1000.0 };
        let kept = |numbers: &[f64]| vec![standing(OURS, Column::Kept, numbers)];
        let judge = |numbers: &[f64]| target.judge(&[measured("memory-5x200", kept(numbers))]);
        assert!(matches!(judge(&[1000.0, 1000.0, 1000.0]), Verdict::Met(_)));
        assert!(matches!(judge(&[1000.0, 999.0, 1000.0]), Verdict::Missed(_)));
    }

    #[test]
    fn every_target_names_a_table_that_is_there() {
        let (names, targets) = (tables().iter().map(|table| table.name).collect::<Vec<_>>(), all());
        for target in &targets {
            let named = match *target {
                Target::Grows { from, to, .. } => vec![from, to],
                Target::Ahead { table, .. } | Target::Most { table, .. } | Target::Least { table, .. } => vec![table],
            };
            assert!(named.iter().all(|table| names.contains(table)), "{target:?}");
        }
    }
}
