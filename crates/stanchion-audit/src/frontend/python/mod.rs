//! Python 3, and of Python 2 what the grammar still reads.
//!
//! Choices the rest relies on: the first parameter of a method is [`ExprKind::This`] and stands in `Function::receiver`;
//! `__init__` is `constructor`, also where it is called, and `super().__init__(x)` is `super(x)`; `import a.b` gives two
//! imports, `a` and, under a local name no variable can have, `a.b`; what an `async for` of a comprehension goes through
//! is an [`ExprKind::Await`].

mod binary;
mod case;
mod class;
mod expr;
mod function;
mod import;
mod pattern;
mod stmt;
mod text;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{
    Frontend,
    tree::{DEPTH_MOST, Tree, field, span},
};
use crate::hir::{Export, Expr, ExprKind, Function, FunctionId, Language, Module, Stmt, StmtKind};

/// Lines noted as not understood, at most.
const ERRORS_MOST: usize = 100;

/// The front-end.
pub(super) struct Python;

impl Frontend for Python {
    fn grammar(&self) -> tree_sitter::Language {
        tree_sitter_python::LANGUAGE.into()
    }

    fn lower(&self, tree: &Tree<'_>) -> Module {
        Lower::new(tree).module()
    }
}

/// The module so far, and where in it the walk stands.
struct Lower<'t, 'a> {
    tree: &'t Tree<'a>,
    module: Module,
    /// The function whose statements are being made.
    function: FunctionId,
    /// What the enclosing method calls its object, unless something nearer has that name.
    this: Option<&'a str>,
    /// In a class's own code, where names are fields and not the module's.
    in_class: bool,
    exported: BTreeSet<String>,
    /// How deeply the HIR made here is nested; see [`Lower::deeper`].
    depth: u32,
}

impl<'t, 'a> Lower<'t, 'a> {
    fn new(tree: &'t Tree<'a>) -> Self {
        let module = Module {
            language: Language::Python,
            imports: Vec::new(),
            exports: Vec::new(),
            functions: vec![Function { name: "<module>".to_owned(), span: span(tree.root()), ..Function::default() }],
            classes: Vec::new(),
            comments: Vec::new(),
            package: None,
            asked: BTreeSet::new(),
            typed: Vec::new(),
            errors: Vec::new(),
            lines: u32::try_from(tree.text.lines().count()).unwrap_or(u32::MAX),
        };
        Self { tree, module, function: 0, this: None, in_class: false, exported: BTreeSet::new(), depth: 0 }
    }

    fn module(mut self) -> Module {
        let body = self.block(Some(self.tree.root()));
        if let Some(own) = self.module.functions.first_mut() {
            own.body = body;
        }
        self.module.comments = self.tree.comments(&["comment"]);
        self.module.errors.extend(self.tree.errors());
        self.module.errors.sort_unstable();
        self.module.errors.dedup();
        self.module.errors.truncate(ERRORS_MOST);
        self.module
    }

    fn text(&self, node: Node<'_>) -> &'a str {
        self.tree.text(node)
    }

    /// One level further down, or `None` at the bottom. Whatever nests in the HIR goes through here, so that walking and
    /// dropping it never costs the stack.
    fn deeper<T>(&mut self, node: Node<'t>, lower: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= DEPTH_MOST {
            self.unclear(node);
            return None;
        }
        self.depth += 1;
        let lowered = lower(self);
        self.depth -= 1;
        Some(lowered)
    }

    /// Notes that this was not understood.
    fn unclear(&mut self, node: Node<'t>) {
        let line = span(node).line;
        if self.module.errors.len() < ERRORS_MOST && self.module.errors.last() != Some(&line) {
            self.module.errors.push(line);
        }
    }

    /// A name that is bound here; at the top others can import it.
    fn bind(&mut self, name: &str) {
        if self.function == 0 && !self.in_class {
            self.export(name);
        }
    }

    fn export(&mut self, name: &str) {
        if !self.exported.contains(name) {
            self.exported.insert(name.to_owned());
            self.module.exports.push(Export { name: name.to_owned(), local: name.to_owned(), from: None });
        }
    }

    /// Names a lambda by what it is bound to.
    fn name_lambda(&mut self, value: &Expr, name: &str) {
        if let ExprKind::Function(id) = value.kind
            && let Some(function) = self.module.functions.get_mut(id)
            && function.name.is_empty()
        {
            name.clone_into(&mut function.name);
        }
    }
}

/// The named parts of a node without comments.
fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.named_children(&mut node.walk()).filter(|child| !is_blank(*child)).collect()
}

/// The first named part of a node.
fn only(node: Node<'_>) -> Option<Node<'_>> {
    node.named_child(0).filter(|child| !is_blank(*child)).or_else(|| children(node).first().copied())
}

fn is_blank(node: Node<'_>) -> bool {
    node.is_extra() && matches!(node.kind(), "comment" | "line_continuation")
}

/// `async def`, `async for`, `async with`.
fn is_async(node: Node<'_>) -> bool {
    node.child(0).is_some_and(|first| first.kind() == "async")
}

/// The last part of a name as written: `b` of `a.b` and of `a.b(c)`.
fn last_name(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Name(name) | ExprKind::Member { name, .. } => Some(name),
        ExprKind::Call(call) => match &call.callee.kind {
            ExprKind::Name(name) | ExprKind::Member { name, .. } => Some(name),
            _ => None,
        },
        _ => None,
    }
}

fn expr_at(kind: ExprKind, node: Node<'_>) -> Expr {
    Expr { kind, span: span(node) }
}

fn stmt_at(kind: StmtKind, node: Node<'_>) -> Stmt {
    Stmt { kind, span: span(node) }
}

fn name_at(name: &str, node: Node<'_>) -> Expr {
    expr_at(ExprKind::Name(name.into()), node)
}
