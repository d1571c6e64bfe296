//! Imports.

use tree_sitter::Node;

use super::{Lower, children, field};
use crate::hir::{Export, Import, Imported};

impl<'t, 'a> Lower<'t, 'a> {
    /// `import a.b, c.d as e`.
    pub(super) fn import(&mut self, node: Node<'t>) {
        for part in node.children_by_field_name("name", &mut node.walk()) {
            if let Some((path, alias)) = self.aliased(part) {
                self.add_import(alias, &path, Imported::Module);
                continue;
            }
            let path = self.dotted(part);
            let first = path.split('.').next().unwrap_or_default().to_owned();
            if first != path {
                self.module.imports.push(Import { local: path.clone(), module: path.clone(), what: Imported::Module });
            }
            self.add_import(&first, &first, Imported::Module);
        }
    }

    /// `from .a import b, c as d`, `from a import *`.
    pub(super) fn import_from(&mut self, node: Node<'t>) {
        let module = field(node, "module_name").map(|name| self.dotted(name)).unwrap_or_default();
        if children(node).iter().any(|child| child.kind() == "wildcard_import") {
            if self.function == 0 {
                let star = Export { name: "*".to_owned(), local: "*".to_owned(), from: Some(module.clone()) };
                self.module.exports.push(star);
            }
            self.module.imports.push(Import { local: "*".to_owned(), module, what: Imported::Everything });
            return;
        }
        for part in node.children_by_field_name("name", &mut node.walk()) {
            if let Some((name, alias)) = self.aliased(part) {
                self.add_import(alias, &module, Imported::Name(name));
            } else {
                let name = self.dotted(part);
                self.add_import(&name, &module, Imported::Name(name.clone()));
            }
        }
    }

    fn add_import(&mut self, local: &str, module: &str, what: Imported) {
        if local.is_empty() {
            return;
        }
        self.bind(local);
        self.module.imports.push(Import { local: local.to_owned(), module: module.to_owned(), what });
    }

    fn aliased(&self, node: Node<'t>) -> Option<(String, &'a str)> {
        let alias = field(node, "alias")?;
        Some((self.dotted(field(node, "name")?), self.text(alias)))
    }

    /// A module's name; blanks are allowed around its dots.
    fn dotted(&self, node: Node<'t>) -> String {
        self.text(node).chars().filter(|c| !c.is_whitespace() && *c != '\\').collect()
    }
}
