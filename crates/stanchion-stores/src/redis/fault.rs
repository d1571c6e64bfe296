//! What went wrong between us and the server, by what it says about the effect.

use stanchion_core::{Error, ErrorKind};

/// A failed call. Cloneable, because one failure may answer several operations.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// Nothing was sent.
    NotSent(ErrorKind, String),
    /// There is no connection, so nothing was sent: why, and what to look at.
    Unreachable(String, &'static str),
    /// Sent; the answer is lost.
    Lost(String),
    /// The server refused it: code and detail.
    Refused(String, String),
    /// An answer of another shape than the script gives.
    Garbled,
}

impl Fault {
    pub(crate) fn lost(error: &::redis::RedisError) -> Self {
        match error.code() {
            Some(code) => Self::Refused(code.to_owned(), error.detail().unwrap_or_default().to_owned()),
            None => Self::Lost(error.to_string()),
        }
    }

    pub(crate) fn no_script(&self) -> bool {
        matches!(self, Self::Refused(code, _) if code == "NOSCRIPT")
    }

    /// The error for the caller of an operation that `writes`. Losing the answer to a read has no effect.
    pub(crate) fn into_error(self, store: &str, writes: bool) -> Error {
        let error = match self {
            Self::NotSent(kind, why) => Error::new(kind, why),
            Self::Unreachable(why, hint) => {
                Error::new(ErrorKind::Unavailable, format!("Redis cannot be reached: {why}")).hint(hint)
            }
            Self::Lost(why) => {
                let kind = if writes { ErrorKind::OutcomeUnknown } else { ErrorKind::Unavailable };
                Error::new(kind, "the answer of Redis is lost").with("cause", why)
            }
            Self::Refused(code, detail) => refused(&code, &detail),
            Self::Garbled => Error::new(ErrorKind::Unexpected, "Redis answered in an unexpected way"),
        };
        error.with("store", store)
    }
}

/// A script is refused as a whole before its first write, or runs to its end: these codes mean that
/// nothing ran.
fn refused(code: &str, detail: &str) -> Error {
    let (kind, hint) = match code {
        "NOAUTH" | "WRONGPASS" => (ErrorKind::Denied, Some("check the user and the password of the store URL")),
        "NOPERM" => (
            ErrorKind::Denied,
            Some("the user needs rights on the keys {ns}* and the channels {ns}:*, and on EVALSHA and SCRIPT"),
        ),
        "READONLY" => (ErrorKind::Unavailable, Some("this is a replica; give the address of the primary")),
        "MOVED" | "ASK" | "CROSSSLOT" => {
            (ErrorKind::Unavailable, Some("give the address of the node that has the slot of this namespace"))
        }
        "LOADING" | "CLUSTERDOWN" | "MASTERDOWN" | "TRYAGAIN" | "BUSY" | "NOREPLICAS" | "MISCONF" | "OOM" => {
            (ErrorKind::Unavailable, None)
        }
        "WRONGTYPE" => {
            (ErrorKind::Damaged, Some("another program has written under this namespace; choose another ns="))
        }
        "EXHAUSTED" | "CLOCK" => (ErrorKind::Unsupported, None),
        "ERR" if detail.contains("invalid password") || detail.contains("AUTH") => (ErrorKind::Denied, None),
        _ => (ErrorKind::Unexpected, None),
    };
    let error = Error::new(kind, "Redis refused").with("answer", format_args!("{code} {detail}"));
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}
