//! Statements that branch or repeat.

use tree_sitter::Node;

use super::{Lower, expr, field, has, kids, stmt};
use crate::frontend::tree::span;
use crate::hir::{Arm, Expr, ExprKind, Handler, Loop, Stmt, StmtKind};

impl<'t> Lower<'t> {
    pub(super) fn control(&mut self, node: Node<'t>, out: &mut Vec<Stmt>) {
        let kind = match node.kind() {
            "statement_block" => StmtKind::Block(self.block(&kids(node))),
            "if_statement" => self.branch(node),
            "for_statement" => self.count(node),
            "for_in_statement" => self.each(node),
            "while_statement" => {
                let cond = self.field_expr(node, "condition");
                StmtKind::Loop(Box::new(Loop { cond, body: self.body(field(node, "body")), ..Loop::default() }))
            }
            "do_statement" => self.repeat(node),
            "switch_statement" => self.switch(node),
            "try_statement" => self.attempt(node),
            "with_statement" => {
                let object = self.field_expr(node, "object");
                out.extend(object.map(|object| stmt(StmtKind::Expr(object), node)));
                StmtKind::Block(self.body(field(node, "body")))
            }
            "break_statement" => StmtKind::Break,
            "continue_statement" => StmtKind::Continue,
            // Left over from broken code; what has no parts has no effect.
            _ => {
                let value = self.expr(node);
                match &value.kind {
                    ExprKind::Other(parts) if parts.is_empty() => return,
                    _ => StmtKind::Expr(value),
                }
            }
        };
        out.push(stmt(kind, node));
    }

    fn field_expr(&mut self, node: Node<'t>, name: &'static str) -> Option<Expr> {
        field(node, name).map(|value| self.expr(value))
    }

    /// As [`Self::field_expr`], where the statement makes no sense without.
    fn subject(&mut self, node: Node<'t>, name: &'static str) -> Expr {
        self.field_expr(node, name).unwrap_or_else(|| expr(ExprKind::Other(Vec::new()), span(node)))
    }

    fn branch(&mut self, node: Node<'t>) -> StmtKind {
        let cond = self.subject(node, "condition");
        let then = self.body(field(node, "consequence"));
        let other = field(node, "alternative").and_then(|other| kids(other).first().copied());
        StmtKind::If { cond, then, other: self.body(other) }
    }

    /// `for (init; cond; step)`.
    fn count(&mut self, node: Node<'t>) -> StmtKind {
        let mut whole = Loop::default();
        if let Some(init) = field(node, "initializer") {
            if init.kind().ends_with("_declaration") || init.kind().ends_with("_statement") {
                self.statement(init, &mut whole.init);
            } else {
                self.effects(&[init], &mut whole.init);
            }
        }
        if let Some(cond) = field(node, "condition").filter(|cond| cond.kind() != "empty_statement") {
            whole.cond = Some(self.expr(cond));
        }
        if let Some(step) = field(node, "increment") {
            self.effects(&[step], &mut whole.step);
        }
        whole.body = self.body(field(node, "body"));
        StmtKind::Loop(Box::new(whole))
    }

    /// `for (a of b)`, `for (a in b)`.
    fn each(&mut self, node: Node<'t>) -> StmtKind {
        let mut body = Vec::new();
        let of = self.subject(node, "right");
        // `in` gives keys, not elements.
        let is_keys = field(node, "operator").is_some_and(|operator| operator.kind() == "in");
        let of = if is_keys { Expr { span: of.span, kind: ExprKind::Other(vec![of]) } } else { of };
        let pattern = field(node, "left").map(|left| self.pattern(left, &mut body));
        let mut inside = self.body(field(node, "body"));
        match (has(node, "using"), field(node, "left")) {
            (true, Some(left)) => {
                let items = vec![(self.expr(left), None)];
                body.push(stmt(StmtKind::With { items, body: inside, is_async: uses_await(node) }, node));
            }
            _ => body.append(&mut inside),
        }
        let each = pattern.map(|pattern| (pattern, of));
        StmtKind::Loop(Box::new(Loop { each, body, is_async: is_for_await(node), ..Loop::default() }))
    }

