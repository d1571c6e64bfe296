//! Which arm of a condition is for something that was not found.

use crate::hir::{Expr, ExprKind};

/// Conditions inside of conditions.
const DEEP: u32 = 8;

/// Whether a condition holds when nothing was found; nothing if it does not say.
pub(super) fn if_absent(cond: &Expr) -> Option<bool> {
    asks(cond, DEEP)
}

fn asks(cond: &Expr, deep: u32) -> Option<bool> {
    let deep = deep.checked_sub(1)?;
    match &cond.kind {
        ExprKind::Unary { op, of } if op == "!" || op == "not" => asks(of, deep).map(|absent| !absent),
        ExprKind::Binary { op, left, right } => {
            asks(left, deep)?;
            match (op.as_str(), &right.kind) {
                ("==" | "===", _) if is_nothing(right) => Some(true),
                ("!=" | "!==" | ">", _) if is_nothing(right) => Some(false),
                ("<", ExprKind::Num(one)) if one == "1" => Some(true),
                (">=", ExprKind::Num(one)) if one == "1" => Some(false),
                _ => None,
            }
        }
        // What is there is true.
        ExprKind::Name(_) | ExprKind::Member { .. } | ExprKind::Index { .. } => Some(false),
        _ => None,
    }
}

fn is_nothing(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Null => true,
        ExprKind::Num(number) => number == "0",
        ExprKind::Name(name) => name == "undefined",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::{Dialect, lower};
    use crate::hir::StmtKind;

    fn asked(text: &str) -> Option<bool> {
        let module = lower(Dialect::of("a.ts").unwrap(), &format!("if ({text}) f();")).unwrap();
        let StmtKind::If { cond, .. } = &module.functions[0].body[0].kind else { panic!("no condition: {text}") };
        if_absent(cond)
    }

    #[test]
    fn a_condition_tells_whether_something_was_found() {
        for text in ["!row", "row === null", "rows.length === 0", "row == undefined", "rows.length < 1", "!(n > 0)"] {
            assert_eq!(asked(text), Some(true), "{text}");
        }
        for text in ["row", "rows[0]", "row !== undefined", "rows.length > 0", "!!row", "rows.length"] {
            assert_eq!(asked(text), Some(false), "{text}");
        }
        for text in ["known(row)", "!a || b", "row.version === 3", "a && b"] {
            assert_eq!(asked(text), None, "{text}");
        }
    }
}
