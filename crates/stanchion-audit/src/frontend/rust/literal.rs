//! Strings and formats.

use crate::{
    frontend::build,
    hir::{Arg, Expr, ExprKind},
};

/// The value of a string, byte string, raw string or character with its quotes.
pub(super) fn string(literal: &str) -> String {
    let body = literal.trim_start_matches(['b', 'c']);
    if let Some(raw) = body.strip_prefix('r') {
        let raw = raw.trim_matches('#');
        let raw = raw.strip_prefix('"').unwrap_or(raw);
        return raw.strip_suffix('"').unwrap_or(raw).to_owned();
    }
    let Some(quote) = body.chars().next() else { return String::new() };
    let inner = body.strip_prefix(quote).unwrap_or(body);
    let mut rest = inner.strip_suffix(quote).unwrap_or(inner);
    let mut out = String::with_capacity(rest.len());
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        rest = escape(after, &mut out);
    }
    out.push_str(rest);
    out
}

/// Decodes what follows a backslash; gives what is left.
fn escape<'a>(after: &'a str, out: &mut String) -> &'a str {
    let Some(kind) = after.chars().next() else { return after };
    let rest = after.get(kind.len_utf8()..).unwrap_or_default();
    let simple = match kind {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        '0' => '\0',
        // A line break and the blanks after it are left out.
        '\n' | '\r' => return rest.trim_start(),
        'x' => {
            let digits = rest.get(..2).unwrap_or_default();
            out.push(u8::from_str_radix(digits, 16).map_or(char::REPLACEMENT_CHARACTER, char::from));
            return rest.get(2..).unwrap_or_default();
        }
        'u' => {
            let Some((digits, rest)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
                return rest;
            };
            let code = u32::from_str_radix(&digits.replace('_', ""), 16).ok().and_then(char::from_u32);
            out.push(code.unwrap_or(char::REPLACEMENT_CHARACTER));
            return rest;
        }
        other => other,
    };
    out.push(simple);
    rest
}

/// A format and its arguments as a template; `None` if its holes are not simple.
pub(super) fn template(format: &Expr, args: &[Arg]) -> Option<ExprKind> {
    let ExprKind::Str(text) = &format.kind else { return None };
    let at = format.span;
    let text_part = |text: &str| build::expr(ExprKind::Str(text.to_owned()), at);
    let mut parts = Vec::new();
    let mut positions = args.iter().filter(|arg| arg.name.is_none());
    let mut rest = text.as_str();
    while let Some(place) = rest.find(['{', '}']) {
        let (before, after) = (rest.get(..place)?, rest.get(place + 1..)?);
        parts.push(text_part(before));
        let brace = rest.get(place..=place)?;
        if let Some(after) = after.strip_prefix(brace) {
            parts.push(text_part(brace));
            rest = after;
            continue;
        }
        let (hole, after) = after.split_once('}').filter(|_| brace == "{")?;
        rest = after;
        let (name, spec) = hole.split_once(':').unwrap_or((hole, ""));
        if spec.contains('*') {
            return None;
        }
        let name = name.trim();
        parts.push(if name.is_empty() {
            positions.next()?.value.clone()
        } else if let Ok(place) = name.parse::<usize>() {
            args.get(place)?.value.clone()
        } else if let Some(arg) = args.iter().find(|arg| arg.name.as_deref() == Some(name)) {
            arg.value.clone()
        } else {
            build::expr(ExprKind::Name(name.into()), at)
        });
    }
    parts.push(text_part(rest));
    Some(build::template_of(parts))
}
