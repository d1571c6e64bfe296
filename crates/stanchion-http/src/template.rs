//! Names of locks, made from a request: `order:{path.2}`.

use std::fmt;
use std::str::FromStr;

use http::request::Parts;
use http::{HeaderName, Uri};
use serde_json::Value;
use stanchion_core::{Error, ErrorKind, Fingerprint, Key, Result};

use crate::header::only;
use crate::path;

/// How long a template may be.
const TEMPLATE_MAX: usize = 512;

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
pub struct KeyTemplate(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Path(usize),
    Header(HeaderName),
    Body(Vec<String>),
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
        self.0.iter().any(|piece| matches!(piece, Piece::Body(_)))
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
        let mut text = String::new();
        for piece in &self.0 {
            let value = match piece {
                Piece::Text(literal) => Some(literal.clone()),
                Piece::Path(nth) => segment(&parts.uri, *nth),
                Piece::Header(name) => header(parts, name),
                Piece::Body(path) => json.as_ref().and_then(|json| member(json, path)),
            };
            // An empty value would let all such requests share a lock with none of them meaning it.
            let value = value.filter(|value| !value.is_empty()).ok_or_else(|| {
                Error::new(ErrorKind::Invalid, "the request lacks what its lock is named by").with("part", piece)
            })?;
            text.push_str(&value);
        }
        Key::new(text)
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

fn member(json: &Value, path: &[String]) -> Option<String> {
    let value = path.iter().try_fold(json, |value, name| value.get(name.as_str()))?;
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(bool) => Some(bool.to_string()),
        Value::Number(number) => Some(match number.as_f64() {
            // Every whole number below 2^53 has one spelling; others keep theirs.
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => format!("{float:.0}"),
            _ => number.to_string(),
        }),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

impl FromStr for KeyTemplate {
    type Err = Error;

    fn from_str(template: &str) -> Result<Self> {
        let refuse = |why: &'static str| {
            Error::new(ErrorKind::Invalid, why)
                .with("template", format_args!("{:?}", template.chars().take(80).collect::<String>()))
                .hint("as in order:{path.2}, {header.x-tenant} or {body.order.id}; {{ and }} are braces")
        };
        if template.is_empty() || template.len() > TEMPLATE_MAX {
            return Err(refuse("a lock template has 1 to 512 bytes"));
        }
        let (mut pieces, mut text, mut rest) = (Vec::new(), String::new(), template);
        while let Some(c) = rest.chars().next() {
            if rest.starts_with("{{") || rest.starts_with("}}") {
                text.push(c);
                rest = &rest[2..];
            } else if c == '}' {
                return Err(refuse("a lock template has a } without its {"));
            } else if let Some(hole) = rest.strip_prefix('{') {
                let (name, after) =
                    hole.split_once('}').ok_or_else(|| refuse("a lock template has a { without its }"))?;
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(hole_of(name).ok_or_else(|| refuse("a lock template has a hole of no known kind"))?);
                rest = after;
            } else {
                text.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        if !text.is_empty() {
            // A literal that makes no key is a mistake of the template, not of each request.
            Key::new(&text)?;
            pieces.push(Piece::Text(text));
        }
        Ok(Self(pieces))
    }
}

fn hole_of(name: &str) -> Option<Piece> {
    let (kind, what) = name.split_once('.')?;
    match kind {
        "path" => what.parse().ok().filter(|nth| (1..=64).contains(nth)).map(Piece::Path),
        "header" => what.parse().ok().map(Piece::Header),
        "body" => {
            let path: Vec<String> = what.split('.').map(str::to_owned).collect();
            (path.len() <= 16 && path.iter().all(|name| !name.is_empty())).then_some(Piece::Body(path))
        }
        _ => None,
    }
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Path(nth) => write!(f, "{{path.{nth}}}"),
            Self::Header(name) => write!(f, "{{header.{name}}}"),
            Self::Body(path) => write!(f, "{{body.{}}}", path.join(".")),
        }
    }
}

impl fmt::Display for KeyTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Text(text) => f.write_str(&text.replace('{', "{{").replace('}', "}}")),
            hole => hole.fmt(f),
        })
    }
}
