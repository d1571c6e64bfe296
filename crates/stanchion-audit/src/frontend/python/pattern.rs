//! What values are assigned to.

use tree_sitter::Node;

use super::{Lower, children, expr::without_parens, only};
use crate::hir::Pattern;

impl<'t> Lower<'t, '_> {
    /// A pattern whose names become names of this function.
    pub(super) fn target(&mut self, node: Node<'t>) -> Pattern {
        let pattern = self.pattern(node);
        self.bind_all(&pattern);
        pattern
    }

    pub(super) fn bind_all(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Name(name) => {
                // From here on, the name of the method's object means something else.
                if self.this == Some(name.as_str()) {
                    self.this = None;
                }
                self.bind(name);
            }
            Pattern::List(parts) => parts.iter().for_each(|part| self.bind_all(part)),
            Pattern::Object(parts) => parts.iter().for_each(|(_, part)| self.bind_all(part)),
            Pattern::Rest(part) => self.bind_all(part),
            Pattern::Place(_) | Pattern::Nothing => {}
        }
    }

    pub(super) fn pattern(&mut self, node: Node<'t>) -> Pattern {
        self.deeper(node, |lower| lower.pattern_here(without_parens(node))).unwrap_or(Pattern::Nothing)
    }

    fn pattern_here(&mut self, node: Node<'t>) -> Pattern {
        match node.kind() {
            "identifier" => Pattern::Name(self.text(node).into()),
            "attribute" | "subscript" => Pattern::Place(Box::new(self.expr(node))),
            "pattern_list" | "tuple_pattern" | "list_pattern" | "tuple" | "list" | "expression_list" => {
                Pattern::List(children(node).into_iter().map(|part| self.pattern(part)).collect())
            }
            "list_splat_pattern" | "dictionary_splat_pattern" | "list_splat" => {
                Pattern::Rest(Box::new(only(node).map_or(Pattern::Nothing, |part| self.pattern(part))))
            }
            "as_pattern_target" | "as_pattern" => only(node).map_or(Pattern::Nothing, |part| self.pattern(part)),
            _ => Pattern::Nothing,
        }
    }
}
