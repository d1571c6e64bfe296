//! Strings, and what makes strings of values: f-strings, `%`, `.format()`, `+`.

use tree_sitter::Node;

use super::{Lower, children, expr_at, field};
use crate::hir::{Arg, Expr, ExprKind};

impl<'t> Lower<'t, '_> {
    /// A string, an f-string, or several side by side.
    pub(super) fn string(&mut self, node: Node<'t>) -> ExprKind {
        if node.kind() == "string" {
            return join(self.string_parts(node));
        }
        let mut parts = Vec::new();
        for string in children(node) {
            parts.extend(self.string_parts(string));
        }
        join(parts)
    }

    fn string_parts(&mut self, node: Node<'t>) -> Vec<Expr> {
        let (mut parts, mut prefix) = (Vec::new(), "");
        for part in children(node) {
            match part.kind() {
                "string_start" => prefix = self.text(part).trim_end_matches(['"', '\'']),
                "string_content" => {
                    let text = unescape(self.text(part), prefix);
                    parts.push(expr_at(ExprKind::Str(text), part));
                }
                "interpolation" => parts.push(self.expr_or_nothing(field(part, "expression"), part)),
                _ => {}
            }
        }
        parts
    }
}

/// One string or template of the parts in order.
pub(super) fn join(parts: impl IntoIterator<Item = Expr>) -> ExprKind {
    let mut joined: Vec<Expr> = Vec::new();
    let mut push = |part: Expr| match (joined.last_mut().map(|last| &mut last.kind), part.kind) {
        (_, ExprKind::Str(text)) if text.is_empty() => {}
        (Some(ExprKind::Str(before)), ExprKind::Str(text)) => before.push_str(&text),
        (_, kind) => joined.push(Expr { kind, span: part.span }),
    };
    for part in parts {
        match part.kind {
            ExprKind::Template(inner) => inner.into_iter().for_each(&mut push),
            kind => push(Expr { kind, span: part.span }),
        }
    }
    match joined.as_mut_slice() {
        [] => ExprKind::Str(String::new()),
        [Expr { kind: ExprKind::Str(text), .. }] => ExprKind::Str(std::mem::take(text)),
        _ => ExprKind::Template(joined),
    }
}

/// What a string literal means. `{{` is undone in f-strings, also in raw ones.
fn unescape(text: &str, prefix: &str) -> String {
    let has = |mark: char| prefix.chars().any(|c| c.eq_ignore_ascii_case(&mark));
    let braces = has('f') || has('t');
    if !text.contains(['\\', '{', '}', '\r']) || (has('r') && !braces && !text.contains('\r')) {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if !has('r') => escape(&mut chars, &mut plain),
            '{' | '}' if braces => {
                chars.next_if_eq(&c);
                plain.push(c);
            }
            '\r' if chars.peek() == Some(&'\n') => {}
            c => plain.push(c),
        }
    }
    plain
}

fn escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, plain: &mut String) {
    let Some(c) = chars.next() else { return plain.push('\\') };
    let digits = match c {
        'n' => return plain.push('\n'),
        't' => return plain.push('\t'),
        'r' => return plain.push('\r'),
        'a' => return plain.push('\u{7}'),
        'b' => return plain.push('\u{8}'),
        'f' => return plain.push('\u{c}'),
        'v' => return plain.push('\u{b}'),
        '\\' | '\'' | '"' => return plain.push(c),
        '\n' => return,
        '\r' => {
            chars.next_if_eq(&'\n');
            return;
        }
        '0'..='7' => 3,
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => {
            plain.push('\\');
            return plain.push(c);
        }
    };
    let is_octal = c.is_ascii_digit();
    let radix = if is_octal { 8 } else { 16 };
    let mut code = if is_octal { c.to_digit(8).unwrap_or_default() } else { 0 };
    for _ in usize::from(is_octal)..digits {
        let Some(digit) = chars.next_if(|c| c.is_digit(radix)).and_then(|c| c.to_digit(radix)) else { break };
        code = code.saturating_mul(radix).saturating_add(digit);
    }
    plain.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
}

/// A format of more pieces than this is not taken apart, for filling one costs pieces times arguments.
const PIECES_MOST: usize = 500;

/// A piece of a format string.
enum Piece {
    Text(String),
    /// What is put here: nothing said, a number, or a name with what is taken of it.
    Hole(String),
}

