//! A parsed file, and what every front-end needs of it.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::Duration;

use foldhash::{HashMap, HashMapExt as _};
use tree_sitter::{Node, ParseOptions, ParseState, Parser};

use super::clock::Clock;
use crate::hir::{Comment, Span};
use crate::suppress::MARK;

/// Nested deeper than this, an expression is taken as [`ExprKind::Other`](crate::hir::ExprKind::Other): generated and
/// minified code must not cost the stack.
pub(crate) const DEPTH_MOST: u32 = 200;

/// How often the parser may report progress, which it does after a fixed number of steps: so often whatever the text is,
/// and so often for each KiB of it. Broken code has been seen to need 60 for a KiB.
const REPORTS_MOST: (usize, usize) = (2_000, 200);
/// Asking for the time takes longer than what lies between two reports.
const REPORTS_BETWEEN: usize = 16;
/// And for how long it may work: in what is no code, single steps can read on to the end of the file. Code of the largest
/// size that is read takes half a second, and only the thread's own work counts: a busy machine does not change what is
/// found.
const TIME_MOST: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 10 });

thread_local! {
    /// One for all files of a thread: what a new one sets up costs as much as parsing a small file.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
    static FIELDS: RefCell<Vec<(tree_sitter::Language, Fields)>> = const { RefCell::new(Vec::new()) };
}

/// The numbers of a grammar's fields.
type Fields = HashMap<&'static str, u16>;

/// A syntax tree and its text.
pub(crate) struct Tree<'a> {
    pub(crate) text: &'a str,
    pub(crate) tree: tree_sitter::Tree,
}

impl<'a> Tree<'a> {
    /// Parses; `None` if the grammar does not load, or if parsing would take too long.
    pub(crate) fn parse(text: &'a str, grammar: &tree_sitter::Language) -> Option<Self> {
        Self::parse_within(text, grammar, REPORTS_MOST, TIME_MOST)
    }

    fn parse_within(
        text: &'a str,
        grammar: &tree_sitter::Language,
        (few, for_each): (usize, usize),
        time: Duration,
    ) -> Option<Self> {
        let clock = Clock::start();
        let mut left = few.saturating_add((text.len() >> 10).saturating_mul(for_each));
        let mut stop = |_: &ParseState| {
            left = left.saturating_sub(1);
            let late = left % REPORTS_BETWEEN == 0 && clock.spent() >= time;
            if left == 0 || late { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut stop);
        let mut read = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
        let tree = PARSER.with_borrow_mut(|parser| {
            // This also forgets what an earlier parse left undone.
            parser.set_language(grammar).ok()?;
            parser.parse_with_options(&mut read, None, Some(options))
        })?;
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

    /// All comments: nodes of this kind, without their marks. None where no comment can suppress anything: much of all text
    /// is comments, and nobody asks for the others.
    pub(crate) fn comments(&self, kinds: &[&str]) -> Vec<Comment> {
        let mut comments = Vec::new();
        if !self.text.contains(MARK) {
            return comments;
        }
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

/// The child that is this field of a node. The parser knows fields by number, and would compare the name with the names of
/// all fields each time.
pub(crate) fn field<'t>(node: Node<'t>, name: &'static str) -> Option<Node<'t>> {
    let language = node.language();
    let number = FIELDS.with_borrow_mut(|known| {
        let at = known.iter().position(|(known, _)| *known == *language).unwrap_or_else(|| {
            known.push(((*language).clone(), Fields::new()));
            known.len() - 1
        });
        let (language, fields) = known.get_mut(at)?;
        // There is no field 0.
        Some(*fields.entry(name).or_insert_with(|| language.field_id_for_name(name).map_or(0, u16::from)))
    })?;
    node.child_by_field_id(number)
}

pub(crate) fn span(node: Node<'_>) -> Span {
    let (start, end) = (node.start_position(), node.end_position());
    let line = |row: usize| u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1);
    // A node that ends at the beginning of a line does not stand on it.
    let last = if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row };
    Span { line: line(start.row), column: line(start.column), end_line: line(last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_names_in_every_grammar_and_what_is_none_is_not() {
        let python = Tree::parse("a = 1", &tree_sitter_python::LANGUAGE.into()).unwrap();
        let go = Tree::parse("package a\nfunc f() {}", &tree_sitter_go::LANGUAGE.into()).unwrap();
        let assignment = python.root().named_child(0).unwrap().named_child(0).unwrap();
        let function = go.root().named_child(1).unwrap();
        for _ in 0..2 {
            for (node, name) in [(assignment, "right"), (assignment, "left"), (function, "name"), (function, "body")] {
                assert_eq!(field(node, name), node.child_by_field_name(name), "{name}");
                assert!(field(node, name).is_some(), "void: {name} is no field");
            }
            assert_eq!([field(assignment, "name"), field(function, "right"), field(function, "nothing")], [None; 3]);
        }
    }

    #[test]
    fn parsing_stops_after_too_many_steps_and_after_too_long() {
        let (grammar, text) = (tree_sitter_go::LANGUAGE.into(), "func f() { a.b(1) }\n".repeat(2_000));
        let parsed = |reports, time| Tree::parse_within(&text, &grammar, reports, time).is_some();
        assert!(parsed(REPORTS_MOST, TIME_MOST));
        assert!(!parsed((5, 0), TIME_MOST));
        assert!(!parsed(REPORTS_MOST, Duration::ZERO));
        assert!(parsed(REPORTS_MOST, TIME_MOST), "what was left undone is forgotten");
    }
}
