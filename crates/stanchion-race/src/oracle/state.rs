//! Expectations about what can be read back.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::select::{select, text};
use super::{Judged, Shown, filled};
use crate::run::{End, Played, Record};
use crate::spec::{Amount, Before, Spec, Template};

/// Examples that are shown.
const EXAMPLES: usize = 5;

pub(super) fn judge(spec: &Spec, played: &Played, shown: &Shown<'_>, judged: &mut Judged) {
    let expect = &spec.expect;
    let values = Values::of(shown);
    if let Some(template) = &expect.every {
        every(template, played, shown, &values, judged);
    }
    if let Some(template) = &expect.once {
        once(template, played, shown, &values, judged);
    }
    if expect.unique {
        let twice: Vec<_> = values.counts.iter().filter(|(_, count)| **count > 1).collect();
        if !twice.is_empty() {
            let what = format!("{} of {} values are there more than once", twice.len(), values.counts.len());
            let examples = twice.iter().take(EXAMPLES).map(|(value, count)| format!("{value}: {count} times"));
            judged.add("unique", Some(shown.instance), what, examples.collect());
        }
    }
    if let Some(amount) = expect.count {
        let found = whole(shown.selected.as_ref().map_or(0, Vec::len));
        let before = before(spec, played, |json| {
            let pointer = spec.read.as_ref().and_then(|read| read.select.as_deref()).unwrap_or_default();
            Some(whole(select(json, pointer).len()))
        });
        compare("count", found, before, amount, played, shown.instance, judged);
    }
    if let Some((pointer, amount)) = &expect.sum {
        let add = |json: &Value| match pointer {
            Some(pointer) => {
                let found = select(json, pointer);
                found.iter().map(|it| number(it)).sum::<Option<f64>>().filter(|_| !found.is_empty())
            }
            None => only_number(json),
        };
        match shown.answer.json.as_ref().and_then(add) {
            Some(found) => {
                let before = before(spec, played, add);
                compare("sum", found, before, *amount, played, shown.instance, judged);
            }
            None => judged.undecided(match pointer {
                Some(pointer) => format!("`sum` finds something that is no number, or nothing, at {pointer}"),
                None => "the answer has not exactly one number; say with `sum.select` which one counts".into(),
            }),
        }
    }
}

/// The selected values and how often they are there; without a selection, the text.
struct Values<'s> {
    counts: BTreeMap<String, usize>,
    text: Option<&'s str>,
}

impl<'s> Values<'s> {
    fn of(shown: &Shown<'s>) -> Self {
        let mut counts = BTreeMap::new();
        for value in shown.selected.iter().flatten() {
            *counts.entry(text(value)).or_insert(0) += 1;
        }
        Self { counts, text: shown.selected.is_none().then_some(shown.answer.text.as_str()) }
    }

    /// How often what the template gave is there.
    fn count(&self, template: &Template, value: &str) -> usize {
        match self.text {
            Some(_) if value.is_empty() => 0,
            // No id is part of another one, whatever stands beside it.
            Some(text) if template.uses_id() => text.matches(value).count(),
            Some(text) => text.match_indices(value).filter(|(at, _)| is_whole(text, *at, value)).count(),
            None => self.counts.get(value).copied().unwrap_or(0),
        }
    }
}

/// In a text 1 is not there because 10 is.
fn is_whole(text: &str, at: usize, value: &str) -> bool {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + value.len()..).unwrap_or_default());
    let begins_before = is_digit(value.chars().next()) && is_digit(before.chars().next_back());
    let ends_after = is_digit(value.chars().next_back()) && is_digit(after.chars().next());
    !begins_before && !ends_after
}

fn acknowledged<'p>(template: &'p Template, played: &'p Played) -> impl Iterator<Item = (&'p Record, String)> {
    let all = played.all().filter(|record| record.is(End::Acknowledged));
    all.map(move |record| (record, filled(template, played, record)))
}

fn every(template: &Template, played: &Played, shown: &Shown<'_>, values: &Values<'_>, judged: &mut Judged) {
    let is_there = |value: &str| values.count(template, value) > 0;
    let (kept, lost): (Vec<_>, Vec<_>) = acknowledged(template, played).partition(|(_, value)| is_there(value));
    if !lost.is_empty() {
        let what = format!("{} acknowledged, {} kept, {} lost", kept.len() + lost.len(), kept.len(), lost.len());
        let examples = lost.iter().take(EXAMPLES).map(|(record, value)| format!("{value} of call {}", record.n));
        judged.add("every", Some(shown.instance), what, examples.collect());
        judged.about(lost.iter().map(|(record, _)| *record), std::iter::empty());
    }
}

