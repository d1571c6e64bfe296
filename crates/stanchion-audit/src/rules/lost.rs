//! RC103 - RC105, RC201: what was read is written back, and somebody else's change in between is lost.

use super::content::judged;
use super::{Case, Hit, given_back, joint, parts, rows};
use crate::engine::{Event, EventId, Held, Kind, Resource, Scope, What, Write};
use crate::hir::Language;

/// Reads that a write depends on, of the same thing, the one that says most first.
pub(super) fn pairs<'a>(case: &'a Case<'_>, kind: Kind) -> Vec<(Vec<&'a Event>, &'a Event)> {
    let mut pairs = Vec::new();
    for write in case.events() {
        let What::Write(how) = &write.what else { continue };
        let Some(resource) = write.resource.as_ref().filter(|r| r.kind == kind) else { continue };
        if case.compares(how, write) || how.creates && !how.whole || how.deletes || how.inserts {
            continue;
        }
        let mut by_value: Vec<EventId> = write.deps.iter().rev().filter(|_| !how.relative).collect();
        looked_up(case, write, how, &mut by_value);
        by_value.retain(|id| case.trace.event(*id).is_none_or(|read| rows::may_give(read, &how.columns)));
        // What the store computes itself is only wrong if it should not have been done at all.
        // That a row was there is no reason to fear for what is written.
        let by_guard = write.guards.iter().rev().filter(|id| {
            let present = write.present.contains(*id);
            let read = case.trace.event(*id);
            let taken = || present && read.is_some_and(|read| rows::takes(read, how));
            // Something else of the row may have been looked at.
            let gives = || read.is_some_and(|read| rows::may_give(read, &how.columns));
            let is_row = kind == Kind::Table;
            let decided = || how.decided && !how.skips.contains(*id);
            is_row && ((decided() || !how.raised.is_empty() && !present) && gives() || taken())
                || !is_row && decides(how, write, *id) && gives() && is_of_same(case, write, *id)
        });
        let by_row = rows::one_by_one(case, write, how);
        let reads =
            by_value.into_iter().chain(by_guard).chain(by_row).filter_map(|id| case.trace.event(id)).filter(|read| {
                (matches!(read.what, What::Read { .. }) || is_given(read, write))
                    && read.resource.as_ref().is_some_and(|r| r.is(resource))
                    && read.meets(write)
                    && (kind == Kind::File || !case.trace.is_later(read, write))
            });
        // What is written only where nothing is has nothing to lose: see RC301. Who has found something, or has only asked for
        // its time or size, is not there.
        let absent = |read: &&Event| {
            let passed = |id: EventId| write.present.contains(id) || write.anything.contains(id);
            let missed = write.guards.iter().filter(|id| !passed(*id));
            let mut looks = missed.filter_map(|id| case.trace.event(id));
            !looks.any(|e| e.id > read.id && matches!(e.what, What::Check) && e.resource == write.resource)
        };
        // Nor what is written because it could not be read anew.
        let fails = write.handler
            && case.between(0, write.id).iter().any(|e| {
                matches!(e.what, What::Read { .. })
                    && !e.handler
                    && e.resource == write.resource
                    && !write.deps.contains(e.id)
            });
        let mut reads: Vec<&Event> = reads.filter(absent).filter(|_| !fails).collect();
        // What was read at the start counts only if it was not read again.
        if reads.iter().any(|read| !read.early) {
            reads.retain(|read| !read.early);
        }
        // And what a library has presumably read only if nobody else has.
        if reads.iter().any(|read| !is_given(read, write)) {
            reads.retain(|read| !is_given(read, write));
        }
        if !reads.is_empty() {
            pairs.push((reads, write));
        }
    }
    pairs
}

/// A library was given the path, and what it gave is written there: it has read the file.
fn is_given(read: &Event, write: &Event) -> bool {
    matches!(read.what, What::Given) && write.deps.contains(read.id)
}

/// A read that was compared with something fixed, and it is written because of that. Where all who come later write the
/// same, whatever it was before, nobody is told what is not so.
pub(super) fn decides(how: &Write, write: &Event, read: EventId) -> bool {
    write.equals.contains(read) || write.differs.contains(read) && !how.constant
}

