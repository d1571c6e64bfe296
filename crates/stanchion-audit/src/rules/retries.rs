//! RC402 - RC405: what is done again.

use super::repeated::is_repeated;
use super::{Case, Hit};
use crate::engine::{Entry, Event, Kind, Scope, What};

/// RC402.
pub(super) fn effect_in_retry(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for event in case.events() {
        let What::Effect(effect) = &event.what else { continue };
        if effect.repeats() || !event.retried && !is_repeated(case, event) {
            continue;
        }
        let text = (
            format!("a {} without an idempotency key is tried again", effect.method),
            "a try whose answer was lost has had its effect, and the next one has it again",
        );
        let resource = event.resource.as_ref().map_or_else(|| effect.method.to_string(), |r| r.name.to_string());
        hits.push(Hit { resource, scope: Scope::Cluster, ..case.hit("RC402", event, text) });
    }
}

/// RC403: at once, or at the same moment as all others.
pub(super) fn without_backoff(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for event in case.events() {
        if !matches!(event.what, What::Effect(_)) || !event.retried {
            continue;
        }
        let Some(inner) = event.loops.last() else { continue };
        let mut sleeps = case.events().iter().filter(|e| e.loops.contains(inner));
        // Who waits for a service of his own machine to come up is alone with it.
        let waits = is_local(event) && sleeps.clone().any(|e| matches!(e.what, What::Sleep { .. }));
        let spreads = sleeps.any(|e| matches!(e.what, What::Sleep { growing, random } if growing || random));
        if !spreads && !waits {
            let text = (
                "a failed call is repeated without a pause that grows",
                "those who failed together come again together",
            );
            hits.push(Hit { scope: Scope::Cluster, sure: 0, ..case.hit("RC403", event, text) });
        }
    }
}

/// Whether what is called stands on the same machine.
fn is_local(event: &Event) -> bool {
    let Some(address) = event.resource.as_ref().map(|r| &*r.name) else { return false };
    let host = address.split_once("://").map_or(address, |(_, rest)| rest);
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|local| {
        host.strip_prefix(local)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || ".-".contains(c)))
    })
}

/// RC404: the call may have run.
pub(super) fn key_deleted(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let (What::Write(how), Some(resource)) = (&write.what, &write.resource) else { continue };
        if !how.deletes
            || !write.handler
            || write.told
            || !matches!(resource.kind, Kind::Key | Kind::Table | Kind::Document)
        {
            continue;
        }
        let reserved = case.events().iter().find(|e| {
            e.id < write.id
                && !e.handler
                && matches!(&e.what, What::Write(w) if w.creates || w.inserts)
                && e.resource.as_ref().is_some_and(|r| r.kind == resource.kind && r.name == resource.name)
        });
        let Some(reserved) = reserved else { continue };
        let called = case.events().iter().find(|e| {
            (reserved.id..write.id).contains(&e.id)
                && !e.handler
                && matches!(&e.what, What::Effect(effect) if !effect.safe && !effect.keyed)
        });
        let why = "after a timeout the call may have run, and whoever comes next runs it again";
        let (called, sure, message) = match (called, unknown_call(case, reserved, write)) {
            (Some(called), _) => (called, 1, "a key is given up because the call failed"),
            (None, Some(called)) => (called, 0, "a key is given up because something failed"),
            (None, None) => continue,
        };
        let found = case.pair("RC404", called, write, (message, why));
        hits.push(Hit { window: None, scope: Scope::Cluster, sure, ..found });
    }
}

/// Something that nobody knows is awaited under a key that only one caller can have, and that is kept if it succeeds.
fn unknown_call<'a>(case: &'a Case<'_>, reserved: &Event, write: &Event) -> Option<&'a Event> {
    let is_claim = matches!(&reserved.what, What::Write(w) if w.creates);
    let same = |e: &Event| {
        e.resource.is_some() && e.resource.as_ref().map(|r| &r.name) == write.resource.as_ref().map(|r| &r.name)
    };
    // What is given up in any case is a lock.
    let is_lock = case.events().iter().any(|e| !e.handler && same(e) && matches!(&e.what, What::Write(w) if w.deletes));
    if !is_claim || is_lock {
        return None;
    }
    let is_known = |e: &Event| {
        case.events().iter().any(|other| {
            other.site.file == e.site.file && other.site.span.line == e.site.span.line && other.resource.is_some()
        })
    };
    let mut between = case.events().iter().filter(|e| e.id > reserved.id && e.id < write.id && !e.handler);
    between.find(|e| matches!(e.what, What::Suspend) && e.meets(write) && !is_known(e) && !is_pause(case, e))
}

/// Whether it only waits.
fn is_pause(case: &Case<'_>, event: &Event) -> bool {
    case.events().iter().any(|e| matches!(e.what, What::Sleep { .. }) && e.site.span.line == event.site.span.line)
}

/// Senders repeat for hours and days.
const WINDOW_LEAST: f64 = 3600.0;

/// RC405: forgotten before it comes again.
pub(super) fn short_window(case: &Case<'_>, hits: &mut Vec<Hit>) {
    if !matches!(case.trace.root.entry, Entry::Route | Entry::Consumer) {
        return;
    }
    let acts_on = |id| {
        let mut acts =
            case.events().iter().filter(|e| matches!(&e.what, What::Effect(effect) if !effect.safe && !effect.keyed));
        acts.any(|e| e.guards.contains(id))
    };
    for write in case.events() {
        let (What::Write(how), Some(resource)) = (&write.what, &write.resource) else { continue };
        let forgotten = case.events().iter().any(|e| {
            matches!(&e.what, What::Write(w) if w.deletes) && e.resource.as_ref().is_some_and(|r| r.is(resource))
                // A lock, which a script gives back.
                || matches!(&e.what, What::Release { lock, .. } if resource.kind == Kind::Key && *lock == resource.name)
        });
        if forgotten {
            continue;
        }
        if how.creates && how.ttl.is_some_and(|ttl| ttl < WINDOW_LEAST) && acts_on(write.id) {
            let text = (
                "what was handled is remembered for less than an hour",
                "who sends it may send it again later than that, and it is done again",
            );
            hits.push(Hit { scope: Scope::Cluster, sure: 0, ..case.hit("RC405", write, text) });
        }
        if resource.kind == Kind::Memory && how.inserts {
            let asked = write
                .guards
                .iter()
                .filter_map(|id| case.trace.event(id))
                .find(|e| e.resource.as_ref().is_some_and(|r| r.is(resource)) && acts_on(e.id));
            if let Some(asked) = asked {
                let text = (
                    "what was handled is remembered in memory only",
                    "it is forgotten with the process, and each process has its own",
                );
                let found = case.pair("RC405", asked, write, text);
                hits.push(Hit { window: None, scope: Scope::Cluster, sure: 0, ..found });
            }
        }
    }
}
