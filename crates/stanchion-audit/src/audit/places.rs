//! One hit for each race, told where it can be mended: at the function that puts a read and a write together.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{Callers, Found};
use crate::engine::Site;
use crate::rules::Hit;

/// Calls, and other lines of one hit, that it shows.
const CALLS_MOST: usize = 64;

/// Hits of one race: the rule, and either the call by which a function reads what it writes back, or the write and the read
/// themselves.
type Place = (&'static str, Site, Option<Site>);

fn place(hit: &Hit) -> Place {
    match hit.calls.first() {
        Some((_, write)) if is_copy(hit) => (hit.code, *write, hit.read),
        _ if is_dropped(hit) => (hit.code, hit.write, None),
        Some((read, _)) => (hit.code, *read, None),
        None => (hit.code, hit.write, hit.read.or(Some(hit.write))),
    }
}

/// One hit for each race. Helpers that read and write have none of their own: each function that calls both has, because
/// there a lock has to be held from the one to the other.
pub(super) fn placed(mut all: Vec<Found>) -> Vec<Found> {
    let mut savers: BTreeMap<Site, BTreeSet<Site>> = BTreeMap::new();
    for (hit, _) in all.iter().filter(|(hit, _)| is_copy(hit)) {
        savers.entry(hit.write).or_default().extend(hit.calls.iter().map(|(_, write)| *write));
    }
    // Whoever is called from one place only has no need of being told there.
    for (hit, _) in all.iter_mut().filter(|(hit, _)| is_copy(hit)) {
        if savers.get(&hit.write).is_some_and(|calls| calls.len() == 1) {
            hit.calls.clear();
        }
    }
    let mut groups: BTreeMap<Place, Vec<Found>> = BTreeMap::new();
    for found in all {
        groups.entry(place(&found.0)).or_default().push(found);
    }
    groups.into_values().filter_map(merged).collect()
}

/// A copy in memory is written: all who do so have it from one read.
fn is_copy(hit: &Hit) -> bool {
    hit.code == "RC107"
}

/// A write that nobody waits for: whoever starts it, it is mended where it is done.
fn is_dropped(hit: &Hit) -> bool {
    hit.code == "RC108"
}

fn merged(mut group: Vec<Found>) -> Option<Found> {
    // The first way to the write, with the one that is surest of it before the others.
    group.sort_by_key(|(hit, _)| (hit.calls.first().map(|(_, write)| *write), Reverse(hit.sure)));
    let mut group = group.into_iter();
    let (mut hit, mut callers): (Hit, Callers) = group.next()?;
    for (other, more) in group {
        callers.extend(more);
        hit.comes_also_by(&other);
        for calls in other.calls {
            if hit.calls.len() < CALLS_MOST && !hit.calls.contains(&calls) {
                hit.calls.push(calls);
            }
        }
        let lines = (other.read, other.write);
        if hit.others.len() < CALLS_MOST && lines != (hit.read, hit.write) && !hit.others.contains(&lines) {
            hit.others.push(lines);
        }
    }
    hit.at = match &hit.calls[..] {
        [] => hit.at,
        [_, _, ..] if is_dropped(&hit) => hit.write,
        [(_, write), ..] => *write,
    };
    Some((hit, callers))
}
