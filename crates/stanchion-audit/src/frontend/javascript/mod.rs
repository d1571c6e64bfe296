//! JavaScript, TypeScript, JSX and TSX.
//!
//! Function bodies wait in a queue instead of being lowered where they stand: nesting of functions costs no stack, and
//! [`DEPTH_MOST`] counts within one function only.

mod chains;
mod classes;
mod control;
mod exports;
mod expressions;
mod functions;
mod imports;
mod patterns;
mod statements;
mod strings;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};

use tree_sitter::Node;

use super::tree::{DEPTH_MOST, Tree, field, span};
use super::{Dialect, Frontend};
use crate::hir::each::asked;
use crate::hir::{ClassId, Expr, ExprKind, Function, FunctionId, Import, Module, Span, Stmt, StmtKind};

/// The front-end of one of the three grammars.
pub(super) struct JavaScript(pub(super) Dialect);

impl Frontend for JavaScript {
    fn grammar(&self) -> tree_sitter::Language {
        match self.0 {
            Dialect::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Dialect::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            _ => tree_sitter_javascript::LANGUAGE.into(),
        }
    }

    fn lower(&self, tree: &Tree<'_>) -> Module {
        let root = tree.root();
        let module = Module {
            language: self.0.language(),
            imports: Vec::new(),
            exports: Vec::new(),
            functions: vec![Function { name: "<module>".to_owned(), span: span(root), ..Function::default() }],
            classes: Vec::new(),
            comments: tree.comments(&["comment", "html_comment"]),
            package: None,
            asked: BTreeSet::new(),
            typed: Vec::new(),
            errors: tree.errors(),
            lines: u32::try_from(tree.text.lines().count()).unwrap_or(u32::MAX),
        };
        let kids = kids(root);
        Lower {
            tree,
            module,
            imports: Vec::new(),
            waiting: VecDeque::new(),
            function: 0,
            class: None,
            depth: 0,
            is_common: !kids.iter().any(|kid| matches!(kid.kind(), "import_statement" | "export_statement")),
            in_namespace: false,
        }
        .module(&kids)
    }
}

/// The state of lowering one file.
struct Lower<'t> {
    tree: &'t Tree<'t>,
    module: Module,
    /// With the byte where each stands, because function bodies come later than their place in the file.
    imports: Vec<(usize, Import)>,
    /// Functions whose parameters and body are still to be lowered.
    waiting: VecDeque<(FunctionId, Node<'t>)>,
    /// The function whose code is being lowered.
    function: FunctionId,
    /// The class whose field is being lowered: `this` in its arrow functions is the instance.
    class: Option<ClassId>,
    depth: u32,
    /// Without `import` and `export` statements, `exports` and `module.exports` mean what CommonJS says.
    is_common: bool,
    /// What a namespace exports is not exported from the file.
    in_namespace: bool,
}

impl<'t> Lower<'t> {
    fn module(mut self, kids: &[Node<'t>]) -> Module {
        let body = self.block(kids);
        if let Some(first) = self.module.functions.first_mut() {
            first.body = body;
        }
        while let Some((id, node)) = self.waiting.pop_front() {
            self.finish_function(id, node);
        }
        self.module.asked = asked(&self.module.functions);
        self.imports.sort_by_key(|(place, _)| *place);
        self.module.imports = self.imports.into_iter().map(|(_, import)| import).collect();
        let mut seen = BTreeSet::new();
        self.module
            .exports
            .retain(|export| seen.insert((export.name.clone(), export.local.clone(), export.from.clone())));
        self.module.errors.sort_unstable();
        self.module.errors.dedup();
        self.module
    }

    /// One level deeper, or `false` with a note that something is left out here.
    fn enter(&mut self, node: Node<'t>) -> bool {
        let fits = self.depth < DEPTH_MOST;
        if fits {
            self.depth += 1;
        } else if self.module.errors.len() < 1_000 {
            self.module.errors.push(span(node).line);
        }
        fits
    }

    fn text(&self, node: Node<'t>) -> &'t str {
        self.tree.text(node)
    }

    /// The type as written, without its colon.
    fn type_text(&self, node: Option<Node<'t>>) -> Option<String> {
        node.map(|node| self.text(node).trim_start_matches(':').trim().to_owned())
    }
}

/// The named children without comments.
fn kids<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    // Only what stands anywhere, as comments do, can be one; asking for the kind of every child costs time.
    let is_code = |kid: &Node<'t>| !kid.is_extra() || !matches!(kid.kind(), "comment" | "html_comment");
    match node.named_child_count() {
        0 => Vec::new(),
        count @ 1..=3 => (0_u32..).take(count).filter_map(|index| node.named_child(index)).filter(is_code).collect(),
        _ => node.named_children(&mut node.walk()).filter(is_code).collect(),
    }
}

/// Whether this word or mark stands directly in the node.
fn has(node: Node<'_>, token: &str) -> bool {
    let is_token = |child: Node<'_>| !child.is_named() && child.kind() == token;
    match node.child_count() {
        count @ 0..=6 => (0..count).filter_map(|index| node.child(index)).any(is_token),
        _ => node.children(&mut node.walk()).any(is_token),
    }
}

/// What stands inside parentheses, `as`, `satisfies`, `!`, `<T>` and type arguments: they do nothing when the code runs.
fn bare(mut node: Node<'_>) -> Node<'_> {
    loop {
        let inner = match node.kind() {
            "parenthesized_expression"
            | "as_expression"
            | "satisfies_expression"
            | "non_null_expression"
            | "instantiation_expression" => kids(node).first().copied(),
            "type_assertion" => kids(node).last().copied(),
            _ => None,
        };
        match inner {
            Some(inner) => node = inner,
            None => return node,
        }
    }
}

fn expr(kind: ExprKind, span: Span) -> Expr {
    Expr { kind, span }
}

fn name(text: &str, span: Span) -> Expr {
    expr(ExprKind::Name(text.into()), span)
}

fn stmt(kind: StmtKind, node: Node<'_>) -> Stmt {
    Stmt { kind, span: span(node) }
}
