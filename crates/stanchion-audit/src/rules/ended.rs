//! RC104: what is done when something has ended, as the code says it.

use super::given_back::{call, gives_back, map, receiver, removes};
use super::{Case, Hit};
use crate::engine::{Event, Kind, What};
use crate::hir::each::each_in;
use crate::hir::{Expr, ExprKind, Function, FunctionId, Module, Pattern, StmtKind};

/// Whoever hears that something has ended removes it from a map by its key. If it was taken out before, and another one was put
/// there, that one is lost: nobody gives it back any more.
pub(super) fn of_another(case: &Case<'_>, hits: &mut Vec<Hit>) {
    for write in case.events() {
        let (What::Write(how), Some(resource)) = (&write.what, &write.resource) else { continue };
        if !how.deletes || resource.kind != Kind::Memory || case.is_parallel(write) {
            continue;
        }
        if !is_by_key(case.program.module(write.site.file), write) {
            continue;
        }
        let text = (
            "when something ends, whatever has its key by then is removed",
            "it can have been taken out and made anew before: then the new one is lost, and nobody ends it",
        );
        hits.push(case.hit("RC104", write, text));
    }
}

/// Whether it is so: the function that hears of the end stands in one that gives what is there under the key, or puts it there,
/// and somebody else takes things out of the map and ends them.
fn is_by_key(module: &Module, write: &Event) -> bool {
    let functions = || module.functions.iter().enumerate().skip(1);
    let span = write.site.span;
    let holds = |f: &Function| f.span.line <= span.line && span.end_line <= f.span.end_line;
    let Some((_, hears)) = functions().filter(|(_, f)| holds(f)).max_by_key(|(_, f)| f.span.line) else { return false };
    let Some((id, makes)) = hears.parent.and_then(|id| Some((id, module.functions.get(id)?))) else { return false };
    if id == 0 || !hears.name.is_empty() {
        return false;
    }
    // Whoever looks first whose it is stands in a condition.
    let always = hears.body.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::Expr(expr) if expr.span.line == span.line => Some(expr),
        _ => None,
    });
    let removed = always.filter_map(|expr| key_of(expr).filter(|_| removes(expr)));
    let is_param =
        |name: &str| makes.params.iter().any(|p| matches!(&p.pattern, Pattern::Name(param) if param == name));
    let Some((of, key)) = removed.into_iter().find(|(_, key)| is_param(key)) else { return false };
    let Some(of_map) = map(of) else { return false };
    let is_it = |expr: &Expr, method: &str| {
        let asked = receiver(expr).is_some_and(|(of, name)| map(of) == Some(of_map) && name == method);
        asked && key_of(expr).is_some_and(|(_, of)| of == key)
    };
    let (mut looks, mut puts) = (false, false);
    each_in(&makes.body, &mut |expr| {
        looks |= is_it(expr, "get") || is_it(expr, "has");
        puts |= is_it(expr, "set");
    });
    let is_elsewhere = |f: FunctionId, function: &Function| f != id && function.parent != Some(id);
    looks && puts && functions().any(|(f, function)| is_elsewhere(f, function) && gives_back(function, of_map))
}

/// `of.method(key, …)` with the name of a variable: of what, and by which.
fn key_of(expr: &Expr) -> Option<(&Expr, &str)> {
    let (of, _) = receiver(expr)?;
    match &call(expr)?.args.first()?.value.kind {
        ExprKind::Name(key) => Some((of, key)),
        _ => None,
    }
}
