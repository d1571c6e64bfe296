//! RC102, RC106: rows that are read and written back.

use std::rc::Rc;

use super::lost::{by_locks, pairs};
use super::{Case, Hit};
use crate::engine::{Event, EventId, Kind, What, Write, is_identity};
use crate::hir::Language;

/// RC102 and RC106.
pub(super) fn row(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for (reads, write) in pairs(case, Kind::Table) {
        let Some(read) = reads.first() else { continue };
        if is_claimed(case, read, write) {
            continue;
        }
        if is_in_order(case, read, write) {
            continue;
        }
        // A column that counts the changes of the others is a version, if somebody looks at it or at what it counts.
        let looks = |how: &Write| {
            let guarded = write.guards.contains(read.id) && !write.present.contains(read.id);
            write.deps.contains(read.id) || guarded && may_give(read, &how.raised)
        };
        let counts = matches!(&write.what, What::Write(how)
            if !how.raised.is_empty() && how.raised.len() < how.columns.len() && looks(how));
        let taken = !write.deps.contains(read.id) && matches!(&write.what, What::Write(how) if takes(read, how));
        let hit = by_locks(case, if counts { "RC106" } else { "RC102" }, read, write, "a row");
        hits.extend(hit.map(|mut hit| {
            if hit.code == "RC106" {
                "the row has a version, and the write does not compare it".clone_into(&mut hit.message);
            } else if hit.code == "RC102" && taken {
                "rows are looked for by a column that is then set without a look at it: two take the same ones"
                    .clone_into(&mut hit.message);
            }
            hit
        }));
    }
}

/// RC106: the version is compared, and nobody hears what came of it.
pub(super) fn uncounted(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let (What::Write(Write { uncounted: true, .. }), Some(resource)) = (&write.what, &write.resource) else {
            continue;
        };
        let reads = |e: &&Event| {
            matches!(e.what, What::Read { .. }) && e.resource.as_ref().is_some_and(|r| r.is(resource)) && e.meets(write)
        };
        // Whoever looks at the row again sees it.
        if case.between(write.id, EventId::MAX).iter().any(|e| reads(&e)) {
            continue;
        }
        let text = (
            "the write compares the version, and nobody looks at how many rows it has changed",
            "whoever comes second changes none, and goes on as if it had been saved",
        );
        let hit = match case.between(0, write.id).iter().rfind(reads) {
            Some(read) => case.pair("RC106", read, write, text),
            None => case.hit("RC106", write, text),
        };
        hits.push(hit);
    }
}

/// Whether both are in one transaction that lets nobody in between.
pub(super) fn is_in_order(case: &Case<'_>, read: &Event, write: &Event) -> bool {
    let Some(begin) = read.transaction.filter(|_| in_one(case, read, write)) else { return false };
    let strict = case.trace.event(begin).is_some_and(|event| {
        matches!(event.what, What::Begin { immediate: true, .. } | What::Begin { serializable: true, .. })
    });
    let locked = matches!(read.what, What::Read { locks: true, .. });
    // A write before the read holds the row or, in SQLite, the database already.
    let written = case.events().iter().any(|e| {
        e.id < read.id
            && e.transaction == Some(begin)
            && matches!(e.what, What::Write(_))
            && e.resource.as_ref().is_some_and(|r| r.kind == Kind::Table)
    });
    strict || locked || written || never_pauses(case, read, write)
}

/// RC102: rows are read, removed, and put back: what others have added since they were read is removed with them.
pub(super) fn put_back(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let (What::Write(how), Some(resource)) = (&write.what, &write.resource) else { continue };
        if !how.inserts || resource.kind != Kind::Table || hits.iter().any(|hit| hit.write == write.site) {
            continue;
        }
        let reads = write.deps.iter().rev().take(READS_MOST).filter_map(|id| case.trace.event(id));
        let reads = reads.filter(|e| !e.early && e.meets(write) && e.resource.as_ref().is_some_and(|r| r.is(resource)));
        let lost = reads.filter(|read| {
            let between = case.between(read.id, write.id).iter().rev().take(BEFORE_MOST);
            let removed = between.filter(|e| e.meets(write)).find(|e| removes_what(read, e));
            removed.is_some_and(|removed| !is_in_order(case, read, removed))
        });
        if let Some(read) = lost.into_iter().next() {
            let hit = by_locks(case, "RC102", read, write, "a row");
            hits.extend(hit.map(|mut hit| {
                if hit.code == "RC102" {
                    "rows are read, removed, and put back: what has come in between is lost"
                        .clone_into(&mut hit.message);
                }
                hit
            }));
        }
    }
}

