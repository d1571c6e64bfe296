//! Strings, templates, and strings joined by `+`.

use tree_sitter::Node;

use super::{Lower, expr, kids};
use crate::frontend::tree::span;
use crate::hir::{Expr, ExprKind, Span};

impl<'t> Lower<'t> {
    /// The value of a string literal.
    pub(super) fn string(&self, node: Node<'t>) -> String {
        let mut value = String::new();
        for part in kids(node) {
            let text = self.text(part);
            match part.kind() {
                "escape_sequence" => unescape(text, &mut value),
                "string_fragment" | "html_character_reference" => value.push_str(text),
                _ => {}
            }
        }
        value
    }

    pub(super) fn template(&mut self, node: Node<'t>) -> ExprKind {
        let mut parts = Vec::new();
        for part in kids(node) {
            let text = self.text(part);
            let kind = match part.kind() {
                "string_fragment" => ExprKind::Str(text.to_owned()),
                "escape_sequence" => {
                    let mut value = String::new();
                    unescape(text, &mut value);
                    ExprKind::Str(value)
                }
                "template_substitution" => {
                    let holes: Vec<_> = kids(part).into_iter().map(|hole| self.expr(hole)).collect();
                    parts.extend(holes);
                    continue;
                }
                _ => continue,
            };
            parts.push(expr(kind, span(part)));
        }
        // A hole that is itself a string stays a part of its own only until here.
        join(parts)
    }

    /// The name that a property has in source: `a`, `#a`, `"a"`, `1`, `["a"]`, `[Symbol.iterator]`; `None` if it is computed.
    pub(super) fn key(&self, node: Node<'t>) -> Option<String> {
        match node.kind() {
            "string" => Some(self.string(node)),
            "computed_property_name" => {
                let inner = kids(node).first().copied()?;
                let text = self.text(inner);
                match inner.kind() {
                    "string" => Some(self.string(inner)),
                    "number" => Some(text.to_owned()),
                    "member_expression" if text.starts_with("Symbol.") => Some(text.to_owned()),
                    _ => None,
                }
            }
            _ => Some(self.text(node).to_owned()),
        }
    }
}

pub(super) fn is_text(value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Str(_) | ExprKind::Template(_))
}

/// `left + right` where one of them is a string.
pub(super) fn concat(left: Expr, right: Expr, span: Span) -> Expr {
    expr(join(vec![left, right]), span)
}

/// Makes one template of these: templates among them become parts, neighbouring strings become one.
pub(super) fn join(values: Vec<Expr>) -> ExprKind {
    let mut parts: Vec<Expr> = Vec::new();
    for value in values {
        match value.kind {
            // The left side of a long chain of `+` is most of the result: take it instead of copying it.
            ExprKind::Template(inner) if parts.is_empty() => parts = inner,
            ExprKind::Template(inner) => inner.into_iter().for_each(|part| push(&mut parts, part)),
            _ => push(&mut parts, value),
        }
    }
    match parts.as_mut_slice() {
        [] => ExprKind::Str(String::new()),
        [Expr { kind: ExprKind::Str(text), .. }] => ExprKind::Str(std::mem::take(text)),
        _ => ExprKind::Template(parts),
    }
}

fn push(parts: &mut Vec<Expr>, part: Expr) {
    if let ExprKind::Str(more) = &part.kind
        && let Some(Expr { kind: ExprKind::Str(text), .. }) = parts.last_mut()
    {
        text.push_str(more);
        return;
    }
    parts.push(part);
}

fn unescape(sequence: &str, out: &mut String) {
    let mut rest = sequence.chars();
    rest.next();
    let code = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    let value = match rest.next() {
        Some('n') => Some('\n'),
        Some('t') => Some('\t'),
        Some('r') => Some('\r'),
        Some('b') => Some('\u{8}'),
        Some('f') => Some('\u{c}'),
        Some('v') => Some('\u{b}'),
        Some('x') => code(rest.as_str(), 16),
        // Halves of surrogate pairs have no character of their own.
        Some('u') => code(rest.as_str().trim_matches(['{', '}']), 16).or(Some(char::REPLACEMENT_CHARACTER)),
        Some('0'..='7') => code(sequence.trim_start_matches('\\'), 8),
        Some('\n' | '\r' | '\u{2028}' | '\u{2029}') => None,
        other => other,
    };
    out.extend(value);
}
