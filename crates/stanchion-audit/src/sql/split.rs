//! One statement at a time, and what can be taken out of its tokens whatever else it says: row locks and advisory locks.

use super::scan;
use super::token::{Kind, Token};
use super::{Advisory, LockAction, LockKind};

/// Row locks a statement asks for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowLocks {
    pub(super) for_update: bool,
    pub(super) for_share: bool,
    pub(super) skip_locked: bool,
    pub(super) nowait: bool,
}

/// Splits at semicolons, but not inside the body of a function or trigger.
pub(super) fn statements(tokens: Vec<Token>) -> Vec<Vec<Token>> {
    let mut all = Vec::new();
    let mut current: Vec<Token> = Vec::new();
    let mut nested = 0_usize;
    for token in tokens {
        let routine = current.first().is_some_and(|first| first.is("CREATE"))
            && current.iter().take(6).any(|token| token.is_any(&["TRIGGER", "FUNCTION", "PROCEDURE", "EVENT"]));
        if routine && token.is_any(&["BEGIN", "CASE"]) {
            nested += 1;
        } else if routine && token.is("END") {
            nested = nested.saturating_sub(1);
        }
        if token.is_symbol(';') && nested == 0 {
            if !current.is_empty() {
                all.push(std::mem::take(&mut current));
            }
        } else {
            current.push(token);
        }
    }
    if !current.is_empty() {
        all.push(current);
    }
    all
}

/// T-SQL's `IF [NOT] EXISTS (select) statement`: two statements, one after the other.
pub(super) fn condition(tokens: &[Token]) -> Option<(&[Token], &[Token])> {
    let mut at = 1;
    if !tokens.first()?.is("IF") {
        return None;
    }
    while tokens.get(at)?.is_any(&["NOT", "EXISTS"]) {
        at += 1;
    }
    let end = scan::closing(tokens, at)?;
    let select = tokens.get(at + 1..end)?;
    let mut rest = tokens.get(end + 1..)?;
    if let [first, inner @ ..] = rest
        && first.is("BEGIN")
    {
        rest = inner;
    }
    (!select.is_empty() && !rest.is_empty()).then_some((select, rest))
}

/// Takes row locks out, because no dialect knows all of their spellings.
pub(super) fn row_locks(tokens: &[Token]) -> (Vec<Token>, RowLocks) {
    let mut held = RowLocks::default();
    let mut out = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let word = |ahead: usize, word: &str| tokens.get(at + ahead).is_some_and(|token| token.is(word));
        let length = if token.is("FOR") && word(1, "UPDATE") {
            held.for_update = true;
            2
        } else if token.is("FOR") && word(1, "NO") && word(2, "KEY") && word(3, "UPDATE") {
            held.for_update = true;
            4
        } else if token.is("FOR") && word(1, "SHARE") {
            held.for_share = true;
            2
        } else if token.is("FOR") && word(1, "KEY") && word(2, "SHARE") {
            held.for_share = true;
            3
        } else if token.is("LOCK") && word(1, "IN") && word(2, "SHARE") && word(3, "MODE") {
            held.for_share = true;
            4
        } else if token.is("WITH") && tokens.get(at + 1).is_some_and(|token| token.is_symbol('(')) {
            table_hints(tokens, at + 1, &mut held).map_or(0, |end| end + 1 - at)
        } else {
            0
        };
        if length == 0 {
            out.push(token.clone());
            at += 1;
            continue;
        }
        let hints = token.is("WITH");
        at += length;
        if !hints {
            at = lock_options(tokens, at, &mut held);
        }
    }
    (out, held)
}

/// `OF a, b`, `NOWAIT`, `SKIP LOCKED`, `WAIT 5`.
fn lock_options(tokens: &[Token], mut at: usize, held: &mut RowLocks) -> usize {
    let word = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is(word));
    if word(at, "OF") {
        at += 2;
        while tokens.get(at).is_some_and(|token| token.is_symbol(',') || token.is_symbol('.')) {
            at += 2;
        }
    }
    if word(at, "NOWAIT") {
        held.nowait = true;
        at += 1;
    } else if word(at, "SKIP") && word(at + 1, "LOCKED") {
        held.skip_locked = true;
        at += 2;
    } else if word(at, "WAIT") {
        at += 2;
    }
    at
}

