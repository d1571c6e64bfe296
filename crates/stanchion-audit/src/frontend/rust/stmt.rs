//! Blocks and statements.

use tree_sitter::Node;

use super::{Lower, Target};
use crate::{
    frontend::build::{self, children},
    hir::{ExprKind, Pattern, Stmt, StmtKind},
};

impl Lower<'_> {
    /// The statements of a block. `returns`: its value is returned; else it is the last expression.
    pub(super) fn block(&mut self, node: Node<'_>, returns: bool, out: &mut Vec<Stmt>) {
        let nodes: Vec<_> = children(node).into_iter().filter(|child| child.kind() != "label").collect();
        let mut attributes = Vec::new();
        let count = nodes.len();
        for (place, child) in nodes.into_iter().enumerate() {
            if child.kind() == "attribute_item" {
                attributes.push(child);
                continue;
            }
            if !self.item(child, &attributes, out) {
                self.stmt(child, returns && place + 1 == count, out);
            }
            attributes.clear();
        }
    }

    /// One statement. `is_last`: if it is the block's value, it is returned.
    pub(super) fn stmt(&mut self, node: Node<'_>, is_last: bool, out: &mut Vec<Stmt>) {
        match node.kind() {
            "expression_statement" => {
                // With a semicolon it has no value.
                let returns = is_last && !self.text(node).ends_with(';');
                if let Some(inner) = children(node).first() {
                    self.effect(*inner, returns, out);
                }
            }
            "let_declaration" => self.let_declaration(node, out),
            "ERROR" => {
                if self.state.build.enter(self.span(node).line) {
                    self.block(node, false, out);
                    self.state.build.leave();
                }
            }
            _ => self.effect(node, is_last, out),
        }
    }

    fn let_declaration(&mut self, node: Node<'_>, out: &mut Vec<Stmt>) {
        let (Some(pattern), Some(value)) = (node.child_by_field_name("pattern"), node.child_by_field_name("value"))
        else {
            return;
        };
        let value = self.expr(value);
        let to = self.pattern(pattern);
        let kind = match node.child_by_field_name("alternative") {
            Some(block) => {
                let mut other = Vec::new();
                self.block(block, false, &mut other);
                let cond = ExprKind::Matches { of: Box::new(value), binds: to };
                StmtKind::If { cond: build::expr(cond, self.span(node)), then: Vec::new(), other }
            }
            None => {
                self.state.build.bind_name(&to, &value);
                build::assign(to, value, None)
            }
        };
        self.push(kind, node, out);
    }

    /// An expression as a statement. `returns`: its value is returned.
    pub(super) fn effect(&mut self, node: Node<'_>, returns: bool, out: &mut Vec<Stmt>) {
        let mut node = node;
        while node.kind() == "parenthesized_expression" {
            match children(node).first() {
                Some(inner) => node = *inner,
                None => return,
            }
        }
        if self.state.build.enter(self.span(node).line) {
            self.effect_kind(node, returns, out);
            self.state.build.leave();
        }
    }

    fn effect_kind(&mut self, node: Node<'_>, returns: bool, out: &mut Vec<Stmt>) {
        match node.kind() {
            "if_expression" => self.if_expression(node, returns, out),
            "match_expression" => self.match_expression(node, returns, out),
            "while_expression" | "loop_expression" | "for_expression" => self.repeat(node, returns, out),
            "block" => self.inner_block(node, returns, out),
            "unsafe_block" | "const_block" | "try_block" | "gen_block" => {
                if let Some(block) = children(node).into_iter().find(|child| child.kind() == "block") {
                    self.inner_block(block, returns, out);
                }
            }
            "return_expression" => match children(node).first() {
                Some(value) => self.effect(*value, true, out),
                None => self.push(StmtKind::Return(None), node, out),
            },
            "break_expression" => self.break_expression(node, out),
            "continue_expression" => self.continue_expression(node, out),
            "assignment_expression" | "compound_assignment_expr" => {
                let (to, value, op) = self.assignment(node);
                self.push(build::assign(to, value, op.as_deref()), node, out);
            }
            "macro_invocation" => self.macro_statement(node, returns, out),
            "unit_expression" => {}
            "empty_statement" | "attribute_item" | "inner_attribute_item" | "label" => {}
            _ => {
                let value = self.expr(node);
                self.push(if returns { StmtKind::Return(Some(value)) } else { StmtKind::Expr(value) }, node, out);
            }
        }
    }

    fn inner_block(&mut self, node: Node<'_>, returns: bool, out: &mut Vec<Stmt>) {
        let label = self.label(node);
        let mut inner = Vec::new();
        if label.is_none() {
            self.block(node, returns, &mut inner);
            return self.push(StmtKind::Block(inner), node, out);
        }
        // `break 'label` leaves the block: a loop of one turn.
        self.state.loops.push(Target { label, has_value: false });
        self.block(node, returns, &mut inner);
        self.state.loops.pop();
        self.push(StmtKind::Break, node, &mut inner);
        let once = crate::hir::Loop { body: inner, ..crate::hir::Loop::default() };
        self.push(StmtKind::Loop(Box::new(once)), node, out);
    }

    pub(super) fn assignment(&mut self, node: Node<'_>) -> (Pattern, crate::hir::Expr, Option<crate::hir::Text>) {
        let value = self.field_expr(node, "right");
        let to = node.child_by_field_name("left").map_or(Pattern::Nothing, |left| self.place(left));
        let op = self.field_text(node, "operator").strip_suffix('=').filter(|op| !op.is_empty());
        (to, value, op.map(Into::into))
    }
}
