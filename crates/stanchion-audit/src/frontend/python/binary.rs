//! Operators with two sides.

use tree_sitter::Node;

use super::{Lower, expr::without_parens, expr_at, field, is_blank, text};
use crate::hir::{Expr, ExprKind};

/// A chain of operators of more than this is [`ExprKind::Other`] of its operands: nested it would cost the stack.
const CHAIN_MOST: usize = 64;

impl<'t> Lower<'t, '_> {
    /// `a + b + c`, `a and b and c`: trees that are as deep as they are long.
    pub(super) fn chain(&mut self, node: Node<'t>) -> ExprKind {
        let mut links = Vec::new();
        let mut first = node;
        while first.kind() == node.kind() {
            let Some(left) = field(first, "left") else { break };
            links.push((first, field(first, "operator").map_or("", |op| self.text(op)), field(first, "right")));
            // Parentheses begin a chain of their own.
            first = left;
        }
        links.reverse();
        let nested = if links.len() > CHAIN_MOST { 0 } else { links.len() };
        let before = self.depth;
        self.depth = self.depth.saturating_add(u32::try_from(nested).unwrap_or_default());
        let start = self.expr(first);
        let rest: Vec<_> =
            links.into_iter().map(|(link, op, right)| (link, op, right, self.expr_or_nothing(right, link))).collect();
        self.depth = before;
        if rest.iter().all(|(_, op, ..)| *op == "+") {
            let is_text = |expr: &Expr| matches!(expr.kind, ExprKind::Str(_) | ExprKind::Template(_));
            if is_text(&start) || rest.iter().any(|(.., right)| is_text(right)) {
                return text::join(std::iter::once(start).chain(rest.into_iter().map(|(.., right)| right)));
            }
        }
        if rest.len() > CHAIN_MOST {
            return ExprKind::Other(std::iter::once(start).chain(rest.into_iter().map(|(.., right)| right)).collect());
        }
        rest.into_iter().fold(start, |left, (link, op, node, right)| expr_at(binary(op, left, node, right), link)).kind
    }

    /// `a < b`; a chain of comparisons evaluates its middle once, so it is not two of them joined.
    pub(super) fn comparison(&mut self, node: Node<'t>) -> ExprKind {
        let (mut operands, mut ops) = (Vec::new(), Vec::new());
        let parts = node.children(&mut node.walk()).collect::<Vec<_>>();
        for part in parts {
            if !part.is_named() {
                ops.push(self.text(part));
            } else if !is_blank(part) {
                operands.push(self.expr(part));
            }
        }
        let [op] = ops.as_slice() else { return ExprKind::Other(operands) };
        let mut operands = operands.into_iter();
        let (Some(left), Some(right)) = (operands.next(), operands.next()) else {
            return ExprKind::Other(operands.collect());
        };
        let of = |op: &str| ExprKind::Binary { op: op.into(), left: Box::new(left), right: Box::new(right) };
        let words: Vec<&str> = op.split_whitespace().collect();
        match words.as_slice() {
            ["is"] => of("=="),
            ["is", ..] | ["<>"] => of("!="),
            ["not", ..] => ExprKind::Unary { op: "!".into(), of: Box::new(expr_at(of("in"), node)) },
            _ => of(op),
        }
    }
}

fn binary(op: &str, left: Expr, node: Option<Node<'_>>, right: Expr) -> ExprKind {
    let op = match op {
        "and" => "&&",
        "or" => "||",
        "+" if matches!(left.kind, ExprKind::Str(_) | ExprKind::Template(_))
            || matches!(right.kind, ExprKind::Str(_) | ExprKind::Template(_)) =>
        {
            return text::join([left, right]);
        }
        "%" if matches!(left.kind, ExprKind::Str(_) | ExprKind::Template(_)) => {
            let is_tuple = node.is_some_and(|node| without_parens(node).kind() == "tuple");
            return text::percent(left, right, is_tuple);
        }
        op => op,
    };
    ExprKind::Binary { op: op.into(), left: Box::new(left), right: Box::new(right) }
}
