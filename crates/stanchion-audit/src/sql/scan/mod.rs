//! Reads what no dialect accepts: verb, tables and the simple conditions, straight from the tokens.

mod list;

use list::{after, clause};
pub(super) use list::{closing, columns_of, parts};

use super::token::{Kind, Token, is_keyword};
use super::{Assignment, Condition, OnConflict, Operand, Operator, Statement, Verb};

/// Further values of one expression are left out.
const MAX_VALUES: usize = 32;

/// What can be said of a statement that does not parse.
pub(super) fn read(tokens: &[Token]) -> Statement {
    let mut found = Statement { partial: true, ..Statement::default() };
    let Some((at, verb)) = verb(tokens) else { return found };
    found.verb = verb;
    let body = tokens.get(at..).unwrap_or(&[]);
    let before = tokens.get(..at).unwrap_or(&[]);
    let named: Vec<String> = before
        .windows(2)
        .filter(|pair| matches!(pair, [_, next] if next.is("AS")))
        .filter_map(|pair| pair.first()?.name())
        .collect();
    tables(body, verb, &named, &mut found.tables);
    tables(before, Verb::Select, &named, &mut found.tables);
    found.aggregates = aggregates(tokens);
    found.returning = body.iter().any(|token| token.is_any(&["RETURNING", "OUTPUT"]));
    found.limit =
        after(body, "LIMIT").or_else(|| after(body, "TOP")).and_then(|rest| rest.first()).and_then(Token::value);
    found.not_exists =
        verb == Verb::Insert && body.windows(2).any(|pair| matches!(pair, [a, b] if a.is("NOT") && b.is("EXISTS")));
    match verb {
        Verb::Select => found.columns = columns_of(clause(body.get(1..).unwrap_or(&[]))),
        Verb::Insert | Verb::Upsert => insert(body, &mut found),
        _ => {}
    }
    if verb == Verb::Update
        && let Some(rest) = after(body, "SET")
    {
        set(clause(rest), &mut found);
    }
    if let Some(rest) = after(body, "WHERE") {
        conditions(clause(rest), &mut found);
    }
    found
}

fn verb(tokens: &[Token]) -> Option<(usize, Verb)> {
    let mut depth = 0_usize;
    let with = tokens.first()?.is("WITH");
    for (at, token) in tokens.iter().enumerate() {
        if token.is_symbol('(') && (with || at > 0) {
            depth += 1;
        } else if token.is_symbol(')') {
            depth = depth.saturating_sub(1);
        }
        if depth > 0 || token.kind != Kind::Word {
            continue;
        }
        let verb = match token.text.to_ascii_uppercase().as_str() {
            "SELECT" => Verb::Select,
            "INSERT" => Verb::Insert,
            "REPLACE" | "UPSERT" => Verb::Upsert,
            "UPDATE" => Verb::Update,
            "DELETE" => Verb::Delete,
            "MERGE" => Verb::Merge,
            _ if with => continue,
            _ => return None,
        };
        return Some((at, verb));
    }
    None
}

fn tables(tokens: &[Token], verb: Verb, named: &[String], out: &mut Vec<String>) {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let names = token.is_any(&["FROM", "JOIN", "INTO", "USING"])
            || (at == 0 && matches!(verb, Verb::Update | Verb::Merge | Verb::Insert | Verb::Delete));
        at += 1;
        if !names {
            continue;
        }
        while tokens
            .get(at)
            .is_some_and(|token| token.is_any(&["ONLY", "OR", "IGNORE", "REPLACE", "LATERAL", "LOW_PRIORITY"]))
        {
            at += 1;
        }
        let mut last = None;
        while let Some(name) = tokens.get(at).filter(|token| token.kind != Kind::Word || !is_keyword(&token.text)) {
            last = name.name();
            at += 1;
            if !tokens.get(at).is_some_and(|token| token.is_symbol('.')) {
                break;
            }
            at += 1;
        }
        let function =
            tokens.get(at).is_some_and(|token| token.is_symbol('(')) && !matches!(verb, Verb::Insert | Verb::Upsert);
        if let Some(name) = last.filter(|name| !function && !named.contains(name) && !out.contains(name)) {
            out.push(name);
        }
    }
}

