//! All expressions of a piece of code.

use std::collections::BTreeSet;

use super::{Expr, ExprKind, Function, Handler, Pattern, Stmt, StmtKind};

/// Calls `look` with every expression of these statements; functions and classes that are declared in them are elsewhere.
pub(crate) fn each_in<'a>(body: &'a [Stmt], look: &mut dyn FnMut(&'a Expr)) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Expr(expr) | StmtKind::Defer(expr) | StmtKind::Go(expr) | StmtKind::Delete(expr) => {
                each(expr, look);
            }
            StmtKind::Assign { value, .. } => each(value, look),
            StmtKind::Return(value) | StmtKind::Throw(value) => value.iter().for_each(|value| each(value, look)),
            StmtKind::If { cond, then, other } => {
                each(cond, look);
                each_in(then, look);
                each_in(other, look);
            }
            StmtKind::Loop(found) => {
                found.cond.iter().chain(found.each.iter().map(|(_, of)| of)).for_each(|expr| each(expr, look));
                [&found.init, &found.step, &found.body, &found.otherwise].iter().for_each(|body| each_in(body, look));
            }
            StmtKind::Try { body, handlers, otherwise, finally } => {
                [body, otherwise, finally].iter().for_each(|body| each_in(body, look));
                handlers.iter().for_each(|Handler { body, .. }| each_in(body, look));
            }
            StmtKind::With { items, body, .. } => {
                items.iter().for_each(|(expr, _)| each(expr, look));
                each_in(body, look);
            }
            StmtKind::Switch { subject, arms } => {
                each(subject, look);
                arms.iter().for_each(|arm| each_in(&arm.body, look));
            }
            StmtKind::Block(body) => each_in(body, look),
            StmtKind::Break | StmtKind::Continue | StmtKind::Function(_) | StmtKind::Class(_) => {}
        }
    }
}

/// The expression and all inside of it; how deep they are nested, the front-ends limit.
pub(crate) fn each<'a>(expr: &'a Expr, look: &mut dyn FnMut(&'a Expr)) {
    look(expr);
    match &expr.kind {
        ExprKind::Member { of, .. }
        | ExprKind::Await(of)
        | ExprKind::Unary { of, .. }
        | ExprKind::Spread(of)
        | ExprKind::Try(of)
        | ExprKind::Matches { of, .. } => each(of, look),
        ExprKind::Index { of, index } => [of, index].iter().for_each(|part| each(part, look)),
        ExprKind::Call(call) => {
            each(&call.callee, look);
            call.args.iter().for_each(|arg| each(&arg.value, look));
        }
        ExprKind::Yield(of) => of.iter().for_each(|of| each(of, look)),
        ExprKind::Object { fields, .. } => fields.iter().for_each(|(_, value)| each(value, look)),
        ExprKind::List(parts) | ExprKind::Other(parts) | ExprKind::Template(parts) => {
            parts.iter().for_each(|part| each(part, look))
        }
        ExprKind::Binary { left, right, .. } => [left, right].iter().for_each(|part| each(part, look)),
        ExprKind::Cond { test, then, other } => [test, then, other].iter().for_each(|part| each(part, look)),
        ExprKind::Assign { to, value, .. } => {
            if let Pattern::Place(place) = &**to {
                each(place, look);
            }
            each(value, look);
        }
        ExprKind::Comprehension { element, each: sources, conds } => {
            each(element, look);
            sources.iter().map(|(_, of)| of).chain(conds).for_each(|part| each(part, look));
        }
        ExprKind::Block(body) => each_in(body, look),
        _ => {}
    }
}

/// Names of fields and methods that these functions ask of something else than `this`.
pub(crate) fn asked(functions: &[Function]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for function in functions {
        each_in(&function.body, &mut |expr| {
            if let ExprKind::Member { of, name } = &expr.kind
                && !matches!(of.kind, ExprKind::This | ExprKind::Super)
                && !all.contains(name.as_str())
            {
                all.insert(name.to_string());
            }
        });
    }
    all
}