    /// `do body while (cond)`: for ever, and out at the end of the body.
    fn repeat(&mut self, node: Node<'t>) -> StmtKind {
        let mut body = self.body(field(node, "body"));
        if let Some(cond) = field(node, "condition") {
            let of = Box::new(self.expr(cond));
            let cond_is_false = expr(ExprKind::Unary { op: "!".into(), of }, span(cond));
            let leave = vec![stmt(StmtKind::Break, cond)];
            body.push(stmt(StmtKind::If { cond: cond_is_false, then: leave, other: Vec::new() }, cond));
        }
        StmtKind::Loop(Box::new(Loop { body, ..Loop::default() }))
    }

    fn switch(&mut self, node: Node<'t>) -> StmtKind {
        let subject = self.subject(node, "value");
        let cases = field(node, "body").map(kids).unwrap_or_default();
        let mut arms: Vec<Arm> = Vec::new();
        // Values of `case a: case b:`, which share a body.
        let mut tests = Vec::new();
        for case in cases {
            let value = field(case, "value");
            let statements: Vec<_> = kids(case).into_iter().skip(usize::from(value.is_some())).collect();
            let is_default = case.kind() == "switch_default";
            if is_default && !tests.is_empty() {
                arms.push(Arm { tests: std::mem::take(&mut tests), falls_through: true, ..Arm::default() });
            }
            tests.extend(value.map(|value| self.expr(value)));
            if statements.is_empty() && !is_default {
                continue;
            }
            let mut body = self.block(&statements);
            let falls_through = !leaves(&body);
            drop_break(&mut body, &statements);
            arms.push(Arm { tests: std::mem::take(&mut tests), binds: None, body, falls_through });
        }
        if !tests.is_empty() {
            arms.push(Arm { tests, ..Arm::default() });
        }
        if let Some(last) = arms.last_mut() {
            last.falls_through = false;
        }
        StmtKind::Switch { subject, arms }
    }

    fn attempt(&mut self, node: Node<'t>) -> StmtKind {
        let body = self.body(field(node, "body"));
        let mut handlers = Vec::new();
        if let Some(handler) = field(node, "handler") {
            let mut body = Vec::new();
            let name = field(handler, "parameter").map(|name| self.pattern(name, &mut body));
            body.append(&mut self.body(field(handler, "body")));
            handlers.push(Handler { catches: Vec::new(), name, body });
        }
        let finally = field(node, "finalizer").and_then(|finalizer| field(finalizer, "body"));
        StmtKind::Try { body, handlers, otherwise: Vec::new(), finally: self.body(finally) }
    }
}

/// Whether nothing comes after these statements.
fn leaves(body: &[Stmt]) -> bool {
    match body.last().map(|last| &last.kind) {
        Some(StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) | StmtKind::Throw(_)) => true,
        Some(StmtKind::Block(inner)) => leaves(inner),
        Some(StmtKind::With { body, .. }) => leaves(body),
        Some(StmtKind::If { then, other, .. }) => leaves(then) && leaves(other),
        Some(StmtKind::Try { body, handlers, finally, .. }) => {
            leaves(finally) || leaves(body) && handlers.iter().all(|handler| leaves(&handler.body))
        }
        _ => false,
    }
}

/// Removes the `break` at the end of an arm: an arm that does not fall through ends anyway. One with a label stays.
fn drop_break(body: &mut Vec<Stmt>, nodes: &[Node<'_>]) {
    let Some(last) = nodes.last() else { return };
    match body.last_mut().map(|last| &mut last.kind) {
        Some(StmtKind::Break) if field(*last, "label").is_none() => {
            body.pop();
        }
        Some(StmtKind::Block(inner)) if last.kind() == "statement_block" => drop_break(inner, &kids(*last)),
        _ => {}
    }
}

/// `for await`, as opposed to `for (await using …)`.
fn is_for_await(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    let second = node.children(&mut cursor).filter(|child| child.kind() != "comment").nth(1);
    second.is_some_and(|child| child.kind() == "await")
}

fn uses_await(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    let mut words = node.children(&mut cursor).skip_while(|child| child.kind() != "(");
    words.any(|child| child.kind() == "await")
}
