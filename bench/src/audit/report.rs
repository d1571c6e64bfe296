//! The table and the targets.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::run::Run;
use super::subject::{AST_GREP, OURS, SEMGREP, Subject};
use super::tree::Size;
use crate::target::Verdict;

/// A subject in all rounds.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) label: &'static str,
    pub(super) runs: Vec<Run>,
    /// Why it was not measured, or not to the end.
    pub(super) stopped: Option<String>,
    size: Size,
}

impl Line {
    pub(super) fn new(subject: &Subject, size: Size) -> Self {
        let stopped = subject.how.as_ref().err().map(|why| format!("SKIPPED: {why}"));
        Self { label: subject.label, runs: Vec::new(), stopped, size }
    }

    pub(super) fn failed(&self) -> bool {
        self.stopped.as_ref().is_some_and(|why| why.starts_with("FAILED"))
    }

    pub(super) fn record(&self) -> Value {
        let runs = self.runs.iter().map(|run| {
            let seconds = run.wall.as_secs_f64();
            json!({ "seconds": seconds, "memory_mib": run.memory, "files": run.files, "findings": run.findings })
        });
        json!({ "label": self.label, "runs": runs.collect::<Vec<_>>(), "stopped": self.stopped })
    }

    fn median(&self, of: impl Fn(&Run) -> f64) -> Option<f64> {
        median(self.runs.iter().map(of).collect())
    }

    /// The median over rounds of `other / self` in the same round: how many times faster this one is.
    fn ahead_of(&self, other: &Self) -> Option<f64> {
        let pairs = self.runs.iter().zip(&other.runs);
        median(pairs.map(|(a, b)| b.wall.as_secs_f64() / a.wall.as_secs_f64()).collect())
    }
}

fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let (low, high) = (numbers.len().checked_sub(1)? / 2, numbers.len() / 2);
    Some(f64::midpoint(*numbers.get(low)?, *numbers.get(high)?))
}

pub(super) fn table(lines: &[Line]) -> String {
    let mut text = "| subject | time | lines/s | beside stanchion audit | memory | files | findings | rounds |\n\
                    |---|---|---|---|---|---|---|---|\n"
        .to_owned();
    let ours = lines.iter().find(|line| line.label == OURS);
    for line in lines.iter().filter(|line| !line.runs.is_empty()) {
        let number = |of: fn(&Run) -> f64| line.median(of).unwrap_or_default();
        let beside = ours.and_then(|ours| line.ahead_of(ours)).map_or_else(|| "-".into(), |r| format!("{r:.3}"));
        let last = line.runs.last();
        writeln!(
            text,
            "| {} | {:.2} s | {:.0} | {beside} | {:.0} MiB | {} | {} | {} |",
            line.label,
            number(|run| run.wall.as_secs_f64()),
            line.median(|run| run.rate(line.size)).unwrap_or_default(),
            number(|run| run.memory),
            last.map_or(0, |run| run.files),
            last.map_or(0, |run| run.findings),
            line.runs.len(),
        )
        .ok();
    }
    let stopped = lines.iter().filter_map(|line| Some((line.label, line.stopped.as_ref()?)));
    text.extend(stopped.map(|(label, why)| format!("\n- {label}: **{why}**\n")));
    text
}

/// At least so many lines of TypeScript and Python in a second, and in so little memory.
const RATE_LEAST: f64 = 200_000.0;
const MEMORY_MOST: f64 = 500.0;
const LINES_OF_THAT: u64 = 1_000_000;

pub(super) fn targets(lines: &[Line]) -> Vec<Verdict> {
    let find = |label: &str| lines.iter().find(|line| line.label == label && !line.runs.is_empty());
    let ours = find(OURS);
    let rate = ours.and_then(|ours| ours.median(|run| run.rate(ours.size)));
    let memory = ours.filter(|ours| ours.size.lines >= LINES_OF_THAT).and_then(|ours| ours.median(|run| run.memory));
    let ahead = |label: &str| ours.zip(find(label)).and_then(|(ours, other)| ours.ahead_of(other));
    let verdict = |text: String, judged: Option<(String, bool)>| match judged {
        None => Verdict::NotMeasured(text),
        Some((value, true)) => Verdict::Met(format!("{text}: {value}")),
        Some((value, false)) => Verdict::Missed(format!("{text}: {value}")),
    };
    vec![
        verdict(format!("≥ {RATE_LEAST:.0} lines/s"), rate.map(|r| (format!("{r:.0}"), r >= RATE_LEAST))),
        verdict(
            format!("< {MEMORY_MOST:.0} MiB for {LINES_OF_THAT} lines or more"),
            memory.map(|m| (format!("{m:.0} MiB"), m < MEMORY_MOST)),
        ),
        verdict(format!("≥ 10 × as fast as {SEMGREP}"), ahead(SEMGREP).map(|r| (format!("{r:.1} ×"), r >= 10.0))),
        verdict(
            format!("at most 3 × as long as {AST_GREP}"),
            ahead(AST_GREP).map(|r| (format!("{:.2} ×", 1.0 / r), 1.0 / r <= 3.0)),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn line(label: &'static str, seconds: &[f64]) -> Line {
        let run = |s: &f64| Run { wall: Duration::from_secs_f64(*s), memory: 100.0, files: 1, findings: 0 };
        let size = Size { files: 1, lines: 2_000_000, bytes: 0 };
        Line { label, runs: seconds.iter().map(run).collect(), stopped: None, size }
    }

    #[test]
    fn a_subject_that_ran_once_is_compared_with_that_round() {
        // The second round of ours is slow, and semgrep had none.
        let verdicts = targets(&[line(OURS, &[2.0, 9.0, 9.0]), line(SEMGREP, &[30.0]), line(AST_GREP, &[])]);
        assert_eq!(verdicts[2], Verdict::Met("≥ 10 × as fast as semgrep: 15.0 ×".into()));
        assert!(matches!(verdicts[3], Verdict::NotMeasured(_)));
    }

    #[test]
    fn slower_than_promised_is_missed() {
        let verdicts = targets(&[line(OURS, &[20.0]), line(AST_GREP, &[2.0])]);
        assert!(matches!(verdicts[0], Verdict::Missed(_)), "{verdicts:?}");
        assert!(matches!(verdicts[1], Verdict::Met(_)));
        assert!(matches!(verdicts[3], Verdict::Missed(_)));
    }
}
