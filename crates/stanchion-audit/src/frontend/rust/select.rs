//! `select!`: futures race, the first one's arm runs.

use tree_sitter::Node;

use super::{
    Lower,
    macros::{statement, token_tree, tokens_of},
};
use crate::{
    frontend::build,
    hir::{Arm, Expr, ExprKind, Pattern, Stmt, StmtKind},
};

impl Lower<'_> {
    /// `pattern = future, if condition => handler`: the future is awaited and bound as the arm's test.
    pub(super) fn select(&mut self, node: Node<'_>, returns: bool, out: &mut Vec<Stmt>) {
        let all = token_tree(node).map(tokens_of).unwrap_or_default();
        let mut rest = all.as_slice();
        let mut arms = Vec::new();
        while let Some(arrow) = rest.iter().position(|token| token.kind() == "=>") {
            let (head, after) = rest.split_at(arrow);
            let after = after.get(1..).unwrap_or_default();
            let Some(first) = after.first() else { break };
            // A handler in braces needs no comma after it.
            let length = match first.kind() {
                "token_tree" if self.text(*first).starts_with('{') => 1,
                _ => after.iter().position(|token| token.kind() == ",").unwrap_or(after.len()),
            };
            let (handler, after) = after.split_at(length);
            rest = match after.split_first() {
                Some((comma, more)) if comma.kind() == "," => more,
                _ => after,
            };
            let mut arm = Arm { tests: self.select_head(head), ..Arm::default() };
            self.handler(handler, returns, &mut arm.body);
            arms.push(arm);
        }
        self.push(StmtKind::Switch { subject: self.other(node), arms }, node, out);
    }

    fn select_head(&mut self, head: &[Node<'_>]) -> Vec<Expr> {
        // `biased;` stands before the first arm.
        let start = head.iter().position(|token| token.kind() == ";").map_or(0, |place| place + 1);
        let head = head.get(start..).unwrap_or_default();
        let Some(equals) = head.iter().position(|token| token.kind() == "=") else {
            return match head {
                [] => Vec::new(),
                [only] if matches!(self.text(*only), "else" | "default" | "complete") => Vec::new(),
                _ => vec![self.piece(head)],
            };
        };
        let (pattern, after) = head.split_at(equals);
        let after = after.get(1..).unwrap_or_default();
        let comma =
            after.windows(2).position(|pair| pair.first().is_some_and(|it| it.kind() == ",") && is_if(pair.get(1)));
        let (future, guard) = after.split_at(comma.unwrap_or(after.len()));
        let value = self.piece(future);
        let at = value.span;
        let value = build::expr(ExprKind::Await(Box::new(value)), at);
        let to = self.reparse("let ", pattern, " = 0;", |lower, root| {
            Some(lower.pattern(statement(root)?.child_by_field_name("pattern")?))
        });
        let assign =
            ExprKind::Assign { to: Box::new(to.unwrap_or(Pattern::Nothing)), value: Box::new(value), op: None };
        let assign = build::expr(assign, at);
        match guard.get(2..) {
            Some(guard) => {
                let guard = self.piece(guard);
                vec![build::expr(build::binary("&&", guard, assign), at)]
            }
            None => vec![assign],
        }
    }

    fn handler(&mut self, handler: &[Node<'_>], returns: bool, out: &mut Vec<Stmt>) {
        let done = self.reparse("", handler, ";", |lower, root| {
            let node = statement(root)?;
            match node.kind() {
                "block" => lower.block(node, returns, out),
                _ => lower.effect(node, returns, out),
            }
            Some(())
        });
        if let (None, Some(first)) = (done, handler.first()) {
            let value = self.piece(handler);
            self.push(StmtKind::Expr(value), *first, out);
        }
    }
}

fn is_if(token: Option<&Node<'_>>) -> bool {
    token.is_some_and(|token| token.kind() == "if")
}
