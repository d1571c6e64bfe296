//! What those who call a function hold around all of its call: looked at by itself, it seems to do without.

use std::collections::{BTreeMap, BTreeSet};

use super::Hit;
use crate::engine::{Event, EventId, Kind, Scope, Site, Trace, What};
use crate::program::Program;

/// Calls between the lock and the write that are known, and ways to one write.
const CALLS_MOST: usize = 16;
const WAYS_MOST: usize = 16;

/// A way to a write on which something is held: how far that reaches, if it is no transaction, and the calls from the one
/// that was made after it was taken.
type Way = (Option<Scope>, Vec<Site>);

/// The ways to each write.
#[derive(Debug, Default)]
pub(super) struct Around(BTreeMap<Site, BTreeSet<Way>>);

impl Around {
    pub(super) fn learn(&mut self, trace: &Trace) {
        for write in trace.events() {
            let outside = write.resource.as_ref().is_some_and(|r| r.kind != Kind::Memory);
            if !outside || !matches!(write.what, What::Write(_)) || write.early {
                continue;
            }
            let strict = |begin: &EventId| {
                trace.event(*begin).is_some_and(|e| {
                    matches!(e.what, What::Begin { immediate: true, .. } | What::Begin { serializable: true, .. })
                })
            };
            let begun = write.transaction.filter(strict).map(|begin| (None, begin));
            let held = write.held.iter().map(|held| (Some(held.scope), held.region));
            for (reach, region) in begun.into_iter().chain(held) {
                let Some(calls) = trace.event(region).and_then(|taken| calls_after(taken, write)) else { continue };
                let ways = self.0.entry(write.site).or_default();
                if ways.len() < WAYS_MOST {
                    ways.insert((reach, calls));
                }
            }
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        for (write, ways) in other.0 {
            self.0.entry(write).or_default().extend(ways);
        }
    }

    /// Whether only functions lead to it that somebody calls with something held that protects it. Whoever calls them
    /// without has a hit of his own.
    pub(super) fn covers(&self, hit: &Hit, program: &Program) -> bool {
        let by_transaction = matches!(hit.code, "RC102" | "RC106" | "RC401");
        let by_lock = by_transaction || matches!(hit.code, "RC101" | "RC103" | "RC301");
        let (Some(loose), Some(ways), true) = (&hit.loose, self.0.get(&hit.write), by_lock) else { return false };
        let reaches = |reach: &Option<Scope>| reach.map_or(by_transaction, |reach| reach >= hit.scope);
        loose.iter().all(|(file, function)| {
            let Some(span) = program.module(*file).functions.get(*function).map(|found| found.span) else {
                return false;
            };
            let around = Site { file: *file, span };
            ways.iter().any(|(reach, calls)| reaches(reach) && is_called(around, calls))
        })
    }
}

/// The calls that lead from where something was taken to the write, with the write itself; nothing if the function that has
/// taken it has let others return before it.
fn calls_after(taken: &Event, write: &Event) -> Option<Vec<Site>> {
    let common = taken.stack.iter().zip(write.stack.iter()).take_while(|(one, other)| one == other).count();
    let rest = write.stack.get(common..).filter(|rest| !rest.is_empty() && rest.len() < CALLS_MOST)?;
    Some(rest.iter().copied().chain([write.site]).collect())
}

/// Whether one of the calls, and not the first of them, stands in this function: then it was called by the one before.
fn is_called(function: Site, calls: &[Site]) -> bool {
    calls.iter().position(|call| function.holds(*call)).is_some_and(|at| at > 0)
}
