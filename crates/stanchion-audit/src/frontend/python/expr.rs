//! Expressions.

use tree_sitter::Node;

use super::{Lower, children, expr_at, field, only};
use crate::hir::{Arg, Call, Expr, ExprKind, Pattern, Text};

/// What stands in the parentheses. They may be many, hence the loop.
pub(super) fn without_parens(mut node: Node<'_>) -> Node<'_> {
    while matches!(node.kind(), "parenthesized_expression" | "type") {
        match only(node) {
            Some(inner) => node = inner,
            None => return node,
        }
    }
    node
}

/// Something taken of an expression. The grammar sometimes reads `*a.b()` as `(*a).b()`; the star belongs outside.
fn taken(of: Expr, take: impl FnOnce(Expr) -> ExprKind) -> ExprKind {
    match of.kind {
        ExprKind::Spread(inner) => ExprKind::Spread(Box::new(Expr { span: inner.span, kind: take(*inner) })),
        _ => take(of),
    }
}

impl<'t> Lower<'t, '_> {
    pub(super) fn expr(&mut self, node: Node<'t>) -> Expr {
        let node = without_parens(node);
        let lowered = self.deeper(node, |lower| lower.expr_here(node));
        lowered.unwrap_or_else(|| expr_at(ExprKind::Other(Vec::new()), node))
    }

    fn expr_here(&mut self, node: Node<'t>) -> Expr {
        let kind = match node.kind() {
            "identifier" => return self.name(node),
            "attribute" => self.attribute(node),
            "call" => self.call(node),
            "string" | "concatenated_string" => self.string(node),
            "integer" | "float" => ExprKind::Num(self.text(node).into()),
            "true" => ExprKind::Bool(true),
            "false" => ExprKind::Bool(false),
            "none" => ExprKind::Null,
            "subscript" => self.subscript(node),
            "binary_operator" | "boolean_operator" => self.chain(node),
            "comparison_operator" => self.comparison(node),
            "not_operator" => self.unary("!", node),
            "unary_operator" => {
                let op = field(node, "operator").map_or("", |op| self.text(op));
                self.unary(op, node)
            }
            "await" => ExprKind::Await(Box::new(self.part(node))),
            "yield" => self.yield_here(node),
            "lambda" => self.lambda(node),
            "list" | "tuple" | "set" | "expression_list" | "pattern_list" | "tuple_pattern" | "list_pattern" => {
                ExprKind::List(self.parts(node))
            }
            "dictionary" => self.dictionary(node),
            "pair" => ExprKind::Object { of: None, fields: vec![self.pair(node)] },
            "list_comprehension" | "set_comprehension" | "dictionary_comprehension" | "generator_expression" => {
                self.comprehension(node)
            }
            "conditional_expression" => self.conditional(node),
            "named_expression" => self.walrus(node),
            "list_splat" | "dictionary_splat" | "list_splat_pattern" | "dictionary_splat_pattern" => {
                ExprKind::Spread(Box::new(self.part(node)))
            }
            "keyword_argument" => return self.expr_or_nothing(field(node, "value"), node),
            "as_pattern" | "chevron" | "decorator" => return self.part(node),
            "assignment" | "augmented_assignment" => self.assigned(node),
            "member_type" => self.member_type(node),
            "generic_type" => self.generic_type(node),
            "ellipsis" | "comment" => ExprKind::Other(Vec::new()),
            _ => ExprKind::Other(self.parts(node)),
        };
        expr_at(kind, node)
    }

    fn parts(&mut self, node: Node<'t>) -> Vec<Expr> {
        children(node).into_iter().map(|part| self.expr(part)).collect()
    }

    /// The one part of a node.
    fn part(&mut self, node: Node<'t>) -> Expr {
        self.expr_or_nothing(only(node), node)
    }

    fn unary(&mut self, op: &str, node: Node<'t>) -> ExprKind {
        let of = self.expr_or_nothing(field(node, "argument"), node);
        ExprKind::Unary { op: op.into(), of: Box::new(of) }
    }

    fn attribute(&mut self, node: Node<'t>) -> ExprKind {
        let of = self.expr_or_nothing(field(node, "object"), node);
        let name = field(node, "attribute").map_or("", |name| self.text(name));
        let name = if name == "__init__" { "constructor" } else { name };
        taken(of, |of| ExprKind::Member { of: Box::new(of), name: name.into() })
    }

    /// Types stand for values in `type(a).b = c`, which looks like an alias of a type.
    fn member_type(&mut self, node: Node<'t>) -> ExprKind {
        let parts = children(node);
        let of = self.expr_or_nothing(parts.first().copied(), node);
        let name = parts.last().map_or("", |name| self.text(*name));
        ExprKind::Member { of: Box::new(of), name: name.into() }
    }

    fn generic_type(&mut self, node: Node<'t>) -> ExprKind {
        let parts = children(node);
        let of = self.expr_or_nothing(parts.first().copied(), node);
        let index = self.expr_or_nothing(parts.last().and_then(|last| only(*last)), node);
        ExprKind::Index { of: Box::new(of), index: Box::new(index) }
    }

    /// A field that may be there several times: `a, b` without parentheses.
    pub(super) fn one_or_tuple(&mut self, node: Node<'t>, name: &str) -> Expr {
        let nodes = node.children_by_field_name(name, &mut node.walk()).collect::<Vec<_>>();
        let mut parts: Vec<Expr> = nodes.into_iter().map(|part| self.expr(part)).collect();
        match (parts.pop(), parts.is_empty()) {
            (Some(one), true) => one,
            (last, _) => {
                parts.extend(last);
                expr_at(ExprKind::List(parts), node)
            }
        }
    }

    fn subscript(&mut self, node: Node<'t>) -> ExprKind {
        let of = self.expr_or_nothing(field(node, "value"), node);
        let index = self.one_or_tuple(node, "subscript");
        taken(of, |of| ExprKind::Index { of: Box::new(of), index: Box::new(index) })
    }

    fn call(&mut self, node: Node<'t>) -> ExprKind {
        let callee = self.expr_or_nothing(field(node, "function"), node);
        let args = match field(node, "arguments") {
            Some(list) if list.kind() == "argument_list" => {
                children(list).into_iter().map(|arg| self.argument(arg)).collect()
            }
            Some(one) => vec![Arg { name: None, value: self.expr(one) }],
            None => Vec::new(),
        };
        match callee.kind {
            ExprKind::Name(name) if name == "super" && !args.iter().any(|arg| arg.name.is_some()) => ExprKind::Super,
            ExprKind::Member { of, name } if name == "constructor" && matches!(of.kind, ExprKind::Super) => {
                ExprKind::Call(Box::new(Call { callee: *of, args, is_new: false }))
            }
            ExprKind::Member { of, name } if name == "format" && matches!(of.kind, ExprKind::Str(_)) => {
                super::text::format(*of, args)
            }
            kind => taken(Expr { kind, span: callee.span }, |callee| {
                ExprKind::Call(Box::new(Call { callee, args, is_new: false }))
            }),
        }
    }

    fn argument(&mut self, node: Node<'t>) -> Arg {
        let name = match node.kind() {
            "keyword_argument" => field(node, "name").map(|name| self.text(name).into()),
            _ => None,
        };
        Arg { name, value: self.expr(node) }
    }

    fn yield_here(&mut self, node: Node<'t>) -> ExprKind {
        if let Some(function) = self.module.functions.get_mut(self.function) {
            function.is_generator = true;
        }
        ExprKind::Yield(only(node).map(|value| Box::new(self.expr(value))))
    }

    fn dictionary(&mut self, node: Node<'t>) -> ExprKind {
        let fields = children(node)
            .into_iter()
            .map(|part| if part.kind() == "pair" { self.pair(part) } else { (None, self.expr(part)) })
            .collect();
        ExprKind::Object { of: None, fields }
    }

    /// A key that is only known when running is kept as a part of the value.
    fn pair(&mut self, node: Node<'t>) -> (Option<Text>, Expr) {
        let key = self.expr_or_nothing(field(node, "key"), node);
        let value = self.expr_or_nothing(field(node, "value"), node);
        let key: Text = match key.kind {
            ExprKind::Str(key) => key.into(),
            ExprKind::Num(key) => key,
            _ => return (None, expr_at(ExprKind::Other(vec![key, value]), node)),
        };
        self.name_lambda(&value, &key);
        (Some(key), value)
    }

    fn comprehension(&mut self, node: Node<'t>) -> ExprKind {
        let (mut each, mut conds) = (Vec::new(), Vec::new());
        for clause in children(node) {
            match clause.kind() {
                "for_in_clause" => each.push(self.for_in(clause)),
                "if_clause" => conds.push(self.part(clause)),
                _ => {}
            }
        }
        // What is bound by the clauses is seen by the element, so it comes last.
        let element = self.expr_or_nothing(field(node, "body"), node);
        ExprKind::Comprehension { element: Box::new(element), each, conds }
    }

    fn for_in(&mut self, node: Node<'t>) -> (Pattern, Expr) {
        let to = field(node, "left").map_or(Pattern::Nothing, |left| self.pattern(left));
        let of = self.expr_or_nothing(field(node, "right"), node);
        if super::is_async(node) {
            return (to, expr_at(ExprKind::Await(Box::new(of)), node));
        }
        (to, of)
    }

    fn conditional(&mut self, node: Node<'t>) -> ExprKind {
        let mut parts = children(node).into_iter();
        let then = self.expr_or_nothing(parts.next(), node);
        let test = self.expr_or_nothing(parts.next(), node);
        let other = self.expr_or_nothing(parts.next(), node);
        ExprKind::Cond { test: Box::new(test), then: Box::new(then), other: Box::new(other) }
    }

    fn walrus(&mut self, node: Node<'t>) -> ExprKind {
        let value = self.expr_or_nothing(field(node, "value"), node);
        let to = field(node, "name").map_or(Pattern::Nothing, |name| self.target(name));
        ExprKind::Assign { to: Box::new(to), value: Box::new(value), op: None }
    }

    /// An assignment where a value should be: only after a syntax error.
    fn assigned(&mut self, node: Node<'t>) -> ExprKind {
        match self.augmented(node) {
            Some((to, value, op)) => ExprKind::Assign { to: Box::new(to), value: Box::new(value), op },
            None => ExprKind::Other(Vec::new()),
        }
    }
}
