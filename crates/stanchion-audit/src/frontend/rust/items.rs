//! Functions, types, implementations and modules.

use tree_sitter::Node;

use super::{Lower, pattern::parts};
use crate::{
    frontend::build::{self, children},
    hir::{
        Arg, Call, ClassId, Export, Expr, ExprKind, Field, Function, FunctionId, Imported, Param, Pattern, Stmt,
        StmtKind,
    },
};

impl Lower<'_> {
    /// The items of a file or a `mod`. Modules come first: where a name stands inside and outside one, the outer one is
    /// declared last and so stays what the file means by it.
    pub(super) fn items(&mut self, nodes: Vec<Node<'_>>, out: &mut Vec<Stmt>) {
        for modules in [true, false] {
            let mut attributes = Vec::new();
            for &node in &nodes {
                match node.kind() {
                    "attribute_item" => attributes.push(node),
                    kind if (kind == "mod_item") == modules => {
                        let attributes = std::mem::take(&mut attributes);
                        if !self.item(node, &attributes, out) {
                            self.stmt(node, false, out);
                        }
                    }
                    _ => attributes.clear(),
                }
            }
        }
    }

    /// `false` if it is not an item.
    pub(super) fn item(&mut self, node: Node<'_>, attributes: &[Node<'_>], out: &mut Vec<Stmt>) -> bool {
        if !self.state.build.enter(self.span(node).line) {
            return true;
        }
        let is_item = self.item_kind(node, attributes, out);
        self.state.build.leave();
        is_item
    }

    fn item_kind(&mut self, node: Node<'_>, attributes: &[Node<'_>], out: &mut Vec<Stmt>) -> bool {
        match node.kind() {
            "function_item" => {
                let id = self.function(node, attributes, None);
                self.export(node);
                self.push(StmtKind::Function(id), node, out);
            }
            "struct_item" | "union_item" | "enum_item" | "trait_item" | "type_item" => {
                self.export(node);
                let id = self.class(node, attributes);
                self.push(StmtKind::Class(id), node, out);
            }
            "impl_item" => self.implementation(node),
            "mod_item" => self.module(node, attributes, out),
            "const_item" | "static_item" => {
                self.export(node);
                if let Some(value) = node.child_by_field_name("value") {
                    let value = self.expr(value);
                    let to = Pattern::Name(self.field_name(node, "name").into());
                    self.state.build.bind_name(&to, &value);
                    self.push(build::assign(to, value, None), node, out);
                }
            }
            "use_declaration" => self.use_declaration(node),
            "extern_crate_declaration" => self.extern_crate(node),
            "macro_invocation" => return self.item_macro(node, out),
            "macro_definition"
            | "foreign_mod_item"
            | "empty_statement"
            | "inner_attribute_item"
            | "attribute_item"
            | "function_signature_item"
            | "associated_type"
            | "shebang" => {}
            _ => return false,
        }
        true
    }

    fn export(&mut self, node: Node<'_>) {
        let name = self.field_name(node, "name").to_owned();
        if self.state.build.current == 0 && self.state.modules == 0 {
            self.state.build.module.exports.push(Export { name: name.clone(), local: name, from: None });
        }
    }

    /// A `mod` with a block is a class as well, so that `inner::f` can be found; its functions are the file's.
    fn module(&mut self, node: Node<'_>, attributes: &[Node<'_>], out: &mut Vec<Stmt>) {
        let name = self.field_name(node, "name").to_owned();
        let Some(body) = node.child_by_field_name("body") else {
            return self.import(&name, format!("self::{name}"), Imported::Module);
        };
        self.export(node);
        let decorators = self.decorators(attributes);
        let class = self.state.build.class(&name, self.span(node));
        let mut inner = Vec::new();
        self.state.modules += 1;
        self.items(children(body), &mut inner);
        self.state.modules -= 1;
        let functions = &self.state.build.module.functions;
        let declared = inner.iter().filter_map(|stmt| match stmt.kind {
            StmtKind::Function(id) => functions.get(id).map(|function| (function.name.clone(), id)),
            _ => None,
        });
        let declared: Vec<_> = declared.collect();
        if let Some(class) = self.state.build.class_mut(class) {
            class.methods.extend(declared);
            class.decorators.extend(decorators);
        }
        out.extend(inner);
    }

    fn class(&mut self, node: Node<'_>, attributes: &[Node<'_>]) -> ClassId {
        let decorators = self.decorators(attributes);
        let span = self.span(node);
        let id = self.state.build.class(self.field_name(node, "name"), span);
        let mut bases = Vec::new();
        if node.kind() == "type_item" {
            bases.extend(node.child_by_field_name("type").map(|of| self.path(of)));
        } else if let Some(bounds) = node.child_by_field_name("bounds") {
            bases.extend(children(bounds).into_iter().map(|bound| self.path(bound)));
        }
        let body = node.child_by_field_name("body");
        let fields = body.map(|body| self.fields(body)).unwrap_or_default();
        if let Some(class) = self.state.build.class_mut(id) {
            class.span = span;
            class.fields.extend(fields);
            class.bases.extend(bases);
            class.decorators.extend(decorators);
        }
        if let (Some(body), "trait_item") = (body, node.kind()) {
            self.methods(id, body);
        }
        id
    }

    fn fields(&self, body: Node<'_>) -> Vec<Field> {
        let kind = body.kind();
        let mut fields = Vec::new();
        for child in children(body) {
            let (name, of) = match (kind, child.kind()) {
                ("field_declaration_list", "field_declaration") => {
                    (self.field_name(child, "name").to_owned(), child.child_by_field_name("type"))
                }
                ("enum_variant_list", "enum_variant") => (self.field_name(child, "name").to_owned(), None),
                (_, "attribute_item" | "visibility_modifier") => continue,
                ("ordered_field_declaration_list", _) => (fields.len().to_string(), Some(child)),
                _ => continue,
            };
            let type_text = of.map(|of| self.text(of).to_owned());
            fields.push(Field { name, type_text, is_static: kind == "enum_variant_list", ..Field::default() });
        }
        fields
    }

    fn implementation(&mut self, node: Node<'_>) {
        let (Some(of), Some(body)) = (node.child_by_field_name("type"), node.child_by_field_name("body")) else {
            return;
        };
        let mut bare = of;
        while let Some(inner) = match bare.kind() {
            "reference_type" => bare.child_by_field_name("type"),
            "dynamic_type" => bare.child_by_field_name("trait"),
            _ => None,
        } {
            bare = inner;
        }
        let name = self.path_text(bare);
        let name = name.rsplit("::").next().unwrap_or_default().to_owned();
        let id = self.state.build.class(&name, self.span(node));
        let base = node.child_by_field_name("trait").map(|base| self.path(base));
        if let (Some(base), Some(class)) = (base, self.state.build.class_mut(id)) {
            class.bases.push(base);
        }
        self.methods(id, body);
    }

    fn methods(&mut self, class: ClassId, body: Node<'_>) {
        let outer = self.state.class.replace(class);
        let mut attributes = Vec::new();
        for child in children(body) {
            match child.kind() {
                "attribute_item" => {
                    attributes.push(child);
                    continue;
                }
                "function_item" => {
                    let id = self.function(child, &attributes, Some(class));
                    let name = self.field_name(child, "name").to_owned();
                    if let Some(class) = self.state.build.class_mut(class) {
                        class.methods.push((name, id));
                    }
                }
                "const_item" => {
                    let value = child.child_by_field_name("value").map(|value| self.expr(value));
                    let type_text = child.child_by_field_name("type").map(|of| self.text(of).to_owned());
                    let name = self.field_name(child, "name").to_owned();
                    if let Some(class) = self.state.build.class_mut(class) {
                        class.fields.push(Field { name, value, type_text, is_static: true, ..Field::default() });
                    }
                }
                _ => {}
            }
            attributes.clear();
        }
        self.state.class = outer;
    }

    fn function(&mut self, node: Node<'_>, attributes: &[Node<'_>], class: Option<ClassId>) -> FunctionId {
        let decorators = self.decorators(attributes);
        let (params, has_self) = node.child_by_field_name("parameters").map(|it| self.params(it)).unwrap_or_default();
        let modifiers = children(node).into_iter().find(|child| child.kind() == "function_modifiers");
        let function = Function {
            name: self.field_name(node, "name").to_owned(),
            class,
            params,
            is_async: modifiers.is_some_and(|it| self.text(it).split_whitespace().any(|word| word == "async")),
            is_static: class.is_some() && !has_self,
            decorators,
            returns: node.child_by_field_name("return_type").map(|of| self.text(of).to_owned()),
            span: self.span(node),
            ..Function::default()
        };
        self.function_body(function, node.child_by_field_name("body"))
    }

    /// Adds the function; the value of its body is what it returns.
    pub(super) fn function_body(&mut self, function: Function, body: Option<Node<'_>>) -> FunctionId {
        let id = self.state.build.function(function);
        let outer = (std::mem::replace(&mut self.state.build.current, id), std::mem::take(&mut self.state.loops));
        let mut out = Vec::new();
        match body {
            Some(body) if body.kind() == "block" => self.block(body, true, &mut out),
            Some(body) => self.effect(body, true, &mut out),
            None => {}
        }
        (self.state.build.current, self.state.loops) = outer;
        self.state.build.body(id, out);
        id
    }

    /// The parameters, and whether `self` is among them.
    pub(super) fn params(&mut self, list: Node<'_>) -> (Vec<Param>, bool) {
        let mut params = Vec::new();
        let mut has_self = false;
        for child in parts(list) {
            let pattern = child.child_by_field_name("pattern");
            let type_text = child.child_by_field_name("type").map(|of| self.text(of).to_owned());
            let pattern = match child.kind() {
                "attribute_item" => continue,
                "self_parameter" => {
                    has_self = true;
                    continue;
                }
                "parameter" if pattern.is_some_and(|it| it.kind() == "self") => {
                    has_self = true;
                    continue;
                }
                "parameter" | "variadic_parameter" => pattern.map_or(Pattern::Nothing, |it| self.pattern(it)),
                _ => self.pattern(child),
            };
            params.push(Param { pattern, default: None, type_text, is_rest: false });
        }
        (params, has_self)
    }

    /// `#[path]` as the path, `#[path(args)]` and `#[path = value]` as calls; documentation is left out.
    fn decorators(&mut self, attributes: &[Node<'_>]) -> Vec<Expr> {
        let mut decorators = Vec::new();
        for attribute in attributes.iter().flat_map(|item| children(*item)) {
            let Some(path) = children(attribute).first().copied() else { continue };
            let callee = self.path(path);
            if matches!(&callee.kind, ExprKind::Name(name) if name == "doc") {
                continue;
            }
            let at = self.span(attribute);
            let args = match (attribute.child_by_field_name("arguments"), attribute.child_by_field_name("value")) {
                (Some(tokens), _) => self.macro_args(tokens),
                (_, Some(value)) => vec![Arg { name: None, value: self.expr(value) }],
                _ => {
                    decorators.push(callee);
                    continue;
                }
            };
            decorators.push(build::expr(ExprKind::Call(Box::new(Call { callee, args, is_new: false })), at));
        }
        decorators
    }
}