/// T-SQL's `WITH (UPDLOCK, …)`: its end, if it is one.
fn table_hints(tokens: &[Token], open: usize, held: &mut RowLocks) -> Option<usize> {
    const HINTS: &[&str] = &[
        "UPDLOCK",
        "XLOCK",
        "TABLOCKX",
        "HOLDLOCK",
        "SERIALIZABLE",
        "REPEATABLEREAD",
        "READPAST",
        "NOWAIT",
        "ROWLOCK",
        "PAGLOCK",
        "TABLOCK",
        "NOLOCK",
        "READCOMMITTED",
        "READUNCOMMITTED",
        "READCOMMITTEDLOCK",
        "SNAPSHOT",
    ];
    let end = scan::closing(tokens.get(..tokens.len().min(open + 32))?, open)?;
    let inside = tokens.get(open + 1..end)?;
    if inside.is_empty() || !inside.iter().all(|token| token.is_symbol(',') || token.is_any(HINTS)) {
        return None;
    }
    for token in inside {
        held.for_update |= token.is_any(&["UPDLOCK", "XLOCK", "TABLOCKX"]);
        held.for_share |= token.is_any(&["HOLDLOCK", "SERIALIZABLE", "REPEATABLEREAD", "TABLOCK"]);
        held.skip_locked |= token.is("READPAST");
        held.nowait |= token.is("NOWAIT");
    }
    Some(end)
}

/// All calls of advisory lock functions.
pub(super) fn advisory(tokens: &[Token]) -> Vec<Advisory> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let name = token.text.to_ascii_lowercase();
        let function = if token.kind == Kind::Word { lock_function(&name) } else { None };
        let Some((mut kind, action, shared)) = function else { continue };
        let application = name.ends_with("applock");
        let arguments = if application {
            tokens.get(at + 1..).unwrap_or(&[])
        } else {
            let Some(end) = scan::closing(tokens, at + 1) else { continue };
            tokens.get(at + 2..end).unwrap_or(&[])
        };
        let mut key: Vec<_> = scan::parts(arguments, |token| token.is_symbol(',')).map(scan::operand).collect();
        if application {
            // `@Resource = value, @LockOwner = 'Session'`
            let session = arguments.iter().any(|token| token.text.eq_ignore_ascii_case("session"));
            kind = if session { LockKind::Session } else { LockKind::Transaction };
            let first = scan::parts(arguments, |token| token.is_symbol(',')).next().unwrap_or(&[]);
            let value = scan::parts(first, |token| token.is_symbol('=')).last().unwrap_or(&[]);
            key = vec![scan::operand(value)];
        } else if name == "get_lock" {
            key.truncate(1);
        }
        if action == LockAction::UnlockAll {
            key.clear();
        }
        found.push(Advisory { kind, action, shared, key });
    }
    found
}

fn lock_function(name: &str) -> Option<(LockKind, LockAction, bool)> {
    use LockAction::{Lock, TryLock, Unlock, UnlockAll};
    use LockKind::{Session, Transaction};
    let (plain, shared) = name.strip_suffix("_shared").map_or((name, false), |plain| (plain, true));
    let (kind, action) = match plain {
        "pg_advisory_lock" => (Session, Lock),
        "pg_try_advisory_lock" => (Session, TryLock),
        "pg_advisory_xact_lock" => (Transaction, Lock),
        "pg_try_advisory_xact_lock" => (Transaction, TryLock),
        "pg_advisory_unlock" | "release_lock" => (Session, Unlock),
        "pg_advisory_unlock_all" | "release_all_locks" => (Session, UnlockAll),
        // It waits, but at most for the time given: both results must be handled.
        "get_lock" => (Session, TryLock),
        "sp_getapplock" => (Transaction, TryLock),
        "sp_releaseapplock" => (Transaction, Unlock),
        _ => return None,
    };
    Some((kind, action, shared))
}
