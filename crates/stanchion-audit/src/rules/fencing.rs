//! RC202, RC204: a lock that may be somebody else's by now.

use super::{Case, Hit};
use crate::engine::{Scope, What};

/// RC202.
pub(super) fn release_without_token(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for event in case.events() {
        if let What::Release { lock, checked: false } = &event.what {
            let text = (
                "a lock is deleted without asking in the same step whose it is",
                "if it has expired meanwhile, it is the next holder's lock that is deleted",
            );
            let resource = lock.to_string();
            hits.push(Hit { resource, scope: Scope::Cluster, sure: 2, ..case.hit("RC202", event, text) });
        }
    }
}

/// RC204.
pub(super) fn renew_without_token(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for event in case.events() {
        let What::Renew { lock, checked: false } = &event.what else { continue };
        let Some(resource) = &event.resource else { continue };
        let asked = event.guards.iter().filter_map(|id| case.trace.event(id)).find(|read| {
            matches!(read.what, What::Read { .. }) && read.resource.as_ref().is_some_and(|r| r.is(resource))
        });
        let Some(asked) = asked else { continue };
        let text = (
            "a lock is read and then prolonged in a second step",
            "between the two it can expire and become somebody else's, who then has it longer than asked for",
        );
        let resource = lock.to_string();
        hits.push(Hit { resource, scope: Scope::Cluster, sure: 2, ..case.pair("RC204", asked, event, text) });
    }
}
