//! `use` trees, flattened.

use tree_sitter::Node;

use super::Lower;
use crate::{
    frontend::build::children,
    hir::{Export, Import, Imported},
};

impl Lower<'_> {
    pub(super) fn use_declaration(&mut self, node: Node<'_>) {
        let Some(argument) = node.child_by_field_name("argument") else { return };
        let from = self.state.build.module.imports.len();
        self.use_clause("", argument);
        if children(node).first().is_some_and(|first| first.kind() == "visibility_modifier") && self.state.modules == 0
        {
            let imports = self.state.build.module.imports.get(from..).unwrap_or_default();
            let exports = imports.iter().map(|import| {
                let local = match &import.what {
                    Imported::Name(name) => name.clone(),
                    _ => import.local.clone(),
                };
                Export { name: import.local.clone(), local, from: Some(import.module.clone()) }
            });
            self.state.build.module.exports.extend(exports.collect::<Vec<_>>());
        }
    }

    pub(super) fn extern_crate(&mut self, node: Node<'_>) {
        let name = self.field_name(node, "name");
        let alias = self.field_name(node, "alias");
        let local = if alias.is_empty() { name } else { alias };
        self.import(local, name.to_owned(), Imported::Module);
    }

    pub(super) fn import(&mut self, local: &str, module: String, what: Imported) {
        if local != "_" {
            self.state.build.module.imports.push(Import { local: local.to_owned(), module, what });
        }
    }

    fn use_clause(&mut self, prefix: &str, node: Node<'_>) {
        if !self.state.build.enter(self.span(node).line) {
            return;
        }
        match node.kind() {
            "use_list" => children(node).into_iter().for_each(|child| self.use_clause(prefix, child)),
            "scoped_use_list" => {
                let path = node.child_by_field_name("path").map(|path| self.path_text(path)).unwrap_or_default();
                if let Some(list) = node.child_by_field_name("list") {
                    self.use_clause(&join(prefix, &path), list);
                }
            }
            "use_wildcard" => {
                let path = children(node).first().map(|path| self.path_text(*path)).unwrap_or_default();
                self.import("*", join(prefix, &path), Imported::Everything);
            }
            "use_as_clause" => {
                let path = node.child_by_field_name("path").map(|path| self.path_text(path)).unwrap_or_default();
                self.use_path(&join(prefix, &path), Some(self.field_name(node, "alias")));
            }
            _ => self.use_path(&join(prefix, &self.path_text(node)), None),
        }
        self.state.build.leave();
    }

    fn use_path(&mut self, path: &str, alias: Option<&str>) {
        // `{self}` is the module the list is of.
        let path = path.strip_suffix("::self").unwrap_or(path);
        match path.rsplit_once("::") {
            Some((module, name)) if !module.is_empty() => {
                self.import(alias.unwrap_or(name), module.to_owned(), Imported::Name(name.to_owned()));
            }
            _ => {
                let name = path.trim_start_matches("::");
                self.import(alias.unwrap_or(name), name.to_owned(), Imported::Module);
            }
        }
    }
}

fn join(prefix: &str, path: &str) -> String {
    match (prefix, path) {
        ("", path) => path.to_owned(),
        (prefix, "") => prefix.to_owned(),
        (prefix, path) => format!("{prefix}::{path}"),
    }
}
