//! Patterns: what they bind, and what they test.

use tree_sitter::Node;

use super::Lower;
use crate::{
    frontend::build::{self, children},
    hir::{Expr, ExprKind, Pattern},
};

impl Lower<'_> {
    /// What a pattern binds.
    pub(super) fn pattern(&mut self, node: Node<'_>) -> Pattern {
        if !self.state.build.enter(self.span(node).line) {
            return Pattern::Nothing;
        }
        let pattern = self.pattern_kind(node);
        self.state.build.leave();
        pattern
    }

    fn pattern_kind(&mut self, node: Node<'_>) -> Pattern {
        match node.kind() {
            "identifier" | "shorthand_field_identifier" if !is_constant(self.name(node)) => {
                Pattern::Name(self.name(node).into())
            }
            "tuple_pattern" | "slice_pattern" => self.pattern_list(parts(node)),
            "tuple_struct_pattern" => {
                let constructor = node.child_by_field_name("type");
                self.pattern_list(parts(node).into_iter().filter(|child| Some(*child) != constructor).collect())
            }
            "struct_pattern" => {
                let fields = children(node).into_iter().filter(|child| child.kind() == "field_pattern");
                let fields = fields.map(|field| {
                    let pattern = match field.child_by_field_name("pattern") {
                        Some(pattern) => self.pattern(pattern),
                        None => Pattern::Name(self.field_name(field, "name").into()),
                    };
                    (self.field_name(field, "name").into(), pattern)
                });
                Pattern::Object(fields.collect())
            }
            "mut_pattern" | "ref_pattern" | "reference_pattern" => match children(node).last() {
                Some(inner) => self.pattern(*inner),
                None => Pattern::Nothing,
            },
            "captured_pattern" => match children(node).first() {
                Some(name) => Pattern::Name(self.name(*name).into()),
                None => Pattern::Nothing,
            },
            "remaining_field_pattern" => Pattern::Rest(Box::new(Pattern::Nothing)),
            // All alternatives bind the same names.
            "or_pattern" => {
                let all = children(node).into_iter().map(|child| self.pattern(child));
                all.filter(binds).last().unwrap_or(Pattern::Nothing)
            }
            "parameter" => node.child_by_field_name("pattern").map_or(Pattern::Nothing, |it| self.pattern(it)),
            _ => Pattern::Nothing,
        }
    }

    fn pattern_list(&mut self, nodes: Vec<Node<'_>>) -> Pattern {
        Pattern::List(nodes.into_iter().map(|node| self.pattern(node)).collect())
    }

    /// What an arm's pattern compares with; empty if it always matches, as far as can be seen.
    pub(super) fn tests(&mut self, node: Node<'_>) -> Vec<Expr> {
        if !self.state.build.enter(self.span(node).line) {
            return Vec::new();
        }
        let tests = self.tests_kind(node);
        self.state.build.leave();
        tests
    }

    fn tests_kind(&mut self, node: Node<'_>) -> Vec<Expr> {
        match node.kind() {
            "identifier" if is_constant(self.name(node)) => vec![self.path(node)],
            "identifier" | "_" | "remaining_field_pattern" => Vec::new(),
            "scoped_identifier" | "generic_pattern" => vec![self.path(node)],
            "tuple_struct_pattern" | "struct_pattern" => {
                let constructor = node.child_by_field_name("type");
                let nodes = children(node).into_iter().filter(|child| Some(*child) != constructor);
                let inner: Vec<_> = nodes.flat_map(|child| self.tests(child)).collect();
                let Some(path) = constructor.map(|path| self.path(path)) else { return inner };
                if inner.is_empty() {
                    return vec![path];
                }
                vec![build::expr(ExprKind::Other(std::iter::once(path).chain(inner).collect()), self.span(node))]
            }
            "field_pattern" => node.child_by_field_name("pattern").map(|it| self.tests(it)).unwrap_or_default(),
            "tuple_pattern" | "slice_pattern" => {
                let inner: Vec<_> = children(node).into_iter().flat_map(|child| self.tests(child)).collect();
                let is_test = !inner.is_empty() || node.kind() == "slice_pattern";
                if is_test { vec![build::expr(ExprKind::Other(inner), self.span(node))] } else { Vec::new() }
            }
            "mut_pattern" | "ref_pattern" | "reference_pattern" | "captured_pattern" => {
                children(node).last().map(|inner| self.tests(*inner)).unwrap_or_default()
            }
            "or_pattern" => children(node).into_iter().flat_map(|child| self.tests(child)).collect(),
            "range_pattern" => {
                let ends = ["left", "right"].into_iter().filter_map(|end| node.child_by_field_name(end));
                let ends = ends.map(|end| self.expr(end)).collect();
                vec![build::expr(ExprKind::Other(ends), self.span(node))]
            }
            _ => vec![self.expr(node)],
        }
    }

    /// What stands on the left of an assignment.
    pub(super) fn place(&mut self, node: Node<'_>) -> Pattern {
        match node.kind() {
            "identifier" => match self.name(node) {
                "_" => Pattern::Nothing,
                name => Pattern::Name(name.into()),
            },
            "tuple_expression" | "array_expression" => {
                Pattern::List(children(node).into_iter().take(1000).map(|child| self.inner_place(child)).collect())
            }
            _ => Pattern::Place(Box::new(self.expr(node))),
        }
    }

    fn inner_place(&mut self, node: Node<'_>) -> Pattern {
        if !self.state.build.enter(self.span(node).line) {
            return Pattern::Nothing;
        }
        let place = self.place(node);
        self.state.build.leave();
        place
    }
}

/// The parts of a pattern with `_`, which the grammar gives no name, in its place.
pub(super) fn parts(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    let is_part = |child: &Node<'_>| child.kind() == "_" || child.is_named() && !child.is_extra();
    node.children(&mut cursor).filter(is_part).collect()
}

fn binds(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::Name(_) | Pattern::Place(_) => true,
        Pattern::Object(fields) => fields.iter().any(|(_, inner)| binds(inner)),
        Pattern::List(items) => items.iter().any(binds),
        Pattern::Rest(inner) => binds(inner),
        Pattern::Nothing => false,
    }
}

/// In a pattern, a name in capitals is a constant or a variant: the compiler warns of variables like that.
fn is_constant(name: &str) -> bool {
    name.chars().next().is_some_and(char::is_uppercase)
}
