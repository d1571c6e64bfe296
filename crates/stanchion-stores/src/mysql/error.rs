//! What the database's errors mean to a caller: did anything run?

use mysql_async::{DriverError, Error as Driver, IoError};
use stanchion_core::{Error, ErrorKind};

/// What a lost answer can mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing: the statement only looks.
    Read,
    /// The statement may have been committed.
    Write,
}

pub(super) const DUPLICATE: u16 = 1062;
const NO_SUCH_THREAD: u16 = 1094;
const NOT_OUR_THREAD: u16 = 1095;
pub(super) const INTERRUPTED: u16 = 1317;
/// The last word of a session that was ended by hand.
pub(super) const KILLED: u16 = 1927;
const LOCK_WAIT: u16 = 1205;
const DEADLOCK: u16 = 1213;

/// The number of the server's own error.
pub(crate) fn code(error: &Driver) -> Option<u16> {
    if let Driver::Server(e) = error { Some(e.code) } else { None }
}

/// Dead-locks and waits for a row that ended: the statement certainly did nothing, so it may run again.
pub(crate) fn is_rollback(error: &Driver) -> bool {
    matches!(code(error), Some(DEADLOCK))
}

/// A call that reached nobody; everything before it in its packet was done.
pub(crate) fn is_uncalled(error: &Driver) -> bool {
    matches!(code(error), Some(NO_SUCH_THREAD | NOT_OUR_THREAD))
}

/// No connection could be made; nothing was sent.
pub(crate) fn connecting(error: Driver, host: &str) -> Error {
    let said = said(&error);
    let built = match (code(&error), &error) {
        (Some(1044 | 1045 | 1698 | 1130 | 1820 | 1862 | 3118), _) => {
            Error::new(ErrorKind::Denied, "the database refused us").hint(
                "check user, password, host and grants; a server that wants TLS may say this, too: ssl-mode=required",
            )
        }
        (Some(1049), _) => Error::new(ErrorKind::Invalid, "this database does not exist")
            .hint("create it, or name another one in the store"),
        (Some(1040 | 1203 | 1226), _) => Error::new(ErrorKind::Unavailable, "the database has no connection left")
            .hint("raise max_connections, or the user's limit, or open fewer stores"),
        (Some(3159), _) => Error::new(ErrorKind::Denied, "this server takes encrypted connections only")
            .hint("say ssl-mode=required, or verify_identity with ssl-ca="),
        (_, Driver::Driver(DriverError::NoClientSslFlagFromServer)) => {
            Error::new(ErrorKind::Unavailable, "this server has no TLS").hint("set it up, or say ssl-mode=disabled")
        }
        (_, Driver::Io(IoError::Tls(_))) => {
            Error::new(ErrorKind::Invalid, "TLS cannot be set up as the store asks for it")
                .hint("check ssl-ca: a PEM file of certificates")
        }
        (_, Driver::Io(IoError::Io(e))) if is_tls(e) => {
            Error::new(ErrorKind::Unavailable, "no TLS connection was agreed on")
                .hint("check ssl-mode and ssl-ca; the certificate must name this host")
        }
        (_, Driver::Driver(DriverError::UnknownAuthPlugin { .. } | DriverError::CleartextPluginDisabled)) => {
            Error::new(ErrorKind::Unsupported, "the user logs in by a method that we do not have")
                .hint("let the user log in by caching_sha2_password or mysql_native_password")
        }
        _ => Error::new(ErrorKind::Unavailable, "the database cannot be reached")
            .hint("is the server running, and are host and port right?"),
    };
    built.with("host", host).with("said", said)
}

/// Whether the two sides did not agree; the library has it among the errors of the wire.
fn is_tls(error: &std::io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>())
}

