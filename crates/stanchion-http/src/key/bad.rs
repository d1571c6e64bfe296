//! What is wrong with a key.

use std::fmt;

use http::HeaderName;

use crate::problem::{Problem, ProblemKind};

/// What is wrong with an `Idempotency-Key` header. Nothing ran.
///
/// ```
/// use stanchion_http::key::{BadKey, IdempotencyKey};
/// assert_eq!("".parse::<IdempotencyKey>(), Err(BadKey::Empty));
/// assert_eq!(r#""open"#.parse::<IdempotencyKey>(), Err(BadKey::UnterminatedQuote));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadKey {
    /// There is no header, and the rules ask for one.
    Missing,
    /// The key has no characters, or only spaces.
    Empty,
    /// The header is sent twice, or holds a list: nobody can tell which key is meant.
    Repeated,
    /// The key is longer than allowed.
    TooLong {
        /// The limit.
        max_chars: usize,
    },
    /// A character that is not printable ASCII, or a quote inside a bare key.
    BadCharacter {
        /// Its byte in the header, from 0.
        at: usize,
    },
    /// The key begins with a quote that is never closed.
    UnterminatedQuote,
    /// A backslash that stands before neither a quote nor a backslash.
    BadEscape {
        /// Its byte in the header, from 0.
        at: usize,
    },
    /// What follows the closing quote is no parameter.
    AfterTheKey {
        /// Its byte in the header, from 0.
        at: usize,
    },
}

impl BadKey {
    /// The answer for the caller: 400, with the rule that was broken.
    ///
    /// ```
    /// use stanchion_http::key::{BadKey, IDEMPOTENCY_KEY};
    /// let problem = BadKey::Missing.problem(&IDEMPOTENCY_KEY);
    /// assert_eq!((problem.status().as_u16(), problem.may_have_executed()), (400, false));
    /// ```
    #[must_use]
    pub fn problem(self, header: &HeaderName) -> Problem {
        let kind = if self == Self::Missing { ProblemKind::KeyMissing } else { ProblemKind::KeyInvalid };
        Problem::new(kind).detail(format!("{header}: {self}"))
    }
}

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("the header is required and missing"),
            Self::Empty => f.write_str("the key is empty"),
            Self::Repeated => f.write_str("there is more than one key"),
            Self::TooLong { max_chars } => write!(f, "the key is longer than {max_chars} characters"),
            Self::BadCharacter { at } => write!(f, "the character at byte {at} is not allowed in a key"),
            Self::UnterminatedQuote => f.write_str("the closing quote is missing"),
            Self::BadEscape { at } => write!(f, "the backslash at byte {at} escapes neither a quote nor a backslash"),
            Self::AfterTheKey { at } => write!(f, "what follows the key at byte {at} is no parameter"),
        }
    }
}

impl std::error::Error for BadKey {}
