//! Expressions that nest to the left: `a.b(c).d[e]` and `a + b + c`. They are walked in a loop, because fluent calls and
//! joined strings are long in code that is perfectly normal.

use tree_sitter::Node;

use super::strings::{concat, is_text, join};
use super::{Lower, bare, expr, field, kids, name};
use crate::frontend::tree::{DEPTH_MOST, span};
use crate::hir::{Arg, Call, Expr, ExprKind, Span};

/// Levels that a chain leaves for what stands in its arguments.
const RESERVE: u32 = 50;

impl<'t> Lower<'t> {
    /// How many links of a chain may nest here.
    fn room(&self) -> usize {
        usize::try_from(DEPTH_MOST.saturating_sub(self.depth + RESERVE)).unwrap_or_default()
    }

    /// Calls, members and elements.
    pub(super) fn postfix(&mut self, node: Node<'t>) -> Expr {
        let mut links = Vec::new();
        let mut base = node;
        // How many links stand outside of the innermost brackets.
        let mut outside = 0;
        while !self.is_whole(base)
            && let Some(inner) = inner(base)
        {
            links.push(base);
            base = bare(inner);
            outside = if base == inner { outside } else { links.len() };
        }
        // The JavaScript grammar takes `await (0, f)(x)` for a call of `await`.
        let awaits = base.kind() == "identifier" && self.text(base) == "await";
        let awaited = if awaits { links.pop_if(|last| last.kind() == "call_expression") } else { None };
        let depth = self.depth;
        let kept = links.len().min(self.room().max(1));
        let (kept, lost) = links.split_at(kept);
        self.depth = depth + u32::try_from(kept.len()).unwrap_or_default();
        let mut value = match awaited {
            Some(awaited) => self.sequence(field(awaited, "arguments").unwrap_or(awaited)),
            None if links.is_empty() => self.whole(node),
            None => self.expr(base),
        };
        if !lost.is_empty() {
            let mut parts = vec![value];
            for link in lost.iter().rev() {
                parts.extend(self.args(*link).into_iter().map(|arg| arg.value));
            }
            value = expr(ExprKind::Other(parts), span(node));
        }
        let mut awaits = awaited.is_some();
        for (index, link) in kept.iter().enumerate().rev() {
            if awaits && index < outside {
                (value, awaits) = (wait(value), false);
            }
            self.depth = self.depth.saturating_sub(1);
            value = self.link(*link, value);
        }
        self.depth = depth;
        if awaits {
            value = wait(value);
        }
        value
    }

    fn link(&mut self, node: Node<'t>, of: Expr) -> Expr {
        let kind = match node.kind() {
            "member_expression" => {
                let property = field(node, "property").map_or("", |property| self.text(property));
                ExprKind::Member { of: Box::new(of), name: property.into() }
            }
            "subscript_expression" => match field(node, "index") {
                Some(index) => ExprKind::Index { of: Box::new(of), index: Box::new(self.expr(index)) },
                None => ExprKind::Other(vec![of]),
            },
            _ => {
                let args = self.args(node);
                // ``await sql<Row[]>`…` `` is parsed as if `!` were missing after `(await sql)`.
                let is_typed =
                    field(node, "function").is_some_and(|of| of.kind() == "non_null_expression" && of.has_error());
                if is_typed {
                    return tag(of, args, span(node));
                }
                ExprKind::Call(Box::new(Call { callee: of, args, is_new: false }))
            }
        };
        expr(kind, span(node))
    }

    /// The arguments of a call, a `new`, or a tagged template.
    pub(super) fn args(&mut self, node: Node<'t>) -> Vec<Arg> {
        let Some(args) = field(node, "arguments") else { return Vec::new() };
        let values = if args.kind() == "template_string" { vec![args] } else { kids(args) };
        values.into_iter().map(|value| Arg { name: None, value: self.expr(value) }).collect()
    }

    /// Whether this is no chain but one thing: a module loaded in an expression, or an export of CommonJS.
    fn is_whole(&self, node: Node<'t>) -> bool {
        self.loaded(node).is_some() || self.export_place(node).is_some()
    }

    fn whole(&mut self, node: Node<'t>) -> Expr {
        if let Some(local) = self.export_place(node) {
            return name(&local, span(node));
        }
        match self.loaded(node) {
            Some(module) => self.import_here(node, module),
            None => expr(ExprKind::Other(Vec::new()), span(node)),
        }
    }

