//! One JSON-RPC message, looked at and not changed.

use std::borrow::Cow;
use std::fmt;

use serde_json::value::RawValue;

use crate::splice::pick;

/// Who is answered: two spellings of one id are one id, as in `1` and `1.0`.
///
/// ```
/// use stanchion_mcp::{Frame, Id};
/// let one = Frame::parse(r#"{"id": 1.0, "method": "ping"}"#).unwrap();
/// assert_eq!(one.id(), Some(Id::Integer(1)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// A text.
    Text(Box<str>),
    /// A number without a fraction, however it is written.
    Integer(i64),
    /// Any other number: the bits of the float that most programs make of it.
    Number(u64),
}

impl Id {
    pub(crate) fn of(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        match text.as_bytes().first()? {
            b'"' => serde_json::from_str::<Box<str>>(text).ok().map(Self::Text),
            b'-' | b'0'..=b'9' => text.parse().ok().map(Self::of_number),
            _ => None,
        }
    }

    fn of_number(number: f64) -> Self {
        /// Up to here every whole number is a float of its own.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and within 2^53")]
        if number.fract() == 0.0 && number.abs() < EXACT {
            Self::Integer(number as i64)
        } else {
            Self::Number(number.to_bits())
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Integer(number) => number.fmt(f),
            Self::Number(bits) => f64::from_bits(*bits).fmt(f),
        }
    }
}

/// Why a line is no message.
///
/// ```
/// let bad = stanchion_mcp::Frame::parse("{").unwrap_err();
/// assert!(bad.to_string().contains("EOF"));
/// ```
#[derive(Debug)]
pub struct BadFrame(serde_json::Error);

impl fmt::Display for BadFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for BadFrame {}

/// What kind of message it is, as far as can be seen.
///
/// ```
/// use stanchion_mcp::{Frame, Kind};
/// let frame = Frame::parse(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#).unwrap();
/// assert_eq!(frame.kind(), Kind::Notification);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It has a method and an id.
    Request,
    /// It has a method and no id.
    Notification,
    /// It has a result or an error.
    Response,
    /// Something else: none of our business.
    Other,
}

/// A message: its text, and where in it the parts are that a gateway looks at.
///
/// Everything else, known to us or not, stays text. A member that is there twice is refused: readers disagree which one counts.
///
/// ```
/// use stanchion_mcp::Frame;
/// let frame = Frame::parse(r#"{"id": 7, "method": "tools/call", "params": {"name": "add"}, "else": 1e400}"#).unwrap();
/// assert_eq!(frame.method(), Some("tools/call"));
/// assert_eq!(frame.params().unwrap().get(), r#"{"name": "add"}"#);
/// ```
#[derive(Debug)]
pub struct Frame<'a> {
    text: &'a str,
    method: Option<Cow<'a, str>>,
    id: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

/// A text, borrowed unless it is written with escapes.
pub(crate) fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') { serde_json::from_str(raw.get()).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(inner)) }
}

impl<'a> Frame<'a> {
    /// Looks at a message.
    ///
    /// # If it fails
    /// It is no JSON object, has one of its five members twice or in another case, or a method that is no plain text: readers
    /// disagree about what such a message means.
    ///
    /// ```
    /// # use stanchion_mcp::Frame;
    /// assert!(Frame::parse("[]").is_err());
    /// assert!(Frame::parse(r#"{"method": "a", "method": "b"}"#).is_err());
    /// assert!(Frame::parse(r#"{"method": "a", "Method": "b"}"#).is_err());
    /// assert!(Frame::parse(r#"{"method": ["tools/call"]}"#).is_err());
    /// ```
    pub fn parse(text: &'a str) -> Result<Self, BadFrame> {
        let names = ["id", "method", "params", "result", "error"];
        let [id, method, params, result, error] = pick(text, names).map_err(BadFrame)?;
        let method = match method.map(|raw| text_of(raw).filter(|name| !name.contains(char::is_control))) {
            Some(None) => return Err(BadFrame(serde::de::Error::custom("its method is no plain text"))),
            found => found.flatten(),
        };
        Ok(Self { text, method, id, params, result, error })
    }

    /// The whole message.
    ///
    /// ```
    /// # use stanchion_mcp::Frame;
    /// assert_eq!(Frame::parse("{ }").unwrap().text(), "{ }");
    /// ```
    #[must_use]
    pub const fn text(&self) -> &'a str {
        self.text
    }

    /// What kind it is.
    ///
    /// ```
    /// # use stanchion_mcp::{Frame, Kind};
    /// assert_eq!(Frame::parse(r#"{"id": 1, "result": null}"#).unwrap().kind(), Kind::Response);
    /// ```
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match (&self.method, self.id) {
            (Some(_), Some(_)) => Kind::Request,
            (Some(_), None) => Kind::Notification,
            (None, Some(_)) if self.result.is_some() || self.error.is_some() => Kind::Response,
            _ => Kind::Other,
        }
    }

    /// The method, if it is a text.
    ///
    /// ```
    /// # use stanchion_mcp::Frame;
    /// assert_eq!(Frame::parse(r#"{"method": "tools\/call"}"#).unwrap().method(), Some("tools/call"));
    /// ```
    #[must_use]
    pub fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    /// The id, if it is a text or a number.
    ///
    /// ```
    /// # use stanchion_mcp::Frame;
    /// assert!(Frame::parse(r#"{"id": null}"#).unwrap().id().is_none());
    /// ```
    #[must_use]
    pub fn id(&self) -> Option<Id> {
        self.id.and_then(Id::of)
    }

    /// The id as it is written.
    ///
    /// ```
    /// # use stanchion_mcp::Frame;
    /// assert_eq!(Frame::parse(r#"{"id": 1.50}"#).unwrap().raw_id(), Some("1.50"));
    /// ```
    #[must_use]
    pub fn raw_id(&self) -> Option<&'a str> {
        self.id.map(RawValue::get)
    }

    /// `params`, as written.
    ///
    /// ```
    /// # use stanchion_mcp::Frame;
    /// assert!(Frame::parse("{}").unwrap().params().is_none());
    /// ```
    #[must_use]
    pub const fn params(&self) -> Option<&'a RawValue> {
        self.params
    }

    /// `result`, as written.
    ///
    /// ```
    /// # use stanchion_mcp::Frame;
    /// assert_eq!(Frame::parse(r#"{"result": [1]}"#).unwrap().result().unwrap().get(), "[1]");
    /// ```
    #[must_use]
    pub const fn result(&self) -> Option<&'a RawValue> {
        self.result
    }

    /// `error`, as written.
    ///
    /// ```
    /// # use stanchion_mcp::Frame;
    /// assert!(Frame::parse(r#"{"error": {}}"#).unwrap().error().is_some());
    /// ```
    #[must_use]
    pub const fn error(&self) -> Option<&'a RawValue> {
        self.error
    }
}
