//! What statements look like whose failure, or whose end, nobody waits for.

use super::call::path_of;
use crate::hir::each::each;
use crate::hir::{Expr, ExprKind, Handler, Pattern, Stmt, StmtKind, replaces};
use crate::models::Words;

/// A call as a statement, or `void` before it; a chain of promises counts as its last call.
pub(super) fn drops_promise(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(call) => !call.is_new,
        ExprKind::Unary { op, of } => op == "void" && drops_promise(of),
        _ => false,
    }
}

/// Catches more than "not there".
pub(super) fn catches_more(words: &Words, handler: &Handler) -> bool {
    let named = |expr: &Expr| path_of(expr).unwrap_or_default();
    let mut types = handler.catches.iter().flat_map(|caught| match &caught.kind {
        ExprKind::List(items) => items.iter().map(named).collect::<Vec<_>>(),
        _ => vec![named(caught)],
    });
    handler.catches.is_empty() || !types.all(|name| Words::is_in(&words.absent, &name))
}

/// Counts on the database to refuse the second one.
pub(super) fn is_refused(words: &Words, handler: &Handler) -> bool {
    let is = |expr: &Expr| path_of(expr).is_some_and(|path| Words::is_last(&words.refused, &path));
    handler.catches.iter().any(|caught| match &caught.kind {
        ExprKind::List(items) => items.iter().any(is),
        _ => is(caught),
    })
}

/// What a handler calls its error, if that can be told; empty if it has no name.
pub(super) fn error_of(handler: &Handler) -> Option<&str> {
    match &handler.name {
        Some(Pattern::Name(error)) => Some(error),
        Some(_) => None,
        None => Some(""),
    }
}

/// Goes on with something empty, whatever went wrong.
pub(super) fn gives_empty(
    words: &Words,
    body: &[Stmt],
    error: Option<&str>,
    is_nothing: &mut impl FnMut(&Expr) -> bool,
) -> bool {
    let last = body.last().map(|stmt| &stmt.kind);
    let gives = match last {
        Some(StmtKind::Expr(expr)) => !ends(words, expr),
        Some(StmtKind::Return(Some(value))) => is_nothing(assigned(body, value)),
        Some(StmtKind::Return(None) | StmtKind::Break | StmtKind::Continue) => false,
        _ => true,
    };
    gives && !looks(words, body, error, is_nothing)
}

/// Gives something that stands in the code, whatever went wrong.
pub(super) fn gives_constant(words: &Words, body: &[Stmt]) -> bool {
    let is_constant = |value: &Expr| value.is_literal() || matches!(value.kind, ExprKind::Function(_));
    body.iter().all(|stmt| match &stmt.kind {
        StmtKind::Expr(expr) => !ends(words, expr),
        StmtKind::Return(value) => value.as_ref().is_none_or(is_constant),
        _ => false,
    })
}

/// What a variable was given in these statements; anything else is what it is.
fn assigned<'e>(body: &'e [Stmt], value: &'e Expr) -> &'e Expr {
    let ExprKind::Name(name) = &value.kind else { return value };
    let given = body.iter().rev().find_map(|stmt| match &stmt.kind {
        StmtKind::Assign { to, value, op } if replaces(op.as_deref()) => {
            matches!(&to[..], [Pattern::Name(to)] if to == name).then_some(value)
        }
        _ => None,
    });
    given.unwrap_or(value)
}

/// Looks what went wrong, or goes on with it.
pub(super) fn looks(
    words: &Words,
    body: &[Stmt],
    error: Option<&str>,
    is_nothing: &mut impl FnMut(&Expr) -> bool,
) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::If { cond, then, other } => {
            let gives_up = asks_something_else(cond, error);
            [then, other].iter().any(|arm| tells_apart(words, arm, gives_up, is_nothing))
        }
        kind => matches!(kind, StmtKind::Throw(_) | StmtKind::Switch { .. } | StmtKind::Try { .. }),
    })
}

/// How often it was tried, and not what went wrong.
fn asks_something_else(cond: &Expr, error: Option<&str>) -> bool {
    let Some(error) = error else { return false };
    let mut of_error = false;
    each(cond, &mut |part| of_error |= matches!(&part.kind, ExprKind::Name(name) if name == error));
    !of_error
}

/// One way through these statements does not go on with something empty. What is only told of an error changes nothing.
/// `gives_up`: who leaves the loop around goes on behind it with what was there before.
fn tells_apart(words: &Words, body: &[Stmt], gives_up: bool, is_nothing: &mut impl FnMut(&Expr) -> bool) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Expr(expr) => ends(words, expr),
        StmtKind::Return(Some(value)) | StmtKind::Assign { value, .. } => !is_nothing(value),
        StmtKind::If { then, other, .. } => {
            [then, other].iter().any(|arm| tells_apart(words, arm, gives_up, is_nothing))
        }
        StmtKind::Break => !gives_up,
        _ => true,
    })
}

/// A call after which the process is no more.
pub(super) fn ends(words: &Words, expr: &Expr) -> bool {
    let ExprKind::Call(call) = &expr.kind else { return false };
    // Most calls are not, and their last name says so.
    let (ExprKind::Name(last) | ExprKind::Member { name: last, .. }) = &call.callee.kind else { return false };
    words.ends.iter().any(|word| word.ends_with(last.as_str()))
        && path_of(&call.callee).is_some_and(|path| Words::is_one(&words.ends, &path))
}
