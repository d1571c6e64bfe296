//! RC102: a row is changed because of a column that others change, and the change does not ask for that column.

use std::rc::Rc;

use super::hit::Rests;
use super::lost::by_locks;
use super::rows::{is_claimed, is_in_order, may_give};
use super::{Case, Hit};
use crate::engine::{Event, Kind, What, Write, is_identity};

/// Reads of one write that are looked at.
const READS_MOST: usize = 8;

/// A column was compared with something fixed, and others are set then. Who has only asked whether there is such a row, or
/// sets what everybody would set there, tells nobody what is not so.
pub(super) fn compared(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let What::Write(how) = &write.what else { continue };
        let is_change = !how.inserts && !how.deletes && !how.creates && !how.relative && !how.asks.is_empty();
        // A name that the program puts in can be that of any column.
        let is_own = !how.own.is_empty() || how.columns.iter().any(|column| column.starts_with(['*', '{']));
        if !is_change || !is_own || how.looks.is_empty() || case.compares(how, write) || is_told(hits, write) {
            continue;
        }
        let guards = write.guards.iter().rev().take(READS_MOST);
        let guards = guards.filter(|id| write.equals.contains(*id) || write.differs.contains(*id));
        for read in guards.filter_map(|id| case.trace.event(id)) {
            let of_read = how.looks.iter().filter(|(_, of)| of.contains(read.id)).map(|(column, _)| column);
            let columns: Vec<Rc<str>> = of_read
                .filter(|column| !is_identity(column) && !how.asks.contains(column) && !how.columns.contains(column))
                .filter(|column| may_give(read, std::slice::from_ref(column)))
                .cloned()
                .collect();
            if is_open(case, read, write, &columns) {
                let text = "a row is changed because of a column that others change, and the write does not ask for it";
                hits.extend(rests(case, read, write, Rests { columns: texts(&columns), filled: false }, text));
                break;
            }
        }
    }
}

/// Rows were found by a column that has to be less than something, such as the time of a heartbeat, and are then changed or
/// removed by what they are called.
pub(super) fn found(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let What::Write(how) = &write.what else { continue };
        let is_change = !how.inserts && !how.creates && !how.stamp && !how.named.is_empty();
        if !is_change || !how.deletes && case.compares(how, write) || is_told(hits, write) {
            continue;
        }
        let from = how.named.iter().rev().take(READS_MOST).filter_map(|id| case.trace.event(id));
        for read in from.collect::<Vec<_>>() {
            let What::Read { within, .. } = &read.what else { continue };
            let is_left = |column: &&Rc<str>| {
                !is_identity(column) && !how.asks.contains(*column) && !how.columns.contains(*column)
            };
            let columns: Vec<Rc<str>> = within.iter().filter(is_left).cloned().collect();
            if is_open(case, read, write, &columns) {
                let text = "rows are found by a column that others change, and changed without another look at it";
                hits.extend(rests(case, read, write, Rests { columns: texts(&columns), filled: true }, text));
                break;
            }
        }
    }
}

fn texts(columns: &[Rc<str>]) -> Vec<String> {
    columns.iter().map(ToString::to_string).collect()
}

/// Whether the row can be another one by then: nobody has taken it, or looked again.
fn is_open(case: &Case<'_>, read: &Event, write: &Event, columns: &[Rc<str>]) -> bool {
    let table = |e: &Event| e.resource.as_ref().filter(|r| r.kind == Kind::Table).map(|r| Rc::clone(&r.name));
    let of_it = |e: &Event| e.resource.as_ref().zip(write.resource.as_ref()).is_some_and(|(one, other)| one.is(other));
    let is_read = matches!(read.what, What::Read { .. }) && !read.early && table(read).is_some() && of_it(read);
    if !is_read || columns.is_empty() || !read.meets(write) || case.trace.is_later(read, write) || write.handler {
        return false;
    }
    let sets =
        |how: &Write| how.columns.iter().any(|column| columns.contains(column) || column.starts_with(['*', '{']));
    let claims = |e: &Event| matches!(&e.what, What::Write(how) if sets(how)) && of_it(e) && e.meets(write);
    let looks = |e: &Event| matches!(e.what, What::Read { .. }) && of_it(e) && write.guards.contains(e.id);
    let between = case.between(read.id.saturating_add(1), write.id);
    !between.iter().any(|e| claims(e) || looks(e)) && !is_claimed(case, read, write) && !is_in_order(case, read, write)
}

/// What says more of the same write is told already.
fn is_told(hits: &[Hit], write: &Event) -> bool {
    hits.iter().any(|hit| hit.write == write.site)
}

fn rests(case: &Case<'_>, read: &Event, write: &Event, rests: Rests, text: &str) -> Option<Hit> {
    let hit = by_locks(case, "RC102", read, write, "a row")?;
    let message = if hit.code == "RC102" { text.to_owned() } else { hit.message.clone() };
    Some(Hit { rests: Some(rests), sure: hit.sure.min(1), message, ..hit })
}
