//! Tables and targets as Markdown.

use std::fmt::Write as _;

use super::table::{Kind, Standing, Table};

pub(super) fn section(table: &Table, standings: &[Standing]) -> String {
    let mut text = format!("### {}\n\n{}\n\n", table.name, table.about);
    let columns = columns(table.kind);
    writeln!(text, "| {} |\n|{}|", columns.join(" | "), vec!["---"; columns.len()].join("|")).ok();
    for standing in standings.iter().filter(|s| !s.rounds.is_empty()) {
        writeln!(text, "| {} |", row(table, standing, standings).join(" | ")).ok();
    }
    let stopped: Vec<_> = standings.iter().filter_map(|s| Some((s.label, s.stopped.as_ref()?))).collect();
    if !stopped.is_empty() {
        text.push('\n');
        text.extend(stopped.iter().map(|(label, why)| format!("- {label}: **{why}**\n")));
    }
    if !table.targets.is_empty() {
        text.push_str("\nTargets:\n\n");
        text.extend(table.targets.iter().map(|target| target.judge(standings).line() + "\n"));
    }
    text
}

fn columns(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Latency => &["subject", "p50", "p99", "max", "added p50", "added p99", "calls/s", "PSS"],
        Kind::Throughput(_) => &["subject", "calls/s", "spread", "ratio", "p50", "p99", "PSS"],
        Kind::Start => &["subject", "p50", "p99", "max", "added p50"],
    }
}

fn row(table: &Table, standing: &Standing, all: &[Standing]) -> Vec<String> {
    let find = |label: &str| all.iter().find(|s| s.label == label && !s.rounds.is_empty());
    let (p50, p99) = (time(standing.median(|r| r.p50_us)), time(standing.median(|r| r.p99_us)));
    let max = time(standing.times.max().as_secs_f64() * 1e6);
    let rate = format!("{:.0}", standing.median(|r| r.rate));
    let pss = standing.median(|r| r.pss_mib.unwrap_or(f64::NAN));
    // The server itself is not counted, so that the direct line has nothing to show.
    let pss = if pss > 0.0 { format!("{pss:.1} MiB") } else { "-".into() };
    let base = find(table.base).filter(|base| base.label != standing.label);
    let added = |of: fn(&super::table::Round) -> f64| {
        base.map_or_else(|| "-".into(), |base| time(standing.with(base, |a, b| of(a) - of(b))))
    };
    let is_limit = standing.label == table.limit && matches!(table.kind, Kind::Throughput(_));
    let label = if is_limit { format!("{} **[limit]**", standing.label) } else { standing.label.to_owned() };
    match table.kind {
        Kind::Latency => vec![label, p50, p99, max, added(|r| r.p50_us), added(|r| r.p99_us), rate, pss],
        Kind::Throughput(_) => {
            let rates = || standing.rounds.iter().map(|r| r.rate);
            let spread = format!("{:.0}..{:.0}", rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
            let ratio = find(table.limit).map(|limit| standing.with(limit, |a, b| a.rate / b.rate));
            vec![label, rate, spread, ratio.map_or_else(|| "-".into(), |r| format!("{r:.3}")), p50, p99, pss]
        }
        Kind::Start => vec![label, p50, p99, max, added(|r| r.p50_us)],
    }
}

/// A difference may be negative: two lines that are equal differ by noise.
pub(super) fn time(us: f64) -> String {
    match us.abs() {
        size if size < 10.0 => format!("{us:.1} us"),
        size if size < 1_000.0 => format!("{us:.0} us"),
        size if size < 10_000.0 => format!("{:.2} ms", us / 1e3),
        _ => format!("{:.0} ms", us / 1e3),
    }
}
