//! Strings, formats and composite literals.

use tree_sitter::Node;

use super::Lower;
use crate::{
    frontend::{
        build::{self, children},
        tree::span,
    },
    hir::{Arg, Expr, ExprKind, Pattern, Text},
};

impl Lower<'_> {
    pub(super) fn composite(&mut self, node: Node<'_>) -> ExprKind {
        match (node.child_by_field_name("type"), node.child_by_field_name("body")) {
            (Some(kind), Some(body)) => self.composite_of(kind, body),
            _ => ExprKind::Other(Vec::new()),
        }
    }

    /// `T{…}`; inside slices and maps the type may be left out: `[]T{{…}}`.
    fn composite_of(&mut self, kind: Node<'_>, body: Node<'_>) -> ExprKind {
        let elements = children(body);
        match kind.kind() {
            "slice_type" | "array_type" | "implicit_length_array_type" => {
                let of = kind.child_by_field_name("element");
                ExprKind::List(
                    elements.into_iter().filter_map(|element| self.element(element_value(element)?, of)).collect(),
                )
            }
            "map_type" => {
                let of = kind.child_by_field_name("value");
                let fields = elements.into_iter().filter_map(|element| self.entry(element, of)).collect();
                ExprKind::Object { of: None, fields }
            }
            "pointer_type" => match children(kind).first() {
                Some(inner) if inner.kind() != "pointer_type" => {
                    build::unary("&", build::expr(self.composite_of(*inner, body), span(body)))
                }
                _ => ExprKind::Other(Vec::new()),
            },
            _ => self.structure(kind, elements),
        }
    }

    fn structure(&mut self, kind: Node<'_>, elements: Vec<Node<'_>>) -> ExprKind {
        let of: Option<Text> = (kind.kind() != "struct_type").then(|| self.type_name(kind).into());
        // Fields without names are in the order of the declaration.
        let class = of.as_deref().and_then(|name| self.build.known(name));
        let names: Vec<Text> = class
            .map(|class| class.fields.iter().map(|field| field.name.as_str().into()).collect())
            .unwrap_or_default();
        let mut fields = Vec::with_capacity(elements.len());
        for (place, element) in elements.into_iter().enumerate() {
            let name = match element.child_by_field_name("key") {
                Some(key) => Some(self.key(key)),
                None => names.get(place).cloned(),
            };
            let Some(value) = element_value(element).and_then(|value| self.element(value, None)) else { continue };
            if let Some(name) = &name {
                self.build.name_function(name, &value);
            }
            fields.push((name, value));
        }
        ExprKind::Object { of, fields }
    }

    /// An entry of a map. A key that is not a constant string stands with its value.
    fn entry(&mut self, element: Node<'_>, of: Option<Node<'_>>) -> Option<(Option<Text>, Expr)> {
        let value = self.element(element_value(element)?, of)?;
        let Some(key) = element.child_by_field_name("key") else { return Some((None, value)) };
        let key = self.element(key, None)?;
        if let ExprKind::Str(name) = key.kind {
            self.build.name_function(&name, &value);
            return Some((Some(name.into()), value));
        }
        Some((None, build::expr(ExprKind::Other(vec![key, value]), span(element))))
    }

    fn key(&self, node: Node<'_>) -> Text {
        let text = self.text(node);
        if text.starts_with(['"', '`']) { string(text).into() } else { text.into() }
    }

    fn element(&mut self, node: Node<'_>, of: Option<Node<'_>>) -> Option<Expr> {
        let inner = if node.kind() == "literal_element" { *children(node).first()? } else { node };
        if inner.kind() != "literal_value" {
            return Some(self.expr(inner));
        }
        let at = span(inner);
        if !self.build.enter(at.line) {
            return Some(build::other(at));
        }
        let kind = match of {
            Some(kind) => self.composite_of(kind, inner),
            None => {
                let elements = children(inner).into_iter();
                ExprKind::List(elements.filter_map(|element| self.element(element_value(element)?, None)).collect())
            }
        };
        self.build.leave();
        Some(build::expr(kind, at))
    }
}

fn element_value(node: Node<'_>) -> Option<Node<'_>> {
    if node.kind() == "keyed_element" { node.child_by_field_name("value") } else { Some(node) }
}

pub(super) fn name_pattern(name: &str) -> Pattern {
    if name == "_" || name.is_empty() { Pattern::Nothing } else { Pattern::Name(name.into()) }
}

/// A format and its arguments as a template, where every verb takes one argument.
pub(super) fn sprintf(args: &[Arg]) -> Option<ExprKind> {
    let (format, args) = args.split_first()?;
    let ExprKind::Str(text) = &format.value.kind else { return None };
    let at = format.value.span;
    let mut parts = Vec::new();
    let mut values = args.iter().map(|arg| &arg.value);
    let mut pieces = text.split('%');
    parts.push(build::expr(ExprKind::Str(pieces.next()?.to_owned()), at));
    while let Some(piece) = pieces.next() {
        if piece.is_empty() {
            let after = pieces.next()?;
            parts.push(build::expr(ExprKind::Str(format!("%{after}")), at));
            continue;
        }
        let flags = piece.find(|c: char| !"+-# 0123456789.".contains(c))?;
        let verb = piece.get(flags..)?.chars().next().filter(char::is_ascii_alphabetic)?;
        let value = values.next().filter(|value| !matches!(value.kind, ExprKind::Spread(_)))?;
        parts.push(value.clone());
        parts.push(build::expr(ExprKind::Str(piece.get(flags + verb.len_utf8()..)?.to_owned()), at));
    }
    values.next().is_none().then(|| build::template_of(parts))
}

/// The value of a string or rune literal with its quotes.
pub(super) fn string(literal: &str) -> String {
    let Some(quote) = literal.chars().next() else { return String::new() };
    let inner = literal.strip_prefix(quote).unwrap_or(literal);
    let inner = inner.strip_suffix(quote).unwrap_or(inner);
    if quote == '`' {
        return inner.replace('\r', "");
    }
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((before, after)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        rest = escape(after, &mut bytes);
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Decodes what follows a backslash; gives what is left.
fn escape<'a>(after: &'a str, bytes: &mut Vec<u8>) -> &'a str {
    let Some(kind) = after.chars().next() else { return after };
    let rest = after.get(kind.len_utf8()..).unwrap_or_default();
    let simple = match kind {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        _ => 0,
    };
    if simple != 0 {
        bytes.push(simple);
        return rest;
    }
    let (digits, length, radix) = match kind {
        'x' => (rest, 2, 16),
        'u' => (rest, 4, 16),
        'U' => (rest, 8, 16),
        '0'..='7' => (after, 3, 8),
        _ => {
            bytes.extend_from_slice(kind.encode_utf8(&mut [0; 4]).as_bytes());
            return rest;
        }
    };
    let number = digits.get(..length).and_then(|digits| u32::from_str_radix(digits, radix).ok());
    match (kind, number) {
        ('u' | 'U', Some(number)) => {
            let c = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        (_, Some(number)) => bytes.push(u8::try_from(number).unwrap_or(b'?')),
        (_, None) => return rest,
    }
    digits.get(length..).unwrap_or_default()
}
