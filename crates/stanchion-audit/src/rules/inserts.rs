//! RC401: looked for first, then inserted.

use std::rc::Rc;

use super::{Case, Hit};
use crate::engine::{Event, EventId, Kind, Resource, What, Write, is_identity};

/// Whoever wants the value, too, keeps it for the next time: it does not matter who sets it.
fn is_cached(case: &Case<'_>, key: &Resource) -> bool {
    let mut of_it = case.events().iter().filter(|e| e.resource.as_ref().is_some_and(|r| r.is(key)));
    of_it.any(|e| matches!(e.what, What::Read { .. }))
}

/// Whether something was looked for among all rows that the new row does not have: a second one does not come of it.
fn is_of_another_column(read: &Event, how: &Write) -> bool {
    let What::Read { columns, .. } = &read.what else { return false };
    let others = |field: &Rc<str>| columns.contains(field) && !how.columns.contains(field);
    !how.looked_for.is_empty() && !how.columns.is_empty() && how.looked_for.iter().all(others)
}

/// Whether a row that takes the place of another takes that of the one that was asked for. Where nobody says what the keys
/// are, they are what tells which row it is; a row that has one of those for itself takes nobody's place.
fn is_own_key(case: &Case<'_>, table: &str, asked: &[Rc<str>], how: &Write, columns: &[Rc<str>]) -> bool {
    if case.facts.schema.has_keys(table) {
        let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
        return case.facts.schema.is_unique(table, &asked);
    }
    let keys: Vec<&Rc<str>> = columns.iter().filter(|column| is_identity(column)).collect();
    // The first of them is what the row is called by.
    let is_new = keys.first().is_some_and(|key| !how.given.is_empty() && !how.given.contains(key));
    keys.is_empty() || !is_new && keys.iter().any(|key| asked.contains(key))
}

/// Rows of one table that are known by the key of a row of another one.
fn belongs(rows: &Resource, row: &Resource) -> bool {
    let values = |of: &Resource| -> Vec<String> {
        let pairs = of.part.as_deref().into_iter().flat_map(|part| part.split(','));
        pairs.filter_map(|pair| Some(pair.split_once('=')?.1.to_owned())).collect()
    };
    let of_row = values(row);
    values(rows).iter().any(|value| of_row.contains(value))
}

/// Whether something was done between the two that must not be done twice, though the row itself may be put there twice:
/// something else was counted, or what belongs to the row was removed with the old one.
fn adds_up(case: &Case<'_>, check: &Event, write: &Event) -> bool {
    let beside = |e: &Event| {
        let both = e.resource.as_ref().zip(write.resource.as_ref());
        both.is_some_and(|(one, other)| one.kind == Kind::Table && one.name != other.name)
            && e.guards.contains(check.id)
    };
    let counted =
        |e: &&Event| matches!(&e.what, What::Write(how) if how.relative && !how.deletes) && beside(e) && e.meets(write);
    let removed = |e: &&Event| {
        let of_it = e.resource.as_ref().zip(write.resource.as_ref()).is_some_and(|(one, other)| belongs(one, other));
        matches!(&e.what, What::Write(how) if how.deletes)
            && of_it
            && beside(e)
            && e.meets(write)
            && e.transaction.is_some()
            && e.transaction == write.transaction
    };
    case.between(check.id, write.id).iter().any(|e| counted(&e))
        || case.between(check.id, EventId::MAX).iter().any(|e| removed(&e))
}

