//! Transactions, isolation levels, table locks and settings: a few words each, read by hand.

use super::token::{self, Token};
use super::{BEGIN_MODES, BeginMode, Isolation, Statement, Verb};

pub(super) fn read(tokens: &[Token]) -> Option<Statement> {
    let first = tokens.first()?;
    let second = |words: &[&str]| tokens.get(1).is_some_and(|token| token.is_any(words));
    let alone = tokens.len() == 1;
    let plain = |verb| Some(Statement { verb, ..Statement::default() });
    match first.text.to_ascii_uppercase().as_str() {
        _ if first.kind != token::Kind::Word => None,
        "BEGIN" | "START" => {
            if !(second(BEGIN_MODES) || second(&["NOT", "DEFERRABLE"]) || (alone && first.is("BEGIN"))) {
                return other(tokens);
            }
            plain(Verb::Begin { mode: mode(tokens), isolation: isolation(tokens) })
        }
        "COMMIT" => plain(Verb::Commit),
        "END" if alone || second(&["TRANSACTION", "WORK"]) => plain(Verb::Commit),
        "ROLLBACK" | "ABORT" => {
            let back = tokens.iter().any(|token| token.is_any(&["TO", "SAVEPOINT"]));
            plain(if back { Verb::Savepoint } else { Verb::Rollback })
        }
        "SAVEPOINT" | "RELEASE" => plain(Verb::Savepoint),
        // T-SQL names them so.
        "SAVE" if second(&["TRAN", "TRANSACTION"]) => plain(Verb::Savepoint),
        "SET" => match isolation(tokens) {
            Some(level) => plain(Verb::SetIsolation(level)),
            None => other(tokens),
        },
        "LOCK" => Some(lock_table(tokens)),
        "PRAGMA" | "UNLOCK" | "DROP" | "EXPLAIN" | "VACUUM" | "ATTACH" | "DO" | "DECLARE" | "ANALYZE" => other(tokens),
        "TRUNCATE" => {
            let name = tokens.iter().skip(1).find(|token| !token.is_any(&["TABLE", "ONLY"]))?;
            let tables = name.name().into_iter().collect();
            Some(Statement { verb: Verb::Delete, tables, ..Statement::default() })
        }
        _ => None,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "stands where a statement may be missing")]
fn other(tokens: &[Token]) -> Option<Statement> {
    Some(Statement { text: token::text(tokens), ..Statement::default() })
}

fn mode(tokens: &[Token]) -> BeginMode {
    let has = |word: &str| tokens.iter().any(|token| token.is(word));
    if has("IMMEDIATE") {
        BeginMode::Immediate
    } else if has("EXCLUSIVE") {
        BeginMode::Exclusive
    } else if has("DEFERRED") {
        BeginMode::Deferred
    } else {
        BeginMode::None
    }
}

/// `ISOLATION LEVEL …`, or PostgreSQL's and MySQL's settings of that name.
fn isolation(tokens: &[Token]) -> Option<Isolation> {
    let at = tokens.iter().position(|token| {
        token.is("ISOLATION")
            || token.text.to_ascii_lowercase().ends_with("transaction_isolation")
            || token.is("TX_ISOLATION")
    })?;
    let words: Vec<String> = tokens
        .iter()
        .skip(at + 1)
        .flat_map(|token| token.text.split([' ', '-']))
        .map(str::to_ascii_uppercase)
        .collect();
    let has = |word: &str| words.iter().any(|known| known == word);
    if has("SERIALIZABLE") {
        Some(Isolation::Serializable)
    } else if has("REPEATABLE") {
        Some(Isolation::RepeatableRead)
    } else if has("UNCOMMITTED") {
        Some(Isolation::ReadUncommitted)
    } else if has("COMMITTED") {
        Some(Isolation::ReadCommitted)
    } else if has("SNAPSHOT") {
        Some(Isolation::Snapshot)
    } else {
        None
    }
}

/// `LOCK TABLE a, b IN SHARE MODE NOWAIT` and MySQL's `LOCK TABLES a READ, b AS x WRITE`.
fn lock_table(tokens: &[Token]) -> Statement {
    let mut found = Statement { verb: Verb::LockTable, ..Statement::default() };
    let mut expected = true;
    let mut tail = tokens.len();
    for (at, token) in tokens.iter().enumerate().skip(1) {
        if token.is("IN") {
            tail = at;
            break;
        }
        if token.is_symbol(',') {
            expected = true;
        } else if token.is_symbol('.') {
            found.tables.pop();
            expected = true;
        } else if expected && !token.is_any(&["TABLE", "TABLES", "ONLY"]) {
            found.tables.extend(token.name());
            expected = false;
        }
    }
    let mode = tokens.get(tail..).unwrap_or(&[]);
    let has = |tokens: &[Token], word: &str| tokens.iter().any(|token| token.is(word));
    // PostgreSQL's SHARE and ROW modes let two of the same kind in; MySQL says READ or WRITE per table.
    let exclusive = has(mode, "EXCLUSIVE") && (has(mode, "SHARE") || !has(mode, "ROW"));
    let shared = (has(mode, "SHARE") || has(mode, "ROW")) && !exclusive;
    let reads = tail == tokens.len() && has(tokens, "READ") && !has(tokens, "WRITE");
    found.for_share = shared || reads;
    found.for_update = !found.for_share;
    found.nowait = has(mode, "NOWAIT");
    found
}
