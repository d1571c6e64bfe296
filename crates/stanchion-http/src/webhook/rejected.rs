//! Why a delivery was refused.

use std::fmt;

use http::StatusCode;

use crate::problem::{Problem, ProblemKind};

/// Why a delivery was refused. Nothing ran. Neither the secret nor the expected signature is in it.
///
/// ```
/// use stanchion_http::webhook::Rejected;
/// let rejected = Rejected::TooOld { age_s: 301, tolerance_s: 300 };
/// assert_eq!(rejected.status(), 400);
/// assert_eq!(rejected.to_string(), "the delivery was signed 301 s ago; at most 300 s are allowed");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejected {
    /// The request does not have this header.
    MissingHeader {
        /// Its name.
        header: &'static str,
    },
    /// The header is not what its format says.
    Malformed {
        /// Its name.
        header: &'static str,
        /// Which rule it breaks.
        why: &'static str,
    },
    /// Every signature is of a scheme that we do not know how to check.
    UnsupportedScheme {
        /// The header with the signatures.
        header: &'static str,
        /// Which schemes are known.
        supported: &'static str,
    },
    /// No signature was made with one of our secrets over exactly these bytes.
    NoSecretMatched,
    /// The signature is good, but old: perhaps somebody sends a recorded delivery again.
    TooOld {
        /// Seconds since it was signed.
        age_s: u64,
        /// Seconds allowed.
        tolerance_s: u64,
    },
    /// The signature is good, but from the future: one of the two clocks is wrong.
    TooFarInTheFuture {
        /// Seconds until its time stamp.
        ahead_s: u64,
        /// Seconds allowed.
        tolerance_s: u64,
    },
}

impl Rejected {
    /// 400 for all of them: the sender has to change something.
    ///
    /// ```
    /// assert_eq!(stanchion_http::webhook::Rejected::NoSecretMatched.status(), 400);
    /// ```
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        StatusCode::BAD_REQUEST
    }

    /// The stable name, for logs and metrics.
    ///
    /// ```
    /// assert_eq!(stanchion_http::webhook::Rejected::NoSecretMatched.code(), "no_secret_matched");
    /// ```
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::MissingHeader { .. } => "missing_header",
            Self::Malformed { .. } => "malformed",
            Self::UnsupportedScheme { .. } => "unsupported_scheme",
            Self::NoSecretMatched => "no_secret_matched",
            Self::TooOld { .. } => "too_old",
            Self::TooFarInTheFuture { .. } => "too_far_in_the_future",
        }
    }

    /// The answer for the sender.
    ///
    /// ```
    /// use stanchion_http::webhook::Rejected;
    /// assert_eq!(Rejected::NoSecretMatched.problem().status(), 400);
    /// ```
    #[must_use]
    pub fn problem(&self) -> Problem {
        Problem::new(ProblemKind::WebhookRejected).detail(self.to_string())
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingHeader { header } => write!(f, "the header {header} is missing"),
            Self::Malformed { header, why } => write!(f, "the header {header} is malformed: {why}"),
            Self::UnsupportedScheme { header, supported } => {
                write!(f, "the header {header} has no signature of a scheme that is supported here ({supported})")
            }
            Self::NoSecretMatched => f.write_str("no signature matches the body under any configured secret"),
            Self::TooOld { age_s, tolerance_s } => {
                write!(f, "the delivery was signed {age_s} s ago; at most {tolerance_s} s are allowed")
            }
            Self::TooFarInTheFuture { ahead_s, tolerance_s } => {
                write!(f, "the delivery is dated {ahead_s} s in the future; at most {tolerance_s} s are allowed")
            }
        }
    }
}

impl std::error::Error for Rejected {}
