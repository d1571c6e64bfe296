//! What a program is about, for the checklist: of what was not met, nothing can be said.

use std::collections::BTreeSet;

use crate::checklist::Subject;
use crate::engine::{Entry, Event, Kind, Scope, Trace, What};

/// Adds what a trace is about.
pub(super) fn of(trace: &Trace, about: &mut BTreeSet<Subject>) {
    let root = &trace.root;
    if root.entry == Entry::Timer {
        about.insert(Subject::Timer);
    }
    if root.entry == Entry::Tool && !root.hints.is_empty() {
        about.insert(Subject::Hint);
    }
    trace.events().iter().for_each(|event| one(event, about));
}

fn one(event: &Event, about: &mut BTreeSet<Subject>) {
    if event.retried {
        about.insert(Subject::Retry);
    }
    let kind = event.resource.as_ref().map(|resource| resource.kind);
    match &event.what {
        What::Read { .. } | What::Check if kind.is_some() => drop(about.insert(Subject::State)),
        What::Write(write) => {
            about.insert(Subject::State);
            if kind == Some(Kind::File) {
                about.insert(Subject::File);
            }
            // Something that is put down only if it is not there yet is a record of what was done.
            if write.creates || write.inserts && !event.guards.is_empty() {
                about.insert(Subject::Key);
            }
        }
        What::Acquire(lock) => {
            about.insert(Subject::Lock);
            if lock.scope == Scope::Cluster && !lock.session {
                about.insert(Subject::Lease);
            }
        }
        What::Effect(effect) if !effect.safe => {
            about.insert(Subject::Effect);
            if effect.keyed {
                about.insert(Subject::Key);
            }
        }
        _ => {}
    }
}
