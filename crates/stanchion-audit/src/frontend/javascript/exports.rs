//! What others can take from a file: `export`, `module.exports`, `exports.name`.
//!
//! An anonymous default export is a variable `default`, what CommonJS exports under a name is a variable `exports.name`:
//! no variable of the source can be called like that.

use tree_sitter::Node;

use super::imports::helper;
use super::patterns::names;
use super::{Lower, bare, expr, field, has, kids, name, stmt};
use crate::frontend::tree::span;
use crate::hir::{Export, Expr, ExprKind, Import, Imported, Pattern, Stmt, StmtKind};

impl<'t> Lower<'t> {
    fn export(&mut self, name: &str, local: &str, from: Option<String>) {
        self.module.exports.push(Export { name: name.to_owned(), local: local.to_owned(), from });
    }

    pub(super) fn export_statement(&mut self, node: Node<'t>, out: &mut Vec<Stmt>) {
        if has(node, "type") {
            return;
        }
        let from = field(node, "source").map(|source| self.string(source));
        if let Some(declared) = field(node, "declaration") {
            return self.export_declaration(node, declared, out);
        }
        if self.in_namespace {
            return;
        }
        if let Some(value) = field(node, "value") {
            return self.export_default(value, out);
        }
        if has(node, "*") {
            return self.export("*", "*", from);
        }
        for part in kids(node) {
            match part.kind() {
                "export_clause" => {
                    for one in kids(part).into_iter().filter(|one| !has(*one, "type") && !has(*one, "typeof")) {
                        let Some(local) = field(one, "name") else { continue };
                        let name = self.key(field(one, "alias").unwrap_or(local)).unwrap_or_default();
                        let local = self.key(local).unwrap_or_default();
                        self.export(&name, &local, from.clone());
                    }
                }
                "namespace_export" => {
                    let (Some(module), Some(outside)) = (from.clone(), kids(part).first().copied()) else { continue };
                    let local = format!("import({module})");
                    self.export(&self.key(outside).unwrap_or_default(), &local, None);
                    self.imports.push((node.start_byte(), Import { local, module, what: Imported::Module }));
                }
                _ if has(node, "=") => return self.export_value(part, out),
                _ => {}
            }
        }
    }

    fn export_declaration(&mut self, node: Node<'t>, declared: Node<'t>, out: &mut Vec<Stmt>) {
        let classes = self.module.classes.len();
        self.statement(declared, out);
        if declared.kind().ends_with("class_declaration") {
            // `@decorator export class`
            let mut decorators = self.decorators(node);
            if let Some(class) = self.module.classes.get_mut(classes) {
                decorators.append(&mut class.decorators);
                class.decorators = decorators;
            }
        }
        if self.in_namespace {
            return;
        }
        let mut locals = Vec::new();
        match declared.kind() {
            "lexical_declaration" | "variable_declaration" | "using_declaration" => {
                for target in kids(declared).into_iter().filter_map(|one| field(one, "name")) {
                    names(&self.pattern(target, &mut Vec::new()), &mut locals);
                }
            }
            "function_declaration"
            | "generator_function_declaration"
            | "class_declaration"
            | "abstract_class_declaration" => {
                locals.extend(field(declared, "name").map(|local| self.text(local).to_owned()));
            }
            _ => {}
        }
        for local in locals {
            self.export(if has(node, "default") { "default" } else { &local }, &local, None);
        }
    }

    fn export_default(&mut self, value: Node<'t>, out: &mut Vec<Stmt>) {
        let inner = bare(value);
        match inner.kind() {
            "identifier" => return self.export("default", self.text(inner), None),
            "function_expression" | "generator_function" => {
                let id = self.function(inner, "default");
                let local = self.module.functions.get(id).map_or_else(String::new, |function| function.name.clone());
                out.push(stmt(StmtKind::Function(id), inner));
                return self.export("default", &local, None);
            }
            "class" => {
                let local = field(inner, "name").map_or("default", |local| self.text(local));
                self.class_statement(inner, "default", out);
                return self.export("default", local, None);
            }
            _ => {}
        }
        let value = self.named(inner, "default");
        self.set("default", value, inner, out);
        self.export("default", "default", None);
    }

    /// `module.exports = value`, and TypeScript's `export = value`.
    pub(super) fn export_value(&mut self, value: Node<'t>, out: &mut Vec<Stmt>) {
        let mut inner = bare(value);
        // `module.exports = exports = value`
        while inner.kind() == "assignment_expression"
            && let Some(right) = field(inner, "right")
        {
            inner = bare(right);
        }
        match inner.kind() {
            "object" => self.export_object(inner, out),
            "identifier" => {
                let local = self.text(inner);
                self.set("default", name(local, span(inner)), inner, out);
                self.export("default", local, None);
            }
            _ => {
                let value = self.named(inner, "default");
                self.set("default", value, inner, out);
                self.export("default", "default", None);
            }
        }
    }

    fn export_object(&mut self, object: Node<'t>, out: &mut Vec<Stmt>) {
        let mut fields = Vec::new();
        for kid in kids(object) {
            let spread = (kid.kind() == "spread_element").then(|| kids(kid).first().copied()).flatten();
            if let Some(module) = spread.and_then(|of| self.loaded(bare(of))) {
                let module = self.string(module);
                self.export("*", "*", Some(module));
            }
            let Some((key, value)) = self.object_field(kid) else { continue };
            let (Some(key), at) = (key.clone(), value.span) else {
                fields.push((key, value));
                continue;
            };
            let local = if let ExprKind::Name(local) = &value.kind {
                local.clone()
            } else {
                let local = format!("exports.{key}");
                self.set(&local, value, kid, out);
                local.into()
            };
            self.export(&key, &local, None);
            fields.push((Some(key), name(&local, at)));
        }
        let value = expr(ExprKind::Object { of: None, fields }, span(object));
        self.set("default", value, object, out);
        self.export("default", "default", None);
    }

