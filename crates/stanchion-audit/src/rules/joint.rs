//! Conditions of two parts that only together send somebody away.

use super::parts::{around, flat};
use super::{Case, place_at};
use crate::engine::{Event, Resource, What};
use crate::hir::each::each;
use crate::hir::{Expr, ExprKind, Span, StmtKind};

/// Whether a look sends nobody away by itself: `if (this.client && this.db) return`, where this writes `db`. Whoever comes when
/// only the client is set goes on.
pub(super) fn is_joint(case: &Case<'_>, look: &Event, of: &Resource, write: &Event) -> bool {
    let others = write.guards.iter().filter_map(|id| case.trace.event(id));
    let mut others = others.filter(|e| {
        matches!(e.what, What::Read { .. })
            && e.resource.as_ref().is_some_and(|r| r.is(of))
            && e.site.file == look.site.file
            && e.stack == look.stack
    });
    let Some(other) = others.next().filter(|_| write.stack.starts_with(&look.stack)) else { return false };
    let Some(function) = around(case, look.site) else { return false };
    let at = place_at(write, look.stack.len()).span;
    flat(&function.body).into_iter().any(|stmt| {
        let StmtKind::If { cond, then, .. } = &stmt.kind else { return false };
        let ends = then.first().zip(then.last()).map(|(first, last)| (first.span.line, last.span.end_line));
        let holds = ends.is_some_and(|(first, last)| first <= at.line && at.end_line <= last);
        together(cond, holds, look.site.span, other.site.span)
    })
}

/// Whether a condition is so for both of its parts, and could be so for one of them alone.
fn together(cond: &Expr, holds: bool, one: Span, other: Span) -> bool {
    match &cond.kind {
        ExprKind::Unary { op, of } if op == "!" => together(of, !holds, one, other),
        ExprKind::Binary { op, left, right } if op == "&&" || op == "||" => {
            let is_in = |part: &Expr, span: Span| {
                let mut found = false;
                each(part, &mut |expr| found |= expr.span == span);
                found
            };
            let apart = |a, b| is_in(left, a) && is_in(right, b);
            (op == "||") == holds && (apart(one, other) || apart(other, one))
                || [left, right].into_iter().any(|part| together(part, holds, one, other))
        }
        _ => false,
    }
}