/// Aggregate functions that are called.
pub(super) fn aggregates(tokens: &[Token]) -> Vec<String> {
    let mut found = Vec::new();
    for pair in tokens.windows(2) {
        let [name, next] = pair else { continue };
        let lower = name.text.to_ascii_lowercase();
        if name.kind == Kind::Word && next.is_symbol('(') && is_aggregate(&lower) && !found.contains(&lower) {
            found.push(lower);
        }
    }
    found
}

pub(super) fn is_aggregate(name: &str) -> bool {
    matches!(
        name,
        "count"
            | "sum"
            | "max"
            | "min"
            | "avg"
            | "total"
            | "array_agg"
            | "string_agg"
            | "group_concat"
            | "json_agg"
            | "jsonb_agg"
            | "bool_or"
            | "bool_and"
            | "json_group_array"
            | "every"
            | "count_big"
    )
}

fn insert(body: &[Token], found: &mut Statement) {
    let has = |words: &[&str]| {
        body.windows(words.len()).any(|window| window.iter().zip(words).all(|(token, word)| token.is(word)))
    };
    if has(&["DO", "NOTHING"]) || has(&["INSERT", "IGNORE"]) || has(&["OR", "IGNORE"]) {
        found.on_conflict = OnConflict::DoNothing;
    } else if found.verb == Verb::Upsert
        || has(&["DO", "UPDATE"])
        || has(&["DUPLICATE", "KEY"])
        || has(&["OR", "REPLACE"])
    {
        found.on_conflict = OnConflict::DoUpdate;
        found.verb = Verb::Upsert;
        let rest = after(body, "DUPLICATE").or_else(|| after(body, "DO")).and_then(|rest| after(rest, "UPDATE"));
        if let Some(rest) = rest {
            let rest = rest.strip_prefix_word("SET");
            set(clause(rest), found);
        }
    }
    let Some(open) = body.iter().position(|token| token.is_symbol('(')) else { return };
    let values = body.iter().position(|token| token.is_any(&["VALUES", "VALUE"]));
    let columns = match values {
        Some(values) if values < open => Vec::new(),
        _ => columns_of(body.get(open + 1..closing(body, open).unwrap_or(body.len())).unwrap_or(&[])),
    };
    let row: Vec<Operand> = values
        .and_then(|values| {
            let open = values + 1;
            let inside = body.get(open + 1..closing(body, open).unwrap_or(body.len()))?;
            Some(parts(inside, |token| token.is_symbol(',')).map(operand).collect())
        })
        .unwrap_or_default();
    for at in 0..columns.len().max(row.len()) {
        let value = row.get(at).cloned().unwrap_or_else(|| Operand::Other(Vec::new()));
        found.insert.push((columns.get(at).cloned().unwrap_or_default(), value));
    }
}

trait Words {
    fn strip_prefix_word(&self, word: &str) -> &Self;
}

impl Words for [Token] {
    fn strip_prefix_word(&self, word: &str) -> &Self {
        match self {
            [first, rest @ ..] if first.is(word) => rest,
            _ => self,
        }
    }
}

fn set(tokens: &[Token], found: &mut Statement) {
    for item in parts(tokens, |token| token.is_symbol(',')) {
        let Some(equal) = item.iter().position(|token| token.is_symbol('=')) else {
            // The program puts the list in.
            if let Some(operand) = item.first().and_then(|token| token.operand.clone()) {
                found.set.push(Assignment { column: "*".to_owned(), operand, relative: false });
            }
            continue;
        };
        let Some(column) = equal.checked_sub(1).and_then(|at| item.get(at)).and_then(Token::name) else { continue };
        let value = item.get(equal + 1..).unwrap_or(&[]);
        let select = value.iter().any(|token| token.is("SELECT"));
        let operand = operand(value);
        let relative = !select && has_column(&operand);
        found.set.push(Assignment { column, operand, relative });
    }
}

