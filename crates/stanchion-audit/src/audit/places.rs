//! Hits of the same two lines, and where they are told: at the write, or at the calls that put read and write together.

use std::collections::{BTreeMap, BTreeSet};

use super::{Callers, Found, Key, key};
use crate::engine::Site;
use crate::rules::{Hit, like};

/// Calls that one hit shows.
const CALLS_MOST: usize = 64;

/// One hit for each race. A function that reads or writes whatever it is given has no race of its own: its callers have,
/// each for itself.
pub(super) fn placed(all: Vec<Found>) -> Vec<Found> {
    let mut groups: BTreeMap<Key, Vec<Found>> = BTreeMap::new();
    for found in all {
        groups.entry(key(&found.0)).or_default().push(found);
    }
    let mut placed = Vec::new();
    for (_, group) in groups {
        if !is_of_callers(&group) {
            placed.extend(merged(group));
            continue;
        }
        let mut by_calls: BTreeMap<Option<(Site, Site)>, Vec<Found>> = BTreeMap::new();
        for (mut hit, callers) in group {
            hit.at = hit.calls.first().map_or(hit.write, |(_, write)| *write);
            by_calls.entry(hit.calls.first().copied()).or_default().push((hit, callers));
        }
        placed.extend(by_calls.into_values().filter_map(merged));
    }
    placed
}

/// Whether the lines are about different things each time, or one line does both.
fn is_of_callers(group: &[Found]) -> bool {
    let about: BTreeSet<String> = group.iter().map(|(hit, _)| like(&hit.resource)).collect();
    let same_line = |hit: &Hit| hit.read == Some(hit.write);
    group.iter().all(|(hit, _)| !hit.calls.is_empty())
        && (about.len() > 1 || group.iter().all(|(hit, _)| same_line(hit)))
}

fn merged(group: Vec<Found>) -> Option<Found> {
    let mut group = group.into_iter();
    let (mut hit, mut callers): (Hit, Callers) = group.next()?;
    for (other, more) in group {
        callers.extend(more);
        hit.comes_also_by(other.frames);
        for calls in other.calls {
            if hit.calls.len() < CALLS_MOST && !hit.calls.contains(&calls) {
                hit.calls.push(calls);
            }
        }
    }
    Some((hit, callers))
}
