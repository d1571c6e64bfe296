//! RC101, RC107: files that are written with what was read from them.

use super::lost::{by_locks, decides, pairs};
use super::parts::flat;
use super::{Case, Hit, common};
use crate::engine::{Entry, Event, Kind, Mark, Scope, What};
use crate::hir::each::each_in;
use crate::hir::{ExprKind, Function, Stmt, StmtKind};

/// RC101 and RC107.
pub(super) fn file(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for (read, write) in pairs(case, Kind::File).iter().flat_map(|(reads, write)| judged(case, reads, write)) {
        // Who calls it from another file may have read anew before: that is told where it is called.
        let root = &case.trace.root;
        if read.kept && root.entry == Entry::Loose && (case.program.is_asked(&root.name) || is_step(case)) {
            continue;
        }
        if read.early || case.trace.is_later(read, write) {
            if is_step(case) {
                continue;
            }
            let message = "a file is written from a copy in memory that was read at the start";
            let why = format!("what others have written since then is overwritten: {}", case.facts.because);
            if case.needed(Scope::Host) > Scope::Process && !read.covered_with(write, Scope::Host) {
                hits.push(case.pair("RC107", read, write, (message, why)));
            }
            continue;
        }
        if let Some(kept) = kept_once(case, read).filter(|_| !read.covered_with(write, case.needed(Scope::Host))) {
            let message = "a file is written from a copy in memory that was read when it was first needed";
            let why = format!("what others have written since then is overwritten: {}", case.facts.because);
            if case.needed(Scope::Host) > Scope::Process && !kept.covered_with(write, Scope::Host) {
                hits.push(case.pair("RC107", read, write, (message, why)));
            }
            continue;
        }
        let hit = by_locks(case, "RC101", read, write, "a file");
        // What a library does with a path is not known for certain.
        let most = if matches!(read.what, What::Given) { 1 } else { u8::MAX };
        hits.extend(hit.map(|hit| Hit { sure: hit.sure.min(most), ..hit }));
    }
}

/// The read that a write is judged by, and those that others have put together with it: each function that changes what it
/// has read, and gives it to one that reads again and writes both, loses what was written before the second read.
pub(super) fn judged<'a>(case: &Case<'_>, reads: &[&'a Event], write: &'a Event) -> Vec<(&'a Event, &'a Event)> {
    let Some(latest) = freshest(case, reads, write) else { return Vec::new() };
    let mut all = vec![latest];
    // What one command of a script leaves in memory is not given to the next one.
    let is_script = case.trace.root.handles().1 == 0;
    for read in reads.iter().take(READS_MOST).copied() {
        let (by, inner) = (common(read, write), all.last().map_or(0, |inner| common(inner, write)));
        let is_outer = by < inner && read.id < latest.id && !(is_script && by == 0);
        let is_fresh = !read.early && !read.detached && kept_once(case, read).is_none();
        let counts =
            write.deps.contains(read.id) || matches!(&write.what, What::Write(how) if decides(how, write, read.id));
        if is_outer && is_fresh && counts && !is_written(case, read, latest) {
            all.push(read);
        }
    }
    all.into_iter().map(|read| (read, write)).collect()
}

/// What was read first has been written before it was read again: the second read has it.
fn is_written(case: &Case<'_>, first: &Event, second: &Event) -> bool {
    let of_it = |e: &&Event| e.resource == first.resource && e.deps.contains(first.id);
    case.between(first.id, second.id).iter().filter(of_it).any(|e| matches!(e.what, What::Write(_)))
}

