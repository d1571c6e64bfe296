//! Puts tokens into a form that `sqlparser` accepts: whatever is quoted, bound or put in becomes a plain name.

use sqlparser::ast;
use sqlparser::dialect::{Dialect, GenericDialect, MsSqlDialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;

use super::Statement;
use super::convert;
use super::token::{Kind, Token, is_keyword};

/// Longer statements are only scanned.
const MAX_TOKENS: usize = 8192;
/// Chains of operators become trees as deep as they are long, and dropping a tree needs stack.
const MAX_CHAIN: usize = 300;
/// Nesting that the parser may use.
const MAX_DEPTH: usize = 50;
const SLOT: &str = "stanchion_slot_";

/// What a name in a parsed statement stands for.
pub(super) fn slot<'a>(tokens: &'a [Token], name: &str) -> Option<&'a Token> {
    tokens.get(name.strip_prefix(SLOT)?.parse::<usize>().ok()?)
}

/// All slots that a rendered expression mentions.
pub(super) fn slots<'a>(tokens: &'a [Token], rendered: &str) -> Vec<&'a Token> {
    let numbers = rendered.split(SLOT).skip(1).map(|part| {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part.get(..end).unwrap_or("").parse::<usize>()
    });
    numbers.filter_map(|number| tokens.get(number.ok()?)).collect()
}

/// None if no dialect accepts it.
pub(super) fn read(tokens: &[Token]) -> Option<Vec<Statement>> {
    if tokens.len() > MAX_TOKENS || chain(tokens) > MAX_CHAIN {
        return None;
    }
    let tokens = complete(tokens);
    if let Some(statement) = parse(&tokens) {
        return Some(convert::read(&tokens, &statement));
    }
    let repaired = without_stray(&tokens);
    if repaired.len() == tokens.len() {
        return None;
    }
    let mut found = convert::read(&repaired, &parse(&repaired)?);
    for statement in &mut found {
        statement.partial = true;
        statement.filter_other = true;
    }
    Some(found)
}

fn chain(tokens: &[Token]) -> usize {
    const LINKS: &[&str] = &[
        "AND",
        "OR",
        "NOT",
        "IS",
        "IN",
        "LIKE",
        "ILIKE",
        "BETWEEN",
        "UNION",
        "EXCEPT",
        "INTERSECT",
        "COLLATE",
        "AT",
        "DIV",
        "MOD",
        "XOR",
        "OVERLAPS",
    ];
    let link = |token: &&Token| match token.kind {
        Kind::Symbol => !matches!(token.text.as_str(), "," | "(" | ")" | "." | ";"),
        _ => token.is_any(LINKS),
    };
    tokens.iter().filter(link).count()
}

fn parse(tokens: &[Token]) -> Option<ast::Statement> {
    let sql = render(tokens);
    let has = |words: &[&str]| tokens.iter().any(|token| token.is_any(words));
    let mut dialects: Vec<&dyn Dialect> =
        vec![&GenericDialect {}, &PostgreSqlDialect {}, &MySqlDialect {}, &SQLiteDialect {}, &MsSqlDialect {}];
    let cast = tokens.windows(2).any(|pair| matches!(pair, [a, b] if a.is_symbol(':') && b.is_symbol(':')));
    if has(&["DUPLICATE", "IGNORE", "REPLACE"]) {
        dialects.swap(0, 2);
    } else if cast || has(&["RETURNING", "CONFLICT", "USING"]) {
        dialects.swap(0, 1);
    } else if has(&["OUTPUT", "TOP"]) {
        dialects.swap(0, 4);
    }
    for dialect in dialects {
        let parser = Parser::new(dialect).with_recursion_limit(MAX_DEPTH);
        let Ok(parser) = parser.try_with_sql(&sql) else { continue };
        let mut parser = parser;
        let Ok(mut statements) = parser.parse_statements() else { continue };
        if statements.len() == 1 {
            return statements.pop();
        }
    }
    None
}

fn render(tokens: &[Token]) -> String {
    let mut sql = String::with_capacity(tokens.len() * 8);
    for (at, token) in tokens.iter().enumerate() {
        if token.spaced {
            sql.push(' ');
        }
        match token.kind {
            Kind::Word | Kind::Symbol | Kind::Number => sql.push_str(&token.text),
            Kind::Text => sql.push_str(&format!("'{SLOT}{at}'")),
            Kind::Quoted | Kind::Slot => sql.push_str(&format!("{SLOT}{at}")),
        }
        // A slot must not grow into what follows it.
        let glued = tokens.get(at + 1).is_some_and(|next| !next.spaced && next.kind != Kind::Symbol);
        if glued && token.kind != Kind::Symbol {
            sql.push(' ');
        }
    }
    sql
}

/// Adds what drivers add: parentheses around a bound list (`IN ?`, `VALUES %s`), `=` in a bound `SET ?`.
fn complete(tokens: &[Token]) -> Vec<Token> {
    let symbol = |text: &str| Token { kind: Kind::Symbol, text: text.to_owned(), operand: None, spaced: true };
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len() + 8);
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let list = token.kind == Kind::Slot && before.is_some_and(|before| before.is_any(&["IN", "VALUES"]));
        let next = tokens.get(at + 1);
        let ends = next.is_none_or(|next| next.is_any(&["WHERE", "RETURNING", "ON", "ORDER", "LIMIT"]));
        let set = token.kind == Kind::Slot && ends && before.is_some_and(|before| before.is("SET"));
        if list {
            out.extend([symbol("("), token.clone(), symbol(")")]);
        } else if set {
            let star = Token { kind: Kind::Quoted, text: "*".to_owned(), operand: None, spaced: true };
            out.extend([star, symbol("="), Token { spaced: true, ..token.clone() }]);
        } else {
            out.push(token.clone());
        }
    }
    out
}

/// Without holes that stand where no value can: conditions, orders or whole clauses that the program puts in.
fn without_stray(tokens: &[Token]) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        let after_value = out.last().is_some_and(|before| match before.kind {
            Kind::Symbol => before.is_symbol(')') || before.is_symbol('*'),
            Kind::Word => !is_keyword(&before.text) || before.is_any(&["NULL", "TRUE", "FALSE", "ASC", "DESC", "END"]),
            _ => true,
        });
        let verb = out.last().is_some_and(|before| before.is_any(&["DELETE", "INSERT", "TABLE"]));
        // `SELECT a * {n}`: a value after all.
        let product = out.last().is_some_and(|before| before.is_symbol('*'))
            && !tokens.get(at + 1).is_some_and(|next| next.is_any(&["WHERE", "ORDER", "LIMIT"]));
        if token.kind == Kind::Slot && after_value && !verb && !product {
            continue;
        }
        out.push(token.clone());
    }
    // `WHERE a = 1 AND {…}` is complete; `WHERE {…}` was dropped above only after a value.
    while out.last().is_some_and(|last| last.is_any(&["AND", "OR", "WHERE"])) {
        out.pop();
    }
    out
}
