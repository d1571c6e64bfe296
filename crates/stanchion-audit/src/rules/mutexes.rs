//! RC207 - RC209: locks that people make themselves, or go on without.

use super::{Case, Hit};
use crate::engine::{Event, EventId, Kind, Mark, Resource, Scope, What, Write};

fn is_write(event: &Event) -> bool {
    matches!(event.what, What::Write(_))
}

/// RC207: looked at, waited for, and taken without a second look.
pub(super) fn await_once(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        if !is_write(write) || write.resource.as_ref().is_none_or(|r| r.kind != Kind::Memory) {
            continue;
        }
        let same = |e: &&Event| e.resource == write.resource;
        // It is a lock if it is given back after the work.
        let given_back = |e: &Event| is_write(e) && e.suspends > write.suspends && e.stack == write.stack && same(&e);
        // A lock around the flag itself is let go before the work begins.
        let guarded = write.held.iter().any(|held| write.resource.as_ref().is_none_or(|r| held.lock != r.name));
        if guarded || !case.between(write.id, EventId::MAX).iter().any(given_back) {
            continue;
        }
        let reads = case.between(0, write.id).iter().filter(|e| matches!(e.what, What::Read { .. })).filter(same);
        let reads: Vec<&Event> = reads.collect();
        let waited = |read: &Event| {
            if read.stack != write.stack || write.guards.contains(read.id) {
                return None;
            }
            case.between(read.id, write.id).iter().find(|e| {
                matches!(e.what, What::Suspend)
                    && !e.detached
                    && e.guards.contains(read.id)
                    && e.loops == write.loops
                    && e.stack == write.stack
            })
        };
        let Some((read, wait)) = reads.iter().find_map(|read| Some((*read, waited(read)?))) else { continue };
        let looks_again = reads.iter().any(|e| e.id > wait.id);
        let already = case.between(wait.id, write.id).iter().any(|e| is_write(e) && same(&e));
        if looks_again || already {
            continue;
        }
        let text = (
            "who holds it is waited for once, and then it is taken without a second look",
            "all who waited go on together",
        );
        hits.push(Hit { scope: Scope::Process, ..case.pair("RC207", read, write, text) });
    }
}

/// RC208: what looked old may be new when it is removed.
pub(super) fn stale_unlink(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let (What::Write(how), Some(resource)) = (&write.what, &write.resource) else { continue };
        // What is moved away is removed as well.
        let moved = how.from.clone().map(|name| Resource { name, part: None, ..resource.clone() });
        let (removes, resource) = (how.deletes || moved.is_some(), moved.as_ref().unwrap_or(resource));
        let guarded = write.held.iter().any(|held| held.lock != resource.name);
        // What is named anew for each call is nobody's lock.
        let own = Mark::Unique.is_in(&resource.name);
        if !removes || resource.kind != Kind::File || guarded || write.always || own {
            continue;
        }
        // Removed because it could not be taken, or in order to take it: not in order to give it back.
        let taken = case.events().iter().any(|e| {
            matches!(&e.what, What::Write(w) if w.creates)
                && e.resource.as_ref().is_some_and(|r| r.is(resource))
                && (e.id > write.id || write.handler || e.loops.iter().any(|id| write.loops.contains(id)))
        });
        // A folder as a lock says in a file whose it is.
        let is_about = |r: &Resource| {
            r.is(resource)
                || r.kind == Kind::File
                    && r.name.strip_prefix(&*resource.name).is_some_and(|rest| rest.starts_with('/'))
        };
        let look =
            write.guards.iter().rev().filter_map(|id| case.trace.event(id)).find(|e| {
                matches!(e.what, What::Check | What::Read { .. }) && e.resource.as_ref().is_some_and(is_about)
            });
        let look = look.or_else(|| could_not_take(case, write));
        let taken = taken || look.is_some_and(|look| is_taken_over(case, look, write, resource));
        if let (true, Some(look)) = (taken, look) {
            // Whoever has written it since then removes his own.
            let is_own = |e: &Event| {
                matches!(&e.what, What::Write(w) if w.whole && !w.publishes)
                    && e.resource.as_ref().is_some_and(|r| r.is(resource))
                    && !e.handler
                    && e.meets(write)
            };
            if case.between(look.id, write.id).iter().any(is_own) {
                continue;
            }
            let text = (
                "a lock file that looks old is removed",
                "between the look and the removal it can be given back and taken anew: then a live lock is removed",
            );
            hits.push(Hit { scope: Scope::Host, ..case.pair("RC208", look, write, text) });
        }
    }
}

