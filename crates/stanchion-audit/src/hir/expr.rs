//! What an expression is by its form alone.

use super::{DECLARES, Expr, ExprKind};

impl Expr {
    /// A constant as it is written.
    pub(crate) fn is_literal(&self) -> bool {
        matches!(self.kind, ExprKind::Str(_) | ExprKind::Num(_) | ExprKind::Bool(_) | ExprKind::Null)
    }

    /// `x` of `!x`, or all of it; and whether it is negated.
    pub(crate) fn negated(&self) -> (&Self, bool) {
        match &self.kind {
            ExprKind::Unary { op, of } if op == "!" => (of, true),
            _ => (self, false),
        }
    }
}

/// Whether an assignment with this operator puts a new value in place of the old one.
pub(crate) fn replaces(op: Option<&str>) -> bool {
    op.is_none_or(|op| op == DECLARES)
}
