//! Reads SQL as it stands in source code: with placeholders of all drivers, with holes where the program puts a value,
//! and often only half of a statement.
//!
//! pieces -> [`token`] -> [`split`] -> transactions and locks ([`control`]), keys ([`keys`]), everything else through
//! `sqlparser` ([`parse`], [`convert`]) and, when no dialect accepts it, a plain scan ([`scan`]).

mod control;
mod convert;
mod expr;
mod keys;
mod look;
mod parse;
mod scan;
mod split;
#[cfg(test)]
mod tests;
mod token;

pub(crate) use look::looks_like_sql;

use token::Token;

/// Longer texts are cut here and only scanned.
const MAX_TEXT: usize = 64 * 1024;
/// Further statements of one text are left out.
const MAX_STATEMENTS: usize = 256;
/// `IF EXISTS` inside one another.
const MAX_CONDITIONS: usize = 8;
/// What may follow `BEGIN`.
const BEGIN_MODES: &[&str] =
    &["TRANSACTION", "TRAN", "WORK", "DEFERRED", "IMMEDIATE", "EXCLUSIVE", "CONCURRENT", "ISOLATION", "READ"];

/// A part of a string expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Written text.
    Text(String),
    /// The n-th expression put into it.
    Hole(usize),
}

/// How a statement refers to a bound value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Placeholder {
    /// `$1`, `?1`, `:1`, `{0}`: the number as written; 0 if it is computed.
    Number(u32),
    /// `:name`, `@name`, `$name`, `%(name)s`, `{name}`.
    Name(String),
    /// `?`, `%s`, `{}`: the n-th of the whole text, from 0.
    Position(usize),
}

/// A value in a statement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operand {
    /// Bound by the driver.
    Placeholder(Placeholder),
    /// Put into the text by the program.
    Hole(usize),
    /// Written in the text, without quotes.
    Literal(String),
    /// A column, without its table.
    Column(String),
    /// Computed from these.
    Other(Vec<Operand>),
}

/// What a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Verb {
    Select,
    Insert,
    Update,
    /// Also `TRUNCATE`.
    Delete,
    Merge,
    /// An insert that overwrites an existing row.
    Upsert,
    Begin {
        mode: BeginMode,
        isolation: Option<Isolation>,
    },
    Commit,
    /// Of the whole transaction.
    Rollback,
    /// Sets, releases or goes back to a savepoint: the transaction goes on.
    Savepoint,
    SetIsolation(Isolation),
    /// `for_share` if it only keeps writers out, else `for_update`.
    LockTable,
    CreateTable,
    /// Also `ALTER TABLE` when it adds a unique key.
    CreateIndex,
    /// Its text is in [`Statement::text`].
    #[default]
    Other,
}

/// How SQLite begins; `None` when not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum BeginMode {
    #[default]
    None,
    Deferred,
    Immediate,
    Exclusive,
}

/// Isolation levels, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Snapshot,
    Serializable,
}

/// How a column is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    NotIn,
    Like,
    NotLike,
    IsNull,
    IsNotNull,
}

/// One condition that must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) column: String,
    pub(crate) operator: Operator,
    pub(crate) operand: Operand,
}

/// `column = value` of an update. The column is `*` when the program gives the whole list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) column: String,
    pub(crate) operand: Operand,
    /// The database computes it from the row as it is then: a stale value of the program cannot overwrite it.
    pub(crate) relative: bool,
}

/// What happens when an inserted row exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum OnConflict {
    /// An error.
    #[default]
    None,
    DoNothing,
    DoUpdate,
}

/// How long an advisory lock lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockKind {
    Session,
    Transaction,
}

/// What is done with an advisory lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockAction {
    Lock,
    TryLock,
    Unlock,
    UnlockAll,
}

/// A call of an advisory lock function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Advisory {
    pub(crate) kind: LockKind,
    pub(crate) action: LockAction,
    pub(crate) shared: bool,
    pub(crate) key: Vec<Operand>,
}

