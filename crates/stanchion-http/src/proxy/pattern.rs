//! Which paths a route is for.

use std::fmt;
use std::str::FromStr;

use stanchion_core::{Error, ErrorKind, Result};

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
            (Segment::Named(name), Some(asked)) => *name == asked,
            (_, None) => false,
        });
        fits && (self.open_end || asked.next().is_none())
    }
}

/// Percent-decoded; what is no escape stands for itself.
fn segments(path: &str) -> impl Iterator<Item = Vec<u8>> {
    path.split('/').filter(|segment| !segment.is_empty()).map(|segment| {
        let raw = segment.as_bytes();
        let (mut bytes, mut at) = (Vec::with_capacity(raw.len()), 0);
        while at < raw.len() {
            let hex =
                |at: usize| raw.get(at).and_then(|b| char::from(*b).to_digit(16)).and_then(|d| u8::try_from(d).ok());
            let (byte, long) = match (raw[at], hex(at + 1), hex(at + 2)) {
                (b'%', Some(high), Some(low)) => (high << 4 | low, 3),
                (byte, ..) => (byte, 1),
            };
            bytes.push(byte);
            at += long;
        }
        bytes
    })
}

/// Has the path no `.` and no `..`, also not in disguise?
pub(super) fn is_plain(path: &str) -> bool {
    segments(path).all(|segment| segment.split(|b| *b == b'/' || *b == b'\\').all(|part| part != b"." && part != b".."))
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
            return Err(refuse("a pattern has ** only at its end, and neither . nor .."));
        }
        let segments = segments(closed).map(|name| if name == b"*" { Segment::Any } else { Segment::Named(name) });
        Ok(Self { segments: segments.collect(), open_end })
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.segments {
            match segment {
                Segment::Any => f.write_str("/*")?,
                Segment::Named(name) => write!(f, "/{}", String::from_utf8_lossy(name))?,
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
