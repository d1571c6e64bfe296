//! Simple statements and declarations.

use tree_sitter::Node;

use super::{Lower, literal};
use crate::{
    frontend::{
        build::{self, children, fields},
        tree::span,
    },
    hir::{Expr, ExprKind, Pattern, Stmt, StmtKind},
};

impl Lower<'_> {
    /// The statements of a block. What it declares ends with it, and so does what it shadows.
    pub(super) fn block(&mut self, node: Node<'_>) -> Vec<Stmt> {
        let receiver = self.receiver.clone();
        let mut out = Vec::new();
        for child in children(node) {
            self.stmt(child, &mut out);
        }
        self.receiver = receiver;
        out
    }

    /// One statement in the source is none, one or several here.
    pub(super) fn stmt(&mut self, node: Node<'_>, out: &mut Vec<Stmt>) {
        if self.build.enter(span(node).line) {
            if let Some(kind) = self.stmt_kind(node, out) {
                out.push(build::stmt(kind, span(node)));
            }
            self.build.leave();
        }
    }

    fn stmt_kind(&mut self, node: Node<'_>, out: &mut Vec<Stmt>) -> Option<StmtKind> {
        let label = if node.kind() == "labeled_statement" { None } else { self.label.take() };
        match node.kind() {
            "statement_list" | "ERROR" => {
                for child in children(node) {
                    self.stmt(child, out);
                }
                None
            }
            "expression_statement" => children(node).first().map(|child| self.effect(*child)),
            "send_statement" => Some(StmtKind::Expr(self.send(node))),
            "inc_statement" | "dec_statement" => self.step(node),
            "assignment_statement" | "short_var_declaration" => self.assignment(node, out),
            "var_declaration" | "const_declaration" => {
                self.declaration(node, out);
                None
            }
            "type_declaration" => {
                self.type_declaration(node, out);
                None
            }
            "return_statement" => Some(StmtKind::Return(self.returned(node))),
            "go_statement" => children(node).first().map(|call| StmtKind::Go(self.expr(*call))),
            "defer_statement" => children(node).first().map(|call| StmtKind::Defer(self.expr(*call))),
            "if_statement" => self.if_statement(node),
            "for_statement" => self.for_statement(node, label),
            "expression_switch_statement" | "type_switch_statement" | "select_statement" => self.switch(node, label),
            "labeled_statement" => {
                self.label = Some(self.field_text(node, "label").to_owned());
                if let Some(inner) = children(node).get(1) {
                    self.stmt(*inner, out);
                }
                self.label = None;
                None
            }
            "break_statement" => Some(self.break_statement(node)),
            "continue_statement" => Some(self.continue_statement(node)),
            "block" => Some(StmtKind::Block(self.block(node))),
            "function_declaration" => Some(StmtKind::Function(self.closure(node))),
            "empty_statement"
            | "goto_statement"
            | "fallthrough_statement"
            | "package_clause"
            | "import_declaration"
            | "method_declaration" => None,
            _ => Some(StmtKind::Expr(self.expr(node))),
        }
    }

    /// An expression for its effect; `panic(x)` throws.
    fn effect(&mut self, node: Node<'_>) -> StmtKind {
        let value = self.expr(node);
        match value.kind {
            ExprKind::Call(mut call) if matches!(&call.callee.kind, ExprKind::Name(name) if name == "panic") => {
                StmtKind::Throw(call.args.pop().map(|arg| arg.value))
            }
            kind => StmtKind::Expr(build::expr(kind, value.span)),
        }
    }

    /// `channel <- value`
    pub(super) fn send(&mut self, node: Node<'_>) -> Expr {
        let at = span(node);
        let [channel, value] = ["channel", "value"].map(|field| self.field_expr(node, field));
        build::expr(build::call(build::expr(build::member(channel, "send"), at), vec![value]), at)
    }

    fn step(&mut self, node: Node<'_>) -> Option<StmtKind> {
        let op = if node.kind() == "inc_statement" { "+" } else { "-" };
        let to = self.pattern(*children(node).first()?, false);
        let one = build::expr(ExprKind::Num("1".into()), span(node));
        Some(build::assign(to, one, Some(op)))
    }

    fn assignment(&mut self, node: Node<'_>, out: &mut Vec<Stmt>) -> Option<StmtKind> {
        let right = children(node.child_by_field_name("right")?);
        let values: Vec<_> = right.iter().map(|value| self.expr(*value)).collect();
        let declares = node.kind() == "short_var_declaration";
        let left = children(node.child_by_field_name("left")?);
        let to = left.into_iter().map(|place| self.pattern(place, declares)).collect();
        let op = self.field_text(node, "operator").strip_suffix('=').filter(|op| !op.is_empty());
        self.assign(to, values, op, takes_ok(&right), span(node), out)
    }

    /// `a, b = x, y`; `a, b = f()`; `a, ok = m[k]`.
    fn assign(
        &mut self,
        mut to: Vec<Pattern>,
        mut values: Vec<Expr>,
        op: Option<&str>,
        takes_ok: bool,
        at: crate::hir::Span,
        out: &mut Vec<Stmt>,
    ) -> Option<StmtKind> {
        if let ([only], [value]) = (to.as_slice(), values.as_slice()) {
            self.build.bind_name(only, value);
        }
        if to.len() == values.len() {
            to.iter().zip(&values).for_each(|(to, value)| self.build.bind_name(to, value));
        }
        // With `a, ok = m[k]`, `a` is the element itself, and `ok` only says something about it.
        if takes_ok && to.len() == 2 && values.len() == 1 {
            match to.first() {
                Some(Pattern::Name(first)) => {
                    let known = build::expr(ExprKind::Name(first.clone()), at);
                    let ok = to.pop()?;
                    out.push(build::stmt(build::assign(to.pop()?, values.pop()?, op), at));
                    return match ok {
                        Pattern::Nothing => None,
                        ok => Some(build::assign(ok, build::expr(ExprKind::Other(vec![known]), at), None)),
                    };
                }
                Some(Pattern::Nothing) => {
                    let value = build::expr(ExprKind::Other(values), at);
                    return Some(build::assign(to.pop()?, value, op));
                }
                _ => {}
            }
        }
        let one = |mut values: Vec<Expr>| match values.len() {
            1 => values.pop(),
            _ => Some(build::expr(ExprKind::List(values), at)),
        };
        let to = if to.len() == 1 { to.pop()? } else { Pattern::List(to) };
        Some(build::assign(to, one(values)?, op))
    }

    /// `var` and `const`, one or a list of them.
    fn declaration(&mut self, node: Node<'_>, out: &mut Vec<Stmt>) {
        // In a list of constants, one without a value has the value of the one before it.
        let mut before = None;
        for spec in children(node) {
            if spec.kind() == "var_spec_list" {
                self.declaration(spec, out);
                continue;
            }
            let given = spec.child_by_field_name("value");
            let list = if spec.kind() == "const_spec" { given.or(before) } else { given };
            before = list;
            let values = list.map(children).unwrap_or_default();
            let takes_ok = takes_ok(&values);
            let names = fields(spec, "name").into_iter().filter(|name| name.kind() != ",");
            let names: Vec<_> = names.map(|name| (self.pattern(name, true), span(name))).collect();
            if let (true, Some(kind)) = (values.is_empty(), spec.child_by_field_name("type")) {
                for (to, at) in names {
                    if let (0, Pattern::Name(name)) = (self.build.current, &to) {
                        self.build.module.typed.push((name.clone(), self.text(kind).to_owned()));
                    }
                    out.push(build::stmt(build::assign(to, build::expr(self.zero(kind), span(kind)), None), at));
                }
            } else if !values.is_empty() {
                let values = values.into_iter().map(|value| self.expr(value)).collect();
                let to = names.into_iter().map(|(to, _)| to).collect();
                if let Some(kind) = self.assign(to, values, None, takes_ok, span(spec), out) {
                    out.push(build::stmt(kind, span(spec)));
                }
            }
        }
    }

    fn returned(&mut self, node: Node<'_>) -> Option<Expr> {
        let at = span(node);
        let mut values: Vec<_> = match children(node).first() {
            Some(list) => children(*list).into_iter().map(|value| self.expr(value)).collect(),
            None => self.results.iter().map(|name| build::expr(ExprKind::Name(name.as_str().into()), at)).collect(),
        };
        match values.len() {
            0 | 1 => values.pop(),
            _ => Some(build::expr(ExprKind::List(values), at)),
        }
    }

    /// What stands on the left. Declaring the receiver's name again shadows it.
    pub(super) fn pattern(&mut self, node: Node<'_>, declares: bool) -> Pattern {
        if node.kind() == "identifier" {
            let name = self.text(node);
            if declares && self.receiver.as_deref() == Some(name) {
                self.receiver = None;
            }
            return literal::name_pattern(name);
        }
        Pattern::Place(Box::new(self.expr(node)))
    }
}

/// These can give a second value: whether the first was there.
pub(super) fn takes_ok(values: &[Node<'_>]) -> bool {
    let [value] = values else { return false };
    let mut value = *value;
    while value.kind() == "parenthesized_expression" {
        let Some(inner) = children(value).first().copied() else { return false };
        value = inner;
    }
    match value.kind() {
        "index_expression" | "type_assertion_expression" => true,
        "unary_expression" => value.child_by_field_name("operator").is_some_and(|op| op.kind() == "<-"),
        _ => false,
    }
}
