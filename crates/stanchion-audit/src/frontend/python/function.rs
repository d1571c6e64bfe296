//! Functions, lambdas and their parameters.

use tree_sitter::Node;

use super::{Lower, children, expr_at, field, is_async, last_name, only, span, stmt_at};
use crate::hir::{ClassId, Expr, ExprKind, Function, FunctionId, Param, Pattern, Stmt, StmtKind};

/// Types as written are kept up to this many characters.
const TYPE_MOST: usize = 300;

/// Methods that get the class without being told so.
const CLASS_METHODS: [&str; 3] = ["__new__", "__init_subclass__", "__class_getitem__"];

impl<'t, 'a> Lower<'t, 'a> {
    pub(super) fn decorated(&mut self, node: Node<'t>, body: &mut Vec<Stmt>) {
        let decorators = self.decorators(node);
        match field(node, "definition") {
            Some(definition) => self.definition(definition, decorators, body),
            None => self.unclear(node),
        }
    }

    pub(super) fn decorators(&mut self, node: Node<'t>) -> Vec<Expr> {
        let decorators = children(node).into_iter().filter(|child| child.kind() == "decorator");
        decorators.filter_map(only).map(|decorator| self.expr(decorator)).collect()
    }

    /// A function or class outside of classes.
    pub(super) fn definition(&mut self, node: Node<'t>, decorators: Vec<Expr>, body: &mut Vec<Stmt>) {
        if let Some(name) = field(node, "name") {
            self.bind(self.text(name));
        }
        if node.kind() == "class_definition" {
            let mut also = Vec::new();
            let id = self.class(node, decorators, &mut also);
            body.push(stmt_at(StmtKind::Class(id), node));
            body.append(&mut also);
        } else {
            let id = self.function(node, decorators, None);
            body.push(stmt_at(StmtKind::Function(id), node));
        }
    }

    pub(super) fn function(&mut self, node: Node<'t>, decorators: Vec<Expr>, class: Option<ClassId>) -> FunctionId {
        let mut name = field(node, "name").map_or("", |name| self.text(name));
        let mut params = self.params(field(node, "parameters"));
        let decorated = |names: &[&str]| decorators.iter().filter_map(last_name).any(|name| names.contains(&name));
        let is_plain = decorated(&["staticmethod", "abstractstaticmethod"]);
        let is_static = class.is_some()
            && (is_plain || decorated(&["classmethod", "abstractclassmethod"]) || CLASS_METHODS.contains(&name));
        let receiver = if class.is_some() && !is_plain { take_receiver(&mut params) } else { None };
        let this = receiver.as_ref().and_then(|_| self.first_param(field(node, "parameters")?));
        if class.is_some() && name == "__init__" {
            name = "constructor";
        }
        let function = Function {
            name: name.to_owned(),
            class,
            params,
            receiver,
            is_async: is_async(node),
            is_static,
            is_setter: class.is_some() && decorated(&["setter"]),
            decorators,
            returns: field(node, "return_type").map(|returns| self.type_text(returns)),
            span: span(node),
            ..Function::default()
        };
        self.with_function(function, this, |lower| lower.block(field(node, "body")))
    }

    pub(super) fn lambda(&mut self, node: Node<'t>) -> ExprKind {
        let params = self.params(field(node, "parameters"));
        let function = Function { params, span: span(node), ..Function::default() };
        ExprKind::Function(self.with_function(function, None, |lower| {
            let value = field(node, "body").map(|body| lower.expr(body));
            vec![stmt_at(StmtKind::Return(value), node)]
        }))
    }

    /// Adds a function and makes its body inside it. `this`: what it calls its object, if it is a method.
    fn with_function(
        &mut self,
        mut function: Function,
        this: Option<&'a str>,
        body: impl FnOnce(&mut Self) -> Vec<Stmt>,
    ) -> FunctionId {
        // Functions in a method see its object, methods of classes in a method have their own.
        let seen = if function.class.is_some() { None } else { self.this };
        let this = this.or(seen.filter(|name| !function.params.iter().any(|param| binds(&param.pattern, name))));
        function.parent = Some(self.function);
        let id = self.module.functions.len();
        self.module.functions.push(function);
        let outer = (self.function, self.this, self.in_class);
        (self.function, self.this, self.in_class) = (id, this, false);
        let body = body(self);
        (self.function, self.this, self.in_class) = outer;
        if let Some(function) = self.module.functions.get_mut(id) {
            function.body = body;
        }
        id
    }

    fn first_param(&self, params: Node<'t>) -> Option<&'a str> {
        let first = only(params)?;
        Some(self.text(field(first, "name").or_else(|| first.named_child(0)).unwrap_or(first)))
    }

    fn params(&mut self, node: Option<Node<'t>>) -> Vec<Param> {
        let nodes = node.map(children).unwrap_or_default();
        nodes.into_iter().filter_map(|node| self.param(node)).collect()
    }

    fn param(&mut self, node: Node<'t>) -> Option<Param> {
        let name = match node.kind() {
            "identifier" | "tuple_pattern" | "list_splat_pattern" | "dictionary_splat_pattern" => node,
            "default_parameter" | "typed_default_parameter" => field(node, "name")?,
            "typed_parameter" => only(node)?,
            _ => return None,
        };
        let default = field(node, "value").map(|value| self.expr(value));
        let type_text = field(node, "type").map(|node| self.type_text(node));
        let (pattern, is_rest) = match self.pattern(name) {
            Pattern::Rest(pattern) => (*pattern, true),
            pattern => (pattern, false),
        };
        if let (Some(value), Pattern::Name(name)) = (&default, &pattern) {
            self.name_lambda(value, name);
        }
        Some(Param { pattern, default, type_text, is_rest })
    }

    pub(super) fn type_text(&self, node: Node<'t>) -> String {
        bare(self.text(node)).chars().take(TYPE_MOST).collect()
    }

    /// A name, or the object of the method it stands in.
    pub(super) fn name(&self, node: Node<'t>) -> Expr {
        let name = self.text(node);
        expr_at(if self.this == Some(name) { ExprKind::This } else { ExprKind::Name(name.into()) }, node)
    }
}

/// `Annotated[T, …]` is `T`.
fn bare(text: &str) -> &str {
    let annotated = text.split_once('[').filter(|(head, _)| head.rsplit('.').next() == Some("Annotated"));
    let Some((_, inside)) = annotated else { return text };
    let mut depth = 0_u32;
    let end = inside.find(|c| {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    end.and_then(|end| inside.get(..end)).map_or(text, str::trim)
}

/// Takes the object out of a method's parameters and gives its name.
fn take_receiver(params: &mut Vec<Param>) -> Option<String> {
    let Some(Param { pattern: Pattern::Name(name), is_rest: false, .. }) = params.first() else { return None };
    let name = name.to_string();
    params.remove(0);
    Some(name)
}

fn binds(pattern: &Pattern, name: &str) -> bool {
    match pattern {
        Pattern::Name(bound) => bound == name,
        Pattern::List(parts) => parts.iter().any(|part| binds(part, name)),
        _ => false,
    }
}
