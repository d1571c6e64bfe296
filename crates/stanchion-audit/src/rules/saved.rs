//! RC108: state of memory that is saved.

use super::lost::is_alone;
use super::{Case, Hit};
use crate::engine::{Kind, What};

/// RC108.
pub(super) fn snapshot(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let What::Write(how) = &write.what else { continue };
        let Some(resource) = write.resource.as_ref().filter(|r| r.kind == Kind::File) else { continue };
        if !write.detached || !how.whole || how.publishes || !write.held.is_empty() {
            continue;
        }
        if is_alone(case, resource, write) {
            continue;
        }
        let state = write.deps.iter().filter_map(|id| case.trace.event(id)).filter(|read| {
            matches!(read.what, What::Read { .. })
                && !read.early
                && read.resource.as_ref().is_some_and(|r| r.kind == Kind::Memory)
        });
        let Some(first) = state.min_by_key(|read| read.id) else { continue };
        let text = (
            "state is saved by a write that nobody waits for",
            "two of them can run at once, and the older state can be written last",
        );
        hits.push(case.pair("RC108", first, write, text));
    }
}
