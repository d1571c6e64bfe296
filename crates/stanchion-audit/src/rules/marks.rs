//! RC208 with a file that only says who is at work: nobody makes it exclusively, and whoever finds the number of a process
//! that is gone, or nothing that can be understood, removes it.

use std::collections::BTreeSet;

use super::learned::{filled, known_in};
use super::{Case, Hit};
use crate::engine::{Event, Kind, Mark, Resource, Scope, Trace, What};

/// Events before a removal that are looked at.
const BEFORE_MOST: usize = 512;

/// Files that a process writes a number of a process into if a look at them lets it: they keep others out.
#[derive(Debug, Default)]
pub(super) struct Marks(BTreeSet<(Option<usize>, String)>);

impl Marks {
    pub(super) fn learn(&mut self, trace: &Trace) {
        for write in trace.events() {
            let (What::Write(how), Some(file)) = (&write.what, &write.resource) else { continue };
            let is_look = |look: &Event| {
                matches!(look.what, What::Check | What::Read { .. })
                    && look.resource.as_ref().is_some_and(|r| r.is(file))
            };
            let looked = || write.guards.iter().filter_map(|id| trace.event(id)).any(is_look);
            if file.kind == Kind::File && how.owner && (how.creates || how.whole && looked()) {
                self.0.insert(known_in(&file.name, write.site.file));
                self.0.extend(filled(&file.name, write.site.file));
            }
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(super) fn has(&self, hit: &Hit) -> bool {
        let (name, file) = (&hit.resource, hit.write.file);
        std::iter::once(known_in(name, file)).chain(filled(name, file)).any(|name| self.0.contains(&name))
    }
}

/// After [`stale_unlink`](super::mutexes::stale_unlink), which knows what is taken by the same call.
pub(super) fn mark_removed(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for removal in case.events() {
        let (What::Write(how), Some(file)) = (&removal.what, &removal.resource) else { continue };
        let guarded = removal.held.iter().any(|held| held.lock != file.name);
        let own = Mark::Unique.is_in(&file.name);
        if !how.deletes || how.from.is_some() || file.kind != Kind::File || guarded || own || removal.always {
            continue;
        }
        if hits.iter().any(|hit| hit.code == "RC208" && !hit.marked && hit.write == removal.site) {
            continue;
        }
        if let Some(look) = found_dead(case, removal, file) {
            let text = (
                "a file that says who is at work is removed because of what was read in it",
                "between the look and the removal another process can have written its own number there: then nobody \
                 sees that it is at work",
            );
            hits.push(Hit { scope: Scope::Host, marked: true, ..case.pair("RC208", look, removal, text) });
        }
    }
}

/// The last read of a file that is removed because the process whose number stood there is gone, or because nothing that
/// can be understood did.
fn found_dead<'a>(case: &'a Case<'_>, removal: &Event, file: &Resource) -> Option<&'a Event> {
    let of_it = |e: &&Event| e.meets(removal) && e.resource.as_ref().is_some_and(|r| r.is(file));
    let mut before = case.between(0, removal.id).iter().rev().take(BEFORE_MOST).filter(of_it);
    // Whoever has written it since then removes his own.
    let last = before.find(|e| match &e.what {
        What::Read { .. } => true,
        What::Write(how) => !how.deletes,
        _ => false,
    })?;
    let decides = matches!(last.what, What::Read { .. }) && removal.guards.contains(last.id);
    if !decides || removal.own.contains(last.id) {
        return None;
    }
    let since = case.between(last.id, removal.id).iter();
    let mut told = since.filter_map(|e| match e.what {
        What::Tells { ends } if e.deps.contains(last.id) => Some(ends),
        _ => None,
    });
    // Whoever has ended that process himself removes what it has left behind.
    let asked = match told.next() {
        Some(ends) => !ends && told.all(|ends| !ends),
        None => removal.handler && !last.handler,
    };
    asked.then_some(last)
}
