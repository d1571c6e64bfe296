//! Keyed calls: one effect at most, and one answer for everybody who is told one.

use std::collections::BTreeMap;

use super::{Facts, Verdict};
use crate::real::journal::{Line, Outcome};

/// One key.
#[derive(Default)]
struct Calls<'a> {
    /// How each call ended; nothing if its process did not live to tell.
    ends: BTreeMap<&'a str, Option<&'a Outcome>>,
}

pub(super) fn judge(facts: &Facts, verdict: &mut Verdict) {
    let mut keys: BTreeMap<&str, Calls<'_>> = BTreeMap::new();
    for line in &facts.lines {
        match line {
            Line::Call { key, op } => {
                keys.entry(key).or_default().ends.entry(op).or_insert(None);
            }
            Line::Answer { key, op, outcome } => {
                keys.entry(key).or_default().ends.insert(op, Some(outcome));
            }
            Line::Got { .. } | Line::Try { .. } | Line::End { .. } => {}
        }
    }
    for (key, calls) in &keys {
        calls.judge(key, facts.effects.get(*key).map_or(&[], Vec::as_slice), verdict);
    }
    for key in facts.effects.keys().filter(|key| !keys.contains_key(key.as_str())) {
        verdict.broke("S5", || format!("key {key}: an effect that nobody asked for"));
    }
}

impl Calls<'_> {
    fn judge(&self, key: &str, effects: &[String], verdict: &mut Verdict) {
        if effects.len() > 1 {
            verdict.doubled += 1;
            verdict.broke("S4", || format!("key {key}: {} effects, of {}", effects.len(), effects.join(", ")));
        }
        let in_doubt = self.ends.values().any(|end| matches!(end, None | Some(Outcome::Maybe(_))));
        for (op, end) in &self.ends {
            match end {
                Some(Outcome::Ok(body)) => {
                    verdict.acknowledged += 1;
                    verdict.repeated += u64::from(body != op);
                    if effects.first() != Some(body) {
                        let did = effects.first().map_or("nothing", String::as_str);
                        verdict.broke("S4", || format!("key {key}: {op} was told {body}, and the effect is {did}"));
                    }
                }
                Some(Outcome::No(why)) => {
                    verdict.failed += 1;
                    if effects.iter().any(|effect| effect == op) {
                        verdict.broke("S6", || format!("key {key}: {op} failed ({why}) and had its effect"));
                    }
                }
                Some(Outcome::Maybe(_)) | None => verdict.indeterminate += 1,
            }
        }
        let all_refused = self.ends.values().all(|end| matches!(end, Some(Outcome::No(_))));
        if all_refused && !in_doubt && !effects.is_empty() {
            verdict.broke("S6", || format!("key {key}: every call failed, and there is an effect"));
        }
    }
}
