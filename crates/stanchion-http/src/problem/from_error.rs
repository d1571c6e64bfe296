//! The guard's errors as answers.

use std::time::Duration;

use stanchion_core::{Error, ErrorKind, Ran};

use super::{Problem, ProblemKind};

/// The longest `Retry-After` that is guessed from a lock's lease: its holder may release it long before.
const GUESS_MAX: Duration = Duration::from_secs(30);

/// What the error's kind says, and no more: its text may name hosts, processes and keys of others, and belongs into the log.
///
/// ```
/// use stanchion_core::{Error, ErrorKind};
/// use stanchion_http::problem::{Problem, ProblemKind};
/// let problem = Problem::from(&Error::new(ErrorKind::Unavailable, "no route to 10.0.0.7"));
/// assert_eq!(problem.kind(), ProblemKind::StoreDown);
/// assert!(!problem.to_json().to_string().contains("10.0.0.7"));
/// ```
impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::Contended => ProblemKind::LockBusy,
            ErrorKind::InProgress => ProblemKind::InProgress,
            ErrorKind::KeyReused => ProblemKind::KeyReused,
            ErrorKind::KeyExpired => ProblemKind::KeyExpired,
            ErrorKind::Limited => ProblemKind::RateLimited,
            ErrorKind::Unavailable => ProblemKind::StoreDown,
            ErrorKind::LeaseLost | ErrorKind::OutcomeUnknown => ProblemKind::OutcomeUnknown,
            _ => ProblemKind::Internal,
        };
        let problem = Self::new(kind);
        let problem = match kind {
            // A damaged record belongs to a call that may have run, also if nothing ran now.
            ProblemKind::Internal if error.kind() != ErrorKind::Damaged => problem.executed(error.ran() == Ran::Maybe),
            _ => problem,
        };
        let lease = || error.holder().and_then(|holder| holder.expires_in).map(|left| left.min(GUESS_MAX));
        match error.retry_after().or_else(lease) {
            Some(after) => problem.retry_after(after),
            // Of a limit that does not say when it ends, as of attempts that are used up, there is no end.
            None if kind == ProblemKind::RateLimited => problem.not_retryable(),
            None => problem,
        }
    }
}