/// Of several reads the latest, but one of this call: what was kept from an earlier one may be a part that has nothing to
/// do with it. Whoever has read under the lock of the write knows what he writes, whatever else he has read.
fn freshest<'a>(case: &Case<'_>, reads: &[&'a Event], write: &Event) -> Option<&'a Event> {
    let locked = |read: &&Event| read.covered_with(write, case.needed(Scope::Host));
    let few = || reads.iter().take(READS_MOST).copied();
    let fresh = || few().find(|read| !read.kept && kept_once(case, read).is_none());
    few().find(locked).or_else(fresh).or(reads.first().copied())
}

/// Reads of one write that are looked at.
const READS_MOST: usize = 8;

/// RC107: a method writes what its object holds, and the object may hold it since it was made: who made it says so.
pub(super) fn of_its_maker(case: &Case<'_>, hits: &mut Vec<Hit>) {
    if case.needed(Scope::Host) <= Scope::Process || is_step(case) {
        return;
    }
    for write in case.events() {
        let What::Write(how) = &write.what else { continue };
        let Some(resource) = write.resource.as_ref().filter(|r| r.kind == Kind::File && how.whole) else { continue };
        let reads =
            write.deps.iter().filter_map(|id| case.trace.event(id)).filter(|e| matches!(e.what, What::Read { .. }));
        let reads: Vec<&Event> = reads.collect();
        // Whoever has read the file in the same call is judged by that.
        if reads.iter().any(|e| e.resource.as_ref().is_some_and(|r| r.is(resource))) {
            continue;
        }
        let memory = reads.iter().filter_map(|e| e.resource.as_ref()).filter(|r| r.kind == Kind::Memory);
        let memory: Vec<String> = memory.map(|r| r.name.to_string()).collect();
        if memory.is_empty() || write.held.iter().any(|held| held.scope >= Scope::Host) {
            continue;
        }
        let why = format!("what others have written since then is overwritten: {}", case.facts.because);
        let text = ("a file is written from a copy in memory that was read at the start", why);
        let frames = write.stack.iter().copied().collect();
        hits.push(Hit { memory, frames, ..case.hit("RC107", write, text) });
    }
}

/// Nobody outside is known to call it, and other methods of its object do: what the object holds then is for them to say,
/// who may read it anew before.
fn is_step(case: &Case<'_>) -> bool {
    let (file, function) = case.trace.root.handles();
    let functions = &case.program.module(file).functions;
    let Some(step) = functions.get(function).filter(|_| case.trace.root.entry == Entry::Loose) else { return false };
    let calls = |caller: &Function| {
        let mut found = false;
        each_in(&caller.body, &mut |expr| {
            let callee = if let ExprKind::Call(call) = &expr.kind { Some(&call.callee.kind) } else { None };
            found |= matches!(callee, Some(ExprKind::Member { of, name })
                if name == step.name.as_str() && matches!(of.kind, ExprKind::This));
        });
        found
    };
    let others = functions.iter().filter(|other| other.class == step.class && other.name != step.name);
    step.class.is_some() && others.filter(|other| other.name != "constructor").any(calls)
}

/// Something is read only if memory does not have it, or a flag there is not set yet, and stays there: the memory's read.
fn kept_once<'a>(case: &'a Case<'_>, read: &Event) -> Option<&'a Event> {
    let of_memory = |e: &&Event| e.resource.as_ref().is_some_and(|r| r.kind == Kind::Memory);
    let writes = || case.events().iter().filter(of_memory).filter(|e| matches!(e.what, What::Write(_)));
    let looked = read.guards.iter().filter_map(|id| case.trace.event(id)).filter(of_memory);
    let is_kept = || writes().any(|e| e.deps.contains(read.id));
    let mut looked = looked.peekable();
    // Mostly nothing was asked.
    if looked.peek().is_none() || !is_kept() {
        return None;
    }
    looked.find(|look| {
        let of_it = |e: &&Event| e.resource == look.resource;
        let mut sets = writes().filter(of_it).peekable();
        // Who has just made sure that it is read anew has not kept it.
        let anew = sets.peek().is_some_and(|first| first.id < look.id);
        sets.any(|e| e.deps.contains(read.id) || !anew && e.id > look.id && e.meets(read))
    })
}

/// RC101: what was read is put elsewhere, and then it is emptied or removed, with what has come since.
pub(super) fn emptied(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let What::Write(how) = &write.what else { continue };
        let Some(resource) = write.resource.as_ref().filter(|r| r.kind == Kind::File) else { continue };
        let empties = how.whole && how.constant && !how.creates && how.from.is_none() && write.deps.is_empty();
        let own = Mark::Unique.is_in(&resource.name);
        if !(empties || how.deletes) || own || write.handler || write.always || !resource.name.contains('/') {
            continue;
        }
        let is_it = |e: &Event| e.resource.as_ref().is_some_and(|r| r.is(resource)) && e.meets(write);
        let before = case.between(0, write.id);
        let Some(read) = before.iter().rev().find(|e| is_it(e) && matches!(e.what, What::Read { .. })) else {
            continue;
        };
        // Whoever has written it since then has nothing else to lose.
        let since = case.between(read.id, write.id);
        if since.iter().any(|e| is_it(e) && !e.handler && matches!(e.what, What::Write(_))) {
            continue;
        }
        let puts = |e: &&Event| {
            let elsewhere = e.resource.as_ref().is_some_and(|r| r.kind == Kind::File && !r.is(resource));
            let whole = matches!(&e.what, What::Write(how) if how.whole || how.relative);
            elsewhere && whole && e.deps.contains(read.id) && e.meets(write) && !e.handler
        };
        // That it is put elsewhere is told already.
        if hits.iter().any(|hit| hit.code == "RC101" && hit.read == Some(read.site)) {
            continue;
        }
        // What is removed by somebody else's order is no longer needed.
        let here = !how.deletes || write.stack.len() == common(read, write);
        // Or it had something in it, which whoever called has now.
        let handed_over = how.clears && write.present.contains(read.id) && is_answer(case, read);
        if here && (handed_over || since.iter().any(|e| puts(&e))) {
            hits.extend(by_locks(case, "RC101", read, write, "a file"));
        }
    }
}

/// RC101: what a database holds is put into another file, which then takes its place.
pub(super) fn swapped(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let (What::Write(how), Some(resource)) = (&write.what, &write.resource) else { continue };
        let Some(from) = how.from.as_ref().filter(|_| resource.kind == Kind::File) else { continue };
        let opened = |name: &str| {
            let is_it = |e: &&Event| {
                matches!(e.what, What::Opens) && e.resource.as_ref().is_some_and(|r| *r.name == *name) && e.meets(write)
            };
            case.between(0, write.id).iter().find(is_it)
        };
        let (Some(new), Some(old)) = (opened(from), opened(&resource.name)) else { continue };
        let fills = |e: &Event| {
            matches!(&e.what, What::Write(how) if how.inserts || how.creates)
                && e.resource.as_ref().is_some_and(|r| r.kind == Kind::Table)
                && e.meets(write)
        };
        if case.between(new.id.max(old.id), write.id).iter().any(fills) {
            hits.extend(by_locks(case, "RC101", old, write, "a database"));
        }
    }
}

/// What was read is given to whoever has called, not only whether there was something.
fn is_answer(case: &Case<'_>, read: &Event) -> bool {
    let (file, function) = case.trace.root.handles();
    let body = case.program.module(file).functions.get(function).map_or(&[][..], |found| &found.body[..]);
    let gives = |stmt: &&Stmt| matches!(&stmt.kind, StmtKind::Return(Some(value)) if !value.is_literal());
    case.trace.answer.contains(read.id) && flat(body).iter().any(gives)
}
