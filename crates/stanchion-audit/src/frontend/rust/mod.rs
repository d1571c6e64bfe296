//! Rust.

mod control;
mod expr;
mod items;
mod literal;
mod macros;
mod pattern;
mod select;
mod stmt;
#[cfg(test)]
mod tests;
mod uses;

use tree_sitter::{Node, Parser};

use super::{
    Frontend,
    build::{self, Build, children},
    tree::{self, Tree},
};
use crate::hir::{ClassId, Expr, ExprKind, Language, Module, Span, Stmt, StmtKind};

/// The front-end for `.rs` files.
pub(super) struct Rust;

impl Frontend for Rust {
    fn grammar(&self) -> tree_sitter::Language {
        tree_sitter_rust::LANGUAGE.into()
    }

    fn lower(&self, tree: &Tree<'_>) -> Module {
        let mut parser = Parser::new();
        // Without the grammar there would be no tree; should it fail all the same, macros stay without arguments.
        parser.set_language(&self.grammar()).unwrap_or_default();
        let mut state =
            State { build: Build::new(Language::Rust), parser, class: None, loops: Vec::new(), macros: 0, modules: 0 };
        let mut lower = Lower { text: tree.text, origin: Origin::default(), state: &mut state };
        let mut body = Vec::new();
        lower.items(children(tree.root()), &mut body);
        state.build.finish(body, tree, &["line_comment", "block_comment"])
    }
}

struct State {
    build: Build,
    /// For the contents of macros.
    parser: Parser,
    /// What `Self` is.
    class: Option<ClassId>,
    /// What a `break` can leave, of the current function, innermost last.
    loops: Vec<Target>,
    /// How many macros we are in.
    macros: u32,
    /// How many `mod` blocks we are in.
    modules: u32,
}

/// A loop, or a block with a label.
struct Target {
    label: Option<String>,
    /// It is left with a value.
    has_value: bool,
}

/// Where the text stands in the file: the contents of macros are parsed on their own.
#[derive(Clone, Copy, Default)]
struct Origin {
    row: usize,
    column: isize,
}

struct Lower<'a> {
    text: &'a str,
    origin: Origin,
    state: &'a mut State,
}

impl<'a> Lower<'a> {
    fn text(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn field_text(&self, node: Node<'_>, field: &str) -> &'a str {
        node.child_by_field_name(field).map(|child| self.text(child)).unwrap_or_default()
    }

    /// An identifier; `r#type` is called `type`.
    fn name(&self, node: Node<'_>) -> &'a str {
        let name = self.text(node);
        name.strip_prefix("r#").unwrap_or(name)
    }

    fn field_name(&self, node: Node<'_>, field: &str) -> &'a str {
        node.child_by_field_name(field).map(|child| self.name(child)).unwrap_or_default()
    }

    fn span(&self, node: Node<'_>) -> Span {
        let own = tree::span(node);
        let row = u32::try_from(self.origin.row).unwrap_or(u32::MAX);
        let column = match own.line {
            1 => {
                let column = i64::from(own.column).saturating_add(self.origin.column as i64).max(1);
                u32::try_from(column).unwrap_or(u32::MAX)
            }
            _ => own.column,
        };
        Span { line: own.line.saturating_add(row), column, end_line: own.end_line.saturating_add(row) }
    }

    fn other(&self, node: Node<'_>) -> Expr {
        build::other(self.span(node))
    }

    fn push(&self, kind: StmtKind, node: Node<'_>, out: &mut Vec<Stmt>) {
        out.push(build::stmt(kind, self.span(node)));
    }

    /// `a::b::c` as members, without type arguments. `Self` is the class.
    fn path(&self, node: Node<'_>) -> Expr {
        let mut names = Vec::new();
        let mut node = node;
        let first = loop {
            let inner = match node.kind() {
                "scoped_identifier" | "scoped_type_identifier" => {
                    names.push((self.field_name(node, "name"), self.span(node)));
                    match node.child_by_field_name("path") {
                        Some(path) => Some(path),
                        // `::std::fs`
                        None => break None,
                    }
                }
                "generic_type" | "generic_type_with_turbofish" | "qualified_type" => node.child_by_field_name("type"),
                "generic_function" => node.child_by_field_name("function"),
                "bracketed_type" | "generic_pattern" => children(node).first().copied(),
                "reference_type" => node.child_by_field_name("type"),
                _ => break Some(node),
            };
            match inner {
                Some(inner) => node = inner,
                None => break Some(node),
            }
        };
        let mut names = names.into_iter().rev();
        let of = match first {
            Some(first) => {
                let kind = match self.name(first) {
                    "Self" => ExprKind::This,
                    "self" if names.len() == 0 => ExprKind::This,
                    "None" if names.len() == 0 => ExprKind::Null,
                    name => ExprKind::Name(name.into()),
                };
                build::expr(kind, self.span(first))
            }
            None => match names.next() {
                Some((name, at)) => build::expr(ExprKind::Name(name.into()), at),
                None => self.other(node),
            },
        };
        // A path is as deep as it has names; nobody writes one this long.
        names.take(64).fold(of, |of, (name, at)| build::expr(build::member(of, name), at))
    }

    /// A path as text, without blanks and type arguments: `std::fs`, `Foo::Bar`.
    fn path_text(&self, node: Node<'_>) -> String {
        let mut text = String::new();
        let mut depth = 0_u32;
        for c in self.text(node).chars() {
            match c {
                '<' => depth += 1,
                '>' => depth = depth.saturating_sub(1),
                _ if depth > 0 || c.is_whitespace() => {}
                _ => text.push(c),
            }
        }
        let text = text.replace("r#", "").replace("::::", "::");
        text.strip_suffix("::").unwrap_or(&text).to_owned()
    }
}