/// RC401.
pub(super) fn check_then_insert(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let What::Write(how) = &write.what else { continue };
        let Some(resource) = write.resource.as_ref() else { continue };
        let is_set = resource.kind == Kind::Key && how.whole && !how.compares;
        let is_row = matches!(resource.kind, Kind::Table | Kind::Document) && how.inserts;
        let is_asked_for = how.replaces.is_some() || (is_set || is_row) && !how.creates;
        if !is_asked_for || is_set && is_cached(case, resource) {
            continue;
        }
        let check = write.guards.iter().filter_map(|id| case.trace.event(id)).find(|read| {
            matches!(read.what, What::Read { .. } | What::Check)
                // What has to be there first is no reason for a second one.
                && !write.present.contains(read.id)
                && read.resource.as_ref().is_some_and(|r| r.kind == resource.kind && r.name == resource.name)
                && read.meets(write)
                && (!is_set || matches!(read.what, What::Check))
                && !is_of_another_column(read, how)
        });
        let highest = how.numbered.and_then(|id| case.trace.event(id));
        let Some(check) = check.or(highest) else { continue };
        // The database refuses the second one; what was done before it is done.
        // What was asked for must be what the key is about; if that is not known, what is inserted.
        let asked = match &check.what {
            What::Read { by, highest: None, .. } if !by.is_empty() => by,
            _ => &how.given,
        };
        let replaced = how.replaces.as_ref();
        if replaced.is_some_and(|columns| is_own_key(case, &resource.name, asked, how, columns))
            && !adds_up(case, check, write)
        {
            continue;
        }
        let columns: Vec<String> = asked.iter().map(ToString::to_string).collect();
        let acts =
            |e: &Event| e.id > check.id && e.id < write.id && matches!(&e.what, What::Effect(effect) if !effect.safe);
        if replaced.is_none()
            && case.facts.schema.is_unique(&resource.name, &columns)
            && !case.events().iter().any(acts)
        {
            continue;
        }
        let alone = case.is_ours_alone(resource.scope) && !case.is_parallel(write);
        if check.covered_with(write, case.needed(resource.scope)) || alone && case.window(check, write).is_none() {
            continue;
        }
        // Whoever removes what was there and inserts it anew does not care which of them.
        let replaces = case.events().iter().any(|e| {
            (check.id..write.id).contains(&e.id)
                && matches!(&e.what, What::Write(w) if w.deletes)
                && e.resource.as_ref().is_some_and(|r| r.kind == resource.kind && r.name == resource.name)
                && e.meets(write)
        });
        if replaces {
            continue;
        }
        if let Some(begin) = check.transaction.filter(|begin| write.transaction == Some(*begin))
            && case.trace.event(begin).is_some_and(|e| {
                matches!(e.what, What::Begin { immediate: true, .. } | What::Begin { serializable: true, .. })
            })
        {
            continue;
        }
        let text = if highest.is_some_and(|read| read.id == check.id) {
            (
                "a new row has the number after the highest one, which was read before",
                "two callers can take the same number",
            )
        } else if !is_set {
            (
                "whether a row is there is asked first, and inserted later",
                "two callers can both find nothing and both insert",
            )
        } else {
            (
                "whether a key is there is asked first, and set later",
                "two callers can both find nothing and both set it",
            )
        };
        hits.push(case.pair("RC401", check, write, text));
    }
}

/// RC401, where a store has neither unique keys nor transactions: rows are removed, and others take their place.
pub(super) fn put_anew(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let (What::Write(how), Some(resource)) = (&write.what, &write.resource) else { continue };
        if !how.keyless || !how.inserts || hits.iter().any(|hit| hit.code == "RC401" && hit.write == write.site) {
            continue;
        }
        let removes = |e: &&Event| {
            matches!(&e.what, What::Write(how) if how.deletes)
                && e.resource.as_ref().is_some_and(|r| r.kind == resource.kind && r.name == resource.name)
                && e.meets(write)
                && !case.trace.is_later(e, write)
        };
        let Some(removed) = case.between(0, write.id).iter().rev().find(removes) else { continue };
        let alone = case.is_ours_alone(resource.scope);
        if removed.covered_with(write, case.needed(resource.scope)) || alone && case.window(removed, write).is_none() {
            continue;
        }
        let text = (
            "rows are removed, and inserted anew later",
            "two callers can both remove them and then both insert, and nothing in the store refuses the second ones",
        );
        hits.push(case.pair("RC401", removed, write, text));
    }
}