    fn set(&mut self, local: &str, value: Expr, node: Node<'t>, out: &mut Vec<Stmt>) {
        let to = vec![Pattern::Name(local.into())];
        out.push(stmt(StmtKind::Assign { to, value, op: None }, node));
    }

    /// The variable that `exports.name`, `module.exports.name` or `module.exports` is.
    pub(super) fn export_place(&self, node: Node<'t>) -> Option<String> {
        if !self.is_common {
            return None;
        }
        let key = match node.kind() {
            "member_expression" => self.text(field(node, "property")?).to_owned(),
            "subscript_expression" => {
                let index = field(node, "index").filter(|index| index.kind() == "string")?;
                self.string(index)
            }
            _ => return None,
        };
        let of = field(node, "object")?;
        match (of.kind(), self.text(of)) {
            ("identifier", "module") if key == "exports" => Some("default".to_owned()),
            ("identifier", "exports") | ("member_expression", "module.exports") => Some(format!("exports.{key}")),
            _ => None,
        }
    }

    pub(super) fn is_all_exports(&self, node: Node<'t>) -> bool {
        self.export_place(node).is_some_and(|local| local == "default")
    }

    /// Notes assignments to exports; `false` for compilers' `exports.a = exports.b = void 0`, which say nothing.
    pub(super) fn export_assigned(&mut self, to: &[Pattern], value: &Expr) -> bool {
        for target in to {
            let Pattern::Name(local) = target else { continue };
            let Some(key) = local.strip_prefix("exports.") else { continue };
            match &value.kind {
                ExprKind::Null => return false,
                ExprKind::Name(other) => self.export(key, other, None),
                _ => self.export(key, local, None),
            }
        }
        true
    }

    /// Compilers' `__exportStar(require("module"), exports)`.
    pub(super) fn export_all(&mut self, node: Node<'t>) -> bool {
        if !self.is_common || node.kind() != "call_expression" {
            return false;
        }
        let is_star =
            field(node, "function").is_some_and(|function| helper(self.text(function)).ends_with("__exportStar"));
        let module = field(node, "arguments")
            .filter(|_| is_star)
            .and_then(|args| kids(args).first().copied())
            .and_then(|first| self.loaded(first));
        if let Some(module) = module {
            let module = self.string(module);
            self.export("*", "*", Some(module));
        }
        module.is_some()
    }

    /// `Object.defineProperty(exports, "name", {get: () => module.name})`, as compilers pass on what they import.
    pub(super) fn export_defined(&mut self, node: Node<'t>, out: &mut Vec<Stmt>) -> bool {
        let Some((key, value)) = self.defined(node) else { return false };
        let value = bare(value);
        if let Some((module, of)) = self.member_of_import(value) {
            self.export(&key, &of, Some(module));
        } else if value.kind() == "identifier" {
            self.export(&key, self.text(value), None);
        } else {
            let local = format!("exports.{key}");
            let value = self.named(value, &key);
            self.set(&local, value, node, out);
            self.export(&key, &local, None);
        }
        true
    }

    /// The name that is defined on `exports`, and its value: one that is given, or what its getter returns.
    fn defined(&self, node: Node<'t>) -> Option<(String, Node<'t>)> {
        let is_it = self.is_common
            && node.kind() == "call_expression"
            && self.text(field(node, "function")?) == "Object.defineProperty";
        let args = if is_it { kids(field(node, "arguments")?) } else { Vec::new() };
        let [of, key, how, ..] = args.as_slice() else { return None };
        if !matches!(self.text(*of), "exports" | "module.exports") || key.kind() != "string" || how.kind() != "object" {
            return None;
        }
        let value = kids(*how).into_iter().find_map(|part| match part.kind() {
            "pair" => match self.key(field(part, "key")?)?.as_str() {
                "value" => field(part, "value"),
                "get" => returned(bare(field(part, "value")?)),
                _ => None,
            },
            "method_definition" if self.key(field(part, "name")?)? == "get" => returned(part),
            _ => None,
        })?;
        Some((self.string(*key), value))
    }

    /// `module.name`, where this is a module that was loaded: which one, and the name.
    fn member_of_import(&self, value: Node<'t>) -> Option<(String, String)> {
        let of = field(value, "object").filter(|_| value.kind() == "member_expression")?;
        let local = self.text(of);
        let (_, import) = self.imports.iter().find(|(_, import)| import.local == local)?;
        let name = self.text(field(value, "property")?).to_owned();
        (import.what == Imported::Module).then(|| (import.module.clone(), name))
    }

    /// Whether `var a = exports = module.exports = value` makes this variable the export; then gives the value.
    pub(super) fn export_chain(&mut self, local: &str, value: Node<'t>) -> Node<'t> {
        let (mut inner, mut is_exported) = (bare(value), false);
        while inner.kind() == "assignment_expression"
            && let (Some(left), Some(right)) = (field(inner, "left"), field(inner, "right"))
            && (self.is_all_exports(left) || self.is_common && self.text(left) == "exports")
        {
            is_exported |= self.is_all_exports(left);
            inner = bare(right);
        }
        if is_exported {
            self.export("default", local, None);
        }
        inner
    }
}

/// What a function does nothing but return.
fn returned(function: Node<'_>) -> Option<Node<'_>> {
    let body = field(function, "body")?;
    if body.kind() != "statement_block" {
        return Some(body);
    }
    match kids(body).as_slice() {
        [only] if only.kind() == "return_statement" => kids(*only).first().copied(),
        _ => None,
    }
}
