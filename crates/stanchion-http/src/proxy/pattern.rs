//! Which paths a route is for.

use std::fmt;
use std::str::FromStr;

use stanchion_core::{Error, ErrorKind, Result};

use crate::path::segments;

/// A path with holes: `*` is any one segment, `**` at the end is whatever follows, also nothing.
///
/// Segments are compared after percent-decoding, empty ones do not count: `/orders/7`, `//orders/%37` and `/orders/7/` are
/// one path, since many services take them for one.
///
/// ```
/// use stanchion_http::proxy::PathPattern;
/// let pattern: PathPattern = "/orders/*/pay".parse()?;
/// assert!(pattern.matches("/orders/7/pay") && !pattern.matches("/orders/7"));
/// assert!("/**".parse::<PathPattern>()?.matches("/anything/at/all"));
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    segments: Vec<Segment>,
    open_end: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Named(Vec<u8>),
    Any,
}

impl PathPattern {
    /// Is `path`, percent-encoded as in a request, one of those?
    ///
    /// ```
    /// # use stanchion_http::proxy::PathPattern;
    /// assert!("/orders/**".parse::<PathPattern>()?.matches("/orders"));
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        let mut asked = segments(path);
        let fits = self.segments.iter().all(|segment| match (segment, asked.next()) {
            (Segment::Any, Some(_)) => true,
            (Segment::Named(name), Some(asked)) => asked.as_ref() == Some(name),
            (_, None) => false,
        });
        fits && (self.open_end || asked.next().is_none())
    }
}

/// May routes be told apart by it? Not if services read it in several ways: a path with `.`, `..` or `;`, with `/`, `\` or
/// NUL inside of a segment, or with a `%` that is no escape. All of them also in disguise.
pub(super) fn is_plain(path: &str) -> bool {
    let plain = |name: Vec<u8>| !matches!(&*name, b"." | b"..") && !name.iter().any(|b| b"/\\\0;".contains(b));
    segments(path).all(|segment| segment.is_some_and(plain))
}

impl FromStr for PathPattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refuse = |why: &'static str| {
            Error::new(ErrorKind::Invalid, why)
                .with("pattern", format_args!("{:?}", text.chars().take(80).collect::<String>()))
                .hint("as in /orders, /orders/*/pay or /orders/**")
        };
        if !text.starts_with('/') || text.len() > 1024 || text.contains(['?', '#']) {
            return Err(refuse("a pattern is a path that begins with /"));
        }
        let open_end = text.ends_with("/**");
        let closed = if open_end { &text[..text.len() - 2] } else { text };
        if !is_plain(closed) || closed.contains("**") {
            return Err(refuse("a pattern has ** only at its end, and nothing that services read in several ways"));
        }
        let segments =
            segments(closed).flatten().map(|name| if name == b"*" { Segment::Any } else { Segment::Named(name) });
        Ok(Self { segments: segments.collect(), open_end })
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.segments {
            match segment {
                Segment::Any => f.write_str("/*")?,
                Segment::Named(name) => write!(f, "/{}", String::from_utf8_lossy(name).replace('%', "%25"))?,
            }
        }
        f.write_str(if self.open_end {
            "/**"
        } else if self.segments.is_empty() {
            "/"
        } else {
            ""
        })
    }
}
