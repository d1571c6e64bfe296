//! What a handler's answer says about its effect.

use std::fmt;
use std::ops::RangeInclusive;

use http::StatusCode;

use crate::BoxError;

/// What an answer says about the effect of the request.
///
/// A handler that knows better than its status can say so: it puts a `Meaning` into the response's extensions.
///
/// ```
/// use http::Response;
/// use stanchion_http::layer::Meaning;
/// // Refused before anything was done, so the same key may try again.
/// let mut response = Response::builder().status(503).body("warming up").unwrap();
/// response.extensions_mut().insert(Meaning::NothingRan);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// It ran, and this is its answer for ever: stored and replayed, success or failure.
    Final,
    /// It certainly had no effect. Not stored: the next request with the key tries again.
    NothingRan,
    /// It may have had an effect. The next request with the key is told so, and does not run.
    Unknown,
}

/// The rules by status; the last one that matches counts.
#[derive(Debug, Clone)]
pub(super) struct Meanings(Vec<(RangeInclusive<u16>, Meaning)>);

impl Default for Meanings {
    fn default() -> Self {
        use Meaning::{NothingRan, Unknown};
        Self(vec![
            // By their definitions the request was turned away: no valid credentials, too early, too many.
            (401..=401, NothingRan),
            (425..=425, NothingRan),
            (429..=429, NothingRan),
            // What a time limit around a handler answers when it cuts the handler off.
            (408..=408, Unknown),
            // It began, and went wrong somewhere.
            (500..=599, Unknown),
        ])
    }
}

impl Meanings {
    pub(super) fn set(&mut self, statuses: RangeInclusive<u16>, meaning: Meaning) {
        self.0.push((statuses, meaning));
    }

    pub(super) fn of(&self, status: StatusCode, said: Option<Meaning>) -> Meaning {
        let by_status = || self.0.iter().rev().find(|(statuses, _)| statuses.contains(&status.as_u16()));
        said.or_else(|| by_status().map(|(_, meaning)| *meaning)).unwrap_or(Meaning::Final)
    }
}

/// An error of a service that proves that nothing ran, such as a refused connection. A guarded service that returns it
/// (directly, or as its error's source) frees the key for another try.
///
/// ```
/// use stanchion_http::layer::NothingRan;
/// let error = NothingRan::new("connection refused");
/// assert_eq!(error.to_string(), "nothing ran: connection refused");
/// ```
#[derive(Debug)]
pub struct NothingRan(BoxError);

impl NothingRan {
    /// Because of this.
    ///
    /// ```
    /// # use stanchion_http::layer::NothingRan;
    /// let _error = NothingRan::new(std::io::Error::other("refused"));
    /// ```
    pub fn new(why: impl Into<BoxError>) -> Self {
        Self(why.into())
    }

    /// Is this proof anywhere in the chain?
    pub(crate) fn is_in(error: &(dyn std::error::Error + 'static)) -> bool {
        let mut next = Some(error);
        while let Some(error) = next {
            if error.is::<Self>() {
                return true;
            }
            next = error.source();
        }
        false
    }
}

impl fmt::Display for NothingRan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing ran: {}", self.0)
    }
}

impl std::error::Error for NothingRan {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}
