//! RC406, RC407: handlers.

use std::collections::BTreeMap;

use super::{Case, Hit};
use crate::engine::{Entry, Event, Kind, Scope, Site, What};

/// RC406: every copy of the program does it.
pub(super) fn timer_without_leader(case: &Case<'_>, hits: &mut Vec<Hit>) {
    if case.facts.deployment < Scope::Host {
        return;
    }
    let is_timer = case.trace.root.entry == Entry::Timer;
    let clock = |event: &Event| {
        let mut clocks = case.events().iter().filter(|e| matches!(e.what, What::Ticks));
        clocks.find(|clock| clock.loops.last().is_some_and(|around| event.loops.contains(around))).map(|e| e.site)
    };
    let does = case.events().iter().filter(|event| is_timer || clock(event).is_some()).find(|event| {
        if case.facts.deployment < Scope::Cluster {
            return takes_from_store(case, event);
        }
        let shared = event.resource.as_ref().is_some_and(|r| r.scope == Scope::Cluster);
        let acts = match &event.what {
            // What is gone already is not deleted again.
            What::Write(how) => shared && !case.compares(how, event) && !how.creates && !how.deletes,
            What::Effect(effect) => !effect.safe && !effect.keyed,
            _ => false,
        };
        acts && event.held.iter().all(|held| held.scope < Scope::Cluster)
    });
    let Some(does) = does else { return };
    let text = ("a timer runs in every copy of the program", format!("each copy does it, and {}", case.facts.because));
    let (read, resource) = (clock(does).or(Some(case.trace.root.site)), case.trace.root.name.to_string());
    hits.push(Hit { read, resource, scope: Scope::Cluster, ..case.hit("RC406", does, text) });
}

/// Copies on one machine, one for each client, mostly have work of their own: only what is found in a store that all of them
/// see, and is marked or removed there when it has been done, is the same work for all.
fn takes_from_store(case: &Case<'_>, event: &Event) -> bool {
    let (acts, moves) = match &event.what {
        What::Effect(effect) => (!effect.safe && !effect.keyed, false),
        What::Write(how) => {
            let moves = how.relative && event.resource.as_ref().is_some_and(|r| r.kind == Kind::File);
            (moves, moves)
        }
        _ => (false, false),
    };
    if !acts || event.held.iter().any(|held| held.scope >= Scope::Host) {
        return false;
    }
    let reads = event.deps.iter().chain(event.guards.iter()).filter_map(|id| case.trace.event(id));
    reads.filter(|read| matches!(read.what, What::Read { locks: false, .. }) && !read.early).any(|read| {
        let Some(store) = read.resource.as_ref() else { return false };
        let is_of_it = |e: &Event| {
            e.resource.as_ref().is_some_and(|r| r.kind == store.kind && r.name == store.name) && e.meets(event)
        };
        let mut changes = case.events().iter().filter_map(|e| match &e.what {
            What::Write(how) if e.id > read.id && is_of_it(e) => Some((e, how)),
            _ => None,
        });
        let alone = |e: &Event| {
            e.covered_with(read, Scope::Host) || e.transaction.is_some() && e.transaction == read.transaction
        };
        // Whoever changes it first may have claimed it.
        store.scope >= Scope::Host
            && store.kind != Kind::Memory
            && changes.next().is_some_and(|(e, how)| e.id > event.id && !alone(e) && (how.deletes || !moves))
    })
}

/// RC407: what a tool says of itself, and what it does.
pub(super) fn hints_contradict(case: &Case<'_>, hits: &mut Vec<Hit>) {
    let root = &case.trace.root;
    if root.entry != Entry::Tool {
        return;
    }
    contradicts(case, &root.name, root.site, &root.hints, &|_| true, hits);
    for tool in &case.trace.tools {
        contradicts(case, &tool.name, tool.site, &tool.hints, &|event| case.trace.is_of(&tool.name, event), hits);
    }
}

fn contradicts(
    case: &Case<'_>,
    name: &str,
    said_at: Site,
    hints: &BTreeMap<&'static str, bool>,
    is_of: &dyn Fn(&Event) -> bool,
    hits: &mut Vec<Hit>,
) {
    let hint = |name: &str| hints.get(name) == Some(&true);
    if !hint("readOnlyHint") && !hint("idempotentHint") {
        return;
    }
    let does = |event: &Event| {
        let lasting = event.resource.as_ref().is_none_or(|r| r.kind != Kind::Memory);
        match &event.what {
            What::Write(how) if lasting => {
                hint("readOnlyHint")
                    || hint("idempotentHint")
                        && (how.inserts && !how.creates && !is_replaced(case, event) || how.relative)
            }
            What::Effect(effect) if !effect.safe => hint("readOnlyHint") || hint("idempotentHint") && !effect.repeats(),
            _ => false,
        }
    };
    let Some(found) = case.events().iter().find(|event| does(event) && is_of(event)) else { return };
    // What is added to a file may be a log, and many services are asked by a POST.
    let is_doubtful = match &found.what {
        What::Write(how) => how.relative && found.resource.as_ref().is_some_and(|r| r.kind == Kind::File),
        What::Effect(effect) => found.resource.is_some() && &*effect.method == "POST",
        _ => false,
    };
    let said = if hint("readOnlyHint") { "readOnlyHint" } else { "idempotentHint" };
    let text = (
        format!("the tool says {said}, and its handler does otherwise"),
        "clients repeat calls, or run them side by side, because of the hint",
    );
    let (read, resource, sure) = (Some(said_at), name.to_owned(), u8::from(!is_doubtful));
    hits.push(Hit { read, resource, scope: Scope::Cluster, sure, ..case.hit("RC407", found, text) });
}

/// Whether what is inserted was to be updated just before, and only in some cases is inserted instead, or was deleted just
/// before: again, it is there once.
fn is_replaced(case: &Case<'_>, insert: &Event) -> bool {
    let What::Write(new) = &insert.what else { return false };
    let before = case.between(0, insert.id).iter().rev();
    let mut before = before.filter(|e| matches!(e.what, What::Write(_)) && e.site != insert.site && e.meets(insert));
    before.next().is_some_and(|old| {
        let What::Write(how) = &old.what else { return false };
        let updated = how.whole && !how.columns.is_empty() && how.columns.iter().all(|c| new.columns.contains(c));
        // Old ones that are deleted when a new one comes are others; those of one thing, or for a whole list, are not.
        let of_one = old.resource.as_ref().is_some_and(|r| r.part.is_some());
        let list =
            || insert.loops.len() > old.loops.len() && old.transaction.is_some_and(|t| insert.transaction == Some(t));
        let deleted = how.deletes && (of_one || list());
        (deleted || updated && old.path.len() < insert.path.len())
            && old.resource.as_ref().map(|r| &r.name) == insert.resource.as_ref().map(|r| &r.name)
            && insert.path.starts_with(&old.path)
    })
}
