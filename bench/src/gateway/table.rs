//! One table: its lines, measured in turn, round after round.

use std::time::Instant;

use serde::Serialize;

use super::spec::Spec;
use super::target::Target;
use crate::arguments::Options;
use crate::crew::{self, Program};
use crate::histogram::Histogram;
use crate::job::{Job, Tally};
use crate::{Fault, Outcome};

/// What a table is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One call at a time: what stands between adds to each.
    Latency,
    /// So many calls in flight.
    Throughput(usize),
    /// From the start of the process to the answer to `initialize`.
    Start,
}

/// One line of a table.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) label: &'static str,
    /// Or why it cannot be measured.
    pub(super) spec: Result<Spec, String>,
}

pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) kind: Kind,
    /// The line without anything between: what others add, they add to this.
    pub(super) base: &'static str,
    /// The line whose rate is 1.
    pub(super) limit: &'static str,
    pub(super) lines: Vec<Line>,
    pub(super) targets: Vec<Target>,
}

/// Starts of each line over all rounds, at least.
const STARTS: u32 = 20;

/// One line in one round.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Round {
    /// Calls per second.
    pub(super) rate: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    /// Proportional memory of what stands between, at the end of the round.
    pub(super) pss_mib: Option<f64>,
}

/// One line in all rounds.
#[derive(Debug, Serialize)]
pub(super) struct Standing {
    pub(super) label: &'static str,
    pub(super) rounds: Vec<Round>,
    pub(super) times: Histogram,
    /// Why it was not measured, or not to the end.
    pub(super) stopped: Option<String>,
}

impl Standing {
    /// The median over rounds of one number.
    pub(super) fn median(&self, of: impl Fn(&Round) -> f64) -> f64 {
        median(self.rounds.iter().map(of).collect())
    }

    /// The median over rounds of a number that compares two lines in the same round.
    pub(super) fn with(&self, other: &Self, of: impl Fn(&Round, &Round) -> f64) -> f64 {
        median(self.rounds.iter().zip(&other.rounds).map(|(a, b)| of(a, b)).collect())
    }

    pub(super) fn failed(&self) -> bool {
        self.stopped.as_ref().is_some_and(|why| why.starts_with("FAILED"))
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    match numbers.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => numbers[n / 2],
        n => f64::midpoint(numbers[n / 2 - 1], numbers[n / 2]),
    }
}

impl Table {
    pub(super) fn run(&self, options: &Options) -> Vec<Standing> {
        let standing = |line: &Line| Standing {
            label: line.label,
            rounds: Vec::new(),
            times: Histogram::default(),
            stopped: line.spec.as_ref().err().map(|why| format!("not measured: {why}")),
        };
        let mut standings: Vec<_> = self.lines.iter().map(standing).collect();
        for standing in &standings {
            standing.stopped.iter().for_each(|why| eprintln!("{} {}: {why}", self.name, standing.label));
        }
        for round in 1..=options.rounds {
            for (line, standing) in self.lines.iter().zip(&mut standings) {
                let Ok(spec) = &line.spec else { continue };
                if standing.stopped.is_some() {
                    continue;
                }
                let started = Instant::now();
                let said = match self.measure(line.label, spec, round, options) {
                    Ok((number, tally)) => {
                        let said = match self.kind {
                            Kind::Start => format!("p50 {:.0} us", number.p50_us),
                            _ => format!("p50 {:.0} us, {:.0}/s", number.p50_us, number.rate),
                        };
                        standing.rounds.push(number);
                        standing.times.merge(&tally.times);
                        said
                    }
                    Err(fault) => {
                        standing.stopped = Some(format!("FAILED in round {round}: {fault}"));
                        format!("FAILED: {fault}")
                    }
                };
                let (name, rounds, label) = (self.name, options.rounds, line.label);
                eprintln!("{name} round {round}/{rounds}: {label}: {said} ({:.1} s)", started.elapsed().as_secs_f32());
            }
        }
        standings
    }

    fn measure(&self, label: &str, spec: &Spec, round: u32, options: &Options) -> Outcome<(Round, Tally)> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0.05 to 600 seconds")]
        let measured_ms = (options.seconds * 1000.0) as u64;
        let (subject, tasks, times) = match self.kind {
            Kind::Latency => ("mcp-calls", 1, 1),
            Kind::Throughput(in_flight) => ("mcp-calls", in_flight, 1),
            Kind::Start => ("mcp-start", 1, STARTS.div_ceil(options.rounds)),
        };
        let job = Job {
            subject: subject.to_owned(),
            place: vec![serde_json::to_string(spec)?],
            key: format!("{}-{round}-{label}", self.name).replace(|c: char| !c.is_ascii_alphanumeric(), "-"),
            process: 0,
            processes: 1,
            tasks,
            hold_us: 0,
            cell: None,
            // Long enough for connections, caches and an interpreter's own warm-up.
            warm_up_ms: (measured_ms / 4).clamp(50, 500),
            measured_ms,
        };
        let mut tally = Tally::default();
        for _ in 0..times {
            tally.merge(crew::run(&Program::Ours, &job)?);
        }
        if tally.times.is_empty() {
            return Err(Fault::from("not one call ended inside the window"));
        }
        let us = |share| tally.times.quantile(share).as_secs_f64() * 1e6;
        #[expect(clippy::cast_precision_loss, reason = "counts and memory of a benchmark")]
        let number = Round {
            rate: tally.operations() as f64 / options.seconds,
            p50_us: us(0.5),
            p99_us: us(0.99),
            pss_mib: tally.rss_kib.map(|kib| kib as f64 / 1024.0),
        };
        Ok((number, tally))
    }
}
