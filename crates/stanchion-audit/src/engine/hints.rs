//! What authors say of their tools: `readOnlyHint` and so on.

use std::collections::BTreeMap;

use super::call::Args;
use super::value::{Shape, Value};
use crate::hir::{Expr, ExprKind};

const HINTS: [&str; 4] = ["readOnlyHint", "idempotentHint", "destructiveHint", "openWorldHint"];

/// What an MCP tool says of itself.
pub(super) fn hints(args: &Args) -> BTreeMap<&'static str, bool> {
    let mut found = BTreeMap::new();
    // Go writes them with a capital letter.
    let field = |value: &Value, name: &str| {
        let (first, rest) = name.split_at_checked(1)?;
        value.option(name).or_else(|| value.option(&(first.to_uppercase() + rest)))
    };
    let mut look = |value: &Value| {
        for hint in HINTS {
            if let Some(Value { shape: Shape::Bool(on), .. }) = field(value, hint) {
                found.insert(hint, on);
            }
        }
    };
    for (_, arg) in args {
        look(arg);
        if let Some(annotations) = field(arg, "annotations") {
            look(&annotations);
        }
    }
    found
}

/// Hints inside of a call that nobody knows: `annotations=ToolAnnotations(readOnlyHint=True)`.
pub(super) fn written_hints(expr: &Expr, found: &mut BTreeMap<&'static str, bool>) {
    let ExprKind::Call(call) = &expr.kind else { return };
    for arg in &call.args {
        let hint = HINTS.iter().find(|hint| arg.name.as_deref() == Some(hint));
        match (hint, &arg.value.kind) {
            (Some(hint), ExprKind::Bool(on)) => drop(found.insert(hint, *on)),
            _ => written_hints(&arg.value, found),
        }
    }
}