/// A statement was sent and did not succeed.
pub(crate) fn running(error: &Driver, host: &str, effect: Effect) -> Error {
    let said = said(error);
    let unavailable = |what: &'static str| Error::new(ErrorKind::Unavailable, what);
    let built = match code(error) {
        Some(1044 | 1045 | 1142 | 1143 | 1227 | 1370 | 1698) => {
            Error::new(ErrorKind::Denied, "the database does not let this user do that")
                .hint("grant the user what it needs")
        }
        Some(1105 | 1153 | 1301 | 1406) if said.contains("max_allowed_packet") => too_large(None),
        // The server may have committed before it was told to stop, and its last word replaces the answer.
        Some(1053 | 1077 | 1079 | 1080 | 1152..=1161 | 1184 | KILLED | 3169 | 4031) | None => {
            return lost(host, effect).with("said", said);
        }
        Some(1290 | 1792 | 1836 | 3100) => return read_only(host).with("said", said),
        Some(DEADLOCK) => unavailable("the database rolled back again and again"),
        Some(LOCK_WAIT) => unavailable("another transaction holds this row and does not end")
            .hint("end it: SELECT * FROM information_schema.innodb_trx shows who it is"),
        // A statement that is ended by hand or by a limit was rolled back.
        Some(INTERRUPTED | 1907 | 1969 | 3024) => unavailable("the statement was ended by the server")
            .hint("is there a limit on how long a statement may run?"),
        Some(1021 | 1026 | 1037 | 1038 | 1041 | 1114 | 1297 | 3675) => {
            unavailable("the database has no room or memory left").hint("free some on the server, then try again")
        }
        Some(1406 | 1264 | 1366) => Error::new(ErrorKind::Invalid, "the database cannot store this value"),
        Some(1665) => {
            Error::new(ErrorKind::Unsupported, "with binlog_format=STATEMENT the database refuses our writes")
                .hint("SET GLOBAL binlog_format = 'ROW' (or MIXED), then open the store again")
        }
        Some(1146) => Error::new(ErrorKind::Unavailable, "Stanchion's tables are gone").hint("open the store again"),
        Some(1034 | 1035 | 1194 | 1712 | 1877) => Error::new(ErrorKind::Damaged, "the database found damage"),
        // A statement that failed was rolled back, but nobody expected this one.
        Some(_) => Error::new(ErrorKind::Unexpected, "the database refused a statement"),
    };
    built.with("host", host).with("said", said)
}

/// One statement cannot be that long.
pub(crate) fn too_large(limit: Option<usize>) -> Error {
    let error = Error::new(ErrorKind::Invalid, "the value is larger than one statement of this server may be")
        .hint("raise max_allowed_packet on the server (values of 16 MiB need 34M), or store less");
    match limit {
        Some(limit) => error.with("max_allowed_packet", limit),
        None => error,
    }
}

/// The server cannot write.
pub(crate) fn read_only(host: &str) -> Error {
    Error::new(ErrorKind::Unavailable, "this server only reads: it is a replica, or read-only")
        .with("host", host)
        .hint("name the primary in the store's URL")
}

/// The answer is lost.
pub(crate) fn lost(host: &str, effect: Effect) -> Error {
    match effect {
        Effect::Read => Error::new(ErrorKind::Unavailable, "the database did not answer"),
        Effect::Write => {
            Error::new(ErrorKind::OutcomeUnknown, "the database did not answer; the statement may have been committed")
                .hint("look before you try again")
        }
    }
    .with("host", host)
}

pub(crate) fn unexpected(what: &'static str) -> Error {
    Error::new(ErrorKind::Unexpected, "the database gave an answer that nobody expected").with("answer", what)
}

/// The server's words. They name users, databases and tables, never a password.
fn said(error: &Driver) -> String {
    match error {
        Driver::Server(e) => format!("{} [{}]", e.message.chars().take(300).collect::<String>(), e.code),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MySQL has a number for it; MariaDB says that the password is wrong.
    #[test]
    fn a_server_that_wants_tls_is_told_from_one_that_is_away() {
        let said = "Connections using insecure transport are prohibited while --require_secure_transport=ON.";
        for code in [3159, 1045] {
            let refusal = mysql_async::ServerError { code, message: said.to_owned(), state: "HY000".to_owned() };
            let e = connecting(Driver::Server(refusal), "h:1");
            assert_eq!(e.kind(), ErrorKind::Denied, "{e}");
            assert!(e.next_step().unwrap().contains("ssl-mode=required"), "{e}");
        }
    }
}
