//! Values that grow by one: each acknowledged write is there once, each refused one is not, each unknown one at most once.

use std::collections::{BTreeMap, HashMap};

use super::{Facts, Verdict};
use crate::real::journal::{Line, Outcome};
use crate::real::orders::Chain;
use crate::real::place::Seen;

/// One chain.
#[derive(Default)]
struct Links<'a> {
    /// Who was seen to have written each number.
    writers: BTreeMap<u64, &'a str>,
    /// How often each call was seen as a writer.
    places: HashMap<&'a str, u64>,
    /// How each call ended; nothing if its process did not live to tell.
    ends: BTreeMap<&'a str, Option<&'a Outcome>>,
}

pub(super) fn judge(facts: &Facts, ends: &BTreeMap<Chain, Seen>, verdict: &mut Verdict) {
    let mut all: BTreeMap<Chain, Links<'_>> = BTreeMap::new();
    for line in &facts.lines {
        match line {
            Line::Try { chain, op, saw, who, .. } => {
                let links = all.entry(*chain).or_default();
                links.ends.entry(op).or_insert(None);
                links.see(*chain, *saw, who, verdict);
            }
            Line::End { chain, op, outcome, .. } => {
                all.entry(*chain).or_default().ends.insert(op, Some(outcome));
            }
            Line::Got { .. } | Line::Call { .. } | Line::Answer { .. } => {}
        }
    }
    for (chain, mut links) in all {
        match ends.get(&chain) {
            Some(end) => {
                links.see(chain, end.number, &end.who, verdict);
                links.judge(chain, end.number, verdict);
            }
            None => verdict.broke("L1", || format!("{}: its value cannot be read", chain.word())),
        }
    }
}

impl<'a> Links<'a> {
    fn see(&mut self, chain: Chain, number: u64, who: &'a str, verdict: &mut Verdict) {
        if number == 0 {
            return;
        }
        match self.writers.insert(number, who) {
            Some(other) if other != who => {
                *self.places.entry(who).or_default() += 1;
                verdict.broke("S2", || format!("{}: both {other} and {who} made it {number}", chain.word()));
            }
            Some(_) => {}
            None => *self.places.entry(who).or_default() += 1,
        }
    }

    fn judge(&self, chain: Chain, last: u64, verdict: &mut Verdict) {
        let name = chain.word();
        if let Some(number) = (1..=last).find(|number| !self.writers.contains_key(number)) {
            verdict.broke("S5", || format!("{name}: nobody has seen {number}, and it is {last} now"));
        }
        if let Some((number, who)) = self.writers.range(last + 1..).next() {
            verdict.broke("S5", || format!("{name}: {who} had made it {number}, and it is {last} now"));
        }
        for who in self.writers.values().filter(|who| !self.ends.contains_key(*who)) {
            verdict.broke("S5", || format!("{name}: {who} wrote without having read"));
        }
        for (op, end) in &self.ends {
            let times = self.places.get(op).copied().unwrap_or(0);
            match end {
                Some(Outcome::Ok(_)) => {
                    verdict.acknowledged += 1;
                    if times == 0 {
                        verdict.lost += 1;
                        verdict.broke("S5", || format!("{name}: the acknowledged write of {op} is lost"));
                    }
                }
                Some(Outcome::No(why)) => {
                    verdict.failed += 1;
                    verdict.fenced += u64::from(why == "FENCE_REJECTED");
                    if times > 0 {
                        verdict.broke("S6", || format!("{name}: {op} failed ({why}) and has written"));
                    }
                }
                Some(Outcome::Maybe(_)) | None => verdict.indeterminate += 1,
            }
            if times > 1 {
                verdict.broke("S5", || format!("{name}: {op} has written {times} times"));
            }
        }
    }
}