/// What rules need to know about one statement.
///
/// Names are lower-case, without schema and quotes. A name the program puts in begins with `{`: `{2}` is hole 2.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Statement {
    pub(crate) verb: Verb,
    /// All tables, also of sub-selects; the one written to is first. Names of `WITH` are not among them.
    pub(crate) tables: Vec<String>,
    /// Columns selected or returned; `*` for all. Columns inside expressions count.
    pub(crate) columns: Vec<String>,
    /// Aggregate functions, lower-case.
    pub(crate) aggregates: Vec<String>,
    pub(crate) set: Vec<Assignment>,
    /// Inserted values; the column is empty when the statement does not name it. Several rows: [`Operand::Other`].
    pub(crate) insert: Vec<(String, Operand)>,
    /// What must all hold: of `WHERE`, of `ON CONFLICT … WHERE`, and of the select inside `WHERE NOT EXISTS`.
    pub(crate) filter: Vec<Condition>,
    /// Columns that are compared after something was made of them: `lower(name) = ?`.
    pub(crate) made_of: Vec<String>,
    /// There are further conditions that [`Statement::filter`] does not show.
    pub(crate) filter_other: bool,
    pub(crate) for_update: bool,
    pub(crate) for_share: bool,
    pub(crate) skip_locked: bool,
    pub(crate) nowait: bool,
    pub(crate) on_conflict: OnConflict,
    pub(crate) not_exists: bool,
    pub(crate) returning: bool,
    pub(crate) limit: Option<Operand>,
    pub(crate) locks: Vec<Advisory>,
    /// Columns that together are unique, primary keys included.
    pub(crate) unique: Vec<Vec<String>>,
    /// Only parts of it could be read.
    pub(crate) partial: bool,
    /// As written, for [`Verb::Other`] alone.
    pub(crate) text: String,
}

/// The statements in a string; none if it is no SQL.
pub(crate) fn read(pieces: &[Piece]) -> Vec<Statement> {
    let (text, holes, cut) = token::join(pieces, MAX_TEXT);
    if !looks_like_sql(&text) {
        return Vec::new();
    }
    let tokens = token::tokens(&text, &holes);
    let mut statements = Vec::new();
    for part in split::statements(tokens) {
        if statements.len() >= MAX_STATEMENTS {
            break;
        }
        statement(&part, cut, 0, &mut statements);
    }
    statements
}

/// The statements of a text without holes.
#[cfg(test)]
pub(crate) fn read_text(text: &str) -> Vec<Statement> {
    read(&[Piece::Text(text.to_owned())])
}

/// The statements of a file that create unique keys; unlike [`read`] it takes a file of any length.
pub(crate) fn read_keys(text: &str) -> Vec<Statement> {
    let tokens = token::tokens(&text.replace(token::MARK, " "), &[]);
    split::statements(tokens).iter().filter_map(|part| keys::read(part)).collect()
}

fn statement(tokens: &[Token], cut: bool, depth: usize, out: &mut Vec<Statement>) {
    if let Some(found) = control::read(tokens).or_else(|| keys::read(tokens)) {
        out.push(found);
        return;
    }
    if depth < MAX_CONDITIONS
        && let Some((condition, rest)) = split::condition(tokens)
    {
        statement(condition, cut, depth + 1, out);
        statement(rest, cut, depth + 1, out);
        return;
    }
    let (tokens, held) = split::row_locks(tokens);
    let locks = split::advisory(&tokens);
    let mut found = if cut { None } else { parse::read(&tokens) }.unwrap_or_else(|| vec![scan::read(&tokens)]);
    for statement in &mut found {
        statement.for_update |= held.for_update;
        statement.for_share |= held.for_share;
        statement.skip_locked |= held.skip_locked;
        statement.nowait |= held.nowait;
        statement.partial |= cut;
        if statement.verb == Verb::Other {
            statement.text = token::text(&tokens);
        }
    }
    if let Some(last) = found.last_mut() {
        last.locks = locks;
    }
    out.append(&mut found);
}