    /// Binary operators.
    pub(super) fn binary(&mut self, node: Node<'t>) -> Expr {
        let mut links = Vec::new();
        let mut base = node;
        while base.kind() == "binary_expression" && typed_tag(base).is_none() {
            let (Some(left), Some(right)) = (field(base, "left"), field(base, "right")) else { break };
            links.push((operator(base), right, span(base)));
            base = bare(left);
        }
        if links.is_empty() {
            return self.tagged_with_types(node);
        }
        let depth = self.depth;
        let is_flat = links.len() > self.room();
        if !is_flat {
            self.depth = depth + u32::try_from(links.len()).unwrap_or_default();
        }
        let mut value =
            if base.id() == node.id() { expr(ExprKind::Other(Vec::new()), span(node)) } else { self.expr(base) };
        let mut parts = Vec::new();
        for (op, right, at) in links.iter().rev() {
            let right = if right.kind() == "private_property_identifier" {
                expr(ExprKind::Str(self.text(*right).to_owned()), span(*right))
            } else {
                self.expr(*right)
            };
            if is_flat {
                parts.push(right);
            } else {
                self.depth = self.depth.saturating_sub(1);
                value = combine(op, value, right, *at);
            }
        }
        self.depth = depth;
        if is_flat {
            parts.insert(0, value);
            let is_joined = links.iter().all(|(op, ..)| *op == "+") && parts.iter().any(is_text);
            value = expr(if is_joined { join(parts) } else { ExprKind::Other(parts) }, span(node));
        }
        value
    }

    /// ``sql<Row>`…` ``, which the grammar takes for two comparisons.
    fn tagged_with_types(&mut self, node: Node<'t>) -> Expr {
        let Some((of, template)) = typed_tag(node) else {
            let parts = kids(node).into_iter().map(|kid| self.expr(kid)).collect();
            return expr(ExprKind::Other(parts), span(node));
        };
        let callee = self.expr(of);
        let args = vec![Arg { name: None, value: self.expr(template) }];
        tag(callee, args, span(node))
    }
}

fn wait(of: Expr) -> Expr {
    Expr { span: of.span, kind: ExprKind::Await(Box::new(of)) }
}

/// What the last link of a chain is applied to.
fn inner(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "member_expression" | "subscript_expression" => field(node, "object"),
        "call_expression" => field(node, "function"),
        _ => None,
    }
}

/// The tag and the template of ``tag<Row>`…` `` and ``tag<Row<Id>>`…` ``.
fn typed_tag(node: Node<'_>) -> Option<(Node<'_>, Node<'_>)> {
    let (left, mut right) = (field(node, "left")?, field(node, "right")?);
    match operator(node) {
        ">" if right.kind() == "template_string" && operator(left) == "<" => Some((field(left, "left")?, right)),
        "<" => {
            for _ in 0..4 {
                let next = field(right, "right").filter(|_| right.kind() == "binary_expression")?;
                match operator(right) {
                    "<" => right = next,
                    ">>" | ">>>" if next.kind() == "template_string" => return Some((left, next)),
                    _ => return None,
                }
            }
            None
        }
        _ => None,
    }
}

fn operator(node: Node<'_>) -> &str {
    field(node, "operator").map_or("", |operator| operator.kind())
}

/// A tagged template whose tag got everything before it: the call belongs to the innermost value.
fn tag(of: Expr, args: Vec<Arg>, at: Span) -> Expr {
    let kind = match of.kind {
        ExprKind::Await(inner) => ExprKind::Await(Box::new(tag(*inner, args, at))),
        ExprKind::Assign { to, value, op } => ExprKind::Assign { to, value: Box::new(tag(*value, args, at)), op },
        _ => ExprKind::Call(Box::new(Call { callee: of, args, is_new: false })),
    };
    expr(kind, at)
}

fn combine(op: &str, left: Expr, right: Expr, at: Span) -> Expr {
    if op == "+" && (is_text(&left) || is_text(&right)) {
        return concat(left, right, at);
    }
    let op = match op {
        "===" => "==",
        "!==" => "!=",
        other => other,
    };
    expr(ExprKind::Binary { op: op.into(), left: Box::new(left), right: Box::new(right) }, at)
}
