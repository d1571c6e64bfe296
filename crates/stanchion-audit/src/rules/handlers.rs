//! RC406, RC407: handlers.

use super::{Case, Hit};
use crate::engine::{Entry, Kind, Scope, What};

/// RC406: every copy of the program does it.
pub(super) fn timer_without_leader(case: &Case<'_>, hits: &mut Vec<Hit>) {
    if case.trace.root.entry != Entry::Timer || case.facts.deployment < Scope::Cluster {
        return;
    }
    let does = case.events().iter().find(|event| {
        let shared = event.resource.as_ref().is_some_and(|r| r.scope == Scope::Cluster);
        let acts = match &event.what {
            What::Write(how) => shared && !how.compares && !how.creates,
            What::Effect(effect) => !effect.safe && !effect.keyed,
            _ => false,
        };
        acts && event.held.iter().all(|held| held.scope < Scope::Cluster)
    });
    let Some(does) = does else { return };
    hits.push(Hit {
        code: "RC406",
        read: Some(case.trace.root.site),
        window: None,
        write: does.site,
        resource: case.trace.root.name.to_string(),
        scope: Scope::Cluster,
        sure: 1,
        message: "a timer runs in every copy of the program".into(),
        why: format!("each copy does it, and {}", case.facts.because),
    });
}

/// RC407: what a tool says of itself, and what it does.
pub(super) fn hints_contradict(case: &Case<'_>, hits: &mut Vec<Hit>) {
    let root = &case.trace.root;
    if root.entry != Entry::Tool {
        return;
    }
    let hint = |name: &str| root.hints.get(name) == Some(&true);
    let found = case.events().iter().find(|event| {
        let lasting = event.resource.as_ref().is_none_or(|r| r.kind != Kind::Memory);
        match &event.what {
            What::Write(how) if lasting => {
                hint("readOnlyHint") || hint("idempotentHint") && (how.inserts && !how.creates || how.relative)
            }
            What::Effect(effect) if !effect.safe => hint("readOnlyHint") || hint("idempotentHint") && !effect.repeats(),
            _ => false,
        }
    });
    let Some(found) = found else { return };
    // What is added to a file may be a log, and many services are asked by a POST.
    let is_doubtful = match &found.what {
        What::Write(how) => how.relative && found.resource.as_ref().is_some_and(|r| r.kind == Kind::File),
        What::Effect(effect) => found.resource.is_some() && &*effect.method == "POST",
        _ => false,
    };
    let said = if hint("readOnlyHint") { "readOnlyHint" } else { "idempotentHint" };
    hits.push(Hit {
        code: "RC407",
        read: Some(root.site),
        window: None,
        write: found.site,
        resource: root.name.to_string(),
        scope: Scope::Cluster,
        sure: u8::from(!is_doubtful),
        message: format!("the tool says {said}, and its handler does otherwise"),
        why: "clients repeat calls, or run them side by side, because of the hint".into(),
    });
}
