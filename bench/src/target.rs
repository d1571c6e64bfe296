//! The targets of the issue, printed beside their results. Nothing fails because of a time.

use crate::plan::Kind;
use crate::results::{Standing, compared};

/// Labels name lines of the same table.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// At least this share of the limit's operations per second.
    RateOf { ours: &'static str, limit: &'static str, least: f64 },
    /// At least this many operations per second.
    Rate { ours: &'static str, least: f64 },
    /// More operations per second than this peer.
    Ahead { ours: &'static str, peer: &'static str },
    /// At most this many times the limit's hand-off.
    HandOff { ours: &'static str, limit: &'static str, most: f64 },
    /// 99 of 100 waits within this many fair shares: the time in which every task gets the lock once.
    Wait { ours: &'static str, shares: f64 },
    /// The luckiest task gets at most this many times as often the lock as the unluckiest.
    Fair { ours: &'static str, most: f64 },
    /// Nobody saw another holder inside.
    Exclusive { ours: &'static str },
    /// The median adds less than this to the base.
    Added { ours: &'static str, base: &'static str, below_ms: f64 },
    /// Less resident memory than this.
    Memory { ours: &'static str, below_mib: f64 },
}

/// A judged target.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    Met(String),
    Missed(String),
    NotMeasured(String),
}

impl Verdict {
    /// One line of Markdown.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Met(text) => format!("- met: {text}"),
            Self::Missed(text) => format!("- **MISSED**: {text}"),
            Self::NotMeasured(text) => format!("- not measured: {text}"),
        }
    }
}

impl Target {
    pub(crate) fn judge(&self, kind: Kind, standings: &[Standing]) -> Verdict {
        let find = |label: &str| standings.iter().find(|s| s.label == label && !s.rounds.is_empty());
        let rate = compared(Kind::Rate);
        let (text, judged) = match *self {
            Self::RateOf { ours, limit, least } => {
                let ratio = find(ours).zip(find(limit)).and_then(|(a, b)| a.ratio(b, rate));
                (format!("{ours} ≥ {least} of {limit}"), ratio.map(|r| (format!("{r:.2}"), r >= least)))
            }
            Self::Rate { ours, least } => {
                let value = find(ours).map(|s| s.median(rate));
                (format!("{ours} ≥ {least:.0} ops/s"), value.map(|v| (format!("{v:.0}"), v >= least)))
            }
            Self::Ahead { ours, peer } => {
                let ratio = find(ours).zip(find(peer)).and_then(|(a, b)| a.ratio(b, rate));
                (format!("{ours} ahead of {peer}"), ratio.map(|r| (format!("{r:.2} times its rate"), r > 1.0)))
            }
            Self::HandOff { ours, limit, most } => {
                let ratio = find(ours).zip(find(limit)).and_then(|(a, b)| a.ratio(b, compared(Kind::HandOff)));
                (format!("hand-off of {ours} ≤ {most} × {limit}"), ratio.map(|r| (format!("{r:.2} ×"), r <= most)))
            }
            Self::Wait { ours, shares } => {
                let value = find(ours).map(waited_shares);
                (format!("p99 wait of {ours} ≤ {shares} fair shares"), value.map(|v| (format!("{v:.2}"), v <= shares)))
            }
            Self::Fair { ours, most } => {
                let value = find(ours).map(|s| s.median(|round| round.max_min));
                (format!("most/least of {ours} ≤ {most}"), value.map(|v| (format!("{v:.2}"), v <= most)))
            }
            Self::Exclusive { ours } => {
                let seen = find(ours).map(Standing::overlaps);
                (format!("{ours} without overlaps"), seen.map(|n| (n.to_string(), n == 0)))
            }
            Self::Added { ours, base, below_ms } => {
                let added = find(ours).zip(find(base)).map(|(a, b)| added_ms(a, b));
                (format!("{ours} adds < {below_ms} ms to {base}"), added.map(|v| (format!("{v:.2} ms"), v < below_ms)))
            }
            Self::Memory { ours, below_mib } => {
                let value = find(ours).map(|s| s.median(|round| round.rss_mib.unwrap_or(f64::NAN)));
                (format!("{ours} < {below_mib} MiB"), value.map(|v| (format!("{v:.1} MiB"), v < below_mib)))
            }
        };
        debug_assert!(kind == Kind::HandOff || !matches!(self, Self::Wait { .. } | Self::Fair { .. }));
        match judged {
            None => Verdict::NotMeasured(text),
            Some((value, true)) => Verdict::Met(format!("{text}: {value}")),
            Some((value, false)) => Verdict::Missed(format!("{text}: {value}")),
        }
    }
}

/// p99 of the waits in units of the time in which every task gets the lock once.
fn waited_shares(standing: &Standing) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a number of tasks")]
    let share = standing.tasks as f64 / standing.median(|round| round.rate);
    standing.times.quantile(0.99).as_secs_f64() / share
}

pub(crate) fn added_ms(ours: &Standing, base: &Standing) -> f64 {
    (ours.times.quantile(0.5).as_secs_f64() - base.times.quantile(0.5).as_secs_f64()) * 1e3
}
