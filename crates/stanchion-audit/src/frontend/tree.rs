//! A parsed file, and what every front-end needs of it.

use tree_sitter::{Node, Parser};

use crate::hir::{Comment, Span};

/// Nested deeper than this, an expression is taken as [`ExprKind::Other`](crate::hir::ExprKind::Other): generated and
/// minified code must not cost the stack.
pub(crate) const DEPTH_MOST: u32 = 200;

/// A syntax tree and its text.
pub(crate) struct Tree<'a> {
    pub(crate) text: &'a str,
    pub(crate) tree: tree_sitter::Tree,
}

impl<'a> Tree<'a> {
    /// Parses; `None` if the grammar does not load.
    pub(crate) fn parse(text: &'a str, grammar: &tree_sitter::Language) -> Option<Self> {
        let mut parser = Parser::new();
        parser.set_language(grammar).ok()?;
        let tree = parser.parse(text, None)?;
        Some(Self { text, tree })
    }

    pub(crate) fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    pub(crate) fn text(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Lines with syntax errors, each once, in order, at most a hundred.
    pub(crate) fn errors(&self) -> Vec<u32> {
        let mut lines = Vec::new();
        if !self.root().has_error() {
            return lines;
        }
        self.visit(&mut |node| {
            if node.is_error() || node.is_missing() {
                lines.push(span(node).line);
            }
            node.has_error() && lines.len() < 100
        });
        lines.dedup();
        lines
    }

    /// All comments: nodes of this kind, without their marks.
    pub(crate) fn comments(&self, kinds: &[&str]) -> Vec<Comment> {
        let mut comments = Vec::new();
        self.visit(&mut |node| {
            // Cheaper to ask than for its kind, and true of comments in every grammar.
            if node.is_extra() && kinds.contains(&node.kind()) {
                let marks: &[_] = &['/', '*', '#', '!', ' ', '\t', '\n'];
                comments.push(Comment { span: span(node), text: self.text(node).trim_matches(marks).to_owned() });
            }
            true
        });
        comments
    }

    /// Visits all nodes without recursion, as far as `deeper` says.
    fn visit(&self, deeper: &mut dyn FnMut(Node<'_>) -> bool) {
        let mut cursor = self.tree.walk();
        loop {
            if deeper(cursor.node()) && cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
            }
        }
    }
}

pub(crate) fn span(node: Node<'_>) -> Span {
    let (start, end) = (node.start_position(), node.end_position());
    let line = |row: usize| u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1);
    // A node that ends at the beginning of a line does not stand on it.
    let last = if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row };
    Span { line: line(start.row), column: line(start.column), end_line: line(last) }
}
