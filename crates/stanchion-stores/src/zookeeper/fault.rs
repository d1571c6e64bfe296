//! What went wrong between us and the servers, by what it says about the effect.

use stanchion_core::{Error, ErrorKind};
use zookeeper_client as zk;

/// A failed call. Cloneable, because one failure may answer several operations.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// Nothing was sent.
    NotSent(ErrorKind, String),
    /// Sent, or about to be; the answer is lost.
    Lost(String),
    /// The session ended while the request was under way.
    Expired,
    /// The server refused it: nothing ran.
    Refused(zk::Error),
    /// An answer of another shape than we asked for.
    Garbled,
}

impl From<zk::Error> for Fault {
    fn from(error: zk::Error) -> Self {
        match error {
            zk::Error::SessionExpired | zk::Error::SessionMoved | zk::Error::ClientClosed => Self::Expired,
            zk::Error::ConnectionLoss | zk::Error::Timeout | zk::Error::Custom(_) | zk::Error::UnexpectedError(_) => {
                Self::Lost(error.to_string())
            }
            zk::Error::UnmarshalError { .. } => Self::Garbled,
            error => Self::Refused(error),
        }
    }
}

impl From<zk::MultiWriteError> for Fault {
    fn from(error: zk::MultiWriteError) -> Self {
        zk::Error::from(error).into()
    }
}

impl Fault {
    /// The server says that the node, or the version of it, is not what the request says.
    pub(super) fn is(&self, error: &zk::Error) -> bool {
        matches!(self, Self::Refused(refused) if refused == error)
    }

    /// The error for the caller of an operation that `writes`. Losing the answer to a read has no effect.
    pub(super) fn into_error(self, store: &str, writes: bool) -> Error {
        let kind = if writes { ErrorKind::OutcomeUnknown } else { ErrorKind::Unavailable };
        let next = match writes {
            true => {
                "it may have run: look before you do it again; if this goes on, see that a majority of the servers runs"
            }
            false => "nothing was changed: try again; if this goes on, see that a majority of the servers runs",
        };
        let error = match self {
            Self::NotSent(kind, why) => Error::new(kind, why).hint(
                "nothing was sent: see that the servers run and that the URL names their client port, then try again",
            ),
            Self::Lost(why) => Error::new(kind, "the answer of ZooKeeper is lost").with("cause", why).hint(next),
            Self::Expired => Error::new(kind, "the session with ZooKeeper has ended before its answer").hint(next),
            Self::Refused(error) => refused(&error),
            Self::Garbled => Error::new(ErrorKind::Unexpected, "ZooKeeper answered in an unexpected way"),
        };
        error.with("store", store)
    }
}

fn refused(error: &zk::Error) -> Error {
    let (kind, hint) = match error {
        zk::Error::AuthFailed | zk::Error::NoAuth | zk::Error::InvalidAcl => (
            ErrorKind::Denied,
            "check the user and the password of the store URL; nodes made with acl=creator are for that user alone",
        ),
        zk::Error::NotReadOnly => {
            (ErrorKind::Unavailable, "this server has lost its quorum and only reads; wait until the ensemble is whole")
        }
        zk::Error::QuotaExceeded => (
            ErrorKind::Unavailable,
            "the quota of this path is used up; raise it with `setquota`, or choose another chroot",
        ),
        zk::Error::Throttled => (ErrorKind::Unavailable, "the server has too much to do; try again later"),
        zk::Error::Unimplemented => (ErrorKind::Unsupported, "this needs ZooKeeper 3.6 or later"),
        zk::Error::NoNode => {
            (ErrorKind::Unavailable, "somebody deletes the store's nodes; they are made again when it is opened")
        }
        zk::Error::NoChildrenForEphemerals => {
            (ErrorKind::Damaged, "another program has written under this path; choose another ns=")
        }
        _ => (ErrorKind::Unexpected, "report this with the version of the server"),
    };
    Error::new(kind, "ZooKeeper refused").with("answer", error).hint(hint)
}
