//! Branches, loops, and what leaves them.

use std::collections::VecDeque;

use tree_sitter::Node;

use super::{Lower, Target};
use crate::{
    frontend::{
        build::{self, children},
        tree::span,
    },
    hir::{Arm, Expr, ExprKind, Loop, Pattern, Stmt, StmtKind},
};

/// Stands for a `break` out of a `switch` until [`without_leave`] takes it away: in the HIR, `Break` leaves loops.
const LEAVE: &str = "<leave>";

impl Lower<'_> {
    pub(super) fn if_statement(&mut self, node: Node<'_>) -> Option<StmtKind> {
        let receiver = self.receiver.clone();
        let mut before = Vec::new();
        if let Some(init) = node.child_by_field_name("initializer") {
            self.stmt(init, &mut before);
        }
        let cond = self.field_expr(node, "condition");
        let then = node.child_by_field_name("consequence").map(|block| self.block(block)).unwrap_or_default();
        let other = match node.child_by_field_name("alternative") {
            Some(block) if block.kind() == "block" => self.block(block),
            Some(next) => {
                let mut other = Vec::new();
                self.stmt(next, &mut other);
                other
            }
            None => Vec::new(),
        };
        self.receiver = receiver;
        let branch = StmtKind::If { cond, then, other };
        if before.is_empty() {
            return Some(branch);
        }
        before.push(build::stmt(branch, span(node)));
        Some(StmtKind::Block(before))
    }

    pub(super) fn for_statement(&mut self, node: Node<'_>, label: Option<String>) -> Option<StmtKind> {
        let receiver = self.receiver.clone();
        let mut it = Loop::default();
        let body = node.child_by_field_name("body");
        let head = children(node).into_iter().find(|child| Some(*child) != body);
        match head {
            Some(clause) if clause.kind() == "for_clause" => {
                if let Some(init) = clause.child_by_field_name("initializer") {
                    self.stmt(init, &mut it.init);
                }
                it.cond = clause.child_by_field_name("condition").map(|cond| self.expr(cond));
                if let Some(step) = clause.child_by_field_name("update") {
                    self.stmt(step, &mut it.step);
                }
            }
            Some(clause) if clause.kind() == "range_clause" => {
                let of = self.field_expr(clause, "right");
                let left = clause.child_by_field_name("left").map(children).unwrap_or_default();
                let mut names: Vec<_> = left.into_iter().map(|place| self.pattern(place, true)).collect();
                let pattern = match names.len() {
                    0 => Pattern::Nothing,
                    1 => names.pop()?,
                    _ => Pattern::List(names),
                };
                it.each = Some((pattern, of));
            }
            Some(cond) => it.cond = Some(self.expr(cond)),
            None => {}
        }
        self.targets.push(Target { label, is_loop: true });
        it.body = body.map(|body| self.block(body)).unwrap_or_default();
        self.targets.pop();
        self.receiver = receiver;
        Some(StmtKind::Loop(Box::new(it)))
    }

    pub(super) fn switch(&mut self, node: Node<'_>, label: Option<String>) -> Option<StmtKind> {
        let receiver = self.receiver.clone();
        let mut before = Vec::new();
        if let Some(init) = node.child_by_field_name("initializer") {
            self.stmt(init, &mut before);
        }
        let subject = match (node.child_by_field_name("value"), node.kind()) {
            (Some(value), _) => self.expr(value),
            (None, "select_statement") => build::other(span(node)),
            (None, _) => build::expr(ExprKind::Bool(true), span(node)),
        };
        let alias = node.child_by_field_name("alias").and_then(|list| children(list).first().copied());
        let binds = alias.map(|alias| self.pattern(alias, true));
        self.targets.push(Target { label, is_loop: false });
        let cases = children(node).into_iter().filter(|child| child.kind().ends_with("_case"));
        let arms = cases.map(|case| self.arm(case, binds.clone())).collect();
        self.targets.pop();
        self.receiver = receiver;
        let switch = StmtKind::Switch { subject, arms };
        if before.is_empty() {
            return Some(switch);
        }
        before.push(build::stmt(switch, span(node)));
        Some(StmtKind::Block(before))
    }

    fn arm(&mut self, case: Node<'_>, binds: Option<Pattern>) -> Arm {
        let receiver = self.receiver.clone();
        let mut arm = Arm { binds, ..Arm::default() };
        let mut body = Vec::new();
        for child in children(case) {
            match child.kind() {
                "statement_list" => {
                    arm.falls_through =
                        children(child).last().is_some_and(|last| last.kind() == "fallthrough_statement");
                    self.stmt(child, &mut body);
                }
                "expression_list" => arm.tests = children(child).into_iter().map(|test| self.expr(test)).collect(),
                "send_statement" => arm.tests.push(self.send(child)),
                "receive_statement" => {
                    let test = self.receive(child);
                    arm.tests.push(test);
                }
                // Types, of a type switch.
                _ => arm.tests.push(self.expr(child)),
            }
        }
        arm.body = without_leave(body);
        self.receiver = receiver;
        arm
    }

    /// `v, ok := <-c` in a `select`: an assignment as the test.
    fn receive(&mut self, node: Node<'_>) -> Expr {
        let value = self.field_expr(node, "right");
        let left = node.child_by_field_name("left").map(children).unwrap_or_default();
        let mut to: Vec<_> = left.into_iter().map(|place| self.pattern(place, true)).collect();
        let to = match to.len() {
            0 => return value,
            1 => to.pop().unwrap_or(Pattern::Nothing),
            _ => Pattern::List(to),
        };
        build::expr(ExprKind::Assign { to: Box::new(to), value: Box::new(value), op: None }, span(node))
    }

    pub(super) fn break_statement(&mut self, node: Node<'_>) -> StmtKind {
        let target = match self.jump_label(node) {
            Some(label) => self.targets.iter().rev().find(|target| target.label.as_deref() == Some(label)),
            None => self.targets.last(),
        };
        match target {
            Some(Target { is_loop: false, .. }) => {
                StmtKind::Expr(build::expr(ExprKind::Name(LEAVE.into()), span(node)))
            }
            _ => StmtKind::Break,
        }
    }

    /// To go on with an outer loop is to leave the inner one.
    pub(super) fn continue_statement(&mut self, node: Node<'_>) -> StmtKind {
        let inner = self.targets.iter().rev().find(|target| target.is_loop);
        match (self.jump_label(node), inner.and_then(|target| target.label.as_deref())) {
            (Some(to), inner) if inner != Some(to) => StmtKind::Break,
            _ => StmtKind::Continue,
        }
    }

    fn jump_label(&self, node: Node<'_>) -> Option<&str> {
        children(node).first().map(|label| self.text(*label))
    }
}

