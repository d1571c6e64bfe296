//! RC301, RC303: files that are put aside when they have grown, and files that are there for one call only.

use super::{Case, Hit};
use crate::engine::{Event, Kind, Mark, Scope, What, Write};

/// RC301: a log is moved away because of its size, and begun anew: whoever has seen the same size moves the new one.
pub(super) fn rotated(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let (What::Write(Write { from: Some(from), .. }), Some(to)) = (&write.what, &write.resource) else { continue };
        // Under a name of its own it overwrites nothing.
        if Mark::Unique.is_in(from) || Mark::Unique.is_in(&to.name) {
            continue;
        }
        let of_it =
            |e: &Event| e.resource.as_ref().is_some_and(|r| r.kind == Kind::File && r.name == *from) && e.meets(write);
        // Its size or time.
        let measures = |e: &&Event| {
            let part = e.resource.as_ref().and_then(|r| r.part.as_ref());
            matches!(e.what, What::Check) && part.is_some() && of_it(e)
        };
        let Some(look) = write.guards.iter().filter_map(|id| case.trace.event(id)).find(measures) else { continue };
        let goes_on = |e: &Event| matches!(&e.what, What::Write(how) if how.relative) && of_it(e);
        let told = hits.iter().any(|hit| hit.code == "RC301" && hit.write == write.site);
        let grows = case.events().iter().skip_while(|e| e.id <= write.id).any(goes_on);
        if told || !grows || look.covered_with(write, case.needed(Scope::Host)) || !can_come_between(case, look, write)
        {
            continue;
        }
        let text = (
            "a file is moved away because it has grown, and begun anew",
            "another process can have moved it in between: then the new one is moved over what was put aside",
        );
        hits.push(case.pair("RC301", look, write, text));
    }
}

/// RC303: a file that a call writes for itself and removes in the end has the same name in all calls.
pub(super) fn scratch(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for gone in case.events() {
        let (What::Write(Write { deletes: true, .. }), Some(removed)) = (&gone.what, &gone.resource) else { continue };
        if removed.kind != Kind::File || gone.handler || !is_fixed(&removed.name) {
            continue;
        }
        let is_it = |e: &Event| e.resource.as_ref().is_some_and(|r| r.is(removed)) && e.meets(gone);
        let mut before = case.between(0, gone.id).iter().filter(|e| is_it(e));
        // Whoever looks first counts with what others have put there: that is no file of one call.
        let Some(written) = before.next().filter(|e| is_content(e)) else { continue };
        if before.any(|e| matches!(&e.what, What::Write(how) if how.deletes))
            || written.covered_with(gone, case.needed(Scope::Host))
            || !can_come_between(case, written, gone)
        {
            continue;
        }
        let text = (
            "all calls write their scratch file under the same name",
            "one call's content is overwritten or removed by another before it is used",
        );
        hits.push(case.pair("RC303", written, gone, text));
    }
}

/// Something of this call is written, and not only that there is such a file, or whose it is.
fn is_content(event: &Event) -> bool {
    let What::Write(how) = &event.what else { return false };
    how.whole && !how.constant && !how.owner && !how.creates && how.from.is_none() && !event.handler && !event.early
}

/// The file's own name is the same whatever is given, and whoever asks.
fn is_fixed(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    !Mark::Unique.is_in(path) && !name.contains(['$', '{', '(', '?']) && path.contains('/')
}

fn can_come_between(case: &Case<'_>, one: &Event, other: &Event) -> bool {
    case.window(one, other).is_some() || case.is_parallel(other) || !case.is_ours_alone(Scope::Host)
}
