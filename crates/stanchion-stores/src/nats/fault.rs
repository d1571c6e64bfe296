//! What went wrong between us and the server, by what it says about the effect.

use stanchion_core::{Error, ErrorKind};

/// A failed request. Cloneable, because one failure may answer several operations.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// Nothing was sent.
    NotSent(ErrorKind, String),
    /// Sent; the connection broke before the answer.
    Cut,
    /// Sent; no answer in time.
    Silent,
    /// The server said that we may not: its words.
    Denied(String),
    /// Sent; the server will not let us hear the answer: its words.
    Deaf(String),
    /// Nobody serves this subject: JetStream is off, the bucket is gone, or it has no leader just now.
    Nobody,
    /// JetStream refused: its code and words. Nothing was stored.
    Refused(u64, String),
    /// An answer of another shape than JetStream gives.
    Garbled,
    /// A stored message that we did not write, by its subject.
    Damaged(String),
}

/// The codes of JetStream that mean something to us.
pub(super) mod code {
    pub(in super::super) const NO_MESSAGE: u64 = 10_037;
    pub(in super::super) const NO_SUCH_NUMBER: u64 = 10_043;
    pub(in super::super) const WRONG_SEQUENCE: u64 = 10_071;
    pub(in super::super) const NO_STREAM: u64 = 10_059;
    pub(in super::super) const STREAM_EXISTS: u64 = 10_058;
    pub(in super::super) const OFF_FOR_ACCOUNT: u64 = 10_039;
    pub(in super::super) const OFF: u64 = 10_076;
    pub(in super::super) const NO_RESOURCES: u64 = 10_023;
    pub(in super::super) const MEMORY_FULL: u64 = 10_028;
    pub(in super::super) const STORAGE_FULL: u64 = 10_047;
    pub(in super::super) const STORE_FAILED: u64 = 10_077;
    pub(in super::super) const TOO_LARGE: u64 = 10_054;
    pub(in super::super) const HEADERS_TOO_LARGE: u64 = 10_097;
    pub(in super::super) const SEALED: u64 = 10_109;
    pub(in super::super) const NO_REPLICAS: u64 = 10_074;
    pub(in super::super) const NO_PEERS: u64 = 10_005;
    pub(in super::super) const NO_LEADER: u64 = 10_008;
    pub(in super::super) const TOO_MANY_STREAMS: u64 = 10_027;
}

/// What a user needs.
const RIGHTS: &str = "the user may publish to $KV.BUCKET.> and $JS.API.> (or the parts of it that name KV_BUCKET), and \
                      subscribe to its inbox";

impl Fault {
    pub(super) fn is(&self, wanted: u64) -> bool {
        matches!(self, Self::Refused(code, _) if *code == wanted)
    }

    /// The error for the caller of an operation that `writes`. Losing the answer to a read has no effect.
    pub(super) fn into_error(self, store: &str, writes: bool) -> Error {
        let lost = if writes { ErrorKind::OutcomeUnknown } else { ErrorKind::Unavailable };
        let error = match self {
            Self::NotSent(kind, why) => {
                let error = Error::new(kind, "NATS cannot be reached").with("cause", why);
                match kind {
                    ErrorKind::Denied => error.hint("check the user, password, token or creds= of the store URL"),
                    _ => error,
                }
            }
            Self::Cut => Error::new(lost, "the answer of NATS is lost").with("cause", "the connection broke"),
            Self::Silent => Error::new(lost, "the answer of NATS is lost").with("cause", "no answer in time"),
            Self::Denied(answer) => Error::new(ErrorKind::Denied, "NATS refused").with("answer", answer).hint(RIGHTS),
            Self::Deaf(answer) if writes => Error::new(lost, "NATS does not let us hear its answers")
                .with("answer", answer)
                .hint("allow the user to subscribe to its inbox, or give inbox="),
            Self::Deaf(answer) => Error::new(ErrorKind::Denied, "NATS refused").with("answer", answer).hint(RIGHTS),
            Self::Nobody => Error::new(ErrorKind::Unavailable, "nobody answers for this bucket").hint(
                "start nats-server with -js; if JetStream is on, the bucket was deleted or has no leader just now",
            ),
            Self::Refused(code, answer) => refused(code, &answer),
            Self::Damaged(subject) => Error::new(ErrorKind::Damaged, "a message of the bucket is not readable")
                .with("subject", subject)
                .hint("another program has written here; delete that key, or choose another bucket="),
            Self::Garbled => Error::new(
                if writes { ErrorKind::OutcomeUnknown } else { ErrorKind::Unexpected },
                "NATS answered in an unexpected way",
            ),
        };
        error.with("store", store)
    }
}

/// JetStream stores a message as a whole or refuses it: with these codes nothing was stored.
fn refused(number: u64, answer: &str) -> Error {
    let (kind, hint) = match number {
        code::OFF | code::OFF_FOR_ACCOUNT => {
            (ErrorKind::Unsupported, "switch JetStream on: nats-server -js, and for this account `jetstream: enabled`")
        }
        code::NO_RESOURCES | code::MEMORY_FULL | code::STORAGE_FULL | code::STORE_FAILED => (
            ErrorKind::Unavailable,
            "JetStream has no room: raise the bucket's max-bytes, the account's limits or the server's max_file_store, \
             or free its disk",
        ),
        code::TOO_LARGE | code::HEADERS_TOO_LARGE => {
            (ErrorKind::Invalid, "raise the bucket's max-value-size and the server's max_payload, or store less")
        }
        code::SEALED => (ErrorKind::Unsupported, "the bucket is sealed for ever; choose another bucket="),
        code::NO_REPLICAS => (ErrorKind::Unsupported, "replicas= above 1 needs a cluster"),
        code::NO_PEERS | code::NO_LEADER => (ErrorKind::Unavailable, "the cluster has too few servers just now"),
        code::TOO_MANY_STREAMS => (ErrorKind::Unavailable, "the account has as many streams as it may"),
        code::NO_STREAM => (ErrorKind::Unavailable, "the bucket was deleted; open the store again to make it anew"),
        _ => (ErrorKind::Unexpected, "see the log of nats-server"),
    };
    Error::new(kind, "NATS refused").with("answer", format_args!("{answer} ({number})")).hint(hint)
}
