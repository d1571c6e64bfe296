//! What was done in a round, and how it ended.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::oracle;
use crate::recorder::Effect;
use crate::schedule::{Fault, Schedule};
use crate::spec::{Spec, Vars};
use crate::target::{Answer, Reply};

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum End {
    /// Answered without an error.
    Acknowledged,
    /// Answered with an error, or not delivered.
    Failed,
    /// Perhaps delivered, never answered.
    Unknown,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Acknowledged => "acknowledged",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        })
    }
}

/// One call of a round.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Record {
    /// Its number in the round.
    pub n: usize,
    /// Which `[[call]]`.
    pub call: usize,
    /// Where.
    pub instance: usize,
    /// What `{id}` was.
    pub id: String,
    /// When it was sent, after the release.
    pub started_us: u64,
    /// When it ended, after the release.
    pub ended_us: u64,
    /// From when to when its process was stopped, or killed and not yet started again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disturbed_us: Option<(u64, u64)>,
    /// How it ended.
    pub end: End,
    /// It certainly had no effect.
    pub nothing_ran: bool,
    /// Why it was not acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What happened to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// The beginning of what was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// All of what was answered, where an expectation asks for it.
    #[serde(skip)]
    pub(crate) given: Option<Answer>,
    /// What came instead of an answer was none.
    #[serde(skip)]
    pub(crate) is_garbage: bool,
}

impl Record {
    pub(crate) fn is(&self, end: End) -> bool {
        self.end == end
    }

    /// May have had an effect, although nobody promised one.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.end != End::Acknowledged && !self.nothing_ran
    }
}

/// What one instance showed when all calls had ended.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ReadBack {
    /// Where.
    pub instance: usize,
    /// When it was asked, after the release.
    pub started_us: u64,
    /// When it had answered.
    pub ended_us: u64,
    /// How many values are selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<usize>,
    /// The beginning of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// How a reply counts.
pub(crate) struct Counted {
    pub(crate) end: End,
    pub(crate) nothing_ran: bool,
    pub(crate) why: Option<String>,
    pub(crate) answer: Option<Answer>,
    pub(crate) is_garbage: bool,
}

impl From<Reply> for Counted {
    fn from(reply: Reply) -> Self {
        let is_garbage = matches!(reply, Reply::Garbage(_));
        let (end, nothing_ran) = match &reply {
            Reply::Answer(_) => (End::Acknowledged, false),
            Reply::Refused { may_have_run, .. } => (End::Failed, !may_have_run),
            Reply::Undelivered(_) => (End::Failed, true),
            Reply::Silent(_) | Reply::Garbage(_) => (End::Unknown, false),
        };
        let (why, answer) = match reply {
            Reply::Answer(answer) => (None, Some(answer)),
            other => (Some(other.why()), None),
        };
        Self { end, nothing_ran, why, answer, is_garbage }
    }
}

/// A round that was played to its end.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) schedule: Schedule,
    /// What the words meant that are the same for all calls.
    pub(crate) vars: Vars,
    /// In the order of their numbers.
    pub(crate) records: Vec<Record>,
    /// Calls that were made when all was over, one after the other, because answers are expected.
    pub(crate) afterwards: Vec<Record>,
    pub(crate) before: Option<Answer>,
    /// What each instance showed, or why it did not.
    pub(crate) reads: Vec<Result<Answer, String>>,
    /// From when to when each was read, after the release.
    pub(crate) read_us: Vec<(u64, u64)>,
    pub(crate) effects: Vec<Effect>,
    /// Faults at the recorder, by name.
    pub(crate) upstream_faults: BTreeMap<&'static str, usize>,
    /// Why the ground is not clean for the next round.
    pub(crate) unclean: Option<String>,
}

impl Played {
    /// All calls that count, raced or made afterwards.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().chain(&self.afterwards)
    }

    pub(crate) fn read_backs(&self, spec: &Spec) -> Vec<ReadBack> {
        let each = self.reads.iter().zip(&self.read_us).enumerate();
        let shown = each.map(|(instance, (read, (started_us, ended_us)))| ReadBack {
            instance,
            started_us: *started_us,
            ended_us: *ended_us,
            values: read.as_ref().ok().and_then(|answer| oracle::values(spec, answer)),
            answer: read.as_ref().ok().map(|answer| answer.shown.clone()),
            why: read.as_ref().err().cloned(),
        });
        shown.collect()
    }

    /// What the first read-back that worked has shown, for whoever has to correct a `select`.
    pub(super) fn told_read(&self, spec: &Spec) -> String {
        let Some(answer) = self.reads.iter().find_map(|read| read.as_ref().ok()) else { return String::new() };
        let select = spec.read.as_ref().and_then(|read| read.select.as_deref());
        let text = if answer.shown.is_empty() { "nothing" } else { &answer.shown };
        match (select, oracle::values(spec, answer)) {
            (Some(select), Some(0)) => format!(". `select = {select:?}` found nothing in what was read: {text}"),
            (Some(select), Some(values)) => {
                let s = if values == 1 { "" } else { "s" };
                format!(". `select = {select:?}` found {values} value{s} in what was read: {text}")
            }
            _ => format!(". What was read: {text}"),
        }
    }

    pub(crate) fn count(&self, end: End) -> usize {
        self.all().filter(|record| record.is(end)).count()
    }
}

/// Why a round has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The time of the whole run is over.
    OutOfTime,
    Inconclusive(String),
}
