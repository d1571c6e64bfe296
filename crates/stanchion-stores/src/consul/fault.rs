//! What went wrong between us and the agent, by what it says about the effect.

use stanchion_core::{Error, ErrorKind};

/// A failed call.
#[derive(Debug)]
pub(super) enum Fault {
    /// Nothing was sent.
    NotSent(String),
    /// Sent; the connection broke before the answer.
    Lost(String),
    /// Sent; no answer in time.
    Late,
    /// The agent refused: status and text.
    Refused(u16, String),
    /// An answer of another shape than Consul gives.
    Garbled(String),
}

impl Fault {
    /// A read that met this is worth one more try on a fresh connection.
    pub(super) const fn broke(&self) -> bool {
        matches!(self, Self::Lost(_))
    }

    /// The error for the caller of an operation that `writes`. Losing the answer to a read has no effect.
    pub(super) fn into_error(self, store: &str, writes: bool) -> Error {
        let unanswered = if writes { ErrorKind::OutcomeUnknown } else { ErrorKind::Unavailable };
        let error = match self {
            Self::NotSent(why) => Error::new(ErrorKind::Unavailable, "Consul cannot be reached")
                .with("cause", why)
                .hint("is the agent running at this address? try `curl http://HOST:8500/v1/status/leader`"),
            Self::Lost(why) => Error::new(unanswered, "the answer of Consul is lost").with("cause", why),
            Self::Late => Error::new(unanswered, "Consul did not answer in time").hint("see timeout="),
            Self::Refused(status, text) => refused(status, &text, unanswered),
            Self::Garbled(why) => {
                Error::new(ErrorKind::Unexpected, "Consul answered in an unexpected way").with("cause", why)
            }
        };
        error.with("store", store)
    }
}

/// The refusal of a request as a whole.
fn refused(status: u16, text: &str, unanswered: ErrorKind) -> Error {
    let shown: String = text.trim().chars().take(200).collect();
    // Said before anything goes into the log; every other failure inside may come after it.
    let before = ["No cluster leader", "No path to datacenter", "Rejecting request due to", "not ready to serve"];
    let (kind, hint) = match status {
        401 | 403 => return denied(&shown),
        413 => (ErrorKind::Invalid, Some("the request is larger than the agent's txn_max_req_len (512 KB if not set)")),
        429 => (ErrorKind::Unavailable, Some("raise limits.http_max_conns_per_client of the agent")),
        404 | 405 => (ErrorKind::Unsupported, Some("is this a Consul agent of version 1.7 or later?")),
        500..=599 if before.iter().any(|known| text.contains(known)) => {
            (ErrorKind::Unavailable, Some("the cluster has no leader now: a majority of its servers must be up"))
        }
        500..=599 => (unanswered, None),
        _ => (ErrorKind::Unexpected, None),
    };
    let error = Error::new(kind, "Consul refused").with("status", status).with("answer", shown);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// The refusal of rights, as a status or inside a transaction.
pub(super) fn denied(text: &str) -> Error {
    Error::new(ErrorKind::Denied, "Consul denied it").with("answer", text).hint(
        "check the token of the store URL or CONSUL_HTTP_TOKEN; it needs key_prefix \"NS/\" { policy = \"write\" } and \
         session_prefix \"\" { policy = \"write\" }",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_refusal_says_about_the_effect() {
        let kind = |status, text: &str, writes| Fault::Refused(status, text.to_owned()).into_error("s", writes).kind();
        assert_eq!(kind(500, "No cluster leader", true), ErrorKind::Unavailable);
        assert_eq!(kind(500, "leadership lost while committing log", true), ErrorKind::OutcomeUnknown);
        assert_eq!(kind(500, "rpc error making call: EOF", true), ErrorKind::OutcomeUnknown);
        assert_eq!(kind(500, "rpc error making call: EOF", false), ErrorKind::Unavailable);
        assert_eq!(kind(403, "Permission denied", true), ErrorKind::Denied);
        assert_eq!(kind(413, "Request body too large", true), ErrorKind::Invalid);
        assert_eq!(kind(429, "too many", true), ErrorKind::Unavailable);
    }
}
