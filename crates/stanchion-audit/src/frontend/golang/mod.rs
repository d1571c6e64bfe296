//! Go.

mod control;
mod expr;
mod items;
mod literal;
mod stmt;
#[cfg(test)]
mod tests;
mod types;

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{
    Frontend,
    build::{self, Build, children},
    tree::{Tree, span},
};
use crate::hir::{Expr, ExprKind, Language, Module, StmtKind};

/// The front-end for `.go` files.
pub(super) struct Go;

impl Frontend for Go {
    fn grammar(&self) -> tree_sitter::Language {
        tree_sitter_go::LANGUAGE.into()
    }

    fn lower(&self, tree: &Tree<'_>) -> Module {
        let mut lower = Lower {
            text: tree.text,
            build: Build::new(Language::Go),
            receiver: None,
            results: Vec::new(),
            targets: Vec::new(),
            label: None,
            types: BTreeSet::new(),
        };
        let body = lower.file(tree.root());
        lower.build.finish(body, tree, &["comment"])
    }
}

/// What a `break` can leave.
struct Target {
    label: Option<String>,
    is_loop: bool,
}

struct Lower<'a> {
    text: &'a str,
    build: Build,
    /// The receiver's name, while nothing shadows it.
    receiver: Option<String>,
    /// The named results of the current function, which a bare `return` returns.
    results: Vec<String>,
    /// What encloses the current statement in its function, innermost last.
    targets: Vec<Target>,
    /// The label before the current statement.
    label: Option<String>,
    /// The types this file declares: calling one is a conversion.
    types: BTreeSet<String>,
}

impl<'a> Lower<'a> {
    fn text(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn field_text(&self, node: Node<'_>, field: &str) -> &'a str {
        node.child_by_field_name(field).map(|child| self.text(child)).unwrap_or_default()
    }

    /// The whole file. Imports and types come first: what a name means depends on them, wherever they stand.
    fn file(&mut self, root: Node<'_>) -> Vec<crate::hir::Stmt> {
        let items = children(root);
        let mut body = Vec::new();
        for &item in &items {
            match item.kind() {
                "import_declaration" => self.imports(item),
                "package_clause" => {
                    self.build.module.package = children(item).first().map(|name| self.text(*name).to_owned());
                }
                "type_declaration" => self.type_names(item),
                _ => {}
            }
        }
        for &item in items.iter().filter(|item| item.kind() == "type_declaration") {
            self.type_declaration(item, &mut body);
        }
        let mut starts = Vec::new();
        for &item in &items {
            match item.kind() {
                "import_declaration" | "package_clause" | "type_declaration" => {}
                "function_declaration" => {
                    let id = self.function(item);
                    let name = self.field_text(item, "name");
                    if name == "init" {
                        // Several may have this name; none can be called by it. They run after the variables.
                        let callee = build::expr(ExprKind::Function(id), span(item));
                        let call: Expr = build::expr(build::call(callee, Vec::new()), span(item));
                        starts.push(build::stmt(StmtKind::Expr(call), span(item)));
                    } else {
                        self.export(name);
                        body.push(build::stmt(StmtKind::Function(id), span(item)));
                    }
                }
                "method_declaration" => self.method(item),
                _ => {
                    self.export_declared(item);
                    self.stmt(item, &mut body);
                }
            }
        }
        body.extend(starts);
        body
    }
}
