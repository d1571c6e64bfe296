//! What a file takes from others: `import`, `require`, `import()`.

use tree_sitter::Node;

use super::{Lower, bare, expr, field, has, kids, name, stmt};
use crate::frontend::tree::span;
use crate::hir::{Expr, ExprKind, Import, Imported, Pattern, Stmt, StmtKind};

/// What compilers put around `require` so that old and new modules go together.
const WRAPPERS: [&str; 5] =
    ["__importStar", "__importDefault", "__toESM", "_interopRequireDefault", "_interopRequireWildcard"];

impl<'t> Lower<'t> {
    fn import(&mut self, node: Node<'t>, local: &str, module: String, what: Imported) {
        self.imports.push((node.start_byte(), Import { local: local.to_owned(), module, what }));
    }

    /// Imports of types alone are left out. `import "x"` has no local name.
    pub(super) fn import_statement(&mut self, node: Node<'t>) {
        if has(node, "type") || has(node, "typeof") {
            return;
        }
        let source = |node| field(node, "source").map(|source| self.string(source));
        let Some(clause) = kids(node).into_iter().find(|kid| kid.kind().ends_with("_clause")) else {
            if let Some(module) = source(node) {
                self.import(node, "", module, Imported::Module);
            }
            return;
        };
        let Some(module) = source(node).or_else(|| source(clause)) else { return };
        let is_whole = clause.kind() == "import_require_clause";
        for part in kids(clause) {
            match part.kind() {
                "identifier" => {
                    let what = if is_whole { Imported::Module } else { Imported::Default };
                    self.import(part, self.text(part), module.clone(), what);
                }
                "namespace_import" => {
                    if let Some(local) = kids(part).first() {
                        self.import(part, self.text(*local), module.clone(), Imported::Module);
                    }
                }
                "named_imports" => {
                    for one in kids(part).into_iter().filter(|one| !has(*one, "type") && !has(*one, "typeof")) {
                        let Some(what) = field(one, "name") else { continue };
                        let local = field(one, "alias").unwrap_or(what);
                        let what = self.key(what).unwrap_or_default();
                        self.import(one, self.text(local), module.clone(), imported(what));
                    }
                }
                _ => {}
            }
        }
    }

    /// TypeScript's `import a = b.c`.
    pub(super) fn import_alias(&mut self, node: Node<'t>, out: &mut Vec<Stmt>) {
        let kids = kids(node);
        let [local, of] = kids.as_slice() else { return };
        let at = span(*of);
        let mut parts = self.text(*of).split('.').map(str::trim);
        let first = name(parts.next().unwrap_or_default(), at);
        let value =
            parts.take(20).fold(first, |of, part| expr(ExprKind::Member { of: Box::new(of), name: part.into() }, at));
        let to = vec![Pattern::Name(self.text(*local).into())];
        out.push(stmt(StmtKind::Assign { to, value, op: None }, node));
    }

    /// The string of `require("module")` and `import("module")`.
    pub(super) fn loaded(&self, node: Node<'t>) -> Option<Node<'t>> {
        if node.kind() != "call_expression" {
            return None;
        }
        let function = field(node, "function")?;
        let is_loader =
            function.kind() == "import" || function.kind() == "identifier" && self.text(function) == "require";
        if !is_loader {
            return None;
        }
        kids(field(node, "arguments")?).first().copied().filter(|module| module.kind() == "string")
    }

    /// A module loaded inside an expression: an import whose local name no variable can have.
    pub(super) fn import_here(&mut self, node: Node<'t>, module: Node<'t>) -> Expr {
        let module = self.string(module);
        let is_import = field(node, "function").is_some_and(|function| function.kind() == "import");
        let local = format!("{}({module})", if is_import { "import" } else { "require" });
        let value = name(&local, span(node));
        self.import(node, &local, module, Imported::Module);
        value
    }

    /// `const target = require("module")` and its kin; `false` if this is no such thing.
    pub(super) fn import_declared(&mut self, target: Node<'t>, value: Node<'t>) -> bool {
        let Some((module, member)) = self.source(value) else { return false };
        match (target.kind(), member) {
            ("identifier", member) => {
                let what = member.map_or(Imported::Module, |member| imported(member.to_owned()));
                self.import(target, self.text(target), module, what);
                true
            }
            ("object_pattern", None) => {
                let Some(parts) = self.plain_parts(target) else { return false };
                for (what, local) in parts {
                    self.import(local, self.text(local), module.clone(), imported(what));
                }
                true
            }
            _ => false,
        }
    }

    /// The keys and names of `{a, b: c}`; `None` if there is more in it.
    fn plain_parts(&self, pattern: Node<'t>) -> Option<Vec<(String, Node<'t>)>> {
        let part = |kid: Node<'t>| match kid.kind() {
            "shorthand_property_identifier_pattern" => Some((self.text(kid).to_owned(), kid)),
            "pair_pattern" => {
                let local = field(kid, "value").filter(|local| local.kind() == "identifier")?;
                Some((self.key(field(kid, "key")?)?, local))
            }
            _ => None,
        };
        kids(pattern).into_iter().map(part).collect()
    }

    /// The module that a value is, and which member of it: `await import("m")`, `require("m").member`.
    fn source(&self, value: Node<'t>) -> Option<(String, Option<&'t str>)> {
        let value = awaited(value);
        if let Some(module) = self.loaded(value).or_else(|| self.wrapped(value)) {
            return Some((self.string(module), None));
        }
        if value.kind() != "member_expression" {
            return None;
        }
        let module = self.loaded(awaited(field(value, "object")?))?;
        Some((self.string(module), Some(self.text(field(value, "property")?))))
    }

    /// `__importStar(require("module"))`.
    fn wrapped(&self, value: Node<'t>) -> Option<Node<'t>> {
        if value.kind() != "call_expression" {
            return None;
        }
        let function = helper(self.text(field(value, "function")?));
        let first = kids(field(value, "arguments")?).first().copied()?;
        WRAPPERS.contains(&function).then(|| self.loaded(first))?
    }
}

/// The name of a compiler's helper that is called as `tslib.__name` or `(0, tslib.__name)`.
pub(super) fn helper(callee: &str) -> &str {
    let callee = callee.trim_end_matches([')', ' ']);
    callee.rsplit(['.', ',', '(', ' ']).next().unwrap_or(callee)
}

fn imported(name: String) -> Imported {
    if name == "default" { Imported::Default } else { Imported::Name(name) }
}

/// What is awaited, if it is.
fn awaited(node: Node<'_>) -> Node<'_> {
    let node = bare(node);
    match (node.kind(), kids(node).first()) {
        ("await_expression", Some(inner)) => bare(*inner),
        _ => node,
    }
}
