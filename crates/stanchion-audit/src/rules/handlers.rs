//! RC406, RC407: handlers.

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, Hit};
use crate::engine::{Entry, Event, EventId, Kind, Scope, Site, What};

/// RC406: every copy of the program does it.
pub(super) fn timer_without_leader(case: &Case<'_>, hits: &mut Vec<Hit>) {
    if case.facts.deployment < Scope::Host {
        return;
    }
    let root = &case.trace.root;
    let is_timer = root.entry == Entry::Timer;
    let clocks: Vec<&Event> = case.events().iter().filter(|e| matches!(e.what, What::Ticks)).collect();
    if !is_timer && clocks.is_empty() {
        return;
    }
    let used: BTreeSet<EventId> = case.events().iter().flat_map(|e| e.deps.iter().chain(e.guards.iter())).collect();
    let clock = |event: &Event| {
        let goes_around = |clock: &&&Event| clock.loops.last().is_some_and(|around| event.loops.contains(around));
        clocks.iter().find(goes_around).map(|clock| clock.site)
    };
    let does = |event: &Event| {
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
        // Rows and entries that a write gives back are its caller's alone from then on.
        let claims = matches!(event.what, What::Write(_)) && used.contains(&event.id);
        acts && !claims && event.held.iter().all(|held| held.scope < Scope::Cluster) && !is_own(case, event)
    };
    // What each of them does first: an entry point may start several.
    let mut seen: BTreeSet<Option<Site>> = BTreeSet::new();
    for event in case.events() {
        let by = clock(event);
        if by.is_none() && !is_timer || seen.contains(&by) || !does(event) {
            continue;
        }
        seen.insert(by);
        let why = format!("each copy does it, and {}", case.facts.because);
        let (read, resource) = (by.or(Some(root.site)), root.name.to_string());
        let hit = case.hit("RC406", event, ("a timer runs in every copy of the program", why));
        hits.push(Hit { read, resource, scope: Scope::Cluster, ..hit });
    }
}

/// What a copy does with what it alone has: its own memory has collected it, or it was taken out of a store for that.
fn is_own(case: &Case<'_>, event: &Event) -> bool {
    let seen = event.deps.iter().chain(event.guards.iter()).filter_map(|id| case.trace.event(id));
    let of_memory = |id| {
        case.trace.event(id).is_some_and(|e| e.resource.as_ref().is_some_and(|r| r.kind == Kind::Memory) && !e.early)
    };
    let takes = |e: &Event| match &e.what {
        What::Write(how) => !how.inserts,
        What::Read { locks, .. } => *locks,
        _ => false,
    };
    seen.into_iter().any(takes) || event.deps.iter().any(of_memory)
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
