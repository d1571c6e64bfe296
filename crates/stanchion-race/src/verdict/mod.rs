//! What a run has shown.

mod compare;
mod escape;
mod fate;
mod html;
mod junit;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;

use serde::Serialize;

pub use self::compare::{Comparison, Guarding};
pub(crate) use self::text::time;
pub use self::text::{Line, Tone};
use crate::oracle::Violation;
use crate::run::{End, Played, ReadBack, Record};
use crate::schedule::Schedule;
use crate::spec::{Origin, Spec};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// An expectation does not hold.
    Race,
    /// All held, in so many schedules. That is no proof.
    NothingFound,
    /// Nothing can be said, and the reason why.
    Inconclusive,
}

impl Outcome {
    /// For the command line: 0 nothing found, 1 race found, 3 inconclusive.
    ///
    /// ```
    /// assert_eq!(stanchion_race::Outcome::Race.exit_code(), 1);
    /// ```
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::NothingFound => 0,
            Self::Race => 1,
            Self::Inconclusive => 3,
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.words().0)
    }
}

/// How calls ended, over all rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Ends {
    /// Answered without an error.
    pub acknowledged: usize,
    /// Answered with an error, or not delivered.
    pub failed: usize,
    /// Never answered.
    pub unknown: usize,
}

/// What a run has shown. As text it fits on one screen; as JSON it has everything.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let text = "version = 1\nname = \"x\"\nseed = 17\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"true\"]\n[[call]]\ntool = \"add\"\n[read]\ntool = \"list\"\n[expect]\nreadable = true\n";
/// # let spec = stanchion_race::Spec::parse(text, "probe.toml").unwrap();
/// let verdict = stanchion_race::race(&spec, &Default::default()).await;
/// assert!(verdict.to_string().starts_with("inconclusive: x\n"));
/// assert!(verdict.to_json().contains("\"outcome\": \"inconclusive\""));
/// # });
/// ```
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The version of the format: 1.
    pub version: u32,
    /// The title of the specification.
    pub name: String,
    /// Where a probe comes from.
    pub origin: Origin,
    /// How it ended.
    pub outcome: Outcome,
    /// What is expected: the keys of `[expect]`.
    pub expect: Vec<&'static str>,
    /// What is called: a name for each `[[call]]`.
    pub titles: Vec<String>,
    /// Why it is inconclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Makes the same schedules again.
    pub seed: u64,
    /// Rounds that were judged, with the one that showed the race.
    pub rounds: u64,
    /// Rounds that show nothing, because no call was acknowledged. They are not among the others.
    #[serde(skip_serializing_if = "is_zero")]
    pub void: u64,
    /// Why there were fewer rounds than allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// How the calls of these rounds ended.
    pub calls: Ends,
    /// Faults that calls met, by name; those at the recorder under `upstream`.
    pub faults: BTreeMap<&'static str, usize>,
    /// The round that showed the race.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
    /// The smallest schedule that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimal: Option<Minimal>,
    /// Where nothing was found, one of the rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sound: Option<Found>,
    /// How long it took.
    pub milliseconds: u64,
    /// A process was killed before it had ended by itself: what a guard did last is not in its log. Without a guard all are.
    #[serde(skip)]
    pub cut_short: bool,
    /// It played the schedule of a file, which no seed makes.
    #[serde(skip)]
    pub(crate) is_replayed: bool,
}

/// A round, and what does not hold after it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Found {
    /// From 0.
    pub round: u64,
    /// What does not hold.
    pub violations: Vec<Violation>,
    /// How its calls ended.
    pub calls: Ends,
    /// What was played.
    pub schedule: Schedule,
    /// What happened.
    pub history: Vec<Record>,
    /// Calls that were made when all was over, because answers are expected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub afterwards: Vec<Record>,
    /// What was left, on each instance.
    pub reads: Vec<ReadBack>,
}