/// A file that says whose it is, and is not made exclusively: it was read, removed, and is written with one's own number,
/// which is not done where there is one.
fn is_taken_over(case: &Case<'_>, look: &Event, removal: &Event, file: &Resource) -> bool {
    let of_it = |e: &Event| e.resource.as_ref().is_some_and(|r| r.is(file));
    let looks = |id: EventId| {
        let look = case.trace.event(id).filter(|e| matches!(e.what, What::Check | What::Read { .. }));
        id < removal.id && look.is_some_and(of_it)
    };
    matches!(look.what, What::Read { .. })
        && case.between(removal.id, EventId::MAX).iter().any(|e| {
            matches!(&e.what, What::Write(w) if w.owner && w.whole)
                && of_it(e)
                && e.meets(removal)
                && e.guards.iter().any(looks)
        })
}

/// It was tried in vain for some time, it is removed, and then it is taken: by the same call.
fn could_not_take<'a>(case: &'a Case<'_>, removal: &Event) -> Option<&'a Event> {
    let takes = |e: &&Event| {
        matches!(&e.what, What::Write(w) if w.creates) && e.resource == removal.resource && e.stack == removal.stack
    };
    let tried = case.between(0, removal.id).iter().filter(takes).find(|e| e.loops.len() > removal.loops.len())?;
    case.between(removal.id, EventId::MAX).iter().find(takes).map(|_| tried)
}

/// RC209: without the lock, all the same.
pub(super) fn fail_open(case: &Case<'_>, hits: &mut Vec<Hit>) {
    lock_file_open(case, hits);
    for event in case.events() {
        let What::Acquire(lock) = &event.what else { continue };
        let released =
            case.events().iter().any(|e| matches!(&e.what, What::Release { lock: l, .. } if *l == lock.lock));
        if !(lock.open.is_some() || lock.tries && !lock.had && released) {
            continue;
        }
        // Who cannot have it does not reach what stands behind it in the same `try`.
        let from = lock.open.filter(|_| !lock.tries).unwrap_or_default();
        let mut inside =
            case.events().iter().filter(|e| e.id >= from && e.held.iter().any(|held| held.region == event.id));
        let acts = |e: &&Event| match &e.what {
            What::Write(how) => {
                let lasting = e.resource.as_ref().is_some_and(|r| r.kind != Kind::Memory);
                lasting && !case.compares(how, e) && !how.creates && (!how.deletes || !lock.tries)
            }
            What::Effect(effect) => !effect.safe && !effect.keyed,
            _ => false,
        };
        // What nobody gives back may be a mark: a lock is what keeps a change together.
        let changes = |e: &Event| {
            let mut from = e.deps.iter().filter_map(|id| case.trace.event(id)).filter(|read| read.id > event.id);
            from.any(|read| matches!(read.what, What::Read { .. }) && read.resource == e.resource)
        };
        let is_lock = |e: &&Event| !lock.tries || released || changes(e);
        let Some(write) = inside.find(|e| acts(e) && is_lock(e)) else { continue };
        // Whoever looks at the answer first knows.
        let asked = |e: &Event| e.guards.contains(event.id) || event.deps.iter().any(|id| e.guards.contains(id));
        if asked(write) {
            continue;
        }
        let text =
            ("the work is done whether the lock was taken or not", "when it cannot be had, two do the work at once");
        hits.push(Hit { scope: lock.scope, ..case.pair("RC209", event, write, text) });
    }
}

/// A file in a folder.
fn is_inside(file: &Resource, folder: &Event) -> bool {
    let folder = folder.resource.as_ref().map_or("", |r| &*r.name);
    file.name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The same with a file that is made if there is none, and removed in the end.
fn lock_file_open(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for taken in case.events() {
        let What::Write(Write { open: Some(from), creates: true, .. }) = &taken.what else { continue };
        let is_own = taken.resource.as_ref().is_some_and(|r| Mark::Unique.is_in(&r.name));
        let inside = |e: &&Event| e.id >= *from && !e.handler && e.held.iter().any(|held| held.region == taken.id);
        let acts = |e: &&Event| {
            let lasting = e.resource.as_ref().is_some_and(|r| r.kind != Kind::Memory) && e.resource != taken.resource;
            // A folder that is made is no lock for what is put into it.
            let of_its_own = |r: &Resource| Mark::Unique.is_in(&r.name) || is_inside(r, taken);
            lasting
                && !e.resource.as_ref().is_some_and(of_its_own)
                && matches!(&e.what, What::Write(how) if !how.compares && !how.creates && !how.deletes)
        };
        let Some(write) = case.events().iter().filter(inside).find(acts).filter(|_| !is_own) else { continue };
        // Who has tried anew meanwhile has another answer.
        let anew = case.between(*from, write.id).iter().any(|e| e.is_made_file() && e.resource == taken.resource);
        if anew
            || write.guards.contains(taken.id)
            || hits.iter().any(|hit| hit.code == "RC209" && hit.write == write.site)
        {
            continue;
        }
        let text =
            ("the work is done whether the lock was taken or not", "when it cannot be had, two do the work at once");
        hits.push(Hit { scope: Scope::Host, ..case.pair("RC209", taken, write, text) });
    }
}
