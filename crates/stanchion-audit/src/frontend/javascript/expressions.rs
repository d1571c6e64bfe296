//! Expressions.

use tree_sitter::Node;

use super::functions::bound_name;
use super::{Lower, bare, expr, field, kids, name};
use crate::frontend::tree::span;
use crate::hir::{Call, Expr, ExprKind, Pattern, Stmt, StmtKind, Text};

impl<'t> Lower<'t> {
    pub(super) fn expr(&mut self, node: Node<'t>) -> Expr {
        let node = bare(node);
        if !self.enter(node) {
            return expr(ExprKind::Other(Vec::new()), span(node));
        }
        let value = self.value(node);
        self.depth -= 1;
        value
    }

    fn value(&mut self, node: Node<'t>) -> Expr {
        match node.kind() {
            "call_expression" | "member_expression" | "subscript_expression" => self.postfix(node),
            "binary_expression" => self.binary(node),
            "sequence_expression" => self.sequence(node),
            "class" | "class_declaration" => self.class_value(node, ""),
            "arrow_function"
            | "function_expression"
            | "generator_function"
            | "function_declaration"
            | "generator_function_declaration"
            | "method_definition" => expr(ExprKind::Function(self.function(node, "")), span(node)),
            kind => {
                let kind = self.literal(kind, node).unwrap_or_else(|| self.compound(kind, node));
                expr(kind, span(node))
            }
        }
    }

    fn literal(&mut self, kind: &str, node: Node<'t>) -> Option<ExprKind> {
        let text = || self.text(node).to_owned();
        Some(match kind {
            "identifier" | "shorthand_property_identifier" if self.text(node) != "undefined" => {
                ExprKind::Name(text().into())
            }
            "undefined" | "null" | "identifier" | "shorthand_property_identifier" => ExprKind::Null,
            "this" => ExprKind::This,
            "super" => ExprKind::Super,
            "true" => ExprKind::Bool(true),
            "false" => ExprKind::Bool(false),
            "number" => ExprKind::Num(text().into()),
            "string" => ExprKind::Str(self.string(node)),
            "regex" | "private_property_identifier" => ExprKind::Str(text()),
            "template_string" => self.template(node),
            "meta_property" if self.text(node).starts_with("import") => {
                ExprKind::Member { of: Box::new(name("import", span(node))), name: "meta".into() }
            }
            "meta_property" => ExprKind::Name("new.target".into()),
            _ => return None,
        })
    }

    fn compound(&mut self, kind: &str, node: Node<'t>) -> ExprKind {
        let known = match kind {
            "await_expression" => self.only(node).map(|of| ExprKind::Await(Box::new(of))),
            "yield_expression" => Some(ExprKind::Yield(self.only(node).map(Box::new))),
            "spread_element" => self.only(node).map(|of| ExprKind::Spread(Box::new(of))),
            "new_expression" => self.construct(node),
            "unary_expression" => self.unary(node),
            "ternary_expression" => self.conditional(node),
            "assignment_expression" | "augmented_assignment_expression" | "update_expression" => self.assigned(node),
            "object" => Some(self.object(node)),
            "array" => Some(ExprKind::List(self.exprs(node))),
            "jsx_text" | "html_character_reference" | "type_arguments" | "type_annotation" => {
                Some(ExprKind::Other(Vec::new()))
            }
            "jsx_opening_element" | "jsx_self_closing_element" => Some(ExprKind::Other(self.attributes(node))),
            "jsx_closing_element" => Some(ExprKind::Other(Vec::new())),
            "jsx_element" => Some(ExprKind::Other(self.jsx(node))),
            _ => None,
        };
        known.unwrap_or_else(|| ExprKind::Other(self.exprs(node)))
    }

    /// The first child.
    fn only(&mut self, node: Node<'t>) -> Option<Expr> {
        kids(node).first().map(|of| self.expr(*of))
    }

    pub(super) fn exprs(&mut self, node: Node<'t>) -> Vec<Expr> {
        kids(node).into_iter().map(|kid| self.expr(kid)).collect()
    }

    /// `(a, b)`: the last of them, after the others. Compilers write `(0, module.name)(…)` for a call without a receiver.
    pub(super) fn sequence(&mut self, node: Node<'t>) -> Expr {
        let parts = kids(node);
        let Some((last, before)) = parts.split_last() else { return expr(ExprKind::Other(Vec::new()), span(node)) };
        let does = |part: &Node<'t>| !matches!(bare(*part).kind(), "number" | "string" | "identifier" | "undefined");
        let before: Vec<_> = before.iter().copied().filter(does).collect();
        let mut body = Vec::new();
        self.effects(&before, &mut body);
        let last = self.expr(*last);
        if body.is_empty() {
            return last;
        }
        body.push(Stmt { span: last.span, kind: StmtKind::Expr(last) });
        expr(ExprKind::Block(body), span(node))
    }

