//! Whether a string is SQL at all. Most strings of a program are not, so this looks at the first words only.

use super::BEGIN_MODES;
use super::token::{MARK, is_word};

/// Cheap and generous: prose that begins with a verb of SQL is turned away, broken SQL is not.
pub(crate) fn looks_like_sql(text: &str) -> bool {
    let mut text = skip_blank(text);
    while let Some(inner) = text.strip_prefix('(') {
        text = skip_blank(inner);
    }
    let (first, rest) = word(text);
    let same_case = first.chars().all(|c| c.is_ascii_uppercase()) || first.chars().all(|c| c.is_ascii_lowercase());
    if first.len() < 2 || first.len() > 9 || !same_case {
        return false;
    }
    let next = skip_blank(rest);
    let (second, after) = word(next);
    let is = |word: &str, known: &[&str]| known.iter().any(|known| known.eq_ignore_ascii_case(word));
    let ends = next.is_empty() || next.starts_with(';');
    match first.to_ascii_uppercase().as_str() {
        "SELECT" => selects(next, second, after),
        "INSERT" => is(second, &["INTO", "OR", "IGNORE", "OVERWRITE"]) || has_word(next, "VALUES"),
        "REPLACE" | "UPSERT" => is(second, &["INTO"]),
        "UPDATE" => has_word(next, "SET"),
        "DELETE" => (is(second, &["FROM"]) && !prose(after)) || (has_word(next, "WHERE") && !prose(next)),
        "TRUNCATE" => is(second, &["TABLE"]),
        "MERGE" => has_word(next, "USING"),
        "WITH" => with(next),
        "BEGIN" => ends || is(second, BEGIN_MODES),
        "COMMIT" | "ROLLBACK" => ends || is(second, &["TRANSACTION", "TRAN", "WORK", "TO", "AND"]),
        // As plain words these are too common: events, commands.
        "END" | "ABORT" => (ends && first.starts_with(char::is_uppercase)) || is(second, &["TRANSACTION"]),
        "START" => is(second, &["TRANSACTION"]),
        "SAVEPOINT" | "PRAGMA" => !second.is_empty(),
        "RELEASE" => is(second, &["SAVEPOINT"]),
        "SET" => {
            is(second, &["TRANSACTION", "SESSION", "LOCAL", "GLOBAL"])
                || (!second.is_empty() && skip_blank(after).starts_with('='))
                || (!second.is_empty() && is(word(skip_blank(after)).0, &["TO"]) && !prose(next))
        }
        "LOCK" => is(second, &["TABLE", "TABLES"]) || has_word(next, "MODE"),
        "UNLOCK" => is(second, &["TABLES", "TABLE"]),
        "CREATE" => {
            const KINDS: &[&str] = &[
                "TABLE",
                "UNIQUE",
                "INDEX",
                "TEMP",
                "TEMPORARY",
                "UNLOGGED",
                "OR",
                "TRIGGER",
                "VIEW",
                "FUNCTION",
                "PROCEDURE",
                "SCHEMA",
                "DATABASE",
                "TYPE",
                "EXTENSION",
                "SEQUENCE",
                "VIRTUAL",
                "MATERIALIZED",
            ];
            is(second, KINDS)
        }
        "ALTER" | "DROP" => {
            is(second, &["TABLE", "INDEX", "VIEW", "TYPE", "SEQUENCE", "DATABASE", "SCHEMA", "TRIGGER", "FUNCTION"])
        }
        "IF" => is(second, &["NOT", "EXISTS"]) && has_word(next, "SELECT"),
        "DO" => next.starts_with('$'),
        "CALL" => skip_blank(after).starts_with('('),
        "EXEC" | "EXECUTE" => !second.is_empty() && !prose(next),
        "EXPLAIN" => is(second, &["ANALYZE", "QUERY", "SELECT", "UPDATE", "INSERT", "DELETE"]),
        "VALUES" => next.starts_with('('),
        "ATTACH" => is(second, &["DATABASE"]),
        "DECLARE" => next.starts_with('@'),
        "VACUUM" | "ANALYZE" | "REINDEX" => ends,
        _ => false,
    }
}

fn selects(next: &str, second: &str, after: &str) -> bool {
    let start = next.chars().next();
    if start.is_some_and(|c| c.is_ascii_digit() || "*'\"`([@?$:%".contains(c)) || after.starts_with('(') {
        return true;
    }
    if second.is_empty() || prose(next) {
        return false;
    }
    find_word(next, "FROM").map_or(next.starts_with(MARK), |from| !prose(skip_blank(from)))
}

/// `name [(columns)] AS [NOT] [MATERIALIZED] (`.
fn with(text: &str) -> bool {
    let (mut name, mut rest) = word(text);
    if name.eq_ignore_ascii_case("RECURSIVE") {
        (name, rest) = word(skip_blank(rest));
    }
    if name.is_empty() {
        rest = text.trim_start_matches(|c: char| is_word(c) || matches!(c, '"' | '`' | '[' | ']'));
    }
    find_word(rest, "AS").is_some_and(|rest| {
        let rest = skip_blank(rest);
        rest.starts_with('(') || matches!(word(rest).0.to_ascii_uppercase().as_str(), "NOT" | "MATERIALIZED")
    })
}

/// Begins like an English sentence.
fn prose(text: &str) -> bool {
    let first = word(skip_blank(text)).0.to_ascii_lowercase();
    matches!(first.as_str(), "the" | "your" | "this" | "that" | "these" | "those" | "our" | "my" | "an" | "one")
}

/// Without blanks and comments.
fn skip_blank(mut text: &str) -> &str {
    loop {
        text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{FEFF}');
        text = if text.starts_with("--") {
            text.split_once('\n').map_or("", |(_, rest)| rest)
        } else if text.starts_with("/*") {
            text.split_once("*/").map_or("", |(_, rest)| rest)
        } else {
            return text;
        };
    }
}

fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(is_word(c) || c.is_ascii_digit())).unwrap_or(text.len());
    text.split_at(end)
}

fn has_word(text: &str, wanted: &str) -> bool {
    find_word(text, wanted).is_some()
}

/// What follows the first such word.
fn find_word<'a>(text: &'a str, wanted: &str) -> Option<&'a str> {
    let mut rest = text;
    while !rest.is_empty() {
        let (found, after) = word(rest);
        if found.eq_ignore_ascii_case(wanted) {
            return Some(after);
        }
        rest = after.trim_start_matches(|c: char| !is_word(c));
    }
    None
}
