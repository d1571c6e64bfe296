//! What must be there after the first life, and whether it is.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::points::{Harm, Wrong};
use super::SCRIPT;

/// How often something was acknowledged, and how often it may have happened besides.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    done: u64,
    unknown: u64,
}

#[derive(Debug)]
pub(super) struct Judge {
    counts: BTreeMap<String, Count>,
    /// What was first said of each key.
    calls: BTreeMap<String, String>,
    jobs: BTreeMap<String, String>,
    worked: Vec<String>,
    fence: u64,
    /// Of each key, before the second life.
    effects: BTreeMap<String, u64>,
    was_killed: bool,
    pub(super) acknowledged: u64,
    pub(super) wrong: Vec<Wrong>,
}

/// How often each name is in the file of effects.
fn effects(path: &Path) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    // No file, no effects.
    for line in std::fs::read_to_string(path).unwrap_or_default().lines().filter(|line| !line.is_empty()) {
        *found.entry(line.split(' ').next().unwrap_or_default().to_owned()).or_default() += 1;
    }
    found
}

/// The orders of one verb, each name once.
fn names(verb: &str) -> Vec<&'static str> {
    let mut names: Vec<_> = SCRIPT.iter().filter_map(|order| order.strip_prefix(verb)?.strip_prefix(' ')).collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl Judge {
    pub(super) fn new(lived: &[(String, Option<String>)], was_killed: bool, effect_file: &Path) -> Self {
        let mut judge = Self {
            counts: BTreeMap::new(),
            calls: BTreeMap::new(),
            jobs: BTreeMap::new(),
            worked: Vec::new(),
            fence: 0,
            effects: effects(effect_file),
            was_killed,
            acknowledged: 0,
            wrong: Vec::new(),
        };
        lived.iter().for_each(|(order, answer)| judge.hear(order, answer.as_deref().unwrap_or("unknown it died")));
        judge
    }

    fn add(&mut self, property: &'static str, harm: Harm, what: String) {
        self.wrong.push(Wrong { property, harm, what });
    }

    fn hear(&mut self, order: &str, answer: &str) {
        let (verb, name) = order.split_once(' ').unwrap_or((order, ""));
        let (word, rest) = answer.split_once(' ').unwrap_or((answer, ""));
        self.acknowledged += u64::from(word == "done");
        match verb {
            "count" | "add" => {
                let count = self.counts.entry(order.to_owned()).or_default();
                count.done += u64::from(word == "done");
                count.unknown += u64::from(word == "unknown");
                let fence = rest.split(' ').nth(1).and_then(|fence| fence.parse().ok());
                if let Some(fence) = fence.filter(|_| order == "count a" && word == "done") {
                    if fence <= self.fence {
                        self.add("S3", Harm::Lost, format!("fence {fence} after {}", self.fence));
                    }
                    self.fence = self.fence.max(fence);
                }
            }
            "call" | "both" => {
                let first = self.calls.get(name).cloned();
                let ran_again =
                    first.as_deref().is_some_and(|first| first.starts_with("done")) && answer.contains(" ran ");
                if verb == "call" && ran_again {
                    self.add("S4", Harm::Extra, format!("{order}: {first:?}, then {answer}"));
                }
                // Where nothing happened, the next try decides.
                if first.is_none_or(|first| first.starts_with("failed")) {
                    self.calls.insert(name.to_owned(), answer.to_owned());
                }
            }
            "enqueue" if word == "done" => {
                let id = rest.split(' ').next().unwrap_or_default().to_owned();
                let first = self.jobs.entry(name.to_owned()).or_insert_with(|| id.clone());
                if *first != id {
                    let what = format!("{order}: {first} is there, and {id} as well");
                    self.add("S4", Harm::Extra, what);
                }
            }
            "work" if word == "done" && rest != "nothing" => self.worked.push(rest.to_owned()),
            _ => {}
        }
    }

    /// What the second life is asked, in this order.
    pub(super) fn questions(&self) -> Vec<String> {
        let mut all = vec!["jobs".to_owned()];
        all.extend(names("count").iter().map(|name| format!("counted {name}")));
        all.extend(names("add").iter().map(|name| format!("added {name}")));
        all.extend(self.calls.keys().map(|name| format!("call {name}")));
        // Nobody is stuck.
        all.extend(["count a", "count b", "add x", "call fresh", "enqueue fresh", "counted a"].map(str::to_owned));
        all
    }

    pub(super) fn compare(&mut self, answers: &[(String, Option<String>)], effect_file: &Path) {
        for (order, answer) in answers {
            let answer = answer.as_deref().unwrap_or("unknown it died");
            let (verb, name) = order.split_once(' ').unwrap_or((order.as_str(), ""));
            match (verb, answer.strip_prefix("done")) {
                ("call", _) if name != "fresh" => self.repeated(name, answer),
                ("counted", Some(value)) => self.number("count", name, value.trim()),
                ("added", Some(value)) => self.number("add", name, value.trim()),
                ("jobs", Some(listed)) => self.listed(listed),
                ("count", Some(rest)) => {
                    let fence = rest.trim().split(' ').nth(1).and_then(|fence| fence.parse::<u64>().ok());
                    if name == "a" && fence.is_none_or(|fence| fence <= self.fence) {
                        self.add("S3", Harm::Lost, format!("fence {fence:?} after {}", self.fence));
                    }
                    let count = self.counts.entry(order.clone()).or_default();
                    count.done += 1;
                }
                (_, Some(_)) => {}
                ("open", None) => self.add("S5", Harm::Unreadable, answer.to_owned()),
                (_, None) => self.add("L1", Harm::Stuck, format!("{order}: {answer}")),
            }
        }
        for (name, count) in effects(effect_file) {
            if count > 1 {
                self.add("S4", Harm::Extra, format!("{name} had {count} effects"));
            }
        }
    }

    fn number(&mut self, verb: &str, name: &str, value: &str) {
        let Count { done, unknown } = self.counts.get(&format!("{verb} {name}")).copied().unwrap_or_default();
        let fits = value.parse::<u64>().is_ok_and(|value| (done..=done + unknown).contains(&value));
        if !fits {
            self.add("S5", Harm::Lost, format!("{verb} {name} is {value}: {done} acknowledged, {unknown} unknown"));
        }
    }

    fn listed(&mut self, listed: &str) {
        let found: BTreeMap<&str, (&str, &str)> = listed
            .split_whitespace()
            .filter_map(|job| {
                let (key, rest) = job.split_once('=')?;
                Some((key, rest.split_once('=')?))
            })
            .collect();
        for (key, id) in self.jobs.clone() {
            match found.get(key.as_str()) {
                Some((there, state)) if *there == id => {
                    if self.worked.contains(&id) && *state != "Done" {
                        self.add("S5", Harm::Lost, format!("job {key} was done and is {state}"));
                    }
                }
                other => self.add("S5", Harm::Lost, format!("job {key} is {other:?}, not {id}")),
            }
        }
    }

    fn repeated(&mut self, name: &str, answer: &str) {
        let (first, before) = (self.calls.get(name).cloned().unwrap_or_default(), self.effects.get(name).copied());
        let ran = answer.starts_with("done ran");
        let what = format!("call {name}: {first}, {before:?} effects, then {answer}");
        if first.starts_with("done") {
            if before != Some(1) {
                self.add("S5", Harm::Lost, what);
            } else if ran || self.was_killed && !answer.starts_with("done replayed") {
                self.add("S4", Harm::Extra, what);
            }
        } else if first.starts_with("failed") && before.is_some() {
            self.add("S6", Harm::Extra, what);
        } else if ran && before.is_some() {
            self.add("S4", Harm::Extra, what);
        }
    }
}