/// What is written comes from the caller, or from what was read of the same thing since then: not from elsewhere, which is
/// as new as can be.
fn is_of_same(case: &Case<'_>, write: &Event, since: EventId) -> bool {
    write.deps.iter().filter_map(|id| case.trace.event(id)).all(|e| {
        let in_memory = e.resource.as_ref().is_some_and(|r| r.kind == Kind::Memory);
        let anew = e.id > since && !e.early && e.resource == write.resource;
        in_memory || anew || !matches!(e.what, What::Read { .. } | What::Write(_) | What::Effect(_))
    })
}

/// Lookups by lookups.
const LOOKUPS_DEEP: usize = 4;

/// What a column becomes is looked up by what it was: adds the reads of what it was.
fn looked_up(case: &Case<'_>, write: &Event, how: &Write, reads: &mut Vec<EventId>) {
    let mut next: Vec<EventId> = reads.clone();
    for _ in 0..LOOKUPS_DEEP {
        let mut before = Vec::new();
        for look in next.iter().filter_map(|id| case.trace.event(*id)) {
            let What::Read { through, .. } = &look.what else { continue };
            for (field, from) in through {
                before.extend(from.iter());
                let is_old = |id: &EventId| {
                    let same = |read: &Event| {
                        read.resource.as_ref().map(|r| &r.name) == write.resource.as_ref().map(|r| &r.name)
                    };
                    how.columns.contains(field) && case.trace.event(*id).is_some_and(same)
                };
                reads.extend(from.iter().filter(is_old));
            }
        }
        if before.is_empty() {
            return;
        }
        next = before;
    }
}

/// Judges a pair by the locks around it; nothing if they protect it.
pub(super) fn by_locks(case: &Case<'_>, code: &'static str, read: &Event, write: &Event, what: &str) -> Option<Hit> {
    let shared = write.resource.as_ref().map_or(Scope::Process, |r| r.scope);
    let needed = case.needed(shared);
    if read.covered_with(write, needed) {
        return None;
    }
    let because = &case.facts.because;
    if let Some(lock) = read.held.iter().find(|held| write.held.iter().any(|h| h.region == held.region)) {
        let reach = format!("{:?}", lock.scope).to_lowercase();
        let message = format!("{what} is read and written under a lock of this {reach} only");
        let why = format!("the lock reaches as far as one {reach}, and {because}");
        return Some(case.pair("RC201", read, write, (message, why)));
    }
    let again = read.held.iter().find(|held| write.held.iter().any(|h| h.lock == held.lock));
    if again.is_some() {
        let message =
            format!("{what} is read under a lock and written under the same lock, but it is let go in between");
        let why = "another caller can take the lock between the two";
        return Some(Hit { sure: 2, ..case.pair("RC105", read, write, (message, why)) });
    }
    let inside = case.is_parallel(write) || case.window(read, write).is_some();
    if !inside && case.is_ours_alone(shared) {
        // One process that never pauses in between is alone.
        return None;
    }
    let message = format!("{what} is read, changed and written back without a lock: a change in between is lost");
    let why = if inside {
        let more = (needed > Scope::Process).then(|| format!(", and so can two processes: {because}"));
        format!("two calls of this process can both read before either writes{}", more.unwrap_or_default())
    } else {
        format!("nothing keeps another process from writing in between, and {because}")
    };
    Some(Hit { sure: if inside { 2 } else { 1 }, ..case.pair(code, read, write, (message, why)) })
}

/// RC103.
pub(super) fn key(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for kind in [Kind::Key, Kind::Document] {
        for (read, write) in pairs(case, kind).iter().flat_map(|(reads, write)| judged(case, reads, write)) {
            // A watched key, or a transaction that fails when somebody else was faster.
            let strict = read.transaction.filter(|begin| write.transaction == Some(*begin)).is_some_and(|begin| {
                case.trace.event(begin).is_some_and(|e| matches!(e.what, What::Begin { serializable: true, .. }))
            });
            if strict {
                continue;
            }
            hits.extend(by_locks(case, "RC103", read, write, "a key"));
        }
    }
}

