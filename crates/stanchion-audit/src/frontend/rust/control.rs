//! Branches and loops.

use tree_sitter::Node;

use super::{Lower, Target};
use crate::{
    frontend::build::{self, children},
    hir::{Arm, Expr, ExprKind, Loop, Pattern, Stmt, StmtKind},
};

/// The variable for what a `loop` is left with; no name of the source looks like this.
const VALUE: &str = "<break>";

impl Lower<'_> {
    pub(super) fn if_expression(&mut self, node: Node<'_>, returns: bool, out: &mut Vec<Stmt>) {
        let cond = match node.child_by_field_name("condition") {
            Some(cond) => self.condition(cond),
            None => self.other(node),
        };
        let mut then = Vec::new();
        if let Some(block) = node.child_by_field_name("consequence") {
            self.block(block, returns, &mut then);
        }
        let mut other = Vec::new();
        for branch in node.child_by_field_name("alternative").map(children).unwrap_or_default() {
            match branch.kind() {
                "block" => self.block(branch, returns, &mut other),
                _ => self.effect(branch, returns, &mut other),
            }
        }
        self.push(StmtKind::If { cond, then, other }, node, out);
    }

    /// A condition; with `let` it is a match.
    fn condition(&mut self, node: Node<'_>) -> Expr {
        match node.kind() {
            "let_condition" => {
                let of = Box::new(self.field_expr(node, "value"));
                let binds = node.child_by_field_name("pattern").map_or(Pattern::Nothing, |it| self.pattern(it));
                build::expr(ExprKind::Matches { of, binds }, self.span(node))
            }
            "let_chain" => {
                let mut parts =
                    children(node).into_iter().map(|part| self.condition(part)).collect::<Vec<_>>().into_iter();
                match parts.next() {
                    Some(first) => build::chain(first, parts.map(|part| ("&&".to_owned(), part)).collect()),
                    None => self.other(node),
                }
            }
            _ => self.expr(node),
        }
    }

    pub(super) fn match_expression(&mut self, node: Node<'_>, returns: bool, out: &mut Vec<Stmt>) {
        let subject = self.field_expr(node, "value");
        let nodes = node.child_by_field_name("body").map(children).unwrap_or_default();
        let arms =
            nodes.into_iter().filter(|arm| arm.kind() == "match_arm").map(|arm| self.arm(arm, returns)).collect();
        self.push(StmtKind::Switch { subject, arms }, node, out);
    }

    fn arm(&mut self, node: Node<'_>, returns: bool) -> Arm {
        let mut arm = Arm::default();
        if let Some(whole) = node.child_by_field_name("pattern") {
            let guard = whole.child_by_field_name("condition");
            if let Some(pattern) = children(whole).into_iter().find(|child| Some(*child) != guard) {
                arm.tests = self.tests(pattern);
                arm.binds = Some(self.pattern(pattern)).filter(|binds| !matches!(binds, Pattern::Nothing));
            }
            if let Some(guard) = guard {
                let guard = self.condition(guard);
                arm.tests = vec![guarded(std::mem::take(&mut arm.tests), guard)];
            }
        }
        if let Some(value) = node.child_by_field_name("value") {
            match (value.kind(), self.label(value)) {
                ("block", None) => self.block(value, returns, &mut arm.body),
                _ => self.effect(value, returns, &mut arm.body),
            }
        }
        arm
    }

    pub(super) fn repeat(&mut self, node: Node<'_>, returns: bool, out: &mut Vec<Stmt>) {
        let mut it = Loop::default();
        match node.kind() {
            "while_expression" => it.cond = node.child_by_field_name("condition").map(|cond| self.condition(cond)),
            "for_expression" => {
                let of = self.field_expr(node, "value");
                let pattern = node.child_by_field_name("pattern").map_or(Pattern::Nothing, |it| self.pattern(it));
                it.each = Some((pattern, of));
            }
            _ => {}
        }
        let label = self.label(node);
        self.state.loops.push(Target { label, has_value: false });
        if let Some(body) = node.child_by_field_name("body") {
            self.block(body, false, &mut it.body);
        }
        let has_value = self.state.loops.pop().is_some_and(|target| target.has_value);
        self.push(StmtKind::Loop(Box::new(it)), node, out);
        if has_value {
            let value = build::expr(ExprKind::Name(VALUE.into()), self.span(node));
            self.push(if returns { StmtKind::Return(Some(value)) } else { StmtKind::Expr(value) }, node, out);
        }
    }

    pub(super) fn label(&self, node: Node<'_>) -> Option<String> {
        let label = children(node).into_iter().find(|child| child.kind() == "label")?;
        Some(self.text(label).to_owned())
    }

    pub(super) fn break_expression(&mut self, node: Node<'_>, out: &mut Vec<Stmt>) {
        if let Some(value) = children(node).into_iter().find(|child| child.kind() != "label") {
            let value = self.expr(value);
            let label = self.label(node);
            let mut targets = self.state.loops.iter_mut();
            if let Some(target) = targets.rfind(|target| label.is_none() || target.label == label) {
                target.has_value = true;
            }
            self.push(build::assign(Pattern::Name(VALUE.into()), value, None), node, out);
        }
        self.push(StmtKind::Break, node, out);
    }

    /// To go on with an outer loop is to leave the inner one.
    pub(super) fn continue_expression(&mut self, node: Node<'_>, out: &mut Vec<Stmt>) {
        let inner = self.state.loops.last().and_then(|target| target.label.as_deref());
        let goes_out = self.label(node).is_some_and(|to| inner != Some(to.as_str()));
        self.push(if goes_out { StmtKind::Break } else { StmtKind::Continue }, node, out);
    }
}

/// One of the tests, and the guard.
fn guarded(tests: Vec<Expr>, guard: Expr) -> Expr {
    let mut tests = tests.into_iter();
    let Some(first) = tests.next() else { return guard };
    let any = build::chain(first, tests.map(|test| ("||".to_owned(), test)).collect());
    let span = any.span;
    build::expr(build::binary("&&", any, guard), span)
}