/// The smallest schedule that shows a race.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Minimal {
    /// How many calls.
    pub calls: usize,
    /// On how many instances.
    pub instances: usize,
    /// With how many faults.
    pub faults: usize,
    /// Faults that requests met at the recorder, by name: they follow from the seed, and are not made fewer.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub upstream: BTreeMap<&'static str, usize>,
    /// The expectation with a fixed number for all calls together: no call was dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<&'static str>,
    /// Nothing smaller shows it in three tries; else time or calls were spent.
    pub is_complete: bool,
    /// What does not hold.
    pub violations: Vec<Violation>,
    /// To be played again.
    pub schedule: Schedule,
    /// What happened.
    pub history: Vec<Record>,
    /// Calls that were made when all was over, because answers are expected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub afterwards: Vec<Record>,
    /// What was left, on each instance.
    pub reads: Vec<ReadBack>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Ends {
    fn of(played: &Played) -> Self {
        let count = |end| played.count(end);
        Self { acknowledged: count(End::Acknowledged), failed: count(End::Failed), unknown: count(End::Unknown) }
    }
}

impl Found {
    pub(crate) fn new(spec: &Spec, round: u64, played: &Played, violations: Vec<Violation>) -> Self {
        let (schedule, history) = (played.schedule.clone(), played.records.clone());
        let (afterwards, reads) = (played.afterwards.clone(), played.read_backs(spec));
        Self { round, violations, calls: Ends::of(played), schedule, history, afterwards, reads }
    }
}

impl Minimal {
    pub(crate) fn new(spec: &Spec, played: &Played, violations: &[Violation]) -> Self {
        let schedule = played.schedule.clone();
        Self {
            calls: schedule.steps.len(),
            instances: schedule.used(),
            faults: schedule.steps.iter().filter(|step| step.fault.is_some()).count(),
            upstream: played.upstream_faults.clone(),
            fixed: spec.expect.fixed(),
            is_complete: false,
            violations: violations.to_vec(),
            schedule,
            history: played.records.clone(),
            afterwards: played.afterwards.clone(),
            reads: played.read_backs(spec),
        }
    }
}

impl Verdict {
    pub(crate) fn new(spec: &Spec, seed: u64) -> Self {
        Self {
            expect: spec.expect.names(),
            titles: spec.calls.iter().map(|call| call.request.title()).collect(),
            ..Self::empty(spec.name.clone(), spec.origin.clone(), seed)
        }
    }

    fn empty(name: String, origin: Origin, seed: u64) -> Self {
        Self {
            version: 1,
            name,
            origin,
            outcome: Outcome::Inconclusive,
            expect: Vec::new(),
            titles: Vec::new(),
            reason: None,
            seed,
            rounds: 0,
            void: 0,
            stopped: None,
            calls: Ends::default(),
            faults: BTreeMap::new(),
            found: None,
            minimal: None,
            sound: None,
            milliseconds: 0,
            cut_short: false,
            is_replayed: false,
        }
    }

    /// No specification could be made.
    pub(crate) fn unfounded(name: &str, seed: u64, why: String) -> Self {
        let mut verdict = Self::empty(name.to_owned(), Origin::default(), seed);
        verdict.inconclusive(why);
        verdict
    }

    pub(crate) fn inconclusive(&mut self, why: String) {
        (self.outcome, self.reason) = (Outcome::Inconclusive, Some(why));
    }

    pub(crate) fn found(&mut self, found: Found, minimal: Minimal) {
        self.rounds += 1;
        (self.outcome, self.found, self.minimal) = (Outcome::Race, Some(found), Some(minimal));
    }

    pub(crate) fn count(&mut self, played: &Played) {
        let ends = Ends::of(played);
        self.calls.acknowledged += ends.acknowledged;
        self.calls.failed += ends.failed;
        self.calls.unknown += ends.unknown;
        for fault in played.records.iter().filter_map(|record| record.fault) {
            *self.faults.entry(fault.name()).or_default() += 1;
        }
        let upstream = played.upstream_faults.values().sum::<usize>();
        if upstream > 0 {
            *self.faults.entry("upstream").or_default() += upstream;
        }
    }

    /// Everything, for programs.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// # let text = "version = 1\nname = \"x\"\nseed = 17\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"true\"]\n[[call]]\ntool = \"add\"\n[read]\ntool = \"list\"\n[expect]\nreadable = true\n";
    /// # let spec = stanchion_race::Spec::parse(text, "probe.toml").unwrap();
    /// # let verdict = stanchion_race::race(&spec, &Default::default()).await;
    /// let json: serde_json::Value = serde_json::from_str(&verdict.to_json()).unwrap();
    /// assert_eq!(json["seed"], 17);
    /// # });
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}