fn once(template: &Template, played: &Played, shown: &Shown<'_>, values: &Values<'_>, judged: &mut Judged) {
    // Calls may share a value: it is there once for all of them.
    let mut expected: BTreeMap<String, bool> = BTreeMap::new();
    for record in played.all() {
        *expected.entry(filled(template, played, record)).or_default() |= record.is(End::Acknowledged);
    }
    let count = |value: &str| values.count(template, value);
    let missing = expected.iter().filter(|(value, acknowledged)| **acknowledged && count(value) == 0);
    let doubled = expected.keys().filter(|value| count(value) > 1);
    let (missing, doubled): (Vec<_>, Vec<_>) = (missing.map(|(value, _)| value).collect(), doubled.collect());
    if missing.len() + doubled.len() > 0 {
        let what =
            format!("of {} values {} are there more than once, {} lost", expected.len(), doubled.len(), missing.len());
        let shown_twice = doubled.iter().map(|value| format!("{value}: {} times", count(value)));
        let shown_lost = missing.iter().map(|value| format!("{value}: lost"));
        judged.add("once", Some(shown.instance), what, shown_twice.chain(shown_lost).take(EXAMPLES).collect());
        let (missing, doubled): (BTreeSet<_>, BTreeSet<_>) =
            (missing.into_iter().collect(), doubled.into_iter().collect());
        let lost = |it: &&Record| it.is(End::Acknowledged) && missing.contains(&filled(template, played, it));
        let twice = |it: &&Record| doubled.contains(&filled(template, played, it));
        judged.about(played.all().filter(lost), played.all().filter(twice));
    }
}

fn before(spec: &Spec, played: &Played, of: impl Fn(&Value) -> Option<f64>) -> Option<f64> {
    let answer = played.before.as_ref().filter(|_| spec.before() != Before::Unasked)?;
    answer.json.as_ref().and_then(of)
}

/// Is the number within what the calls allow?
fn compare(
    name: &'static str,
    found: f64,
    before: Option<f64>,
    amount: Amount,
    played: &Played,
    instance: usize,
    judged: &mut Judged,
) {
    let acknowledged = whole(played.count(End::Acknowledged));
    let doubtful = whole(played.all().filter(|record| record.is_doubtful()).count());
    let unknown = whole(played.count(End::Unknown));
    let failed = whole(played.count(End::Failed));
    let base = match (amount, before) {
        (Amount::Before | Amount::BeforeAndAcknowledged, None) => {
            return judged.undecided(format!("`{name}` speaks of before, and nothing could be counted before"));
        }
        (_, before) => before.unwrap_or(0.0),
    };
    let (low, high) = match amount {
        // All calls together reach no more, whether or not they were answered.
        Amount::Fixed(number) if name == "count" => (number - unknown - failed, number),
        Amount::Fixed(number) if unknown + failed > 0.0 => match before {
            // By how much each call changes the sum is not known: those that may be missing leave it on its way there.
            Some(before) => (number.min(before), number.max(before)),
            None => {
                let open = unknown + failed;
                return judged.undecided(format!(
                    "{open} calls were not acknowledged, and nothing could be counted before them: what `sum` may be is not known; \
                     say \"before+acknowledged\" if every call adds one"
                ));
            }
        },
        Amount::Fixed(number) => (number, number),
        Amount::Before => (base, base),
        Amount::Acknowledged => (acknowledged, acknowledged + doubtful),
        Amount::BeforeAndAcknowledged => (base + acknowledged, base + acknowledged + doubtful),
    };
    // Sums of decimal fractions are not exact.
    let slack = 1e-9 * found.abs().max(high.abs()).max(1.0);
    if found < low - slack || found > high + slack {
        let allowed = if low == high { format!("{low}") } else { format!("{low} to {high}") };
        let what = format!("{name} is {found} instead of {allowed} ({acknowledged} acknowledged, {unknown} unknown)");
        judged.add(name, Some(instance), what, Vec::new());
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// The number of an answer that has exactly one.
fn only_number(json: &Value) -> Option<f64> {
    fn walk<'v>(json: &'v Value, found: &mut Vec<&'v Value>) {
        match json {
            Value::Array(items) => items.iter().for_each(|item| walk(item, found)),
            Value::Object(fields) => fields.values().for_each(|item| walk(item, found)),
            Value::Number(_) => found.push(json),
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(json, &mut found);
    match found[..] {
        [only] => number(only),
        _ => None,
    }
}

fn whole(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}