    fn construct(&mut self, node: Node<'t>) -> Option<ExprKind> {
        let callee = self.expr(field(node, "constructor")?);
        Some(ExprKind::Call(Box::new(Call { callee, args: self.args(node), is_new: true })))
    }

    fn unary(&mut self, node: Node<'t>) -> Option<ExprKind> {
        let op = field(node, "operator")?.kind();
        let argument = bare(field(node, "argument")?);
        if op == "void" && argument.kind() == "number" {
            return Some(ExprKind::Null);
        }
        Some(ExprKind::Unary { op: op.into(), of: Box::new(self.expr(argument)) })
    }

    fn conditional(&mut self, node: Node<'t>) -> Option<ExprKind> {
        let mut part = |name| field(node, name).map(|part| Box::new(self.expr(part)));
        Some(ExprKind::Cond { test: part("condition")?, then: part("consequence")?, other: part("alternative")? })
    }

    /// An assignment as a value. Defaults in its pattern have no place here and are left out.
    fn assigned(&mut self, node: Node<'t>) -> Option<ExprKind> {
        let (to, value, op) = self.assignment(node, &mut Vec::new())?;
        self.export_assigned(std::slice::from_ref(&to), &value);
        let is_before = node.kind() == "update_expression" && node.child(0).is_some_and(|first| first.is_named());
        let back = if op.as_deref() == Some("+") { "-" } else { "+" };
        let one = Box::new(value.clone());
        let changed = ExprKind::Assign { to: Box::new(to), value: Box::new(value), op };
        if !is_before {
            return Some(changed);
        }
        // `n++` is what `n` was.
        Some(ExprKind::Binary { op: back.into(), left: Box::new(expr(changed, span(node))), right: one })
    }

    /// The parts of `a = b`, `a += b` and `a++`.
    pub(super) fn assignment(
        &mut self,
        node: Node<'t>,
        defaults: &mut Vec<Stmt>,
    ) -> Option<(Pattern, Expr, Option<Text>)> {
        if node.kind() == "update_expression" {
            let to = self.pattern(field(node, "argument")?, defaults);
            let op = field(node, "operator")?;
            let sign = op.kind().get(..1).unwrap_or_default().into();
            return Some((to, expr(ExprKind::Num("1".into()), span(op)), Some(sign)));
        }
        let to = self.pattern(field(node, "left")?, defaults);
        let value = self.named(field(node, "right")?, bound_name(&to));
        let op = field(node, "operator").map(|op| op.kind().trim_end_matches('=').into());
        Some((to, value, op))
    }

    fn object(&mut self, node: Node<'t>) -> ExprKind {
        let fields = kids(node).into_iter().filter_map(|kid| self.object_field(kid)).collect();
        ExprKind::Object { of: None, fields }
    }

    pub(super) fn object_field(&mut self, node: Node<'t>) -> Option<(Option<Text>, Expr)> {
        let (key, value) = match node.kind() {
            "spread_element" | "ERROR" => return Some((None, self.expr(node))),
            "pair" => (field(node, "key")?, field(node, "value")?),
            "method_definition" => (field(node, "name")?, node),
            _ => return Some((Some(self.text(node).into()), self.expr(node))),
        };
        match self.key(key) {
            Some(key) => {
                let value = self.named(value, &key);
                Some((Some(key.into()), value))
            }
            None => {
                let mut parts = self.exprs(key);
                parts.push(self.expr(value));
                Some((None, expr(ExprKind::Other(parts), span(node))))
            }
        }
    }

    /// What an element is made of: its attributes, then its children; text is left out.
    fn jsx(&mut self, node: Node<'t>) -> Vec<Expr> {
        let mut parts = Vec::new();
        for kid in kids(node) {
            match kid.kind() {
                "jsx_opening_element" => parts.append(&mut self.attributes(kid)),
                "jsx_text" | "jsx_closing_element" | "html_character_reference" => {}
                "jsx_expression" => parts.append(&mut self.exprs(kid)),
                _ => parts.push(self.expr(kid)),
            }
        }
        parts
    }

    fn attributes(&mut self, node: Node<'t>) -> Vec<Expr> {
        let mut parts = Vec::new();
        for attribute in kids(node) {
            match attribute.kind() {
                "jsx_attribute" => {
                    for value in kids(attribute).into_iter().skip(1) {
                        if value.kind() == "jsx_expression" {
                            parts.append(&mut self.exprs(value));
                        } else {
                            parts.push(self.expr(value));
                        }
                    }
                }
                "jsx_expression" => parts.append(&mut self.exprs(attribute)),
                _ => {}
            }
        }
        parts
    }
}
