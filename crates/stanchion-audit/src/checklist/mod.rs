//! Deployment checklists, filled in for a code base, and a grade.
//!
//! An item is answered by findings, or by a person: a checklist that says "pass" where nobody looked is worse than none. So
//! an item passes only if the analysis met what it is about and found nothing.

mod grade;
mod items;
mod render;

use serde::Serialize;

pub use self::{
    grade::{Grade, RUBRIC, Score, score},
    items::{ITEMS, Item, List},
    render::{json, text},
};
use crate::deploy::Deployment;

/// How bad a finding is.
///
/// ```
/// use stanchion_audit::checklist::Severity;
/// assert!(Severity::High > Severity::Low);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A nuisance.
    Low,
    /// Wrong now and then, and visible.
    Medium,
    /// Data is lost, or an effect happens twice.
    High,
}

/// As much of a finding as an answer needs: code, path, line, severity.
///
/// ```
/// use stanchion_audit::checklist::{Found, Severity};
/// let found: Found = ("RC203", "src/lock.ts", 12, Severity::High);
/// ```
pub type Found<'a> = (&'a str, &'a str, u32, Severity);

/// What an item is about. The analysis tells which of these it met.
///
/// ```
/// use stanchion_audit::checklist::Subject;
/// assert!(Subject::ALL.contains(&Subject::Lock));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// State that is read and written back: files, rows, keys, memory.
    State,
    /// Files that are written.
    File,
    /// Locks of any kind.
    Lock,
    /// Locks that a server keeps and that expire: Redis, leases in tables.
    Lease,
    /// Calls with an effect outside: payments, mail, requests that create.
    Effect,
    /// Idempotency keys or other records of what was done.
    Key,
    /// Retries.
    Retry,
    /// Timers and schedules.
    Timer,
    /// MCP tools with hints.
    Hint,
}

impl Subject {
    /// All of them.
    ///
    /// ```
    /// assert_eq!(stanchion_audit::checklist::Subject::ALL.len(), 9);
    /// ```
    pub const ALL: [Self; 9] = [
        Self::State,
        Self::File,
        Self::Lock,
        Self::Lease,
        Self::Effect,
        Self::Key,
        Self::Retry,
        Self::Timer,
        Self::Hint,
    ];
}

/// Where something was met that an item is about.
///
/// ```
/// use stanchion_audit::checklist::{Met, Subject};
/// let met = Met { subject: Subject::Timer, path: "src/jobs.ts".into(), line: 7, more: 2 };
/// assert_eq!(met.more, 2);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Met {
    /// What.
    pub subject: Subject,
    /// The file of the first place.
    pub path: String,
    /// The line of it.
    pub line: u32,
    /// How many places there are besides.
    pub more: usize,
}

/// How an item stands.
///
/// ```
/// use stanchion_audit::checklist::State;
/// assert_eq!(State::NotSeen.as_str(), "not seen");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Looked at, and nothing found.
    Pass,
    /// There are findings.
    Fail,
    /// The code has nothing that the item is about.
    NotSeen,
    /// Only a person can tell.
    ByHand,
}

impl State {
    /// In words.
    ///
    /// ```
    /// assert_eq!(stanchion_audit::checklist::State::ByHand.as_str(), "by hand");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "FAIL",
            Self::NotSeen => "not seen",
            Self::ByHand => "by hand",
        }
    }
}

/// Something that an answer rests on.
///
/// ```
/// use stanchion_audit::checklist::Evidence;
/// let evidence = Evidence { path: "src/lock.ts".into(), line: 12, text: "RC203 lock-without-ttl".into() };
/// assert_eq!(evidence.line, 12);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Evidence {
    /// The file.
    pub path: String,
    /// The line.
    pub line: u32,
    /// What is there.
    pub text: String,
}

/// An item with its answer; see [`fill`].
///
/// ```
/// use stanchion_audit::{checklist::{fill, State}, deploy::Deployment};
/// let answers = fill(&[], &Deployment::default(), &[]);
/// assert!(answers.iter().all(|answer| matches!(answer.state, State::NotSeen | State::ByHand)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The item.
    pub item: &'static Item,
    /// How it stands.
    pub state: State,
    /// Findings, or what was looked at, first; then how the code is deployed, where the item depends on that.
    pub evidence: Vec<Evidence>,
}

/// Answers all items. `seen` is what the analysis met: of what it did not meet, no item passes.
///
/// ```
/// use stanchion_audit::checklist::{fill, Severity, State, Subject};
/// let found = [("RC203", "src/lock.ts", 12, Severity::High)];
/// let answers = fill(&found, &Default::default(), &[Subject::Lock, Subject::Lease]);
/// let state = |id: &str| answers.iter().find(|answer| answer.item.id == id).map(|answer| answer.state);
/// assert_eq!(state("lock-expires"), Some(State::Fail));
/// assert_eq!(state("owner-only"), Some(State::Pass));
/// assert_eq!(state("timers"), Some(State::NotSeen));
/// ```
#[must_use]
pub fn fill(findings: &[Found<'_>], deployment: &Deployment, seen: &[Subject]) -> Vec<Answer> {
    ITEMS.iter().map(|item| answer(item, findings, deployment, seen)).collect()
}

fn answer(item: &'static Item, findings: &[Found<'_>], deployment: &Deployment, seen: &[Subject]) -> Answer {
    let mut evidence: Vec<Evidence> = findings
        .iter()
        .filter(|(code, ..)| item.codes.contains(code))
        .map(|(code, path, line, _)| Evidence { path: (*path).to_owned(), line: *line, text: (*code).to_owned() })
        .collect();
    evidence.sort();
    evidence.dedup();
    let state = if !evidence.is_empty() {
        State::Fail
    } else if item.by_hand {
        State::ByHand
    } else if item.about.iter().any(|subject| seen.contains(subject)) {
        State::Pass
    } else {
        State::NotSeen
    };
    if item.depends_on_instances
        && let Some(fact) = deployment.evidence()
    {
        evidence.push(Evidence { path: fact.path.clone(), line: fact.line, text: fact.text.clone() });
    }
    Answer { item, state, evidence }
}

/// Says of the items that pass what was looked at.
///
/// ```
/// use stanchion_audit::checklist::{fill, point_out, Met, Subject};
/// let mut answers = fill(&[], &Default::default(), &[Subject::Timer]);
/// point_out(&mut answers, &[Met { subject: Subject::Timer, path: "src/jobs.ts".into(), line: 7, more: 2 }]);
/// let timers = answers.iter().find(|answer| answer.item.id == "timers").unwrap();
/// assert_eq!((timers.evidence[0].line, timers.evidence[0].text.as_str()), (7, "and 2 more were looked at"));
/// ```
pub fn point_out(answers: &mut [Answer], met: &[Met]) {
    for answer in answers.iter_mut().filter(|answer| answer.state == State::Pass) {
        let seen = met.iter().filter(|met| answer.item.about.contains(&met.subject)).map(|met| {
            let text = match met.more {
                0 => "was looked at".to_owned(),
                more => format!("and {more} more were looked at"),
            };
            Evidence { path: met.path.clone(), line: met.line, text }
        });
        answer.evidence.splice(0..0, seen);
    }
}

#[cfg(test)]
mod tests;
