//! Tables and targets as Markdown.

use std::fmt::Write as _;

use super::call::Call;
use super::results::{Column, Standing};
use super::subject::{OFFICIAL, OURS};
use super::table::Measured;
use super::target::Target;

pub(super) fn section(measured: &Measured) -> String {
    let (table, columns) = (&measured.table, measured.table.columns());
    let mut text = format!("### {}\n\n{}\n\n", table.name, table.about);
    let names = columns.iter().map(|column| column.name()).collect::<Vec<_>>().join(" | ");
    writeln!(text, "| subject | {names} |\n|---|{}", "---|".repeat(columns.len())).ok();
    for standing in measured.standings.iter().filter(|s| !s.rounds.is_empty()) {
        let cells = columns.iter().map(|column| cell(standing, *column)).collect::<Vec<_>>().join(" | ");
        writeln!(text, "| {} | {cells} |", standing.label).ok();
    }
    let stopped: Vec<_> = measured.standings.iter().filter_map(|s| Some((s.label, s.stopped.as_ref()?))).collect();
    if !stopped.is_empty() {
        text.push('\n');
        text.extend(stopped.iter().map(|(label, why)| format!("- {label}: **{why}**\n")));
    }
    text
}

fn cell(standing: &Standing, column: Column) -> String {
    let value = match column {
        Column::Kept => standing.least(column),
        _ => standing.median(column),
    };
    let Some(value) = value else { return "-".into() };
    match column {
        Column::Call(call) => match standing.p99(call) {
            Some(p99) => format!("{} ({})", time(value), time(p99)),
            None => time(value),
        },
        _ => number(column, value),
    }
}

/// A number as its column shows it.
pub(super) fn number(column: Column, value: f64) -> String {
    match column {
        Column::Memory => format!("{value:.1} MB"),
        Column::Kept => format!("{value:.0}"),
        _ => time(value),
    }
}

pub(super) fn time(us: f64) -> String {
    match us {
        us if us < 10.0 => format!("{us:.1} us"),
        us if us < 1_000.0 => format!("{us:.0} us"),
        us if us < 10_000.0 => format!("{:.2} ms", us / 1e3),
        us => format!("{:.0} ms", us / 1e3),
    }
}

pub(super) fn targets(all: &[Target], measured: &[Measured]) -> String {
    let lines: String = all.iter().map(|target| target.judge(measured).line() + "\n").collect();
    format!("### Targets\n\nThe two medians stand behind each ratio.\n\n{lines}")
}

/// The short table for users: the two servers at two sizes.
pub(super) fn summary(measured: &[Measured]) -> String {
    let find = |table: &str, label: &str| -> Option<&Standing> {
        measured.iter().find(|m| m.table.name == table)?.standings.iter().find(|s| s.label == label)
    };
    let value = |table: &str, label: &str, column| {
        let standing = find(table, label)?;
        let value = if column == Column::Kept { standing.least(column) } else { standing.median(column) };
        value.map(|value| number(column, value))
    };
    let row = |name: &str, cells: [(&str, Column); 2]| {
        let cells = cells.map(|(table, column)| {
            [OFFICIAL, OURS].map(|label| value(table, label, column).unwrap_or_else(|| "-".into())).join(" | ")
        });
        format!("| {name} | {} |\n", cells.join(" | "))
    };
    let mut text =
        "| | official, 1,000 entities | here | official, 50,000 entities | here |\n|---|---|---|---|---|\n".to_owned();
    let calls = Call::ALL.iter().filter(|call| **call != Call::ReadGraph).map(|call| Column::Call(*call));
    for column in calls.chain([Column::Start, Column::First, Column::Memory]) {
        text += &row(column.name(), [("memory-1k", column), ("memory-50k", column)]);
    }
    let crowd = |label, column| value("memory-5x200", label, column).unwrap_or_else(|| "-".into());
    for label in [OFFICIAL, OURS] {
        let (kept, wall) = (crowd(label, Column::Kept), crowd(label, Column::Wall));
        write!(
            text,
            "\n5 processes x 200 writes at once, all acknowledged, {label}: **{kept}** of 1,000 kept, {wall}.\n"
        )
        .ok();
    }
    text
}
