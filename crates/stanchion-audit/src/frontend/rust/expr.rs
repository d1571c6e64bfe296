//! Expressions.

use tree_sitter::Node;

use super::{Lower, literal};
use crate::{
    frontend::build::{self, children},
    hir::{Arg, Call, Expr, ExprKind, Function, StmtKind, Text},
};

impl Lower<'_> {
    /// References, casts, parentheses and attributes are seen through.
    pub(super) fn expr(&mut self, node: Node<'_>) -> Expr {
        let mut node = node;
        loop {
            let inner = match node.kind() {
                "parenthesized_expression" => children(node).first().copied(),
                "reference_expression" | "type_cast_expression" => node.child_by_field_name("value"),
                _ => None,
            };
            match inner {
                Some(inner) => node = inner,
                None => break,
            }
        }
        let at = self.span(node);
        if !self.state.build.enter(at.line) {
            return build::other(at);
        }
        let value = match node.kind() {
            "binary_expression" => self.binary(node),
            "identifier"
            | "scoped_identifier"
            | "generic_function"
            | "self"
            | "super"
            | "crate"
            | "type_identifier"
            | "scoped_type_identifier"
            | "metavariable"
                if !self.is_method(node) =>
            {
                self.path(node)
            }
            _ => build::expr(self.expr_kind(node), at),
        };
        self.state.build.leave();
        value
    }

    pub(super) fn field_expr(&mut self, node: Node<'_>, field: &str) -> Expr {
        match node.child_by_field_name(field) {
            Some(child) => self.expr(child),
            None => self.other(node),
        }
    }

    /// `value.method::<T>`
    fn is_method(&self, node: Node<'_>) -> bool {
        node.child_by_field_name("function").is_some_and(|function| function.kind() == "field_expression")
    }

    fn first(&mut self, node: Node<'_>) -> Expr {
        match children(node).first() {
            Some(child) => self.expr(*child),
            None => self.other(node),
        }
    }

    fn expr_kind(&mut self, node: Node<'_>) -> ExprKind {
        match node.kind() {
            "string_literal" | "raw_string_literal" | "char_literal" => ExprKind::Str(literal::string(self.text(node))),
            "integer_literal" | "float_literal" | "negative_literal" => ExprKind::Num(self.text(node).into()),
            "boolean_literal" => ExprKind::Bool(self.text(node) == "true"),
            "unit_expression" => ExprKind::List(Vec::new()),
            "field_expression" => {
                let of = self.field_expr(node, "value");
                build::member(of, self.field_name(node, "field"))
            }
            "generic_function" => self.field_expr(node, "function").kind,
            "call_expression" => {
                let callee = self.field_expr(node, "function");
                let args = node.child_by_field_name("arguments").map(|list| self.args(list)).unwrap_or_default();
                ExprKind::Call(Box::new(Call { callee, args, is_new: false }))
            }
            "await_expression" => ExprKind::Await(Box::new(self.first(node))),
            "try_expression" => ExprKind::Try(Box::new(self.first(node))),
            "yield_expression" => ExprKind::Yield(children(node).first().map(|of| Box::new(self.expr(*of)))),
            "index_expression" => {
                let parts = children(node);
                let [of, index] = [0, 1].map(|place| match parts.get(place) {
                    Some(part) => Box::new(self.expr(*part)),
                    None => Box::new(self.other(node)),
                });
                ExprKind::Index { of, index }
            }
            "unary_expression" => {
                let op = node.child(0).map(|op| self.text(op)).unwrap_or_default();
                build::unary(op, self.first(node))
            }
            "range_expression" => self.range(node),
            "array_expression" | "tuple_expression" => self.list(node),
            "struct_expression" => self.structure(node),
            "closure_expression" | "async_block" => ExprKind::Function(self.closure(node)),
            // The grammar takes `..=end` for an assignment.
            "assignment_expression"
                if node.child_by_field_name("left").is_some_and(|left| left.kind() == "range_expression") =>
            {
                ExprKind::Other(vec![self.field_expr(node, "right")])
            }
            "assignment_expression" | "compound_assignment_expr" => {
                let (to, value, op) = self.assignment(node);
                ExprKind::Assign { to: Box::new(to), value: Box::new(value), op }
            }
            "macro_invocation" => self.macro_value(node),
            "if_expression"
            | "match_expression"
            | "while_expression"
            | "loop_expression"
            | "for_expression"
            | "block"
            | "unsafe_block"
            | "const_block"
            | "try_block"
            | "gen_block"
            | "return_expression"
            | "break_expression"
            | "continue_expression" => self.statements(node),
            _ => ExprKind::Other(children(node).into_iter().map(|child| self.expr(child)).collect()),
        }
    }

    /// A statement as a value; a block of nothing but a value is that value.
    fn statements(&mut self, node: Node<'_>) -> ExprKind {
        let mut out = Vec::new();
        self.effect(node, false, &mut out);
        let mut body = match (out.len(), out.pop()) {
            (1, Some(crate::hir::Stmt { kind: StmtKind::Block(inner), .. })) => inner,
            (_, last) => {
                out.extend(last);
                out
            }
        };
        match (body.len(), body.pop()) {
            (1, Some(crate::hir::Stmt { kind: StmtKind::Expr(value), .. })) => value.kind,
            (_, last) => {
                body.extend(last);
                ExprKind::Block(body)
            }
        }
    }

    fn binary(&mut self, node: Node<'_>) -> Expr {
        build::operation(node, self.text, |node| self.expr(node)).unwrap_or_else(|| self.other(node))
    }

    fn range(&mut self, node: Node<'_>) -> ExprKind {
        let mut ends = children(node).into_iter().map(|end| self.expr(end)).collect::<Vec<_>>();
        let mut cursor = node.walk();
        let op = node.children(&mut cursor).find(|child| !child.is_named()).map_or("..", |op| op.kind());
        match (ends.pop(), ends.pop()) {
            (Some(to), Some(from)) => build::binary(op, from, to),
            (end, _) => ExprKind::Other(end.into_iter().collect()),
        }
    }

    fn list(&mut self, node: Node<'_>) -> ExprKind {
        // `[value; length]` is a list of values.
        let length = node.child_by_field_name("length");
        let items = children(node).into_iter().filter(|it| Some(*it) != length && it.kind() != "attribute_item");
        ExprKind::List(items.map(|item| self.expr(item)).collect())
    }

    pub(super) fn args(&mut self, list: Node<'_>) -> Vec<Arg> {
        let nodes = children(list).into_iter().filter(|child| child.kind() != "attribute_item");
        nodes.map(|node| self.arg(node)).collect()
    }

    /// In attributes, formats and logs, `name = value` is an argument with a name; elsewhere nobody writes that.
    pub(super) fn arg(&mut self, node: Node<'_>) -> Arg {
        if node.kind() == "assignment_expression"
            && let Some(left) = node.child_by_field_name("left")
            && left.kind() != "range_expression"
        {
            return Arg { name: Some(self.name(left).into()), value: self.field_expr(node, "right") };
        }
        Arg { name: None, value: self.expr(node) }
    }

    fn structure(&mut self, node: Node<'_>) -> ExprKind {
        let mut of = node.child_by_field_name("name").map(|name| self.path_text(name)).unwrap_or_default();
        let class = self.state.class.and_then(|id| self.state.build.module.classes.get(id));
        if let Some(class) = class
            && let Some(rest) = of.strip_prefix("Self")
            && (rest.is_empty() || rest.starts_with("::"))
        {
            of = format!("{}{rest}", class.name);
        }
        let mut fields = Vec::new();
        for field in node.child_by_field_name("body").map(children).unwrap_or_default() {
            let inner = children(field).into_iter().rfind(|child| child.kind() != "attribute_item");
            let Some(inner) = inner else { continue };
            match field.kind() {
                "shorthand_field_initializer" => fields.push((Some(self.name(inner).into()), self.expr(inner))),
                "field_initializer" => {
                    let name: Text = self.field_name(field, "field").into();
                    let value = self.field_expr(field, "value");
                    self.state.build.name_function(&name, &value);
                    fields.push((Some(name), value));
                }
                "base_field_initializer" => {
                    let base = ExprKind::Spread(Box::new(self.expr(inner)));
                    fields.push((None, build::expr(base, self.span(field))));
                }
                _ => {}
            }
        }
        ExprKind::Object { of: Some(of.into()), fields }
    }

    /// A closure, or an `async` block: a function without parameters.
    fn closure(&mut self, node: Node<'_>) -> usize {
        let mut cursor = node.walk();
        let is_async = node.children(&mut cursor).any(|child| child.kind() == "async");
        let params = node.child_by_field_name("parameters").map(|list| self.params(list).0).unwrap_or_default();
        let body = match node.kind() {
            "async_block" => children(node).into_iter().find(|child| child.kind() == "block"),
            _ => node.child_by_field_name("body"),
        };
        let returns = node.child_by_field_name("return_type").map(|of| self.text(of).to_owned());
        let function = Function { params, is_async, returns, span: self.span(node), ..Function::default() };
        self.function_body(function, body)
    }
}
