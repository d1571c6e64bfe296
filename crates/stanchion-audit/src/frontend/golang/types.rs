//! Types: classes with fields, and what a variable without a value begins with.

use tree_sitter::Node;

use super::Lower;
use crate::{
    frontend::{
        build::{self, children, fields},
        tree::span,
    },
    hir::{Expr, ExprKind, Field, Stmt, StmtKind},
};

impl Lower<'_> {
    pub(super) fn type_names(&mut self, node: Node<'_>) {
        for spec in children(node) {
            let name = self.field_text(spec, "name");
            self.types.insert(name.to_owned());
            self.export(name);
        }
    }

    pub(super) fn type_declaration(&mut self, node: Node<'_>, out: &mut Vec<Stmt>) {
        for spec in children(node) {
            let Some(kind) = spec.child_by_field_name("type") else { continue };
            let name = self.field_text(spec, "name");
            self.types.insert(name.to_owned());
            let id = self.build.class(name, span(spec));
            let mut bases = Vec::new();
            let (mut found, mut asks) = (Vec::new(), Vec::new());
            match kind.kind() {
                "struct_type" => self.struct_fields(kind, &mut found, &mut bases),
                "interface_type" => {
                    let (methods, types): (Vec<_>, Vec<_>) =
                        children(kind).into_iter().partition(|element| element.kind() == "method_elem");
                    asks.extend(methods.into_iter().map(|method| self.field_text(method, "name").to_owned()));
                    let elements = types.into_iter().filter(|element| element.kind() == "type_elem");
                    bases.extend(elements.flat_map(children).map(|base| self.type_expr(base)));
                }
                _ if spec.kind() == "type_alias" => bases.push(self.type_expr(kind)),
                _ => {}
            }
            if let Some(class) = self.build.class_mut(id) {
                class.bases = bases;
                class.fields = found;
                class.asks = asks;
                class.span = span(spec);
            }
            out.push(build::stmt(StmtKind::Class(id), span(spec)));
        }
    }

    /// An embedded field is a base, and a field under its type's name.
    fn struct_fields(&self, node: Node<'_>, found: &mut Vec<Field>, bases: &mut Vec<Expr>) {
        for field in children(node).into_iter().flat_map(children) {
            let Some(kind) = field.child_by_field_name("type") else { continue };
            let type_text = Some(self.text(kind).to_owned());
            let names = fields(field, "name");
            if names.is_empty() {
                bases.push(self.type_expr(kind));
                found.push(Field { name: self.base_name(kind), type_text: type_text.clone(), ..Field::default() });
            }
            for name in names {
                let name = self.text(name).to_owned();
                found.push(Field { name, type_text: type_text.clone(), ..Field::default() });
            }
        }
    }

    /// The bare type: without pointers, packages and type arguments.
    pub(super) fn base_name(&self, node: Node<'_>) -> String {
        let name = self.type_name(node);
        name.rsplit('.').next().unwrap_or_default().to_owned()
    }

    /// The type without pointers and type arguments: `T`, `sync.Mutex`.
    pub(super) fn type_name(&self, node: Node<'_>) -> String {
        let mut node = node;
        loop {
            let inner = match node.kind() {
                "pointer_type" | "parenthesized_type" => children(node).first().copied(),
                "generic_type" => node.child_by_field_name("type"),
                _ => None,
            };
            match inner {
                Some(inner) => node = inner,
                None => return self.text(node).to_owned(),
            }
        }
    }

    fn type_expr(&self, node: Node<'_>) -> Expr {
        let name = self.type_name(node);
        let at = span(node);
        let kind = match name.split_once('.') {
            Some((package, name)) => build::member(build::expr(ExprKind::Name(package.into()), at), name),
            None => ExprKind::Name(name.into()),
        };
        build::expr(kind, at)
    }

    /// What a variable of this type begins with.
    pub(super) fn zero(&self, node: Node<'_>) -> ExprKind {
        match node.kind() {
            "parenthesized_type" => children(node).first().map_or(ExprKind::Null, |inner| {
                if inner.kind() == "parenthesized_type" { ExprKind::Null } else { self.zero(*inner) }
            }),
            "array_type" => ExprKind::List(Vec::new()),
            "struct_type" => ExprKind::Object { of: None, fields: Vec::new() },
            "type_identifier" | "qualified_type" | "generic_type" => match self.type_name(node).as_str() {
                "string" => ExprKind::Str(String::new()),
                "bool" => ExprKind::Bool(false),
                "error" | "any" => ExprKind::Null,
                name if is_predeclared(name) => ExprKind::Num("0".into()),
                name => ExprKind::Object { of: Some(name.into()), fields: Vec::new() },
            },
            _ => ExprKind::Null,
        }
    }

    /// `name(x)` converts.
    pub(super) fn is_type(&self, name: &str) -> bool {
        is_predeclared(name) || self.types.contains(name)
    }
}

fn is_predeclared(name: &str) -> bool {
    let types = [
        "any",
        "bool",
        "byte",
        "complex128",
        "complex64",
        "error",
        "float32",
        "float64",
        "int",
        "int16",
        "int32",
        "int64",
        "int8",
        "rune",
        "string",
        "uint",
        "uint16",
        "uint32",
        "uint64",
        "uint8",
        "uintptr",
    ];
    types.contains(&name)
}