fn has_column(operand: &Operand) -> bool {
    match operand {
        Operand::Column(_) => true,
        Operand::Other(inside) => inside.iter().any(|operand| matches!(operand, Operand::Column(_))),
        _ => false,
    }
}

fn conditions(tokens: &[Token], found: &mut Statement) {
    if parts(tokens, |token| token.is("OR")).nth(1).is_some() {
        found.filter_other = true;
        return;
    }
    for part in parts(tokens, |token| token.is("AND")) {
        match condition(part) {
            Some(condition) => found.filter.push(condition),
            None => found.filter_other = true,
        }
    }
}

/// `[table.]column operator value`; what stands after an operator at the end is not known.
fn condition(tokens: &[Token]) -> Option<Condition> {
    let mut at = 0;
    let mut column = tokens.first()?.name()?;
    while tokens.get(at + 1)?.is_symbol('.') {
        column = tokens.get(at + 2)?.name()?;
        at += 2;
    }
    let rest = tokens.get(at + 1..)?;
    let symbols: String = rest
        .iter()
        .take_while(|token| token.kind == Kind::Symbol && "=<>!".contains(&token.text))
        .map(|token| token.text.as_str())
        .collect();
    let words: Vec<String> = rest
        .iter()
        .take_while(|token| token.is_any(&["IS", "NOT", "NULL", "IN", "LIKE", "ILIKE"]))
        .map(|token| token.text.to_ascii_uppercase())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let operator = match (symbols.as_str(), words.as_slice()) {
        ("=" | "==", _) => Operator::Equal,
        ("<>" | "!=", _) => Operator::NotEqual,
        ("<", _) => Operator::Less,
        ("<=", _) => Operator::LessEqual,
        (">", _) => Operator::Greater,
        (">=", _) => Operator::GreaterEqual,
        (_, ["IS", "NULL"]) => Operator::IsNull,
        (_, ["IS", "NOT", "NULL"]) => Operator::IsNotNull,
        (_, ["IN"]) => Operator::In,
        (_, ["NOT", "IN"]) => Operator::NotIn,
        (_, ["LIKE" | "ILIKE"]) => Operator::Like,
        (_, ["NOT", "LIKE" | "ILIKE"]) => Operator::NotLike,
        _ => return None,
    };
    let value = rest.get(symbols.len().max(words.len())..)?;
    let operand = if matches!(operator, Operator::IsNull | Operator::IsNotNull) {
        Operand::Literal("NULL".to_owned())
    } else {
        operand(value)
    };
    Some(Condition { column, operator, operand })
}

/// What an expression is computed from.
pub(super) fn operand(tokens: &[Token]) -> Operand {
    let mut values = Vec::new();
    let mut cast = false;
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1);
        let called = next.is_some_and(|next| next.is_symbol('(') || next.is_symbol('.'));
        let literal = token.is_any(&["NULL", "TRUE", "FALSE", "DEFAULT"]);
        match token.kind {
            _ if values.len() >= MAX_VALUES => break,
            Kind::Symbol => cast = token.is_symbol(':') || (cast && token.is_symbol('.')),
            Kind::Word if literal => values.push(Operand::Literal(token.text.to_ascii_uppercase())),
            Kind::Word if called || cast || is_keyword(&token.text) => cast = token.is("AS"),
            Kind::Word => values.push(Operand::Column(token.text.to_lowercase())),
            _ => values.extend(token.value()),
        }
    }
    match values.as_slice() {
        // Only a value by itself, or with a cast, is that value.
        [only] if tokens.len() == 1 || is_plain(tokens) => only.clone(),
        _ => Operand::Other(values),
    }
}

fn is_plain(tokens: &[Token]) -> bool {
    let path = tokens.iter().all(|token| token.kind != Kind::Symbol || token.is_symbol('.'));
    let cast = matches!(tokens, [_, a, b, ..] if a.is_symbol(':') && b.is_symbol(':'));
    let list = matches!(tokens, [open, _, close] if open.is_symbol('(') && close.is_symbol(')'));
    path || cast || list
}
