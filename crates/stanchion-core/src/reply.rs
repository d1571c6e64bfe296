//! What a tool said, and what its caller is told.

use crate::ClaimId;
use crate::claim::{Outcome, Response};

/// What the tool said. Every [`Error`](crate::Error) is ours; this is never one.
///
/// ```
/// use stanchion_core::{Reply, claim::Response};
/// assert!(Reply::Done(Response::new("", "paid")).response().is_some());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// It ran and succeeded.
    Done(Response),
    /// It ran and failed for good: a repetition gets this failure again.
    Failed(Response),
    /// It certainly had no effect; a repetition may try again. Only with proof: a refused connection, a tool that says so.
    NoEffect(Response),
    /// It asks for input, and goes on when the caller brings it.
    Suspended(Response),
    /// It may have run: a timeout, a broken connection, a lost lock. It is not run again under this key.
    Unknown(String),
}

impl Reply {
    /// The answer, if there is one.
    ///
    /// ```
    /// assert!(stanchion_core::Reply::Unknown("timeout".into()).response().is_none());
    /// ```
    #[must_use]
    pub const fn response(&self) -> Option<&Response> {
        match self {
            Self::Done(response) | Self::Failed(response) | Self::NoEffect(response) | Self::Suspended(response) => {
                Some(response)
            }
            Self::Unknown(_) => None,
        }
    }
}

impl From<(Outcome, Response)> for Reply {
    fn from((outcome, response): (Outcome, Response)) -> Self {
        match outcome {
            Outcome::Ok => Self::Done(response),
            Outcome::Failed => Self::Failed(response),
        }
    }
}

/// What the caller is told.
///
/// ```
/// use stanchion_core::{Answer, Reply, claim::Response};
/// let answer = Answer::ran(Reply::Done(Response::new("", "paid")));
/// assert!(!answer.replayed);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// What the tool said, now or then.
    pub reply: Reply,
    /// It was said to an earlier call; this one ran nothing.
    pub replayed: bool,
    /// The store knows it. If not, the store was away for too long: it is recorded in the background, and until then a
    /// repetition is told "unknown" (an idempotent call may be run again).
    pub recorded: bool,
    /// The store was away, and a softer policy let the call through.
    pub degraded: bool,
    /// The claim, for `stanchion claims show`.
    pub receipt: Option<ClaimId>,
}

impl Answer {
    /// The answer of a call that ran without a key.
    ///
    /// ```
    /// # use stanchion_core::{Answer, Reply};
    /// assert!(Answer::ran(Reply::Unknown("timeout".into())).receipt.is_none());
    /// ```
    #[must_use]
    pub const fn ran(reply: Reply) -> Self {
        Self { reply, replayed: false, recorded: true, degraded: false, receipt: None }
    }

    pub(crate) const fn replay(reply: Reply, receipt: ClaimId) -> Self {
        Self { reply, replayed: true, recorded: true, degraded: false, receipt: Some(receipt) }
    }
}
