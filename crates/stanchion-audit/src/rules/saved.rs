//! RC108: state of memory that is saved.

use super::lost::is_alone;
use super::parts::flat;
use super::{Case, Hit};
use crate::engine::{Event, Kind, What};
use crate::hir::{Expr, ExprKind, Imported, Module, Pattern, StmtKind};
use crate::program::Meaning;

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
                && !is_fixed(case, read)
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

/// Whether it is a variable that is set once, to a text or a number: that is no state.
fn is_fixed(case: &Case<'_>, read: &Event) -> bool {
    let (file, program) = (read.site.file, case.program);
    let of_file = read.resource.as_ref().and_then(|r| r.name.strip_prefix(program.path(file))?.strip_prefix(':'));
    let Some(name) = of_file else { return false };
    let module = program.module(file);
    let import = module.imports.iter().position(|import| import.local == name);
    let Some(import) = import else { return is_set_once(module, name) };
    let (Meaning::In(other), Some(Imported::Name(name))) =
        (program.import(file, import), module.imports.get(import).map(|import| &import.what))
    else {
        return false;
    };
    program.export(other, name).is_some_and(|(file, name)| is_set_once(program.module(file), &name))
}

fn is_set_once(module: &Module, name: &str) -> bool {
    let all = module.functions.iter().flat_map(|function| flat(&function.body));
    let mut sets = all.filter_map(|stmt| match &stmt.kind {
        StmtKind::Assign { to, value, .. } if to.iter().any(|to| has(to, name)) => Some((to, value)),
        _ => None,
    });
    let first = sets.next().is_some_and(|(to, value)| matches!(to[..], [Pattern::Name(_)]) && is_plain(value));
    first && sets.next().is_none()
}

fn has(pattern: &Pattern, name: &str) -> bool {
    match pattern {
        Pattern::Name(to) => to == name,
        Pattern::List(parts) => parts.iter().any(|part| has(part, name)),
        // What it takes apart may have the name.
        Pattern::Nothing | Pattern::Place(_) => false,
        _ => true,
    }
}

fn is_plain(value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Str(_) | ExprKind::Num(_) | ExprKind::Bool(_))
}
