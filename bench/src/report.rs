//! Tables and targets as Markdown.

use std::fmt::Write as _;
use std::time::Duration;

use crate::plan::{Bench, Kind};
use crate::results::{Standing, compared};
use crate::target::added_ms;

/// One benchmark's section.
pub(crate) fn section(bench: &Bench, standings: &[Standing]) -> String {
    let mut text = format!("### {}\n\n{}\n\n", bench.name, bench.about);
    let head = columns(bench.kind).join(" | ");
    let rule = vec!["---"; columns(bench.kind).len()].join("|");
    writeln!(text, "| {head} |\n|{rule}|").ok();
    for standing in standings.iter().filter(|s| !s.rounds.is_empty()) {
        writeln!(text, "| {} |", row(bench.kind, standing, standings).join(" | ")).ok();
    }
    let stopped: Vec<_> = standings.iter().filter_map(|s| s.stopped.as_ref().map(|why| (s.label, why))).collect();
    if !stopped.is_empty() {
        text.push('\n');
        text.extend(stopped.iter().map(|(label, why)| format!("- {label}: **{why}**\n")));
    }
    if !bench.targets.is_empty() {
        text.push_str("\nTargets:\n\n");
        text.extend(bench.targets.iter().map(|target| target.judge(bench.kind, standings).line() + "\n"));
    }
    text
}

fn columns(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Rate => &["subject", "ops/s (median round)", "spread", "p50", "p99", "max", "ratio"],
        Kind::HandOff => &[
            "subject",
            "ops/s (median round)",
            "spread",
            "p50",
            "p99",
            "max",
            "ratio",
            "handoff_us",
            "hold_us",
            "max_min",
            "min_task",
            "starved",
            "overlaps",
        ],
        Kind::Spawn => &["subject", "p50", "p99", "max", "added to `true`"],
        Kind::Memory => &["subject", "resident memory"],
    }
}

fn row(kind: Kind, standing: &Standing, all: &[Standing]) -> Vec<String> {
    let limit = standing.limit.and_then(|label| all.iter().find(|s| s.label == label));
    let is_limit = all.iter().any(|s| s.limit == Some(standing.label));
    let label = if is_limit { format!("{} **[limit]**", standing.label) } else { standing.label.to_owned() };
    let times = || {
        let quantile =
            |share| if standing.times.is_empty() { "-".into() } else { time(standing.times.quantile(share)) };
        [quantile(0.5), quantile(0.99), time(standing.times.max())]
    };
    let ratio = || {
        let ratio = limit.and_then(|limit| standing.ratio(limit, compared(kind)));
        ratio.map_or_else(
            || if is_limit { "1".into() } else { "-".into() },
            |r| if r < 0.1 { format!("{r:.4}") } else { format!("{r:.2}") },
        )
    };
    let mut row = vec![label];
    match kind {
        Kind::Rate | Kind::HandOff => {
            row.extend([thousands(standing.median(|r| r.rate)), spread(standing)]);
            row.extend(times());
            row.push(ratio());
        }
        Kind::Spawn => {
            row.extend(times());
            row.push(limit.map_or_else(|| "-".into(), |base| format!("{:.2} ms", added_ms(standing, base))));
        }
        Kind::Memory => row.push(format!("{:.1} MiB", standing.median(|r| r.rss_mib.unwrap_or(f64::NAN)))),
    }
    if kind == Kind::HandOff {
        row.push(format!("{:.1}", standing.median(|r| r.hand_off_us)));
        // The two sides of a raw hop hold nothing and share nothing.
        if standing.tasks == 2 {
            row.extend(vec!["-".to_owned(); 5]);
        } else {
            let least = standing.rounds.iter().map(|r| r.min_task).min().unwrap_or(0);
            let starved = standing.rounds.iter().map(|r| r.starved).max().unwrap_or(0);
            row.extend([
                format!("{:.1}", standing.median(|r| r.hold_us)),
                format!("{:.2}", standing.median(|r| r.max_min)),
                least.to_string(),
                starved.to_string(),
                standing.overlaps().to_string(),
            ]);
        }
    }
    row
}

fn spread(standing: &Standing) -> String {
    let rates = || standing.rounds.iter().map(|r| r.rate);
    format!("{:.0}..{:.0}", rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max))
}

fn time(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    match us {
        us if us < 10.0 => format!("{us:.1} us"),
        us if us < 1_000.0 => format!("{us:.0} us"),
        us if us < 10_000.0 => format!("{:.2} ms", us / 1e3),
        us => format!("{:.0} ms", us / 1e3),
    }
}

fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let head = digits.len() % 3;
    let groups: Vec<_> = digits.as_bytes()[head..].chunks(3).map(|c| String::from_utf8_lossy(c)).collect();
    let first = if head > 0 { vec![digits[..head].into()] } else { vec![] };
    first.into_iter().chain(groups).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let shown = [7.0, 999.0, 1000.0, 155_008.2, 1_234_567.0].map(thousands);
        assert_eq!(shown, ["7", "999", "1,000", "155,008", "1,234,567"]);
    }
}