/// `"a %s" % right`. What is not simple becomes the whole format followed by what goes into it.
pub(super) fn percent(format: Expr, right: Expr, is_tuple: bool) -> ExprKind {
    let span = right.span;
    let args: Vec<Arg> = match right.kind {
        ExprKind::List(parts) if is_tuple => parts.into_iter().map(|value| Arg { name: None, value }).collect(),
        ExprKind::Object { of: None, fields } if fields.iter().all(|(key, _)| key.is_some()) => {
            fields.into_iter().map(|(name, value)| Arg { name, value }).collect()
        }
        kind => vec![Arg { name: None, value: Expr { kind, span } }],
    };
    let pieces = match &format.kind {
        ExprKind::Str(text) => percent_pieces(text).filter(|pieces| pieces.len() <= PIECES_MOST),
        _ => None,
    };
    // `"%(key)s" % row` takes parts of one thing.
    if let (Some(pieces), [Arg { name: None, value }]) = (&pieces, args.as_slice())
        && !is_tuple
        && matches!(value.kind, ExprKind::Name(_))
        && pieces.iter().all(|piece| !matches!(piece, Piece::Hole(key) if key.is_empty()))
    {
        let at = |kind| Expr { kind, span };
        return join(pieces.iter().map(|piece| match piece {
            Piece::Text(text) => at(ExprKind::Str(text.clone())),
            Piece::Hole(key) => {
                let index = Box::new(at(ExprKind::Str(key.clone())));
                at(ExprKind::Index { of: Box::new(value.clone()), index })
            }
        }));
    }
    fill(format, pieces, args)
}

/// `"a {}".format(args)`.
pub(super) fn format(format: Expr, args: Vec<Arg>) -> ExprKind {
    let pieces = match &format.kind {
        ExprKind::Str(text) => brace_pieces(text).filter(|pieces| pieces.len() <= PIECES_MOST),
        _ => None,
    };
    fill(format, pieces, args)
}

/// Puts every argument where the format wants it. That is simple if each is used once; otherwise the order of what they
/// do would not be that of the program, and the format stays whole with the arguments behind it.
fn fill(format: Expr, pieces: Option<Vec<Piece>>, args: Vec<Arg>) -> ExprKind {
    let mut order: Vec<Result<String, usize>> = Vec::new();
    let (mut next, mut simple) = (0, true);
    for piece in pieces.into_iter().flatten() {
        let key = match piece {
            Piece::Text(text) => {
                order.push(Ok(text));
                continue;
            }
            Piece::Hole(key) => key,
        };
        let named = |name: &str| args.iter().position(|arg| arg.name.as_deref() == Some(name));
        let index = if key.is_empty() {
            next += 1;
            Some(next - 1)
        } else {
            key.parse().ok().or_else(|| named(&key))
        };
        match index
            .filter(|index| args.get(*index).is_some_and(|arg| key.parse::<usize>().is_err() || arg.name.is_none()))
        {
            Some(index) => order.push(Err(index)),
            None => simple = false,
        }
    }
    let plain = |arg: &Arg| matches!(arg.value.kind, ExprKind::Name(_) | ExprKind::Num(_));
    simple &= !order.is_empty() && !args.iter().any(|arg| matches!(arg.value.kind, ExprKind::Spread(_)));
    simple &= args.iter().enumerate().all(|(index, arg)| {
        let uses = order.iter().filter(|part| **part == Err(index)).count();
        uses == 1 || plain(arg)
    });
    if !simple {
        return join(std::iter::once(format).chain(args.into_iter().map(|arg| arg.value)));
    }
    let span = format.span;
    join(order.into_iter().filter_map(|part| match part {
        Ok(text) => Some(Expr { kind: ExprKind::Str(text), span }),
        Err(index) => args.get(index).map(|arg| arg.value.clone()),
    }))
}

/// `None` for a `*` width, which takes an argument of its own.
fn percent_pieces(text: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        pieces.push(Piece::Text(before.to_owned()));
        if let Some(after) = after.strip_prefix('%') {
            pieces.push(Piece::Text("%".to_owned()));
            rest = after;
            continue;
        }
        let (key, after) = match after.strip_prefix('(').and_then(|named| named.split_once(')')) {
            Some((key, after)) => (key, after),
            None => ("", after),
        };
        let after = after.trim_start_matches(|c: char| c.is_ascii_digit() || "#- +.hlL".contains(c));
        let mut chars = after.chars();
        chars.next().filter(char::is_ascii_alphabetic)?;
        pieces.push(Piece::Hole(key.to_owned()));
        rest = chars.as_str();
    }
    pieces.push(Piece::Text(rest.to_owned()));
    Some(pieces)
}

/// `None` for holes that take a part of an argument or have holes in their format.
fn brace_pieces(text: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at_checked(at)?;
        pieces.push(Piece::Text(before.to_owned()));
        if let Some(after) = from.strip_prefix("{{") {
            pieces.push(Piece::Text("{".to_owned()));
            rest = after;
        } else if let Some(after) = from.strip_prefix("}}") {
            pieces.push(Piece::Text("}".to_owned()));
            rest = after;
        } else {
            let (hole, after) = from.strip_prefix('{')?.split_once('}')?;
            let key = hole.split([':', '!']).next().unwrap_or_default();
            if hole.contains('{') || key.contains(['.', '[']) {
                return None;
            }
            pieces.push(Piece::Hole(key.to_owned()));
            rest = after;
        }
    }
    pieces.push(Piece::Text(rest.to_owned()));
    Some(pieces)
}
