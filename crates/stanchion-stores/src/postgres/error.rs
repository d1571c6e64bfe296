//! What PostgreSQL's errors mean to a caller: did anything run?

use std::error::Error as _;

use stanchion_core::{Error, ErrorKind};
use tokio_postgres::error::SqlState;

/// What a lost answer can mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing: the statement only looks.
    Read,
    /// The statement may have been committed.
    Write,
}

/// No connection could be made; nothing was sent.
pub(crate) fn connecting(error: tokio_postgres::Error, host: &str) -> Error {
    let kind = match error.code() {
        Some(code) if is_refusal(code) => ErrorKind::Denied,
        Some(code) if *code == SqlState::INVALID_CATALOG_NAME => ErrorKind::Invalid,
        // A password that we do not have and the server wants, or a proof of the server's that was wrong.
        None if ["authentication error", "invalid configuration"].contains(&error.to_string().as_str()) => {
            ErrorKind::Denied
        }
        _ => ErrorKind::Unavailable,
    };
    let said = said(&error);
    let built = match kind {
        ErrorKind::Unavailable if said.contains("TLS") => {
            Error::new(kind, "no TLS connection to PostgreSQL was agreed on")
                .hint("check sslmode and sslrootcert; a certificate that is its own authority cannot be verified here")
        }
        ErrorKind::Denied => Error::new(kind, "PostgreSQL refused us").hint("check user, password and pg_hba.conf"),
        ErrorKind::Invalid => {
            Error::new(kind, "this database does not exist").hint("create it, or name another one in the store")
        }
        _ => {
            Error::new(kind, "PostgreSQL cannot be reached").hint("is the server running, and are host and port right?")
        }
    };
    built.with("host", host).with("said", said)
}

/// A statement was sent and did not succeed.
pub(crate) fn running(error: tokio_postgres::Error, host: &str, effect: Effect) -> Error {
    let said = said(&error);
    let built = match error.code() {
        Some(code) if is_refusal(code) => Error::new(ErrorKind::Denied, "PostgreSQL does not let this role do that")
            .hint("grant the role what it needs"),
        // The server may have committed before it was told to stop, and its last word replaces the answer; a pooler
        // whose server connection broke says 08.
        Some(code) if matches!(&code.code()[..2], "08") || code.code().starts_with("57P") => {
            return lost(host, effect).with("said", said);
        }
        Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => return running_on_standby(host),
        Some(code) if is_rollback(code) => Error::new(ErrorKind::Unavailable, "PostgreSQL rolled back again and again"),
        Some(code) if matches!(&code.code()[..2], "53" | "58" | "55") => {
            Error::new(ErrorKind::Unavailable, "PostgreSQL rolled back for want of a resource")
        }
        Some(code) if code.code().starts_with("XX") => Error::new(ErrorKind::Damaged, "PostgreSQL found damage"),
        Some(code) if code.code().starts_with("22") => {
            Error::new(ErrorKind::Invalid, "PostgreSQL cannot store this value")
        }
        // A statement that failed was rolled back, but nobody expected this one.
        Some(_) => Error::new(ErrorKind::Unexpected, "PostgreSQL refused a statement"),
        None => return lost(host, effect).with("said", said),
    };
    built.with("host", host).with("said", said)
}

/// The server cannot write.
pub(crate) fn running_on_standby(host: &str) -> Error {
    Error::new(ErrorKind::Unavailable, "this server only reads: it is a standby, or read-only")
        .with("host", host)
        .hint("name the primary in the store's URL")
}

/// The answer is lost.
pub(crate) fn lost(host: &str, effect: Effect) -> Error {
    match effect {
        Effect::Read => Error::new(ErrorKind::Unavailable, "PostgreSQL did not answer"),
        Effect::Write => {
            Error::new(ErrorKind::OutcomeUnknown, "PostgreSQL did not answer; the statement may have been committed")
                .hint("look before you try again")
        }
    }
    .with("host", host)
}

/// Serialization failures and dead-locks: the transaction certainly rolled back, so it may run again.
pub(crate) fn is_rollback(code: &SqlState) -> bool {
    [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code)
}

fn is_refusal(code: &SqlState) -> bool {
    code.code().starts_with("28") || *code == SqlState::INSUFFICIENT_PRIVILEGE
}

/// The server's words. They name users, databases and tables, never a password.
pub(crate) fn said(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(db), _) => format!("{} [{}]", db.message(), db.code().code()),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    }
}
