//! What went wrong between us and etcd, by what it says about the effect.

use std::error::Error as StdError;

use stanchion_core::{Error, ErrorKind};
use tonic::{Code, ConnectError, Status};

/// A failed call.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// Nothing was sent.
    NotSent(String),
    /// Sent; the answer is lost.
    Lost(String),
    /// Answered that etcd does not know either: it has waited for a majority in vain.
    Unsure(String),
    /// Refused as a whole: nothing ran.
    Refused(Code, String),
}

impl Fault {
    /// A connection that could not be made, or one that broke.
    pub(super) fn transport(error: &(dyn StdError + 'static)) -> Self {
        let (mut next, mut why, mut unsent) = (Some(error), String::new(), false);
        while let Some(error) = next {
            unsent |= error.is::<ConnectError>();
            let text = error.to_string();
            if !why.ends_with(&text) {
                why = if why.is_empty() { text } else { format!("{why}: {text}") };
            }
            next = error.source();
        }
        if unsent { Self::NotSent(why) } else { Self::Lost(why) }
    }

    /// An answer that is not ok. Only what etcd says before it proposes anything proves that nothing ran.
    pub(super) fn answered(status: &Status) -> Self {
        let text = status.message().to_owned();
        match status.code() {
            Code::Unavailable if ["no leader", "not capable", "learner"].iter().any(|words| text.contains(words)) => {
                Self::Refused(Code::Unavailable, text)
            }
            Code::InvalidArgument
            | Code::NotFound
            | Code::PermissionDenied
            | Code::ResourceExhausted
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::Unimplemented
            | Code::Unauthenticated => Self::Refused(status.code(), text),
            _ => Self::Unsure(text),
        }
    }

    /// Our token is not known any more: etcd forgets simple ones when it restarts.
    pub(super) fn wants_login(&self) -> bool {
        matches!(self, Self::Refused(_, text) if text.contains("invalid auth token") || text.contains("auth store is old"))
    }

    /// Another member may do better, and nothing ran here.
    pub(super) fn elsewhere(&self) -> bool {
        matches!(self, Self::NotSent(_) | Self::Refused(Code::Unavailable, _))
    }

    /// It may have run.
    pub(super) fn is_unknown(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Unsure(_))
    }

    pub(super) fn no_lease(&self) -> bool {
        matches!(self, Self::Refused(Code::NotFound, text) if text.contains("lease not found"))
    }

    pub(super) fn why(&self) -> &str {
        let (Self::NotSent(why) | Self::Lost(why) | Self::Unsure(why) | Self::Refused(_, why)) = self;
        why
    }

    /// The error for the caller of an operation that `writes`. Losing the answer to a read has no effect.
    pub(super) fn into_error(self, store: &str, writes: bool) -> Error {
        let unknown = if writes { ErrorKind::OutcomeUnknown } else { ErrorKind::Unavailable };
        let next = match writes {
            true => "it may have run: look before you do it again; if this goes on, see that a majority of etcd runs",
            false => "nothing was changed: try again; if this goes on, see that a majority of etcd runs",
        };
        let error = match self {
            Self::NotSent(why) => Error::new(ErrorKind::Unavailable, "etcd cannot be reached")
                .with("cause", why)
                .hint("nothing was sent: see that etcd runs and that the URL names its client port, then try again"),
            Self::Lost(why) => Error::new(unknown, "the answer of etcd is lost").with("cause", why).hint(next),
            Self::Unsure(why) => Error::new(unknown, "etcd does not know").with("answer", why).hint(next),
            Self::Refused(code, text) => refused(code, &text),
        };
        error.with("store", store)
    }
}

fn refused(code: Code, text: &str) -> Error {
    let says = |words: &str| text.contains(words);
    let (kind, hint) = match code {
        Code::PermissionDenied => (
            ErrorKind::Denied,
            "grant the user readwrite on the prefix `ns/`: etcdctl role grant-permission --prefix=true",
        ),
        Code::Unauthenticated => (ErrorKind::Denied, "check the user and the password of the store URL"),
        Code::InvalidArgument if says("user name is empty") || says("authentication failed") => {
            (ErrorKind::Denied, "check the user and the password of the store URL")
        }
        Code::InvalidArgument if says("too large") => too_large(),
        Code::ResourceExhausted if says("larger than max") => too_large(),
        Code::ResourceExhausted if says("space exceeded") => (
            ErrorKind::Unavailable,
            "etcd is full: free space with etcdctl compaction, etcdctl defrag and etcdctl alarm disarm, \
             or raise --quota-backend-bytes",
        ),
        Code::ResourceExhausted => (ErrorKind::Unavailable, "etcd is overloaded; try again later"),
        Code::Unavailable => (ErrorKind::Unavailable, "the cluster has no leader; see to it that a majority runs"),
        Code::Unimplemented => (ErrorKind::Unsupported, "use etcd 3.4 or later, with its v3 API"),
        Code::NotFound if says("lease not found") => (ErrorKind::Unavailable, "the session has ended; try again"),
        _ => (ErrorKind::Unexpected, "look into the log of etcd"),
    };
    Error::new(kind, "etcd refused").with("answer", text).hint(hint)
}

const fn too_large() -> (ErrorKind, &'static str) {
    (
        ErrorKind::Invalid,
        "etcd takes 1.5 MiB at a time unless --max-request-bytes says more; keep large values elsewhere",
    )
}
