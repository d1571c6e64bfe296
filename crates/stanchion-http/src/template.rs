//! Names of locks, made from a request: `order:{path.2}`.

use std::fmt;
use std::str::FromStr;

use http::request::Parts;
use http::{HeaderName, Uri};
use serde_json::Value;
use stanchion_core::template::{Member, Template};
use stanchion_core::{Error, Fingerprint, Key, Result};

use crate::header::only;
use crate::path;

/// A key with holes: `{path.2}` is the second segment of the path, `{header.x-tenant}` a header, `{body.order.id}` a
/// member of the JSON body. `{{` and `}}` are braces.
///
/// Different spellings of one value make one key: segments are percent-decoded and empty ones do not count, and the
/// numbers `7` and `7.0` are the text `7`. A hole that cannot be filled refuses the request: running it without its lock would be silent.
///
/// ```
/// use stanchion_http::KeyTemplate;
/// let template: KeyTemplate = "order:{path.2}:{body.customer.id}".parse()?;
/// let (parts, ()) = http::Request::post("/orders/7").body(()).unwrap().into_parts();
/// let key = template.fill(&parts, br#"{"customer": {"id": 12}}"#)?;
/// assert_eq!(key.as_str(), "order:7:12");
/// assert!(template.fill(&parts, b"{}").is_err());
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyTemplate(Template<Hole>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Hole {
    Path(usize),
    Header(HeaderName),
    Body(Member),
}

impl KeyTemplate {
    /// Does it look into the body, so that the body has to be read first?
    ///
    /// ```
    /// use stanchion_http::KeyTemplate;
    /// assert!("a:{body.id}".parse::<KeyTemplate>()?.needs_body());
    /// assert!(!"a:{path.1}".parse::<KeyTemplate>()?.needs_body());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn needs_body(&self) -> bool {
        self.0.holes().any(|hole| matches!(hole, Hole::Body(_)))
    }

    /// The key for one request.
    ///
    /// # If it fails
    /// `Invalid`: what a hole names is not there, is no text, number or boolean, or makes no good key. Nothing ran.
    ///
    /// ```
    /// # use stanchion_http::KeyTemplate;
    /// let (parts, ()) = http::Request::post("/").body(()).unwrap().into_parts();
    /// assert_eq!("all".parse::<KeyTemplate>()?.fill(&parts, b"")?.as_str(), "all");
    /// assert!("{path.1}".parse::<KeyTemplate>()?.fill(&parts, b"").is_err());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn fill(&self, parts: &Parts, body: &[u8]) -> Result<Key> {
        let json = if self.needs_body() { json(body) } else { None };
        self.0.fill(|hole| match hole {
            Hole::Path(nth) => segment(&parts.uri, *nth),
            Hole::Header(name) => header(parts, name),
            Hole::Body(member) => member.of(json.as_ref()?),
        })
    }
}

/// The body, unless it names a member twice: readers disagree which one counts, so the lock could be another one than
/// what the service works on.
fn json(body: &[u8]) -> Option<Value> {
    Fingerprint::of_json(std::str::from_utf8(body).ok()?).ok()?;
    serde_json::from_slice(body).ok()
}

/// The `nth` segment, from 1, percent-decoded. A path with `.` or `..` has none: services disagree whether to resolve
/// them.
fn segment(uri: &Uri, nth: usize) -> Option<String> {
    let segments = path::segments(uri.path()).map(|segment| String::from_utf8(segment?).ok());
    let segments = segments.collect::<Option<Vec<_>>>()?;
    if segments.iter().any(|segment| segment == "." || segment == "..") {
        return None;
    }
    segments.into_iter().nth(nth - 1)
}

fn header(parts: &Parts, name: &HeaderName) -> Option<String> {
    Some(only(&parts.headers, name).ok()??.to_str().ok()?.trim().to_owned())
}

impl FromStr for KeyTemplate {
    type Err = Error;

    fn from_str(template: &str) -> Result<Self> {
        let hint = "as in order:{path.2}, {header.x-tenant} or {body.order.id}; {{ and }} are braces";
        Template::parse(template, hint, hole_of).map(Self)
    }
}

fn hole_of(name: &str) -> Option<Hole> {
    let (kind, what) = name.split_once('.')?;
    match kind {
        "path" => what.parse().ok().filter(|nth| (1..=64).contains(nth)).map(Hole::Path),
        "header" => what.parse().ok().map(Hole::Header),
        "body" => Member::parse(what).map(Hole::Body),
        _ => None,
    }
}

impl fmt::Display for Hole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(nth) => write!(f, "path.{nth}"),
            Self::Header(name) => write!(f, "header.{name}"),
            Self::Body(member) => write!(f, "body.{member}"),
        }
    }
}

impl fmt::Display for KeyTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
