//! The `Idempotency-Key` request header.
//!
//! The IETF draft asks for a structured-field string, `"8e03978e"`; most clients send it bare, `8e03978e`. Both are
//! read, and mean the same key.

mod bad;
mod parse;

use std::fmt;

use http::{HeaderMap, HeaderName};
use stanchion_core::{Error, ErrorKind, Result};

pub use bad::BadKey;

use crate::header::only;

/// The header, unless the rules name another one.
///
/// ```
/// assert_eq!(stanchion_http::key::IDEMPOTENCY_KEY, "idempotency-key");
/// ```
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The longest key in characters. Rules may set a lower limit, with [`KeyRules::max_chars`].
///
/// ```
/// use stanchion_http::key::{KEY_CHARS_MAX, KeyRules};
/// assert_eq!(KEY_CHARS_MAX, 255);
/// assert!(KeyRules::required().max_chars(KEY_CHARS_MAX + 1).is_err());
/// ```
pub const KEY_CHARS_MAX: usize = stanchion_core::CALL_KEY_MAX_BYTES;

/// A caller's key, without quotes and escapes: 1 to 255 characters of printable ASCII, not all spaces.
///
/// ```
/// use stanchion_http::key::IdempotencyKey;
/// let quoted: IdempotencyKey = r#""order-7""#.parse()?;
/// assert_eq!(quoted, "order-7".parse()?);
/// assert_eq!(quoted.as_str(), "order-7");
/// # Ok::<(), stanchion_http::key::BadKey>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The text.
    ///
    /// ```
    /// # use stanchion_http::key::IdempotencyKey;
    /// assert_eq!("a b".parse::<IdempotencyKey>()?.as_str(), "a b");
    /// # Ok::<(), stanchion_http::key::BadKey>(())
    /// ```
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::str::FromStr for IdempotencyKey {
    type Err = BadKey;
    fn from_str(text: &str) -> std::result::Result<Self, BadKey> {
        parse::value(text.as_bytes(), KEY_CHARS_MAX).map(Self)
    }
}

/// Which header is read, and what a key may be.
///
/// ```
/// use http::HeaderMap;
/// use stanchion_http::key::{BadKey, KeyRules};
///
/// let mut headers = HeaderMap::new();
/// assert_eq!(KeyRules::optional().read(&headers), Ok(None));
/// assert_eq!(KeyRules::required().read(&headers), Err(BadKey::Missing));
/// headers.insert("Idempotency-Key", r#""8e03978e";v=1"#.parse()?);
/// assert_eq!(KeyRules::required().read(&headers)?.unwrap().as_str(), "8e03978e");
/// headers.append("Idempotency-Key", "another".parse()?);
/// assert_eq!(KeyRules::optional().read(&headers), Err(BadKey::Repeated));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct KeyRules {
    header: HeaderName,
    required: bool,
    max_chars: usize,
}

impl KeyRules {
    /// A request without the header is refused.
    ///
    /// ```
    /// # use stanchion_http::key::KeyRules;
    /// assert!(KeyRules::required().read(&http::HeaderMap::new()).is_err());
    /// ```
    #[must_use]
    pub const fn required() -> Self {
        Self { header: IDEMPOTENCY_KEY, required: true, max_chars: KEY_CHARS_MAX }
    }

    /// A request without the header has no key. A header that is there must still be a good one.
    ///
    /// ```
    /// # use stanchion_http::key::KeyRules;
    /// assert_eq!(KeyRules::optional().read(&http::HeaderMap::new()), Ok(None));
    /// ```
    #[must_use]
    pub const fn optional() -> Self {
        Self { header: IDEMPOTENCY_KEY, required: false, max_chars: KEY_CHARS_MAX }
    }

    /// Reads another header, for clients that call it something else.
    ///
    /// ```
    /// # use stanchion_http::key::KeyRules;
    /// let rules = KeyRules::required().header(http::HeaderName::from_static("x-request-id"));
    /// assert_eq!(rules.header_name(), "x-request-id");
    /// ```
    #[must_use]
    pub fn header(mut self, header: HeaderName) -> Self {
        self.header = header;
        self
    }

    /// The longest key in characters: 1 to [`KEY_CHARS_MAX`].
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`]: the limit is outside that range.
    ///
    /// ```
    /// # use stanchion_http::key::{BadKey, KeyRules};
    /// let rules = KeyRules::required().max_chars(3)?;
    /// let headers = http::HeaderMap::from_iter([(rules.header_name().clone(), "four".parse().unwrap())]);
    /// assert_eq!(rules.read(&headers), Err(BadKey::TooLong { max_chars: 3 }));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn max_chars(mut self, max_chars: usize) -> Result<Self> {
        if !(1..=KEY_CHARS_MAX).contains(&max_chars) {
            return Err(Error::new(ErrorKind::Invalid, "the limit for idempotency keys is outside its range")
                .with("max_chars", max_chars)
                .hint("use 1 to 255"));
        }
        self.max_chars = max_chars;
        Ok(self)
    }

    /// The header that is read.
    ///
    /// ```
    /// assert_eq!(stanchion_http::key::KeyRules::required().header_name(), "idempotency-key");
    /// ```
    #[must_use]
    pub const fn header_name(&self) -> &HeaderName {
        &self.header
    }

    /// The key of a request.
    ///
    /// # If it fails
    /// [`BadKey`] says which rule is broken. Nothing ran. A bad key is never read as "no key": the caller
    /// believes to be protected.
    ///
    /// ```
    /// # use stanchion_http::key::{BadKey, KeyRules};
    /// let headers = http::HeaderMap::from_iter([(http::HeaderName::from_static("idempotency-key"), "".parse().unwrap())]);
    /// assert_eq!(KeyRules::optional().read(&headers), Err(BadKey::Empty));
    /// ```
    pub fn read(&self, headers: &HeaderMap) -> std::result::Result<Option<IdempotencyKey>, BadKey> {
        let Some(value) = only(headers, &self.header).map_err(|_| BadKey::Repeated)? else {
            return if self.required { Err(BadKey::Missing) } else { Ok(None) };
        };
        parse::value(value.as_bytes(), self.max_chars).map(|key| Some(IdempotencyKey(key)))
    }
}
