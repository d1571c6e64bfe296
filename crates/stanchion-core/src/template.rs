//! Names of locks with holes that a call fills: `order:{path.2}`, `budget:{projectId}`.
//!
//! What a hole means is up to who fills it; how a template is written, and what becomes of a hole that stays empty, is
//! the same everywhere.

use std::fmt;

use serde_json::Value;

use crate::{Error, ErrorKind, Key, Result};

/// How long a template may be.
const TEMPLATE_MAX: usize = 512;
/// How deep a hole may look into a value.
const DEPTH_MAX: usize = 16;

/// A key with holes of the kind `H`. `{{` and `}}` are braces.
///
/// ```
/// use stanchion_core::template::Template;
/// let digits = |name: &str| name.parse::<usize>().ok();
/// let template = Template::parse("order:{2}", "as in order:{2}", digits)?;
/// assert_eq!(template.fill(|nth| Some(format!("no-{nth}")))?.as_str(), "order:no-2");
/// assert!(template.fill(|_| None).is_err());
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template<H>(Vec<Piece<H>>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece<H> {
    Text(String),
    Hole(H),
}

impl<H> Template<H> {
    /// Reads a template; `hole` says what a name between braces means, and `hint` shows how templates look here.
    ///
    /// # If it fails
    /// `Invalid`: it is empty or longer than 512 bytes, braces do not match, `hole` knows no such name, or its text can
    /// be no part of a key.
    ///
    /// ```
    /// use stanchion_core::template::Template;
    /// let any = |name: &str| Some(name.to_owned());
    /// assert!(Template::parse("a:{b", "as in a:{b}", any).is_err());
    /// assert_eq!(Template::parse("{{a}}", "", any)?.to_string(), "{{a}}");
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn parse(template: &str, hint: &'static str, hole: impl Fn(&str) -> Option<H>) -> Result<Self> {
        let refuse = |why: &'static str| {
            Error::new(ErrorKind::Invalid, why)
                .with("template", format_args!("{:?}", template.chars().take(80).collect::<String>()))
                .hint(hint)
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
            } else if let Some(inside) = rest.strip_prefix('{') {
                let (name, after) =
                    inside.split_once('}').ok_or_else(|| refuse("a lock template has a { without its }"))?;
                push_text(&mut pieces, &mut text)?;
                pieces.push(Piece::Hole(
                    hole(name).ok_or_else(|| refuse("a lock template has a hole of no known kind"))?,
                ));
                rest = after;
            } else {
                text.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        push_text(&mut pieces, &mut text)?;
        Ok(Self(pieces))
    }

    /// What it asks for, in order.
    ///
    /// ```
    /// # use stanchion_core::template::Template;
    /// let template = Template::parse("{a}:{b}", "", |name| Some(name.to_owned()))?;
    /// assert_eq!(template.holes().collect::<Vec<_>>(), ["a", "b"]);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn holes(&self) -> impl Iterator<Item = &H> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Hole(hole) => Some(hole),
            Piece::Text(_) => None,
        })
    }

    /// Does it begin with a word of its own? If not, who fills its first hole names any lock of the store.
    ///
    /// ```
    /// # use stanchion_core::template::Template;
    /// let any = |name: &str| Some(name.to_owned());
    /// assert!(Template::parse("file:{path}", "", any)?.begins_with_text());
    /// assert!(!Template::parse("{path}", "", any)?.begins_with_text());
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn begins_with_text(&self) -> bool {
        matches!(self.0.first(), Some(Piece::Text(_)))
    }
}

impl<H: fmt::Display> Template<H> {
    /// The key, with every hole filled by `value`.
    ///
    /// # If it fails
    /// `Invalid`, naming the hole: there is no value for it, or an empty one; or the whole makes no good key. Nothing ran.
    ///
    /// ```
    /// # use stanchion_core::template::Template;
    /// let template = Template::parse("file:{path}", "", |name| Some(name.to_owned()))?;
    /// let error = template.fill(|_| Some(String::new())).unwrap_err();
    /// assert!(error.to_string().contains("{path}"), "{error}");
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn fill(&self, mut value: impl FnMut(&H) -> Option<String>) -> Result<Key> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(literal) => text.push_str(literal),
                // An empty value would let all such calls share a lock with none of them meaning it.
                Piece::Hole(hole) => {
                    text.push_str(&value(hole).filter(|value| !value.is_empty()).ok_or_else(|| {
                        Error::new(ErrorKind::Invalid, "the request lacks what its lock is named by")
                            .with("part", format_args!("{{{hole}}}"))
                    })?);
                }
            }
        }
        Key::new(text)
    }
}

/// A literal that makes no key is a mistake of the template, not of each call.
fn push_text<H>(pieces: &mut Vec<Piece<H>>, text: &mut String) -> Result<()> {
    if !text.is_empty() {
        Key::new(&*text)?;
        pieces.push(Piece::Text(std::mem::take(text)));
    }
    Ok(())
}

impl<H: fmt::Display> fmt::Display for Template<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Text(text) => f.write_str(&text.replace('{', "{{").replace('}', "}}")),
            Piece::Hole(hole) => write!(f, "{{{hole}}}"),
        })
    }
}

/// Where a value lies in JSON: `order.id`.
///
/// ```
/// use stanchion_core::template::Member;
/// let member = Member::parse("order.id").unwrap();
/// assert_eq!(member.of(&serde_json::json!({"order": {"id": 7.0}})).as_deref(), Some("7"));
/// assert_eq!(member.to_string(), "order.id");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member(Vec<String>);

impl Member {
    /// Names with dots between them: 1 to 16, none empty.
    ///
    /// ```
    /// use stanchion_core::template::Member;
    /// assert!(Member::parse("a..b").is_none());
    /// ```
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        (path.len() <= DEPTH_MAX && path.iter().all(|name| !name.is_empty())).then_some(Self(path))
    }

    /// The first name: the argument that it looks into.
    ///
    /// ```
    /// # use stanchion_core::template::Member;
    /// assert_eq!(Member::parse("order.id").unwrap().root(), "order");
    /// ```
    #[must_use]
    pub fn root(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    /// The text of what lies there. `7` and `7.0` are the text `7`; what is no text, number or boolean has none.
    ///
    /// ```
    /// # use stanchion_core::template::Member;
    /// assert_eq!(Member::parse("a").unwrap().of(&serde_json::json!({"a": [1]})), None);
    /// ```
    #[must_use]
    pub fn of(&self, json: &Value) -> Option<String> {
        match self.0.iter().try_fold(json, |value, name| value.get(name.as_str()))? {
            Value::String(text) => Some(text.clone()),
            Value::Bool(bool) => Some(bool.to_string()),
            Value::Number(number) => Some(match number.as_f64() {
                // Every whole number below 2^53 has one spelling, and so has zero; others keep theirs.
                Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                    format!("{:.0}", float + 0.0)
                }
                _ => number.to_string(),
            }),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}
