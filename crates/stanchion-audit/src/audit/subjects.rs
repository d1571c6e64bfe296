//! What a program is about, for the checklist: of what was not met, nothing can be said.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::checklist::Subject;
use crate::engine::{Entry, Event, Kind, Scope, Site, Trace, What};

/// What was met, and where.
pub(crate) type Subjects = BTreeMap<Subject, BTreeSet<Site>>;

/// Adds what a trace is about.
pub(super) fn of(trace: &Trace, all: &mut Subjects) {
    let mut about = |subject: Subject, at: Site| {
        all.entry(subject).or_default().insert(at);
    };
    let root = &trace.root;
    if root.entry == Entry::Timer {
        about(Subject::Timer, root.site);
    }
    if root.entry == Entry::Tool && !root.hints.is_empty() {
        about(Subject::Hint, root.site);
    }
    let events = trace.events();
    let id = |event: &'_ Event| event.resource.as_ref().map(|resource| (resource.kind, Rc::clone(&resource.name)));
    let read = events.iter().filter(|event| matches!(event.what, What::Read { .. } | What::Check)).filter_map(id);
    let read: BTreeSet<_> = read.collect();
    // What is given up in any case was a lock.
    let given_up = events.iter().filter(|event| event.always || !event.handler).filter_map(|event| match &event.what {
        What::Write(write) if write.deletes => event.resource.as_ref().map(|resource| &resource.name),
        What::Release { lock, .. } => Some(lock),
        _ => None,
    });
    let given_up: BTreeSet<_> = given_up.collect();
    for event in events {
        one(event, &mut about);
        let What::Write(write) = &event.what else { continue };
        // Something changes from what it was.
        if write.compares
            || !write.expected.is_empty()
            || write.relative
            || id(event).is_some_and(|id| read.contains(&id))
        {
            about(Subject::State, event.site);
        }
        // Something that is put down only if it is not there yet is a record of what was done.
        let is_lock = event.resource.as_ref().is_some_and(|resource| given_up.contains(&resource.name));
        if write.creates && !is_lock || write.inserts && !event.guards.is_empty() {
            about(Subject::Key, event.site);
        }
    }
}

fn one(event: &Event, about: &mut dyn FnMut(Subject, Site)) {
    if event.retried {
        about(Subject::Retry, event.site);
    }
    let kind = event.resource.as_ref().map(|resource| resource.kind);
    match &event.what {
        What::Write(_) if kind == Some(Kind::File) => about(Subject::File, event.site),
        What::Acquire(lock) => {
            about(Subject::Lock, event.site);
            if lock.scope == Scope::Cluster && !lock.session {
                about(Subject::Lease, event.site);
            }
        }
        What::Effect(effect) if !effect.safe => {
            about(Subject::Effect, event.site);
            if effect.keyed {
                about(Subject::Key, event.site);
            }
        }
        _ => {}
    }
}
