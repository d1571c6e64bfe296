//! Where what is kept comes from, as the code says it: a part of an answer is a value, and nobody has to give it back.

use super::Case;
use crate::engine::{Event, Site, What};
use crate::hir::{Expr, ExprKind, Function, Loop, Pattern, Stmt, StmtKind};

/// Names that stand for names.
const NAMES_DEEP: u32 = 4;

/// Whether a write keeps a part of what somebody was asked for who is not known here. Two who ask have it twice. What a
/// known service was asked for may end what it gave before.
pub(super) fn is_part_of_answer(case: &Case<'_>, write: &Event) -> bool {
    let known = |e: &Event| matches!(&e.what, What::Effect(effect) if !effect.safe);
    if write.deps.iter().filter_map(|id| case.trace.event(id)).any(known) {
        return false;
    }
    let Some(function) = around(case, write.site) else { return false };
    let assigned: Vec<(&Pattern, &Expr)> = flat(&function.body).into_iter().flat_map(assigns).collect();
    let here = |(to, value): &&(&Pattern, &Expr)| {
        matches!(to, Pattern::Place(_))
            && value.span.line <= write.site.span.end_line
            && value.span.line >= write.site.span.line
    };
    assigned.iter().find(here).is_some_and(|(_, value)| is_part(value, &assigned, NAMES_DEEP))
}

/// The innermost function around a place.
pub(super) fn around<'a>(case: &'a Case<'_>, site: Site) -> Option<&'a Function> {
    let holds = |f: &&Function| f.span.line <= site.span.line && site.span.end_line <= f.span.end_line;
    case.program.module(site.file).functions.iter().skip(1).filter(holds).max_by_key(|f| f.span.line)
}

/// These statements and all inside of them.
pub(super) fn flat(body: &[Stmt]) -> Vec<&Stmt> {
    fn add<'a>(body: &'a [Stmt], all: &mut Vec<&'a Stmt>) {
        for stmt in body {
            all.push(stmt);
            match &stmt.kind {
                StmtKind::If { then, other, .. } => {
                    add(then, all);
                    add(other, all);
                }
                StmtKind::Try { body, handlers, otherwise, finally } => {
                    [body, otherwise, finally].into_iter().for_each(|part| add(part, all));
                    handlers.iter().for_each(|handler| add(&handler.body, all));
                }
                StmtKind::Loop(around) => {
                    let Loop { init, step, body, otherwise, .. } = &**around;
                    [init, step, body, otherwise].into_iter().for_each(|part| add(part, all));
                }
                StmtKind::Switch { arms, .. } => arms.iter().for_each(|arm| add(&arm.body, all)),
                StmtKind::With { body, .. } | StmtKind::Block(body) => add(body, all),
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    add(body, &mut all);
    all
}

/// What it assigns, if it does.
fn assigns(stmt: &Stmt) -> Vec<(&Pattern, &Expr)> {
    match &stmt.kind {
        StmtKind::Assign { to, value, .. } => to.iter().map(|to| (to, value)).collect(),
        _ => Vec::new(),
    }
}

/// `answer.a.b`, or what a method makes of `answer.a`. Not `answer.a` itself: some answers hand over a connection so.
fn is_part(value: &Expr, assigned: &[(&Pattern, &Expr)], depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    match &value.kind {
        ExprKind::Member { of, .. } => is_field(of, assigned),
        ExprKind::Call(call) if !call.is_new => match &call.callee.kind {
            ExprKind::Member { of, .. } => is_field(of, assigned),
            _ => false,
        },
        ExprKind::Name(name) => {
            let filled = |(to, value): &&(&Pattern, &Expr)| {
                matches!(to, Pattern::Name(to) if to == name) && !matches!(value.kind, ExprKind::Null)
            };
            assigned.iter().find(filled).is_some_and(|(_, value)| is_part(value, assigned, depth))
        }
        _ => false,
    }
}

fn is_field(value: &Expr, assigned: &[(&Pattern, &Expr)]) -> bool {
    matches!(&value.kind, ExprKind::Member { of, .. } if is_answer(of, assigned) || is_field(of, assigned))
}

/// What was waited for, by itself or by its name.
fn is_answer(value: &Expr, assigned: &[(&Pattern, &Expr)]) -> bool {
    let waits = |value: &Expr| matches!(value.kind, ExprKind::Await(_));
    match &value.kind {
        ExprKind::Name(name) => {
            let mut named = assigned.iter().filter(|(to, _)| matches!(to, Pattern::Name(to) if to == name)).peekable();
            named.peek().is_some() && named.all(|(_, value)| waits(value))
        }
        _ => waits(value),
    }
}
