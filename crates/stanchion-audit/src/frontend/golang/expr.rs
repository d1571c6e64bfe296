//! Expressions.

use tree_sitter::Node;

use super::{Lower, literal};
use crate::{
    frontend::{
        build::{self, children},
        tree::span,
    },
    hir::{Arg, Call, Expr, ExprKind},
};

impl Lower<'_> {
    pub(super) fn expr(&mut self, node: Node<'_>) -> Expr {
        let mut node = node;
        while node.kind() == "parenthesized_expression" {
            match children(node).first() {
                Some(inner) => node = *inner,
                None => break,
            }
        }
        let at = span(node);
        if !self.build.enter(at.line) {
            return build::other(at);
        }
        let value = match node.kind() {
            "binary_expression" => self.binary(node),
            _ => build::expr(self.expr_kind(node), at),
        };
        self.build.leave();
        value
    }

    pub(super) fn field_expr(&mut self, node: Node<'_>, field: &str) -> Expr {
        match node.child_by_field_name(field) {
            Some(child) => self.expr(child),
            None => build::other(span(node)),
        }
    }

    fn expr_kind(&mut self, node: Node<'_>) -> ExprKind {
        match node.kind() {
            "nil" => ExprKind::Null,
            "type_identifier" if self.text(node) == "nil" => ExprKind::Null,
            "identifier" | "type_identifier" | "package_identifier" | "field_identifier" => self.name(self.text(node)),
            "true" => ExprKind::Bool(true),
            "false" => ExprKind::Bool(false),
            "int_literal" | "float_literal" | "imaginary_literal" | "iota" => ExprKind::Num(self.text(node).into()),
            "rune_literal" | "interpreted_string_literal" | "raw_string_literal" => {
                ExprKind::Str(literal::string(self.text(node)))
            }
            "selector_expression" => {
                let of = self.field_expr(node, "operand");
                build::member(of, self.field_text(node, "field"))
            }
            "index_expression" => {
                let [of, index] = ["operand", "index"].map(|field| Box::new(self.field_expr(node, field)));
                ExprKind::Index { of, index }
            }
            "slice_expression" => self.slice(node),
            "call_expression" => self.call(node),
            "unary_expression" => self.unary(node),
            "func_literal" => ExprKind::Function(self.closure(node)),
            "composite_literal" => self.composite(node),
            "type_assertion_expression" => self.field_expr(node, "operand").kind,
            "type_conversion_expression" => self.conversion(node),
            "type_instantiation_expression" | "generic_type" => match node.child_by_field_name("type") {
                Some(of) => self.expr(of).kind,
                None => ExprKind::Other(Vec::new()),
            },
            "qualified_type" => {
                let of = build::expr(self.name(self.field_text(node, "package")), span(node));
                build::member(of, self.field_text(node, "name"))
            }
            "pointer_type" => match children(node).first() {
                Some(of) => build::unary("*", self.expr(*of)),
                None => ExprKind::Other(Vec::new()),
            },
            // Other types stand where a test of a type switch or an argument of `make` does.
            kind if kind.ends_with("_type") => ExprKind::Name(self.text(node).into()),
            "variadic_argument" => match children(node).first() {
                Some(of) => ExprKind::Spread(Box::new(self.expr(*of))),
                None => ExprKind::Other(Vec::new()),
            },
            _ => ExprKind::Other(children(node).into_iter().map(|child| self.expr(child)).collect()),
        }
    }

    /// `T(x)` is `x`; but `f[int](x)` reads like a conversion, too.
    fn conversion(&mut self, node: Node<'_>) -> ExprKind {
        let operand = self.field_expr(node, "operand");
        match node.child_by_field_name("type") {
            Some(of) if of.kind() == "generic_type" && !self.types.contains(&self.type_name(of)) => {
                build::call(self.expr(of), vec![operand])
            }
            _ => operand.kind,
        }
    }

    fn name(&self, name: &str) -> ExprKind {
        match self.receiver.as_deref() {
            Some(receiver) if receiver == name => ExprKind::This,
            _ => ExprKind::Name(name.into()),
        }
    }

    fn binary(&mut self, node: Node<'_>) -> Expr {
        build::operation(node, self.text, |node| self.expr(node)).unwrap_or_else(|| build::other(span(node)))
    }

    fn unary(&mut self, node: Node<'_>) -> ExprKind {
        let of = self.field_expr(node, "operand");
        match self.field_text(node, "operator") {
            "<-" => ExprKind::Await(Box::new(of)),
            op => build::unary(op, of),
        }
    }

    fn slice(&mut self, node: Node<'_>) -> ExprKind {
        let of = Box::new(self.field_expr(node, "operand"));
        let bounds = ["start", "end", "capacity"].into_iter().filter_map(|bound| node.child_by_field_name(bound));
        let bounds = bounds.map(|bound| self.expr(bound)).collect();
        ExprKind::Index { of, index: Box::new(build::expr(ExprKind::Other(bounds), span(node))) }
    }

    fn call(&mut self, node: Node<'_>) -> ExprKind {
        let Some(function) = node.child_by_field_name("function") else { return ExprKind::Other(Vec::new()) };
        let args = node.child_by_field_name("arguments").map(children).unwrap_or_default();
        if let Some(kind) = self.builtin(function, &args) {
            return kind;
        }
        // `f[int](x)` reads like an element that is called.
        let generic = function
            .child_by_field_name("index")
            .filter(|it| it.kind() == "identifier" && self.is_type(self.text(*it)));
        let callee = match generic {
            Some(_) => self.field_expr(function, "operand"),
            None => self.expr(function),
        };
        let args: Vec<_> = args.into_iter().map(|value| Arg { name: None, value: self.expr(value) }).collect();
        if self.is_sprintf(&callee)
            && let Some(template) = literal::sprintf(&args)
        {
            return template;
        }
        ExprKind::Call(Box::new(Call { callee, args, is_new: false }))
    }

    /// `new(T)`, `make(T)`, and conversions `T(x)`.
    fn builtin(&mut self, function: Node<'_>, args: &[Node<'_>]) -> Option<ExprKind> {
        let first = *args.first()?;
        match (function.kind(), self.text(function)) {
            ("identifier", "new") => Some(build::unary("&", build::expr(self.zero(first), span(first)))),
            ("identifier", "make") => match first.kind() {
                "map_type" => Some(ExprKind::Object { of: None, fields: Vec::new() }),
                "slice_type" => Some(ExprKind::List(Vec::new())),
                _ => None,
            },
            ("identifier", name) if args.len() == 1 && self.is_type(name) => Some(self.expr(first).kind),
            // `(*T)(x)`
            ("parenthesized_expression", text) if args.len() == 1 => {
                let name = text.strip_prefix("(*")?.strip_suffix(')')?;
                self.is_type(name.trim()).then(|| self.expr(first).kind)
            }
            _ => None,
        }
    }

    fn is_sprintf(&self, callee: &Expr) -> bool {
        let ExprKind::Member { of, name } = &callee.kind else { return false };
        let ExprKind::Name(package) = &of.kind else { return false };
        name == "Sprintf"
            && self.build.module.imports.iter().any(|import| import.local == *package && import.module == "fmt")
    }
}
