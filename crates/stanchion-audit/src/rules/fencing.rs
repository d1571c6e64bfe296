//! RC202, RC204: a lock that may be somebody else's by now.

use std::collections::BTreeSet;

use super::{Case, Hit};
use crate::engine::{Entry, Event, Scope, Site, What};

/// RC202.
pub(super) fn release_without_token(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for event in case.events() {
        if let What::Release { lock, checked: false } = &event.what {
            let text = (
                "a lock is deleted without asking in the same step whose it is",
                "if it has expired meanwhile, it is the next holder's lock that is deleted",
            );
            let resource = lock.to_string();
            hits.push(Hit { resource, scope: Scope::Cluster, sure: 2, ..case.hit("RC202", event, text) });
        }
    }
}

/// RC202 with a lock file that others remove when it looks old: the one that is removed in the end may be the next holder's.
/// After RC208, which knows such files.
pub(super) fn stale_release(case: &Case<'_>, hits: &mut Vec<Hit>) {
    let stale: Vec<(String, Site)> = hits
        .iter()
        .filter(|hit| hit.code == "RC208" && !hit.marked)
        .map(|hit| (hit.resource.clone(), hit.write))
        .collect();
    if stale.is_empty() {
        return;
    }
    let mut taken = BTreeSet::new();
    for event in case.events() {
        let (What::Write(how), Some(resource)) = (&event.what, &event.resource) else { continue };
        if how.creates {
            taken.insert(&*resource.name);
        }
        let mut same = stale.iter().filter(|(name, _)| **name == *resource.name).peekable();
        // What has failed has most likely not lasted long enough to look old.
        let failed = event.handler && !event.always;
        let given_back = how.deletes && !failed && how.from.is_none() && taken.contains(&*resource.name);
        if !given_back || same.peek().is_none() || same.any(|(_, removal)| *removal == event.site) {
            continue;
        }
        // Whoever reads it first looks whose it is.
        let reads =
            |e: &Event| matches!(e.what, What::Read { .. }) && e.resource.as_ref().is_some_and(|r| r.is(resource));
        let looks = event.guards.iter().filter_map(|id| case.trace.event(id)).any(reads);
        if looks || hits.iter().any(|hit| hit.code == "RC202" && hit.write == event.site) {
            continue;
        }
        let text = (
            "a lock file that others remove when it looks old is removed without a look whose it is",
            "if it was taken over meanwhile, it is the next holder's lock that is removed",
        );
        hits.push(Hit { scope: Scope::Host, ..case.hit("RC202", event, text) });
    }
}

/// RC204.
pub(super) fn renew_without_token(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for event in case.events() {
        let What::Renew { lock, checked: false } = &event.what else { continue };
        let Some(resource) = &event.resource else { continue };
        let asked = event.guards.iter().filter_map(|id| case.trace.event(id)).find(|read| {
            matches!(read.what, What::Read { .. }) && read.resource.as_ref().is_some_and(|r| r.is(resource))
        });
        let resource = lock.to_string();
        if let Some(asked) = asked {
            let text = (
                "a lock is read and then prolonged in a second step",
                "between the two it can expire and become somebody else's, who then has it longer than asked for",
            );
            hits.push(Hit { resource, scope: Scope::Cluster, sure: 2, ..case.pair("RC204", asked, event, text) });
        } else if is_heartbeat(case, event) {
            let text = (
                "a lock is prolonged again and again without asking whose it is",
                "once it has expired it is somebody else's, who then has it longer than asked for",
            );
            hits.push(Hit { resource, scope: Scope::Cluster, ..case.hit("RC204", event, text) });
        }
    }
}

/// Done by a timer, or in a loop that waits each time; and not because it has just been taken.
fn is_heartbeat(case: &Case<'_>, event: &Event) -> bool {
    let waits =
        |e: &Event| matches!(e.what, What::Sleep { .. }) && e.loops.last().is_some_and(|id| event.loops.contains(id));
    let takes = |e: &Event| match (&e.what, &event.what) {
        (What::Acquire(taken), What::Renew { lock, .. }) => taken.lock == *lock && e.loops.len() >= event.loops.len(),
        _ => false,
    };
    (case.trace.root.entry == Entry::Timer || case.events().iter().any(waits)) && !case.events().iter().any(takes)
}
