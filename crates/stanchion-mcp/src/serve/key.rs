//! The header `Idempotency-Key`: one reader for every kind of server.

use http::header::{HeaderMap, HeaderName};

use crate::problem::{Problem, ProblemKind};

pub(crate) const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The key in the header: a quoted text as in the draft, or a bare one.
///
/// # If it fails
/// It is there twice, or is no such thing: `KeyInvalid`. Nothing ran.
///
/// ```
/// let mut headers = http::HeaderMap::new();
/// headers.insert("idempotency-key", "\"k 1\"".parse().unwrap());
/// assert_eq!(stanchion_mcp::serve::idempotency_key(&headers).unwrap().as_deref(), Some("k 1"));
/// ```
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Box<Problem>> {
    let bad = |why: &str| Box::new(Problem::new(ProblemKind::KeyInvalid, format!("the header Idempotency-Key {why}")));
    let mut all = headers.get_all(KEY).iter();
    let Some(value) = all.next() else { return Ok(None) };
    if all.next().is_some() {
        return Err(bad("is there twice"));
    }
    let text = value.to_str().map_err(|_| bad("is no text of visible ASCII characters"))?.trim_matches([' ', '\t']);
    let key = match text.strip_prefix('"').map(|rest| rest.strip_suffix('"')) {
        None => text,
        Some(Some(inner)) => inner,
        Some(None) => return Err(bad("begins with a quote and does not end with one")),
    };
    if key.contains(['"', '\\']) {
        return Err(bad("contains a quote or a backslash"));
    }
    Ok(Some(key.to_owned()))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read(values: &[&'static str]) -> Result<Option<String>, ProblemKind> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(KEY, HeaderValue::from_static(value));
        }
        idempotency_key(&headers).map_err(|problem| problem.kind())
    }

    #[test]
    fn a_key_is_quoted_or_bare_and_there_once() {
        assert_eq!(read(&[]), Ok(None));
        for (value, key) in [("\"a b\"", "a b"), ("a-1", "a-1"), (" \"k\"\t", "k"), ("\tk ", "k")] {
            assert_eq!(read(&[value]), Ok(Some(key.to_owned())), "{value:?}");
        }
        for bad in [&["\"a"][..], &["\"a\", \"b\""], &["a\\b"], &["a\"b"], &["a", "a"]] {
            assert_eq!(read(bad), Err(ProblemKind::KeyInvalid), "{bad:?}");
        }
    }
}
