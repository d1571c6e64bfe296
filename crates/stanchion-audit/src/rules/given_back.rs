//! Maps of things that have to be given back, as the code says it: whoever makes one twice never gives back one of them.

use super::Case;
use super::parts::{around, flat};
use crate::engine::Event;
use crate::hir::{Call, Expr, ExprKind, Function, Pattern, StmtKind};

/// What a map is called with to lose an entry, or all of them.
const REMOVES: [&str; 4] = ["delete", "pop", "clear", "remove"];

/// A map by its name, and whether it is a field.
pub(super) type Map<'a> = (&'a str, bool);

/// Whether entries of the map that is written are given back where they are taken out of it.
pub(super) fn is_given_back(case: &Case<'_>, write: &Event) -> bool {
    let Some(function) = around(case, write.site) else { return false };
    let (site, functions) = (write.site.span, &case.program.module(write.site.file).functions);
    let here = |expr: &Expr| (site.line..=site.end_line).contains(&expr.span.line);
    let written = flat(&function.body).into_iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::Expr(expr) if here(expr) => receiver(expr).map(|(map, _)| map),
        StmtKind::Assign { to, value, .. } if here(value) => to.iter().find_map(|to| match to {
            Pattern::Place(place) => entry(place),
            _ => None,
        }),
        _ => None,
    });
    let maps: Vec<Map<'_>> = written.filter_map(map).collect();
    maps.iter().any(|map| functions.iter().any(|function| gives_back(function, *map)))
}

/// Whether a call is one by which a map loses an entry.
pub(super) fn removes(expr: &Expr) -> bool {
    receiver(expr).is_some_and(|(_, name)| REMOVES.contains(&name))
}

/// An entry is taken out, and something is done with it for its own sake.
pub(super) fn gives_back(function: &Function, of: Map<'_>) -> bool {
    let all = flat(&function.body);
    let is_it = |expr: &Expr| map(expr) == Some(of);
    let loses = all.iter().any(|stmt| match &stmt.kind {
        StmtKind::Expr(expr) | StmtKind::Assign { value: expr, .. } => {
            removes(expr) && receiver(expr).is_some_and(|(map, _)| is_it(map))
        }
        StmtKind::Delete(expr) => entry(expr).is_some_and(is_it),
        _ => false,
    });
    if !loses {
        return false;
    }
    let from_it = |expr: &Expr| {
        is_it(expr) || entry(expr).is_some_and(is_it) || receiver(expr).is_some_and(|(map, _)| is_it(map))
    };
    let mut taken = Vec::new();
    for stmt in &all {
        match &stmt.kind {
            StmtKind::Assign { to, value, .. } if from_it(value) => to.iter().for_each(|to| bound(to, &mut taken)),
            StmtKind::Loop(around) => {
                around.each.iter().filter(|(_, of)| from_it(of)).for_each(|(to, _)| bound(to, &mut taken));
            }
            _ => {}
        }
    }
    all.iter().any(|stmt| match &stmt.kind {
        StmtKind::Expr(expr) => receiver(expr).and_then(|(of, _)| root(of)).is_some_and(|name| taken.contains(&name)),
        _ => false,
    })
}

pub(super) fn map(expr: &Expr) -> Option<Map<'_>> {
    match &expr.kind {
        ExprKind::Name(name) => Some((name, false)),
        ExprKind::Member { of, name } if matches!(of.kind, ExprKind::This) => Some((name, true)),
        _ => None,
    }
}

/// `map[key]`: the map.
fn entry(expr: &Expr) -> Option<&Expr> {
    match &expr.kind {
        ExprKind::Index { of, .. } => Some(of),
        _ => None,
    }
}

/// `of.name(…)`, waited for or not.
pub(super) fn receiver(expr: &Expr) -> Option<(&Expr, &str)> {
    match &call(expr)?.callee.kind {
        ExprKind::Member { of, name } => Some((of, name)),
        _ => None,
    }
}

pub(super) fn call(expr: &Expr) -> Option<&Call> {
    match &expr.kind {
        ExprKind::Await(of) => call(of),
        ExprKind::Call(call) => Some(call),
        _ => None,
    }
}

/// The variable that `a.b.c` begins with.
fn root(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name),
        ExprKind::Member { of, .. } => root(of),
        _ => None,
    }
}

fn bound<'a>(pattern: &'a Pattern, names: &mut Vec<&'a str>) {
    match pattern {
        Pattern::Name(name) => names.push(name),
        Pattern::List(parts) => parts.iter().for_each(|part| bound(part, names)),
        _ => {}
    }
}