/// Whether all rows are removed that were asked for by the values of the same columns, or more.
fn removes_what(read: &Event, removed: &Event) -> bool {
    let (What::Read { by, highest: None, .. }, What::Write(Write { removes: Some(columns), .. })) =
        (&read.what, &removed.what)
    else {
        return false;
    };
    let same = read.resource.as_ref().zip(removed.resource.as_ref()).is_some_and(|(one, other)| one.is(other));
    same && columns.iter().all(|column| by.contains(column))
}

/// Whether both are in one transaction. One that ends on another way only is still open.
fn in_one(case: &Case<'_>, read: &Event, write: &Event) -> bool {
    let ends = |e: &Event| matches!(e.what, What::End) && e.meets(write);
    read.transaction.is_some()
        && (read.transaction == write.transaction
            || write.transaction.is_none() && !case.between(read.id, write.id).iter().any(ends))
}

/// Of JavaScript's databases only SQLite answers without a pause, and of two of its transactions that have read the same
/// one cannot write.
fn never_pauses(case: &Case<'_>, read: &Event, write: &Event) -> bool {
    matches!(case.language(write), Language::JavaScript | Language::TypeScript) && case.window(read, write).is_none()
}

/// Whether one of the columns that are written was read, as far as it is known: only that can be written back.
pub(super) fn may_give(read: &Event, written: &[Rc<str>]) -> bool {
    let What::Read { columns, .. } = &read.what else { return true };
    // A name that the program puts in can be that of any column but a key.
    let is_any = |column: &Rc<str>| column.starts_with(['*', '{']);
    let is_one = |column: &Rc<str>| written.contains(column) || written.iter().any(is_any) && !is_identity(column);
    columns.is_empty() || written.is_empty() || columns.iter().any(is_one)
}

/// Whether rows were looked for by a column that is set, whatever has become of it since: whoever has found the same rows
/// sets it, too, and each takes them for his own. What is only marked, with a constant or the time, is so twice: that is how
/// rows are removed.
pub(super) fn takes(read: &Event, how: &Write) -> bool {
    let What::Read { by, empty, .. } = &read.what else { return false };
    // Another row that was found is none of those.
    if !how.which.is_empty() && !how.which.contains(read.id) {
        return false;
    }
    by.iter().any(|column| how.columns.contains(column)) || empty.iter().any(|column| how.own.contains(column))
}

/// Whether a transaction that is over has made the row one that nobody else finds: its owner may write what he has read.
pub(super) fn is_claimed(case: &Case<'_>, read: &Event, write: &Event) -> bool {
    let Some(begin) = read.transaction.filter(|_| !in_one(case, read, write)) else { return false };
    let claims = |e: &&Event| {
        e.transaction == Some(begin)
            && e.guards.contains(read.id)
            && e.resource.as_ref().map(|r| (r.kind, &r.name)) == read.resource.as_ref().map(|r| (r.kind, &r.name))
            && matches!(&e.what, What::Write(how) if takes(read, how))
    };
    case.between(read.id, write.id).iter().any(|e| claims(&e))
}

/// Events before a write that are looked at.
const BEFORE_MOST: usize = 256;

/// And reads that it derives from.
const READS_MOST: usize = 8;

/// The read that has found the rows that a loop takes one by one. Which row it is must come from the loop: nothing of the
/// caller's says so.
pub(super) fn one_by_one(case: &Case<'_>, write: &Event, how: &Write) -> Option<EventId> {
    let of = write.resource.as_ref().filter(|r| r.kind == Kind::Table && r.part.is_none())?;
    if write.loops.is_empty() || how.columns.is_empty() {
        return None;
    }
    let outside = |read: &Event| read.loops.len() < write.loops.len() && write.loops.starts_with(&read.loops);
    let before = case.between(0, write.id).iter().rev().take(BEFORE_MOST);
    let mut found = before.filter(|e| takes(e, how) && outside(e) && e.resource.as_ref().is_some_and(|r| r.is(of)));
    found.next().map(|read| read.id)
}
