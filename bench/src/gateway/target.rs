//! The targets of this suite, printed beside their results. Nothing fails because of a time.

use super::report::time;
use super::table::{Round, Standing};
use crate::target::Verdict;

/// What one line is better at than another when its number is smaller; for rates, when it is larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Latency,
    Rate,
    Start,
    Memory,
}

/// Labels name lines of the same table.
#[derive(Debug, Clone)]
pub(super) enum Target {
    /// Adds at most so many times what the other line adds to the base, at the median.
    AddsOf { ours: &'static str, other: &'static str, base: &'static str, most: f64 },
    /// Adds less than this to the base's median.
    Adds { ours: &'static str, base: &'static str, below_us: f64 },
    /// At least this share of the limit's calls per second.
    RateOf { ours: &'static str, limit: &'static str, least: f64 },
    /// Better than this peer.
    Ahead { ours: &'static str, peer: &'static str, at: Measure },
    /// Less proportional memory than this.
    Memory { ours: &'static str, below_mib: f64 },
}

impl Target {
    pub(super) fn judge(&self, standings: &[Standing]) -> Verdict {
        let find = |label: &str| standings.iter().find(|s| s.label == label && !s.rounds.is_empty());
        let (text, judged) = match *self {
            Self::AddsOf { ours, other, base, most } => {
                let added = |label: &str| Some(find(label)?.with(find(base)?, |a, b| a.p50_us - b.p50_us));
                let ratio = added(ours).zip(added(other)).map(|(ours, other)| ours / other);
                (format!("{ours} adds ≤ {most} × what {other} adds"), ratio.map(|r| (format!("{r:.2} ×"), r <= most)))
            }
            Self::Adds { ours, base, below_us } => {
                let added = find(ours).zip(find(base)).map(|(a, b)| a.with(b, |a, b| a.p50_us - b.p50_us));
                (format!("{ours} adds < {}", time(below_us)), added.map(|us| (time(us), us < below_us)))
            }
            Self::RateOf { ours, limit, least } => {
                let ratio = find(ours).zip(find(limit)).map(|(a, b)| a.with(b, |a, b| a.rate / b.rate));
                (format!("{ours} ≥ {least} of the calls/s of {limit}"), ratio.map(|r| (format!("{r:.2}"), r >= least)))
            }
            Self::Ahead { ours, peer, at } => {
                let ratio = find(ours).zip(find(peer)).map(|(a, b)| a.with(b, |a, b| at.of(a) / at.of(b)));
                let judged = ratio.map(|r| (format!("{r:.3} ×"), if at == Measure::Rate { r > 1.0 } else { r < 1.0 }));
                (format!("{ours} ahead of {peer} in {}", at.name()), judged)
            }
            Self::Memory { ours, below_mib } => {
                let value = find(ours).map(|s| s.median(|round| Measure::Memory.of(round)));
                (format!("{ours} < {below_mib} MiB"), value.map(|v| (format!("{v:.1} MiB"), v < below_mib)))
            }
        };
        match judged {
            None => Verdict::NotMeasured(text),
            Some((value, true)) => Verdict::Met(format!("{text}: {value}")),
            Some((value, false)) => Verdict::Missed(format!("{text}: {value}")),
        }
    }
}

impl Measure {
    fn of(self, round: &Round) -> f64 {
        match self {
            Self::Latency | Self::Start => round.p50_us,
            Self::Rate => round.rate,
            Self::Memory => round.pss_mib.unwrap_or(f64::NAN),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Latency => "median latency",
            Self::Rate => "calls/s",
            Self::Start => "start-up",
            Self::Memory => "memory",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(label: &'static str, p50: &[f64]) -> Standing {
        let round = |p50_us: &f64| Round { rate: 1e6 / p50_us, p50_us: *p50_us, p99_us: 0.0, pss_mib: None };
        let rounds = p50.iter().map(round).collect();
        Standing { label, rounds, times: Default::default(), stopped: None }
    }

    #[test]
    fn what_is_added_is_taken_inside_each_round() {
        // A slow second round moves all lines together and must not move the verdict.
        let standings =
            [standing("base", &[10.0, 50.0]), standing("relay", &[30.0, 70.0]), standing("ours", &[45.0, 85.0])];
        let target = |most| Target::AddsOf { ours: "ours", other: "relay", base: "base", most };
        assert_eq!(target(1.5).judge(&standings), Verdict::Missed("ours adds ≤ 1.5 × what relay adds: 1.75 ×".into()));
        assert!(matches!(target(1.8).judge(&standings), Verdict::Met(_)));
    }

    #[test]
    fn a_line_without_rounds_is_not_measured() {
        let standings = [standing("ours", &[10.0]), standing("peer", &[])];
        let target = Target::Ahead { ours: "ours", peer: "peer", at: Measure::Latency };
        assert!(matches!(target.judge(&standings), Verdict::NotMeasured(_)));
    }

    #[test]
    fn unknown_memory_is_never_ahead() {
        let standings = [standing("ours", &[10.0]), standing("peer", &[10.0])];
        let target = Target::Ahead { ours: "ours", peer: "peer", at: Measure::Memory };
        assert!(matches!(target.judge(&standings), Verdict::Missed(_)));
    }
}
