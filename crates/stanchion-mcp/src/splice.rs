//! One member changed, and every other byte left as it was.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// `text` with the member at `path` set to `value` (JSON). Objects on the way are made if they are not there.
///
/// `None` if something on the way is there twice, or is neither an object nor `null`, or if `text` is no object.
///
/// ```
/// let text = r#"{"a": 1e2,  "_meta":{"x": 1}}"#;
/// let spliced = stanchion_mcp::splice::set(text, &["_meta", "y"], "2").unwrap();
/// assert_eq!(spliced, r#"{"a": 1e2,  "_meta":{"y":2,"x": 1}}"#);
/// assert_eq!(stanchion_mcp::splice::set("{}", &["_meta", "y"], "2").unwrap(), r#"{"_meta":{"y":2}}"#);
/// ```
#[must_use]
pub fn set(text: &str, path: &[&str], value: &str) -> Option<String> {
    let (range, new) = edit(text, text, path, value)?;
    let mut out = String::with_capacity(text.len() + new.len());
    out.push_str(&text[..range.start]);
    out.push_str(&new);
    out.push_str(&text[range.end..]);
    Some(out)
}

/// What has to be replaced in `whole`, by what, for the member of `object`, which is a part of it.
fn edit(whole: &str, object: &str, path: &[&str], value: &str) -> Option<(Range<usize>, String)> {
    let (name, rest) = path.split_first()?;
    let members = members(object)?;
    let mut same = members.iter().filter(|(known, _)| known == name);
    let found = same.next();
    if same.next().is_some() {
        return None;
    }
    if let Some((_, found)) = found {
        let at = range_in(whole, found.get());
        return match (rest.is_empty(), found.get()) {
            (true, _) => Some((at, value.to_owned())),
            (false, "null") => Some((at, nested(rest, value))),
            (false, inner) => edit(whole, inner, rest, value),
        };
    }
    // Behind the opening brace: what is there stays together, and in its order.
    let start = range_in(whole, object).start + object.find('{')? + 1;
    let comma = if members.is_empty() { "" } else { "," };
    let value = if rest.is_empty() { value.to_owned() } else { nested(rest, value) };
    Some((start..start, format!("{}:{value}{comma}", quoted(name))))
}

/// `text` without the member at `path`; `None` if it is not there, or there twice.
///
/// ```
/// let text = r#"{"a": {"b": 1, "c": 2 },"d":3}"#;
/// assert_eq!(stanchion_mcp::splice::remove(text, &["a", "b"]).unwrap(), r#"{"a": { "c": 2 },"d":3}"#);
/// assert_eq!(stanchion_mcp::splice::remove(text, &["a", "c"]).unwrap(), r#"{"a": {"b": 1 },"d":3}"#);
/// assert!(stanchion_mcp::splice::remove(text, &["a", "x"]).is_none());
/// ```
#[must_use]
pub fn remove(text: &str, path: &[&str]) -> Option<String> {
    let (name, way) = path.split_last()?;
    let mut object = text;
    for step in way {
        object = only(object, step)?.get();
    }
    let value = range_in(text, only(object, name)?.get());
    let written = members(object)?;
    let at = written.iter().position(|(known, _)| known == name)?;
    let from = match at.checked_sub(1) {
        // From the end of the value before it: with the comma between them.
        Some(previous) => range_in(text, written[previous].1.get()).end,
        None => range_in(text, object).start + object.find('{')? + 1,
    };
    let mut to = value.end;
    if at == 0 && written.len() > 1 {
        to += text[to..].find(',')? + 1;
    }
    Some(format!("{}{}", &text[..from], &text[to..]))
}

/// The member of this name, if it is there once.
fn only<'a>(object: &'a str, name: &str) -> Option<&'a RawValue> {
    let mut same = members(object)?.into_iter().filter(|(known, _)| known == name);
    let (_, found) = same.next()?;
    same.next().is_none().then_some(found)
}

fn nested(path: &[&str], value: &str) -> String {
    path.iter().rev().fold(value.to_owned(), |inner, name| format!("{{{}:{inner}}}", quoted(name)))
}

/// A text as JSON.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Where `part`, which was borrowed from `whole`, is in it.
fn range_in(whole: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - whole.as_ptr() as usize;
    start..start + part.len()
}

/// The members of an object, in their order; `None` if it is none.
pub(crate) fn members(object: &str) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(Cow<'de, str>, &'de RawValue)>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some(name) = map.next_key::<Name<'de>>()? {
                members.push((name.0, map.next_value::<&'de RawValue>()?));
            }
            Ok(members)
        }
    }
    let mut from = serde_json::Deserializer::from_str(object);
    let members = from.deserialize_map(Members).ok()?;
    from.end().ok().map(|()| members)
}

/// The members of an object that have these names. Each may be there once, and spelled in no other case: readers disagree which
/// one counts.
pub(crate) fn pick<'a, const N: usize>(
    object: &'a str,
    names: [&'static str; N],
) -> Result<[Option<&'a RawValue>; N], serde_json::Error> {
    struct Picked<const N: usize>([&'static str; N]);
    impl<'de, const N: usize> Visitor<'de> for Picked<N> {
        type Value = [Option<&'de RawValue>; N];
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut picked = [None; N];
            while let Some(Name(name)) = map.next_key::<Name<'de>>()? {
                match self.0.iter().position(|known| known.eq_ignore_ascii_case(&name)) {
                    None => drop(map.next_value::<IgnoredAny>()?),
                    Some(at) if self.0[at] == name && picked[at].is_none() => picked[at] = Some(map.next_value()?),
                    Some(at) => {
                        return Err(serde::de::Error::custom(format_args!(
                            "`{}` is there twice, or in another case",
                            self.0[at]
                        )));
                    }
                }
            }
            Ok(picked)
        }
    }
    let mut from = serde_json::Deserializer::from_str(object);
    let picked = from.deserialize_map(Picked(names))?;
    from.end().map(|()| picked)
}

/// A name, borrowed unless it is written with escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_byte_stays() {
        let rows = [
            (r#"{}"#, r#"{"a":{"b":1}}"#),
            (" { } ", r#" {"a":{"b":1} } "#),
            (r#"{"a":null}"#, r#"{"a":{"b":1}}"#),
            (r#"{"a":{}}"#, r#"{"a":{"b":1}}"#),
            (r#"{"a":{"b":7}, "z":1.0}"#, r#"{"a":{"b":1}, "z":1.0}"#),
            (r#"{"\u0061" : {"c": 12345678901234567890}}"#, r#"{"\u0061" : {"b":1,"c": 12345678901234567890}}"#),
            ("{\"z\":\"}\\\"{\",\t\"a\":{\"q\":[1,2]}}", "{\"z\":\"}\\\"{\",\t\"a\":{\"b\":1,\"q\":[1,2]}}"),
        ];
        for (before, after) in rows {
            assert_eq!(set(before, &["a", "b"], "1").as_deref(), Some(after), "{before}");
        }
    }

    #[test]
    fn what_is_no_object_is_left_alone() {
        for text in [r#"{"a":{},"a":{}}"#, "[]", "1", r#"{"a": 5}"#, r#"{"a": "x"}"#, r#"{"a": {"#] {
            assert_eq!(set(text, &["a", "b"], "1"), None, "{text}");
        }
    }
}
