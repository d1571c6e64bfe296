//! Functions and their parameters.

use tree_sitter::Node;

use super::{Lower, expr, field, has, kids, name, stmt};
use crate::frontend::tree::span;
use crate::hir::{Expr, ExprKind, Field, Function, FunctionId, Param, Pattern, Stmt, StmtKind};

impl<'t> Lower<'t> {
    /// Notes a function and lets its body wait. `bound` is the name it is bound to if it has none of its own.
    pub(super) fn function(&mut self, node: Node<'t>, bound: &str) -> FunctionId {
        let own = field(node, "name").and_then(|name| self.key(name));
        let id = self.module.functions.len();
        let words: Vec<_> = node.children(&mut node.walk()).filter(|child| !child.is_named()).collect();
        let has = |token: &str| words.iter().any(|word| word.kind() == token);
        self.module.functions.push(Function {
            name: own.unwrap_or_else(|| bound.to_owned()),
            class: self.class.filter(|_| node.kind() == "arrow_function"),
            parent: Some(self.function),
            is_async: has("async"),
            is_generator: has("*"),
            is_arrow: node.kind() == "arrow_function",
            is_getter: has("get") || has("static get"),
            is_setter: has("set") || has("static set"),
            is_private: self.is_private(node),
            is_static: has("static") || has("static get") || has("static set"),
            returns: self.type_text(field(node, "return_type")),
            span: span(node),
            ..Function::default()
        });
        self.waiting.push_back((id, node));
        id
    }

    /// A method that only its own class can call.
    fn is_private(&self, node: Node<'t>) -> bool {
        kids(node).into_iter().any(|kid| match kid.kind() {
            "accessibility_modifier" => self.text(kid) == "private",
            kind => kind == "private_property_identifier",
        })
    }

    /// Lowers the parameters and the body of a function that waited.
    pub(super) fn finish_function(&mut self, id: FunctionId, node: Node<'t>) {
        (self.function, self.class, self.depth, self.in_namespace) = (id, None, 0, false);
        let mut body = Vec::new();
        let mut params = Vec::new();
        if let Some(only) = field(node, "parameter") {
            params.push(Param {
                pattern: self.pattern(only, &mut body),
                default: None,
                type_text: None,
                is_rest: false,
            });
        }
        let mut assigned = Vec::new();
        for param in field(node, "parameters").map(kids).unwrap_or_default() {
            params.extend(self.param(param, &mut body));
            self.parameter_property(id, param, &mut assigned);
        }
        body.append(&mut assigned);
        match field(node, "body") {
            Some(block) if block.kind() == "statement_block" => body.append(&mut self.block(&kids(block))),
            Some(value) => {
                let returned = self.expr(value);
                body.push(stmt(StmtKind::Return(Some(returned)), value));
            }
            None => {}
        }
        if let Some(function) = self.module.functions.get_mut(id) {
            (function.params, function.body) = (params, body);
        }
    }

    /// `None` for TypeScript's `this` parameter and for what is no parameter. Defaults inside patterns go to `body`.
    fn param(&mut self, node: Node<'t>, body: &mut Vec<Stmt>) -> Option<Param> {
        let (mut target, value) = match node.kind() {
            "required_parameter" | "optional_parameter" => (field(node, "pattern")?, field(node, "value")),
            "assignment_pattern" => (field(node, "left")?, field(node, "right")),
            "decorator" | "ERROR" => return None,
            _ => (node, None),
        };
        if target.kind() == "this" {
            return None;
        }
        let is_rest = target.kind() == "rest_pattern";
        if is_rest {
            target = kids(target).first().copied()?;
        }
        let pattern = self.pattern(target, body);
        let default = value.map(|value| self.named(value, bound_name(&pattern)));
        Some(Param { pattern, default, type_text: self.type_text(field(node, "type")), is_rest })
    }

    /// `constructor(private path: string)` declares a field and assigns to it.
    fn parameter_property(&mut self, id: FunctionId, node: Node<'t>, assigned: &mut Vec<Stmt>) {
        let declares =
            kids(node).iter().any(|kid| matches!(kid.kind(), "accessibility_modifier" | "override_modifier"))
                || has(node, "readonly");
        let class = self.module.functions.get(id).and_then(|function| function.class);
        let target = field(node, "pattern").filter(|target| target.kind() == "identifier");
        let (true, Some(class), Some(target)) = (declares, class, target) else { return };
        let (text, at) = (self.text(target), span(target));
        let type_text = self.type_text(field(node, "type"));
        if let Some(class) = self.module.classes.get_mut(class) {
            class.fields.push(Field { name: text.to_owned(), type_text, ..Field::default() });
        }
        let this = Box::new(expr(ExprKind::This, at));
        let place = expr(ExprKind::Member { of: this, name: text.into() }, at);
        let to = vec![Pattern::Place(Box::new(place))];
        assigned.push(stmt(StmtKind::Assign { to, value: name(text, at), op: None }, target));
    }

    /// An expression that is bound to a name: a function or class without a name of its own gets it.
    pub(super) fn named(&mut self, node: Node<'t>, bound: &str) -> Expr {
        let inner = super::bare(node);
        let kind = match inner.kind() {
            "arrow_function" | "function_expression" | "generator_function" => {
                ExprKind::Function(self.function(inner, bound))
            }
            "class" if self.enter(inner) => {
                let class = self.class_value(inner, bound);
                self.depth -= 1;
                return class;
            }
            _ => return self.expr(node),
        };
        expr(kind, span(inner))
    }
}

/// The name that what is assigned to this goes by: `f`, and the `f` of `this.f`.
pub(super) fn bound_name(to: &Pattern) -> &str {
    match to {
        Pattern::Name(name) => name.strip_prefix("exports.").unwrap_or(name),
        Pattern::Place(place) => match &place.kind {
            ExprKind::Member { name, .. } => name,
            _ => "",
        },
        _ => "",
    }
}
