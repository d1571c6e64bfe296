//! Lists, clauses and parentheses in tokens.

use crate::sql::token::{Kind, Token, is_keyword};

/// Words that end a list of conditions or assignments.
const CLAUSES: &[&str] = &[
    "WHERE",
    "GROUP",
    "ORDER",
    "LIMIT",
    "RETURNING",
    "HAVING",
    "UNION",
    "OFFSET",
    "FETCH",
    "FROM",
    "ON",
    "WINDOW",
    "OUTPUT",
    "OPTION",
];

/// The columns in a list; `*` for all.
pub(in crate::sql) fn columns_of(tokens: &[Token]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let next = tokens.get(at + 1);
        let prefix = next.is_some_and(|next| next.is_symbol('('))
            && !tokens.get(at + 2).is_some_and(|length| length.kind == Kind::Number);
        let all = token.is_symbol('*')
            && before.is_none_or(|before| before.is_symbol(',') || before.is_symbol('.') || before.kind == Kind::Word);
        // `AS total` and `name text_pattern_ops`: a second word is no column.
        let second = before.is_some_and(|before| {
            matches!(before.kind, Kind::Quoted | Kind::Slot)
                || before.is_symbol(')')
                || (before.kind == Kind::Word
                    && !before.is_any(&["DISTINCT", "ALL", "WHEN", "THEN", "ELSE", "AND", "OR", "NOT", "BY"]))
        });
        let skip = prefix
            || second
            || next.is_some_and(|next| next.is_symbol('.'))
            || (token.kind == Kind::Word && is_keyword(&token.text));
        if all {
            found.push("*".to_owned());
        } else if !skip
            && matches!(token.kind, Kind::Word | Kind::Quoted | Kind::Slot)
            && let Some(name) = token.name()
            && !found.contains(&name)
        {
            found.push(name);
        }
    }
    found
}

/// What follows the first such keyword outside parentheses.
pub(in crate::sql) fn after<'a>(tokens: &'a [Token], word: &str) -> Option<&'a [Token]> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        if token.is_symbol('(') {
            depth += 1;
        } else if token.is_symbol(')') {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && token.is(word) {
            return tokens.get(at + 1..);
        }
    }
    None
}

/// Up to the next clause outside parentheses.
pub(in crate::sql) fn clause(tokens: &[Token]) -> &[Token] {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        if token.is_symbol('(') {
            depth += 1;
        } else if token.is_symbol(')') {
            if depth == 0 {
                return tokens.get(..at).unwrap_or(&[]);
            }
            depth -= 1;
        } else if depth == 0 && token.is_any(CLAUSES) {
            return tokens.get(..at).unwrap_or(&[]);
        }
    }
    tokens
}

/// Where the parenthesis that opens at `open` closes.
pub(in crate::sql) fn closing(tokens: &[Token], open: usize) -> Option<usize> {
    if !tokens.get(open)?.is_symbol('(') {
        return None;
    }
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        if token.is_symbol('(') {
            depth += 1;
        } else if token.is_symbol(')') {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

/// Splits outside parentheses and brackets; empty parts are left out.
pub(in crate::sql) fn parts<'a>(
    tokens: &'a [Token],
    cut: impl Fn(&Token) -> bool + 'a,
) -> impl Iterator<Item = &'a [Token]> {
    let mut depth = 0_usize;
    tokens
        .split(move |token| {
            if token.is_symbol('(') || token.is_symbol('[') {
                depth += 1;
            } else if token.is_symbol(')') || token.is_symbol(']') {
                depth = depth.saturating_sub(1);
            }
            depth == 0 && cut(token)
        })
        .filter(|part| !part.is_empty())
}
