//! What a tool answered, as it is kept.

use bytes::Bytes;

use crate::{Fingerprint, planted};

/// Did it succeed?
///
/// ```
/// use stanchion_core::claim::Outcome;
/// assert_ne!(Outcome::Ok, Outcome::Failed);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ran and succeeded.
    Ok,
    /// It ran and failed for good: a repetition gets the same failure.
    Failed,
}

/// An answer: a short head (a status, headers, or nothing) and a body.
///
/// ```
/// use stanchion_core::claim::Response;
/// let response = Response::new("200", "paid");
/// assert_eq!(response.bytes().unwrap(), "paid");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Response {
    /// What comes before the body. Always kept; at most 16 KiB.
    pub head: String,
    /// The body, or what is left of it.
    pub body: Body,
}

/// The body of an answer.
///
/// ```
/// use stanchion_core::claim::Body;
/// assert_eq!(Body::Kept("paid".into()).len(), 4);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Body {
    /// All of it.
    Kept(Bytes),
    /// It was too large, or its time is over.
    Dropped {
        /// How long it was.
        len: u64,
        /// Its fingerprint, as [`Fingerprint::of_bytes`].
        digest: Fingerprint,
    },
}

/// Answers may hold secrets: their length is shown, not their content.
impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Kept(bytes) => write!(f, "Kept({} bytes)", bytes.len()),
            Self::Dropped { len, .. } => write!(f, "Dropped({len} bytes)"),
        }
    }
}

impl Body {
    /// How long it is or was.
    ///
    /// ```
    /// assert_eq!(stanchion_core::claim::Body::Kept("".into()).len(), 0);
    /// ```
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Kept(bytes) => bytes.len() as u64,
            Self::Dropped { len, .. } => *len,
        }
    }

    /// Was there anything?
    ///
    /// ```
    /// assert!(stanchion_core::claim::Body::Kept("".into()).is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Response {
    /// The longest head.
    ///
    /// ```
    /// assert_eq!(stanchion_core::claim::Response::HEAD_MAX, 16 << 10);
    /// ```
    pub const HEAD_MAX: usize = 16 << 10;

    /// An answer with all its parts.
    ///
    /// ```
    /// # use stanchion_core::claim::Response;
    /// assert_eq!(Response::new("", "x").head, "");
    /// ```
    #[must_use]
    pub fn new(head: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Self { head: head.into(), body: Body::Kept(body.into()) }
    }

    /// The body, if it is kept.
    ///
    /// ```
    /// # use stanchion_core::claim::Response;
    /// assert!(Response::new("", "x").without_body().bytes().is_none());
    /// ```
    #[must_use]
    pub const fn bytes(&self) -> Option<&Bytes> {
        match &self.body {
            Body::Kept(bytes) => Some(bytes),
            Body::Dropped { .. } => None,
        }
    }

    /// The same answer with only length and digest of its body.
    ///
    /// ```
    /// # use stanchion_core::claim::Response;
    /// assert_eq!(Response::new("", "xyz").without_body().body.len(), 3);
    /// ```
    #[must_use]
    pub fn without_body(&self) -> Self {
        let body = match &self.body {
            Body::Kept(bytes) => Body::Dropped { len: bytes.len() as u64, digest: Fingerprint::of_bytes(bytes) },
            dropped @ Body::Dropped { .. } => dropped.clone(),
        };
        Self { head: self.head.clone(), body }
    }

    /// The same answer if it is not larger than `cap`, else without its body.
    pub(crate) fn capped(mut self, cap: usize) -> Self {
        if self.head.len() > Self::HEAD_MAX {
            let mut end = Self::HEAD_MAX;
            while !self.head.is_char_boundary(end) {
                end -= 1;
            }
            self.head.truncate(end);
        }
        if planted!("response-truncated")
            && let Body::Kept(bytes) = &self.body
        {
            self.body = Body::Kept(bytes.slice(..cap.min(bytes.len())));
        }
        if self.body.len() > cap as u64 { self.without_body() } else { self }
    }
}
