//! What values are assigned to.

use tree_sitter::Node;

use super::{Lower, bare, field, kids, stmt};
use crate::frontend::javascript::functions::bound_name;
use crate::hir::{ExprKind, Pattern, Stmt, StmtKind, Text};

impl<'t> Lower<'t> {
    /// A pattern. A default inside it (`{a = 1}`) becomes `a ??= 1` in `defaults`, to run after the assignment.
    pub(super) fn pattern(&mut self, node: Node<'t>, defaults: &mut Vec<Stmt>) -> Pattern {
        let node = bare(node);
        if !self.enter(node) {
            return Pattern::Nothing;
        }
        let pattern = match node.kind() {
            "identifier" | "shorthand_property_identifier_pattern" | "shorthand_property_identifier" => {
                Pattern::Name(self.text(node).into())
            }
            "member_expression" | "subscript_expression" => self.place(node),
            "object_pattern" | "object" => {
                Pattern::Object(kids(node).into_iter().filter_map(|kid| self.property(kid, defaults)).collect())
            }
            "array_pattern" | "array" => self.elements(node, defaults),
            "rest_pattern" | "spread_element" => {
                let inner = kids(node).first().map_or(Pattern::Nothing, |inner| self.pattern(*inner, defaults));
                Pattern::Rest(Box::new(inner))
            }
            "assignment_pattern" | "object_assignment_pattern" => self.defaulted(node, defaults),
            _ => Pattern::Nothing,
        };
        self.depth -= 1;
        pattern
    }

    /// A field, an element, or one of CommonJS's exports, which are variables of the module.
    fn place(&mut self, node: Node<'t>) -> Pattern {
        let place = self.expr(node);
        match place.kind {
            ExprKind::Name(name) => Pattern::Name(name),
            _ => Pattern::Place(Box::new(place)),
        }
    }

    fn property(&mut self, node: Node<'t>, defaults: &mut Vec<Stmt>) -> Option<(Text, Pattern)> {
        match node.kind() {
            "pair_pattern" | "pair" => {
                let key = field(node, "key")?;
                let pattern = self.pattern(field(node, "value")?, defaults);
                Some((self.key(key).unwrap_or_else(|| self.text(key).to_owned()).into(), pattern))
            }
            "rest_pattern" | "spread_element" => Some((String::new().into(), self.pattern(node, defaults))),
            "object_assignment_pattern" => {
                let key = self.text(field(node, "left")?).to_owned();
                Some((key.into(), self.pattern(node, defaults)))
            }
            _ => Some((self.text(node).into(), self.pattern(node, defaults))),
        }
    }

    /// Elements with their places: holes count.
    fn elements(&mut self, node: Node<'t>, defaults: &mut Vec<Stmt>) -> Pattern {
        let (mut elements, mut is_hole) = (Vec::new(), true);
        for child in node.children(&mut node.walk()) {
            match child.kind() {
                "," if is_hole => elements.push(Pattern::Nothing),
                "," => is_hole = true,
                _ if child.is_named() && child.kind() != "comment" => {
                    elements.push(self.pattern(child, defaults));
                    is_hole = false;
                }
                _ => {}
            }
        }
        Pattern::List(elements)
    }

    fn defaulted(&mut self, node: Node<'t>, defaults: &mut Vec<Stmt>) -> Pattern {
        let (Some(left), Some(right)) = (field(node, "left"), field(node, "right")) else { return Pattern::Nothing };
        // The default is used before what is inside the pattern is taken apart; for a name that makes no difference.
        let pattern = self.pattern(left, defaults);
        if let Pattern::Name(_) | Pattern::Place(_) = pattern {
            let value = self.named(right, bound_name(&pattern));
            let kind = StmtKind::Assign { to: vec![pattern.clone()], value, op: Some("??".into()) };
            defaults.push(stmt(kind, node));
        }
        pattern
    }
}

/// The names that a pattern binds, in order.
pub(super) fn names(pattern: &Pattern, out: &mut Vec<String>) {
    match pattern {
        Pattern::Name(name) => out.push(name.to_string()),
        Pattern::Object(fields) => fields.iter().for_each(|(_, inner)| names(inner, out)),
        Pattern::List(elements) => elements.iter().for_each(|inner| names(inner, out)),
        Pattern::Rest(inner) => names(inner, out),
        Pattern::Place(_) | Pattern::Nothing => {}
    }
}