fn is_leave(stmt: &Stmt) -> bool {
    matches!(&stmt.kind, StmtKind::Expr(Expr { kind: ExprKind::Name(name), .. }) if name == LEAVE)
}

fn ends_with_leave(body: &[Stmt]) -> bool {
    body.last().is_some_and(is_leave)
}

/// An arm's body without its `break`s: what follows `if c { break }` becomes the `else`. A `break` that stands deeper
/// is left out, so that what follows it counts as reachable.
fn without_leave(body: Vec<Stmt>) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(body.len());
    let mut rest = VecDeque::from(body);
    while let Some(Stmt { kind, span }) = rest.pop_front() {
        let kind = match kind {
            StmtKind::Expr(Expr { kind: ExprKind::Name(name), .. }) if name == LEAVE => break,
            StmtKind::If { cond, mut then, mut other } => {
                match (ends_with_leave(&then), ends_with_leave(&other)) {
                    (true, true) => rest.clear(),
                    (true, false) => other.extend(rest.drain(..)),
                    (false, true) => then.extend(rest.drain(..)),
                    (false, false) => {}
                }
                StmtKind::If { cond, then: without_leave(then), other: without_leave(other) }
            }
            StmtKind::Block(inner) if may_leave(&inner) => {
                inner.into_iter().rev().for_each(|stmt| rest.push_front(stmt));
                continue;
            }
            StmtKind::Loop(mut it) => {
                it.body = it.body.into_iter().map(leave_as_break).collect();
                StmtKind::Loop(it)
            }
            kind => kind,
        };
        out.push(Stmt { kind, span });
    }
    out
}

/// A block that ends in a branch out of the arm (an `if` with an initialiser).
fn may_leave(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::If { then, other, .. } => ends_with_leave(then) || ends_with_leave(other),
        _ => is_leave(stmt),
    })
}

/// In a loop inside the arm, a labelled `break` out of the `switch` leaves at least the loop.
fn leave_as_break(stmt: Stmt) -> Stmt {
    let all = |body: Vec<Stmt>| body.into_iter().map(leave_as_break).collect();
    let kind = match stmt.kind {
        StmtKind::Expr(Expr { kind: ExprKind::Name(name), .. }) if name == LEAVE => StmtKind::Break,
        StmtKind::If { cond, then, other } => StmtKind::If { cond, then: all(then), other: all(other) },
        StmtKind::Block(body) => StmtKind::Block(all(body)),
        kind => kind,
    };
    Stmt { kind, span: stmt.span }
}
