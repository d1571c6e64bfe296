//! What is left, compared with what was promised.

mod effects;
mod linear;
mod select;
mod state;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value;

pub(crate) use self::select::select;
use crate::run::{End, Played, Record};
use crate::spec::{Spec, Template, Vars};
use crate::target::Answer;

/// An expectation that does not hold.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Violation {
    /// Its key in `[expect]`.
    pub expectation: &'static str,
    /// Which instance showed it; `None` if it is about all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<usize>,
    /// In words.
    pub what: String,
    /// Some of the values or calls, at most five.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// The ids of acknowledged calls whose effect is not there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The ids of calls whose effect is there more than once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubled: Vec<String>,
    /// The ids of calls whose answers no order explains together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicting: Vec<String>,
    /// The instances whose read-back is in conflict with them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicting_reads: Vec<usize>,
}

/// What a round shows.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub(crate) violations: Vec<Violation>,
    /// Why something could not be judged.
    pub(crate) undecided: Option<String>,
}

impl Judged {
    fn add(&mut self, expectation: &'static str, instance: Option<usize>, what: String, examples: Vec<String>) {
        self.violations.push(Violation {
            expectation,
            instance,
            what,
            examples,
            missing: Vec::new(),
            doubled: Vec::new(),
            conflicting: Vec::new(),
            conflicting_reads: Vec::new(),
        });
    }

    /// Which calls the last violation is about.
    fn about<'r>(&mut self, missing: impl Iterator<Item = &'r Record>, doubled: impl Iterator<Item = &'r Record>) {
        if let Some(last) = self.violations.last_mut() {
            last.missing = missing.map(|record| record.id.clone()).collect();
            last.doubled = doubled.map(|record| record.id.clone()).collect();
        }
    }

    fn undecided(&mut self, why: String) {
        self.undecided.get_or_insert(why);
    }
}

/// One instance's answer to the read-back.
struct Shown<'v> {
    instance: usize,
    answer: &'v Answer,
    /// `None` without `select`.
    selected: Option<Vec<&'v Value>>,
}

/// How many values the read-back selects.
pub(crate) fn values(spec: &Spec, answer: &Answer) -> Option<usize> {
    let pointer = spec.read.as_ref()?.select.as_deref()?;
    Some(select(answer.json.as_ref()?, pointer).len())
}

/// Judges a round.
pub(crate) fn judge(spec: &Spec, played: &Played) -> Judged {
    let mut judged = Judged::default();
    for (instance, read) in played.reads.iter().enumerate() {
        let shown = read.as_ref().map_err(String::clone).and_then(|answer| {
            let pointer = spec.read.as_ref().and_then(|read| read.select.as_deref());
            let needs_json = pointer.is_some() || spec.expect.sum.is_some();
            if needs_json && answer.json.is_none() {
                return Err(format!("not JSON: {}", answer.shown));
            }
            let selected = pointer.zip(answer.json.as_ref()).map(|(pointer, json)| select(json, pointer));
            Ok(Shown { instance, answer, selected })
        });
        match shown {
            Ok(shown) => state::judge(spec, played, &shown, &mut judged),
            Err(why) if spec.expect.readable => {
                judged.add("readable", Some(instance), format!("the read-back failed: {why}"), Vec::new());
            }
            Err(why) => judged.undecided(format!("instance {instance} could not be read back: {why}")),
        }
    }
    if spec.expect.effects {
        effects::judge(played, &mut judged);
    }
    if spec.expect.answers {
        answers(spec, played, &mut judged);
    }
    if let Some(model) = spec.expect.linearizable {
        linear::judge(spec, model, played, &mut judged);
    }
    judged
}

/// Every call after the last fault is answered.
fn answers(spec: &Spec, played: &Played, judged: &mut Judged) {
    let is_quiet = played.schedule.steps.iter().all(|step| step.fault.is_none());
    let raced = if is_quiet { &played.records[..] } else { &[] };
    let silent: Vec<_> = raced.iter().chain(&played.afterwards).filter(|record| record.is(End::Unknown)).collect();
    if silent.is_empty() {
        return;
    }
    let seconds = spec.limits.call.as_secs();
    let what = format!("{} calls were not answered in {seconds} s, after all faults were over", silent.len());
    let examples = silent.iter().take(5).map(|it| format!("call {} on instance {}", it.n, it.instance)).collect();
    judged.add("answers", None, what, examples);
}

/// What a template gives for one call.
fn filled(template: &Template, played: &Played, record: &Record) -> String {
    template.fill(&vars(played, record))
}

/// What the words meant in one call.
fn vars(played: &Played, record: &Record) -> Vars {
    Vars {
        id: record.id.clone(),
        n: record.n,
        i: record.instance,
        round: played.schedule.round,
        seed: played.schedule.round_seed(),
        ..played.vars.clone()
    }
}