/// RC104: only where a pause lets others in; threads are for other tools.
pub(super) fn memory(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let What::Write(how) = &write.what else { continue };
        let Some(resource) = write.resource.as_ref().filter(|r| r.kind == Kind::Memory) else { continue };
        if how.relative || how.deletes || case.is_parallel(write) {
            continue;
        }
        let same = |e: &&Event| {
            e.resource.as_ref().is_some_and(|r| r.is(resource)) && e.meets(write) && !case.trace.is_later(e, write)
        };
        // A map that is filled where it has a gap is a cache, unless what it holds has to be given back.
        // And a flag that is set in the end says only that it has been there.
        let is_entry = resource.name.contains(".[");
        let fills = |id: EventId| !how.whole || is_entry && write.absent.contains(id);
        let may_fill = (!how.whole || is_entry) && !write.guards.is_empty();
        let holds = may_fill && given_back::is_given_back(case, write);
        let guards = write.guards.iter().filter(|id| (holds || !fills(*id)) && !how.constant);
        let reads = write.deps.iter().chain(guards).filter_map(|id| case.trace.event(id));
        let looks = |e: &&Event| match e.what {
            What::Read { .. } => !e.early,
            What::Check => holds && !e.early,
            _ => false,
        };
        let reads: Vec<&Event> = reads.filter(looks).filter(same).collect();
        let Some(latest) = reads.iter().max_by_key(|read| read.id) else { continue };
        // What is counted is as new as can be, and the limit was looked at before.
        let counts = write.deps.contains(latest.id) && case.window(latest, write).is_none();
        let limit = || reads.iter().filter(|read| write.guards.contains(read.id)).max_by_key(|read| read.id);
        let Some(read) = (if counts { limit() } else { Some(latest) }) else { continue };
        let between = case.between(read.id, write.id);
        if case.window(read, write).is_none() || read.covered_with(write, Scope::Thread) {
            continue;
        }
        // A pause only where the map has nothing: then nothing of it is written back.
        let in_gap = |e: &Event| if is_entry { e.absent.contains(read.id) } else { e.guards.contains(read.id) };
        let paused = || between.iter().any(|e| matches!(e.what, What::Suspend) && !in_gap(e));
        // The second round of something that calls itself is not another caller.
        let again = |e: &Event| matches!(e.what, What::Write(_)) && e.site == write.site && e.loops == write.loops;
        if (how.inserts || is_entry) && !holds && !paused() || case.between(0, write.id).iter().any(again) {
            continue;
        }
        // Whoever sets it before others can run has it.
        let claims = |e: &&Event| {
            e.id > read.id && matches!(e.what, What::Write(_)) && same(e) && case.window(read, e).is_none()
        };
        let claim = between.iter().find(claims);
        // It is put back to what it was, whoever has set it meanwhile: nobody is kept out who finds it set.
        let puts_back = |claim: &Event| {
            write.deps.contains(read.id) && !claim.guards.contains(read.id) && !claim.deps.contains(read.id)
        };
        let is_put_back = claim.is_some_and(puts_back);
        if (claim.is_some() || write.always || write.handler) && !is_put_back {
            continue;
        }
        // Whoever looks again after the pause knows.
        let looked = write.guards.iter().filter_map(|id| case.trace.event(id)).filter(same);
        if looked.into_iter().any(|e| looks(&e) && case.window(e, write).is_none()) {
            continue;
        }
        let made = write
            .deps
            .iter()
            .filter_map(|id| case.trace.event(id))
            .any(|e| matches!(&e.what, What::Effect(effect) if !effect.safe));
        // Whoever fetches what is not there yet twice has it twice.
        let plain = || how.data || parts::is_part_of_answer(case, write);
        if !how.inserts && !made && !write.deps.contains(read.id) && plain() {
            continue;
        }
        if comes_from_outside(case, read, write) || is_alone(case, resource, write) || is_timed(case, write) {
            continue;
        }
        if hits.iter().any(|hit| hit.code == "RC104" && hit.read == Some(read.site)) {
            continue;
        }
        let message = "a value in memory is read, others can run, and it is written because of what was read";
        hits.push(case.pair("RC104", read, write, (message, "tasks of one process share it")));
    }
}

