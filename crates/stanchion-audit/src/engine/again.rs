//! Loops that try something again.

use crate::hir::each::each_in;
use crate::hir::{Expr, ExprKind, Loop, Pattern, Stmt, StmtKind, replaces};

/// `x != nil` or `x == nil`: the variable, and whether something is asked for.
pub(super) fn compared(cond: &Expr) -> Option<(&str, bool)> {
    let ExprKind::Binary { op, left, right } = &cond.kind else { return None };
    match (op.as_str(), &left.kind, &right.kind) {
        ("!=", ExprKind::Name(name), ExprKind::Null) => Some((name, true)),
        ("==", ExprKind::Name(name), ExprKind::Null) => Some((name, false)),
        _ => None,
    }
}

/// A loop that tries again what failed, and does not go on to the next of several things.
pub(super) fn is_retry(found: &Loop) -> bool {
    tries_again(&found.body)
        && match &found.each {
            // Through a range, or whatever a library gives for this.
            None | Some((_, Expr { kind: ExprKind::Call(_), .. })) => true,
            Some((Pattern::Name(item), _)) => !tried(&found.body, item),
            Some(_) => false,
        }
}

/// A loop that ends only by leaving, if need be in its `else`.
pub(super) fn is_endless(found: &Loop) -> bool {
    let always =
        |cond: &Expr| matches!(&cond.kind, ExprKind::Bool(true)) || matches!(&cond.kind, ExprKind::Num(n) if n == "1");
    let gives_up =
        matches!(found.otherwise.last().map(|stmt| &stmt.kind), Some(StmtKind::Return(_) | StmtKind::Throw(_)));
    gives_up || found.each.is_none() && found.cond.as_ref().is_none_or(always)
}

/// Whether what is tried is about this variable.
fn tried(body: &[Stmt], item: &str) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Try { body, .. } => {
            let mut uses = false;
            each_in(body, &mut |expr| uses |= matches!(&expr.kind, ExprKind::Name(name) if name == item));
            uses
        }
        StmtKind::Block(body) => tried(body, item),
        _ => false,
    })
}

/// A loop that leaves when something succeeds, and goes on when it fails.
fn tries_again(body: &[Stmt]) -> bool {
    asks_again(body)
        || body.iter().any(|stmt| match &stmt.kind {
            StmtKind::Try { body, handlers, .. } => {
                leaves(body) && handlers.iter().any(|handler| !always_leaves(&handler.body))
            }
            StmtKind::Block(body) => tries_again(body),
            _ => false,
        })
}

/// `x, err := call()` and then `if err == nil { return }`, which is not the end of the round.
fn asks_again(body: &[Stmt]) -> bool {
    body.iter().enumerate().any(|(at, stmt)| {
        let StmtKind::If { cond, then, other } = &stmt.kind else { return false };
        let Some((name, is_set)) = compared(cond) else { return false };
        let called = body.iter().take(at).any(|stmt| match &stmt.kind {
            StmtKind::Assign { to, value, op } if replaces(op.as_deref()) => {
                matches!(value.kind, ExprKind::Call(_)) && to.iter().any(|to| is_last(to, name))
            }
            _ => false,
        });
        let rest = || body.iter().skip(at + 1);
        let leaves_after = || rest().any(|stmt| matches!(stmt.kind, StmtKind::Return(_) | StmtKind::Break));
        called
            && if is_set {
                !always_leaves(then)
                    && matches!(then.last().map(|s| &s.kind), Some(StmtKind::Continue))
                    && leaves_after()
            } else {
                leaves(then) && other.is_empty() && !leaves_after()
            }
    })
}

fn is_last(pattern: &Pattern, name: &str) -> bool {
    match pattern {
        Pattern::Name(found) => found == name,
        Pattern::List(parts) => parts.last().is_some_and(|last| is_last(last, name)),
        _ => false,
    }
}

/// Whether it returns, or leaves the loop around it.
pub(super) fn leaves(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Break => true,
        StmtKind::Block(body) => leaves(body),
        StmtKind::If { then, other, .. } => leaves(then) || leaves(other),
        _ => false,
    })
}

fn always_leaves(body: &[Stmt]) -> bool {
    body.last().is_some_and(|stmt| matches!(stmt.kind, StmtKind::Return(_) | StmtKind::Throw(_) | StmtKind::Break))
}
