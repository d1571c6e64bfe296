//! RC203, RC205, RC206, RC210, RC211: locks that do not do their work.

use super::{Case, Hit};
use crate::engine::{Event, Kind, Scope, What};
use crate::hir::Language;

/// A hit about a lock.
fn about(case: &Case<'_>, code: &'static str, at: &Event, name: &str, scope: Scope, text: (&str, &str)) -> Hit {
    Hit { resource: name.into(), scope, sure: 2, ..case.hit(code, at, text) }
}

/// RC203: its holder dies, and nobody ever gets it again.
pub(super) fn without_ttl(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for event in case.events() {
        if let What::Acquire(lock) = &event.what
            && !lock.ttl
        {
            let text = (
                "a lock is set without an end of its own",
                "if its holder dies before it sets one, nobody gets the lock again",
            );
            hits.push(about(case, "RC203", event, &lock.lock, lock.scope, text));
        }
    }
}

/// One is how a context is entered, the other how it is left: whoever enters it sees to the other.
fn are_halves(case: &Case<'_>, taken: &Event, given: &Event) -> bool {
    let within = |event: &Event| {
        let (line, functions) = (event.site.span.line, &case.program.module(event.site.file).functions);
        let around = functions.iter().filter(|f| f.class.is_some() && f.span.line <= line && line <= f.span.end_line);
        around.max_by_key(|f| f.span.line).map(|f| (f.class, f.name.as_str()))
    };
    taken.site.file == given.site.file
        && matches!(
            (within(taken), within(given)),
            (Some((one, "__enter__")), Some((other, "__exit__"))) | (Some((one, "__aenter__")), Some((other, "__aexit__")))
                if one == other
        )
}

/// RC205: an exception between the two keeps it.
pub(super) fn not_released(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for event in case.events() {
        let What::Acquire(lock) = &event.what else { continue };
        if lock.structured || case.is_dropped(event, lock.scope) {
            continue;
        }
        let releases: Vec<&Event> = case
            .events()
            .iter()
            .filter(|e| e.id > event.id && matches!(&e.what, What::Release { lock: l, .. } if *l == lock.lock))
            // A function that gives it back was given to the caller, who is not known.
            .filter(|e| !case.trace.is_later(event, e))
            .collect();
        if releases.iter().any(|release| are_halves(case, event, release)) {
            continue;
        }
        // Given back on the usual way, not only where something went wrong.
        let goes_on = |release: &Event| {
            case.events().iter().filter(|e| e.id > release.id && !e.handler).all(|e| e.meets(release))
        };
        let Some(first) = releases.iter().find(|release| !release.handler && goes_on(release)) else { continue };
        if releases.iter().any(|release| release.always) {
            continue;
        }
        // Left early, with the lock: by the one who has taken it, and not because it was not to be had.
        let left = |e: &Event| {
            matches!(e.what, What::Leaves)
                && e.stack == event.stack
                && first.stack == event.stack
                && e.held.iter().any(|held| held.region == event.id)
                && !e.guards.contains(event.id)
        };
        // Go has no exceptions.
        let fails = case.language(event) != Language::Go;
        let risky = case.events().iter().any(|e| {
            left(e)
                || fails
                    && e.id > event.id
                    && e.id < first.id
                    && match &e.what {
                        // Not the waiting for the lock itself.
                        What::Suspend => e.site.span.line != event.site.span.line,
                        What::Read { .. } | What::Write(_) => {
                            e.resource.as_ref().is_some_and(|r| r.kind != Kind::Memory)
                        }
                        What::Effect(_) => true,
                        _ => false,
                    }
        });
        if risky {
            let text = if fails {
                (
                    "a lock is not given back when something in between fails",
                    "an exception leaves it held until its end, or for ever",
                )
            } else {
                ("a lock is not given back on all ways out", "whoever leaves early keeps it, and nobody gets it again")
            };
            let (read, write, at) = (Some(event.site), first.site, first.site);
            hits.push(Hit { read, write, at, ..about(case, "RC205", event, &lock.lock, lock.scope, text) });
        }
    }
}

/// RC206: everybody has a lock of their own.
pub(super) fn per_call(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for event in case.events() {
        if let What::Acquire(lock) = &event.what
            && lock.fresh
            && lock.scope <= Scope::Process
            && !case.is_shared_with_own(&lock.lock)
        {
            let text = (
                "the lock is made in the same call that takes it",
                "every call has a lock of its own, so nobody ever waits",
            );
            hits.push(about(case, "RC206", event, &lock.lock, lock.scope, text));
        }
    }
}

/// RC210: the connection goes back into the pool with the lock on it.
pub(super) fn in_a_pool(case: &Case<'_>, hits: &mut Vec<Hit>) {
    let given_back = case.events().iter().filter(|event| matches!(event.what, What::GivenBack));
    let regions: Vec<_> = given_back.flat_map(|event| event.held.iter().map(|held| held.region)).collect();
    for event in case.events() {
        if let What::Acquire(lock) = &event.what
            && (lock.pooled || regions.contains(&event.id) && lock.session)
        {
            let text = (
                "an advisory lock of a session is taken through a pool",
                "the unlock may run on another connection, and the lock stays with one that serves others",
            );
            hits.push(about(case, "RC210", event, &lock.lock, lock.scope, text));
        }
    }
}

/// RC211: the lock ends with the statement.
pub(super) fn for_update_outside(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for event in case.events() {
        if let What::Read { locks: true, tries, .. } = event.what
            && event.transaction.is_none()
            && let Some(resource) = &event.resource
        {
            let text = (
                "FOR UPDATE outside of a transaction locks nothing",
                "each statement is a transaction of its own, and its lock ends with it",
            );
            // Where nothing is written because of it, only the lock is useless.
            let uses = |e: &Event| {
                let acts = match &e.what {
                    What::Write(_) => e.resource.as_ref().is_some_and(|r| r.kind != Kind::Memory),
                    What::Effect(effect) => !effect.safe,
                    _ => false,
                };
                acts && e.id > event.id && (e.deps.contains(event.id) || e.guards.contains(event.id))
            };
            let used = case.events().iter().any(uses);
            // Whoever only wants to know whether somebody has the row needs no more than the answer.
            if tries && !used {
                continue;
            }
            let sure = if used { 2 } else { 0 };
            hits.push(Hit { sure, scope: resource.scope, ..case.hit("RC211", event, text) });
        }
    }
}
