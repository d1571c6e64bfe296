//! Goes through the expressions and statements of a function.

use crate::hir::{Expr, ExprKind, Pattern, Stmt, StmtKind};

/// Expressions inside expressions; what is deeper is left out.
const DEEP: usize = 200;

/// Calls `see` for every expression below these statements, outer ones first. Inner functions are functions of their own.
pub(super) fn exprs<'a>(body: &'a [Stmt], see: &mut dyn FnMut(&'a Expr)) {
    for stmt in body {
        stmts(stmt, DEEP, see);
    }
}

/// The blocks of statements directly inside a statement.
pub(super) fn blocks(stmt: &Stmt) -> Vec<&[Stmt]> {
    match &stmt.kind {
        StmtKind::If { then, other, .. } => vec![then, other],
        StmtKind::Loop(it) => vec![&it.init, &it.body, &it.step, &it.otherwise],
        StmtKind::Try { body, handlers, otherwise, finally } => {
            let mut all: Vec<&[Stmt]> = vec![body, otherwise, finally];
            all.extend(handlers.iter().map(|handler| handler.body.as_slice()));
            all
        }
        StmtKind::With { body, .. } | StmtKind::Block(body) => vec![body],
        StmtKind::Switch { arms, .. } => arms.iter().map(|arm| arm.body.as_slice()).collect(),
        _ => Vec::new(),
    }
}

fn stmts<'a>(stmt: &'a Stmt, deep: usize, see: &mut dyn FnMut(&'a Expr)) {
    let Some(deep) = deep.checked_sub(1) else { return };
    match &stmt.kind {
        StmtKind::Expr(of) | StmtKind::Defer(of) | StmtKind::Go(of) | StmtKind::Delete(of) => expr(of, deep, see),
        StmtKind::Assign { to, value, .. } => {
            to.iter().for_each(|to| pattern(to, deep, see));
            expr(value, deep, see);
        }
        StmtKind::Return(of) | StmtKind::Throw(of) => of.iter().for_each(|of| expr(of, deep, see)),
        StmtKind::If { cond, .. } => expr(cond, deep, see),
        StmtKind::Loop(it) => {
            it.cond.iter().chain(it.each.iter().map(|(_, of)| of)).for_each(|of| expr(of, deep, see));
        }
        StmtKind::With { items, .. } => items.iter().for_each(|(of, _)| expr(of, deep, see)),
        StmtKind::Switch { subject, .. } => expr(subject, deep, see),
        _ => {}
    }
    for block in blocks(stmt) {
        block.iter().for_each(|stmt| stmts(stmt, deep, see));
    }
}

fn pattern<'a>(of: &'a Pattern, deep: usize, see: &mut dyn FnMut(&'a Expr)) {
    if let Pattern::Place(place) = of {
        expr(place, deep, see);
    }
}

fn expr<'a>(of: &'a Expr, deep: usize, see: &mut dyn FnMut(&'a Expr)) {
    let Some(deep) = deep.checked_sub(1) else { return };
    see(of);
    match &of.kind {
        ExprKind::Template(list) | ExprKind::List(list) | ExprKind::Other(list) => all(list, deep, see),
        ExprKind::Member { of, .. }
        | ExprKind::Await(of)
        | ExprKind::Unary { of, .. }
        | ExprKind::Spread(of)
        | ExprKind::Try(of)
        | ExprKind::Matches { of, .. } => expr(of, deep, see),
        ExprKind::Yield(of) => of.iter().for_each(|of| expr(of, deep, see)),
        ExprKind::Index { of, index } => {
            expr(of, deep, see);
            expr(index, deep, see);
        }
        ExprKind::Call(call) => {
            expr(&call.callee, deep, see);
            call.args.iter().for_each(|arg| expr(&arg.value, deep, see));
        }
        ExprKind::Object { fields, .. } => fields.iter().for_each(|(_, of)| expr(of, deep, see)),
        ExprKind::Binary { left, right, .. } => {
            expr(left, deep, see);
            expr(right, deep, see);
        }
        ExprKind::Cond { test, then, other } => {
            expr(test, deep, see);
            expr(then, deep, see);
            expr(other, deep, see);
        }
        ExprKind::Assign { to, value, .. } => {
            pattern(to, deep, see);
            expr(value, deep, see);
        }
        ExprKind::Comprehension { element, each, conds } => {
            expr(element, deep, see);
            each.iter().for_each(|(_, of)| expr(of, deep, see));
            all(conds, deep, see);
        }
        ExprKind::Block(body) => body.iter().for_each(|stmt| stmts(stmt, deep, see)),
        _ => {}
    }
}

fn all<'a>(list: &'a [Expr], deep: usize, see: &mut dyn FnMut(&'a Expr)) {
    list.iter().for_each(|of| expr(of, deep, see));
}
