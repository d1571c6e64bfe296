//! RC401: looked for first, then inserted.

use super::{Case, Hit};
use crate::engine::{Event, Kind, What};

/// RC401.
pub(super) fn check_then_insert(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let What::Write(how) = &write.what else { continue };
        let Some(resource) = write.resource.as_ref() else { continue };
        if !how.inserts || how.creates || !matches!(resource.kind, Kind::Table | Kind::Document) {
            continue;
        }
        let check = write.guards.iter().filter_map(|id| case.trace.event(id)).find(|read| {
            matches!(read.what, What::Read { .. } | What::Check)
                // What has to be there first is no reason for a second one.
                && !write.present.contains(read.id)
                && read.resource.as_ref().is_some_and(|r| r.kind == resource.kind && r.name == resource.name)
                && read.meets(write)
        });
        let Some(check) = check else { continue };
        // The database refuses the second one; what was done before it is done.
        // What was asked for must be what the key is about; if that is not known, what is inserted.
        let asked = match &check.what {
            What::Read { by, .. } if !by.is_empty() => by,
            _ => &how.columns,
        };
        let columns: Vec<String> = asked.iter().map(ToString::to_string).collect();
        let acts =
            |e: &Event| e.id > check.id && e.id < write.id && matches!(&e.what, What::Effect(effect) if !effect.safe);
        if case.facts.schema.is_unique(&resource.name, &columns) && !case.events().iter().any(acts) {
            continue;
        }
        if check.covered_with(write, case.needed(resource.scope)) {
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
        let text = (
            "whether a row is there is asked first, and inserted later",
            "two callers can both find nothing and both insert",
        );
        hits.push(case.pair("RC401", check, write, text));
    }
}