/// RC104 and RC105, where calls run at the same time by themselves: locked for the read and for the write, not across both.
pub(super) fn split(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events().iter().filter(|e| matches!(e.what, What::Write(_)) && case.is_parallel(e)) {
        let Some(resource) = write.resource.as_ref().filter(|r| r.kind == Kind::Memory) else { continue };
        let same = |e: &Event| {
            matches!(e.what, What::Read { .. })
                && e.resource.as_ref().is_some_and(|r| r.is(resource))
                && !e.early
                && e.meets(write)
                && !case.trace.is_later(e, write)
        };
        let apart = |read: &Event| {
            let again = |held: &Held| write.held.iter().any(|h| h.lock == held.lock && h.region != held.region);
            read.held.iter().any(again) && !read.covered_with(write, Scope::Task)
        };
        let reads = write.deps.iter().rev().filter_map(|id| case.trace.event(id));
        let Some(read) = reads.into_iter().find(|read| same(read) && apart(read)) else { continue };
        // Whoever looks again while he holds it knows.
        let mut looked = write.guards.iter().filter_map(|id| case.trace.event(id));
        if looked.any(|e| same(e) && e.covered_with(write, Scope::Task)) {
            continue;
        }
        let text = (
            "a value is read under a lock and written under the same lock, but it is let go in between",
            "another caller can take the lock between the two",
        );
        // Rust's lock is the value itself.
        let code = if case.language(write) == Language::Rust { "RC104" } else { "RC105" };
        hits.push(case.pair(code, read, write, text));
    }
}

/// What is written was fetched after the look: it is newer than what was there, and whoever fetches twice has it twice.
fn comes_from_outside(case: &Case<'_>, read: &Event, write: &Event) -> bool {
    let outside = |e: &Event| match &e.what {
        What::Read { .. } | What::Check | What::List => e.resource.as_ref().is_some_and(|r| r.kind != Kind::Memory),
        What::Effect(_) => true,
        _ => false,
    };
    // Of two that ask for the same, only one that is made by it is one too many.
    let by_value = write.deps.contains(read.id);
    write.deps.iter().filter_map(|id| case.trace.event(id)).filter(|e| e.id > read.id && outside(e)).any(|e| {
        if by_value { e.deps.contains(read.id) } else { !matches!(&e.what, What::Effect(effect) if !effect.safe) }
    })
}

/// What is fetched anew when it has become old: whoever fetches it twice has it twice.
fn is_timed(case: &Case<'_>, write: &Event) -> bool {
    let stamped = |read: &Event| {
        case.events()
            .iter()
            .any(|e| matches!(&e.what, What::Write(how) if how.stamp) && e.resource == read.resource && e.meets(write))
    };
    let looks = write.guards.iter().filter(|id| !write.deps.contains(*id)).filter_map(|id| case.trace.event(id));
    looks.filter(|e| e.resource.as_ref().is_some_and(|r| r.kind == Kind::Memory)).any(stamped)
}

/// Another flag or promise was looked at and set without a pause: whoever comes meanwhile is sent away.
pub(super) fn is_alone(case: &Case<'_>, of: &Resource, write: &Event) -> bool {
    let memory = |e: &&Event| e.resource.as_ref().is_some_and(|r| r.kind == Kind::Memory && r.name != of.name);
    let looks = write.guards.iter().filter_map(|id| case.trace.event(id)).filter(memory);
    let looks: Vec<&Event> = looks.filter(|e| matches!(e.what, What::Read { .. }) && !e.early).collect();
    looks.iter().any(|look| {
        !joint::is_joint(case, look, of, write)
            && case.events().iter().any(|e| {
                matches!(&e.what, What::Write(how) if how.whole)
                    && e.id > look.id
                    && e.resource == look.resource
                    && e.meets(write)
                    && !e.always
                    && !waits(case, look, e)
            })
    })
}

/// Others can run between two steps of one function: a call that it does not wait for pauses only itself.
fn waits(case: &Case<'_>, from: &Event, to: &Event) -> bool {
    let own = |e: &Event| matches!(e.what, What::Suspend) && e.stack == to.stack;
    let apart = from.stack != to.stack || case.between(from.id, to.id).iter().any(own);
    apart && case.window(from, to).is_some()
}
