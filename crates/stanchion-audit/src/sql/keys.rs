//! Unique keys in `CREATE TABLE`, `CREATE UNIQUE INDEX` and `ALTER TABLE`, read from tokens: column types differ too
//! much between databases for one grammar.

use super::scan::{closing, columns_of, parts};
use super::token::{Kind, Token};
use super::{Statement, Verb};

pub(super) fn read(tokens: &[Token]) -> Option<Statement> {
    let first = tokens.first()?;
    if first.is("ALTER") && tokens.get(1)?.is("TABLE") {
        return alter(tokens);
    }
    if !first.is("CREATE") {
        return None;
    }
    let kind =
        tokens.iter().take(8).position(|token| token.is_any(&["TABLE", "INDEX", "TRIGGER", "FUNCTION", "VIEW"]))?;
    match tokens.get(kind)? {
        token if token.is("TABLE") => table(tokens, kind + 1),
        token if token.is("INDEX") => index(tokens, kind),
        _ => None,
    }
}

fn table(tokens: &[Token], at: usize) -> Option<Statement> {
    let (name, after) = name(tokens, at)?;
    let mut found = Statement { verb: Verb::CreateTable, tables: vec![name], ..Statement::default() };
    match tokens.get(after) {
        Some(token) if token.is_symbol('(') => {
            let end = closing(tokens, after);
            found.partial = end.is_none();
            let body = tokens.get(after + 1..end.unwrap_or(tokens.len())).unwrap_or(&[]);
            for item in parts(body, |token| token.is_symbol(',')) {
                found.unique.extend(item_key(item));
                // T-SQL and MySQL may say it twice: at the column and below.
                found.unique.dedup();
            }
        }
        // `CREATE TABLE t AS SELECT …` has no keys.
        _ => found.partial = after >= tokens.len(),
    }
    Some(found)
}

fn index(tokens: &[Token], kind: usize) -> Option<Statement> {
    let on = tokens.iter().position(|token| token.is("ON"))?;
    let (table, mut at) = name(tokens, on + 1)?;
    let mut found = Statement { verb: Verb::CreateIndex, tables: vec![table], ..Statement::default() };
    if tokens.get(at).is_some_and(|token| token.is("USING")) {
        at += 2;
    }
    let end = closing(tokens, at);
    found.partial = end.is_none();
    let unique = tokens.iter().take(kind).any(|token| token.is("UNIQUE"));
    if let Some(end) = end {
        let columns = columns_of(tokens.get(at + 1..end)?);
        // With a condition it says nothing about the other rows.
        let condition = tokens.iter().position(|token| token.is("WHERE")).and_then(|at| tokens.get(at + 1..));
        if unique && condition.is_none_or(|condition| is_of_known(condition, &columns)) {
            found.unique.push(columns);
        }
    }
    Some(found)
}

/// `a IS NOT NULL AND b IS NOT NULL` of an index's own columns: rows without a value never were the same to it.
fn is_of_known(condition: &[Token], columns: &[String]) -> bool {
    parts(condition, |token| token.is("AND")).all(|part| {
        let part = match part {
            [open, inner @ .., close] if open.is_symbol('(') && close.is_symbol(')') => inner,
            part => part,
        };
        let [column, is, not, null] = part else { return false };
        is.is("IS") && not.is("NOT") && null.is("NULL") && column.name().is_some_and(|name| columns.contains(&name))
    })
}

fn alter(tokens: &[Token]) -> Option<Statement> {
    let (table, after) = name(tokens, 2)?;
    let mut found = Statement { verb: Verb::CreateIndex, tables: vec![table], ..Statement::default() };
    for action in parts(tokens.get(after..)?, |token| token.is_symbol(',')) {
        let Some((add, mut item)) = action.split_first() else { continue };
        if !add.is("ADD") {
            continue;
        }
        if let [first, rest @ ..] = item
            && first.is("COLUMN")
        {
            item = rest;
        }
        if item.first().is_some_and(|token| token.is("IF")) {
            item = item.get(3..).unwrap_or(&[]);
        }
        found.unique.extend(item_key(item));
    }
    (!found.unique.is_empty()).then_some(found)
}

/// The key that a column or constraint declares.
fn item_key(item: &[Token]) -> Option<Vec<String>> {
    let mut item = item;
    if item.first()?.is("CONSTRAINT") {
        item = item.get(if item.get(1)?.is_any(&["PRIMARY", "UNIQUE"]) { 1 } else { 2 }..)?;
    }
    let first = item.first()?;
    if first.is_any(&["PRIMARY", "UNIQUE"]) {
        let open = item.iter().position(|token| token.is_symbol('('))?;
        let columns = columns_of(item.get(open + 1..closing(item, open)?)?);
        return (!columns.is_empty()).then_some(columns);
    }
    if first.is_any(&["FOREIGN", "CHECK", "EXCLUDE", "FULLTEXT", "SPATIAL", "LIKE", "PERIOD"]) {
        return None;
    }
    if first.is_any(&["KEY", "INDEX"]) && is_index(item) {
        return None;
    }
    let column = first.name()?;
    let mut depth = 0_usize;
    let mut unique = false;
    for (at, token) in item.iter().enumerate().skip(1) {
        if token.kind == Kind::Symbol {
            depth = match token.text.as_str() {
                "(" => depth + 1,
                ")" => depth.saturating_sub(1),
                _ => depth,
            };
        }
        let primary = token.is("PRIMARY") && item.get(at + 1).is_some_and(|next| next.is("KEY"));
        unique |= depth == 0 && (primary || token.is("UNIQUE"));
    }
    unique.then(|| vec![column])
}

/// `KEY name (a, b)`; but `key TEXT` and `key VARCHAR(20)` are columns that are called so.
fn is_index(item: &[Token]) -> bool {
    let mut after = item.iter().enumerate().skip(1).take(2);
    after.any(|(at, token)| {
        let names = || item.get(at + 1).is_some_and(|token| token.name().is_some());
        token.is("USING") || token.is_symbol('(') && names()
    })
}

/// The last part of the name that begins here, and what follows it.
fn name(tokens: &[Token], mut at: usize) -> Option<(String, usize)> {
    while tokens.get(at)?.is_any(&["IF", "NOT", "EXISTS", "ONLY"]) {
        at += 1;
    }
    let mut name = tokens.get(at)?.name()?;
    at += 1;
    while tokens.get(at).is_some_and(|token| token.is_symbol('.')) {
        name = tokens.get(at + 1)?.name()?;
        at += 2;
    }
    Some((name, at))
}
