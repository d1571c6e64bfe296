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
            StmtKind::If { cond, .. } => each(cond, look),
            StmtKind::Loop(found) => {
                found.cond.iter().chain(found.each.iter().map(|(_, of)| of)).for_each(|expr| each(expr, look));
            }
            StmtKind::With { items, .. } => items.iter().for_each(|(expr, _)| each(expr, look)),
            StmtKind::Switch { subject, .. } => each(subject, look),
            _ => {}
        }
        blocks(stmt, &mut |body| each_in(body, look));
    }
}

/// Calls `look` with every block of this statement.
fn blocks<'a>(stmt: &'a Stmt, look: &mut dyn FnMut(&'a [Stmt])) {
    match &stmt.kind {
        StmtKind::If { then, other, .. } => [then, other].iter().for_each(|body| look(body)),
        StmtKind::Loop(found) => {
            [&found.init, &found.step, &found.body, &found.otherwise].iter().for_each(|body| look(body));
        }
        StmtKind::Try { body, handlers, otherwise, finally } => {
            [body, otherwise, finally].iter().for_each(|body| look(body));
            handlers.iter().for_each(|Handler { body, .. }| look(body));
        }
        StmtKind::Switch { arms, .. } => arms.iter().for_each(|arm| look(&arm.body)),
        StmtKind::With { body, .. } | StmtKind::Block(body) => look(body),
        _ => {}
    }
}

/// Whether something is assigned to this variable anywhere in these statements.
pub(crate) fn assigns(body: &[Stmt], name: &str) -> bool {
    let mut found = assigned(body, name);
    each_in(body, &mut |expr| match &expr.kind {
        ExprKind::Assign { to, .. } => found |= binds(to, name),
        ExprKind::Block(body) => found |= assigned(body, name),
        _ => {}
    });
    found
}

/// The same by statements alone.
fn assigned(body: &[Stmt], name: &str) -> bool {
    body.iter().any(|stmt| {
        let mut found = match &stmt.kind {
            StmtKind::Assign { to, .. } => to.iter().any(|to| binds(to, name)),
            StmtKind::Loop(repeated) => repeated.each.iter().any(|(item, _)| binds(item, name)),
            StmtKind::With { items, .. } => items.iter().any(|(_, to)| to.as_ref().is_some_and(|to| binds(to, name))),
            _ => false,
        };
        blocks(stmt, &mut |body| found |= assigned(body, name));
        found
    })
}

/// Calls `look` with every field and element that something is assigned to anywhere in these statements.
pub(crate) fn each_place<'a>(body: &'a [Stmt], look: &mut dyn FnMut(&'a Expr)) {
    placed(body, look);
    each_in(body, &mut |expr| match &expr.kind {
        ExprKind::Assign { to, .. } => places(to, look),
        ExprKind::Block(body) => placed(body, look),
        _ => {}
    });
}

/// The same by statements alone.
fn placed<'a>(body: &'a [Stmt], look: &mut dyn FnMut(&'a Expr)) {
    for stmt in body {
        if let StmtKind::Assign { to, .. } = &stmt.kind {
            to.iter().for_each(|to| places(to, look));
        }
        blocks(stmt, &mut |body| placed(body, look));
    }
}

fn places<'a>(pattern: &'a Pattern, look: &mut dyn FnMut(&'a Expr)) {
    match pattern {
        Pattern::Place(place) => look(place),
        Pattern::Object(parts) => parts.iter().for_each(|(_, part)| places(part, look)),
        Pattern::List(parts) => parts.iter().for_each(|part| places(part, look)),
        Pattern::Rest(part) => places(part, look),
        Pattern::Name(_) | Pattern::Nothing => {}
    }
}

fn binds(pattern: &Pattern, name: &str) -> bool {
    match pattern {
        Pattern::Name(bound) => bound == name,
        Pattern::Object(parts) => parts.iter().any(|(_, part)| binds(part, name)),
        Pattern::List(parts) => parts.iter().any(|part| binds(part, name)),
        Pattern::Rest(part) => binds(part, name),
        Pattern::Place(_) | Pattern::Nothing => false,
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
