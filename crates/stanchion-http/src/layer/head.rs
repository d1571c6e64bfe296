//! Status and headers of an answer, as they are stored beside its body.

use http::header::{
    CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LOCATION, CONTENT_TYPE, ETAG, LAST_MODIFIED, LINK,
    LOCATION,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};
use stanchion_core::claim::Response as Stored;
use stanchion_core::{Error, ErrorKind, Result};

/// The headers that a replay repeats, unless the policy says otherwise. Cookies, dates and connection matters belong to
/// the first answer alone.
pub(super) const KEPT: [HeaderName; 9] = [
    CONTENT_DISPOSITION,
    CONTENT_ENCODING,
    CONTENT_LANGUAGE,
    CONTENT_LOCATION,
    CONTENT_TYPE,
    ETAG,
    LAST_MODIFIED,
    LINK,
    LOCATION,
];

/// Writes the head. Headers that would not fit are left out, from the end, and their number is returned.
pub(super) fn write(status: StatusCode, headers: &HeaderMap, kept: &[HeaderName]) -> (String, usize) {
    let mut lines: Vec<[String; 2]> = Vec::new();
    let (mut room, mut left_out) = (Stored::HEAD_MAX / 2, 0);
    for name in kept {
        for value in headers.get_all(name) {
            // Each byte as the character of that number: nothing is lost, whatever the bytes are.
            let line = [name.to_string(), value.as_bytes().iter().map(|b| char::from(*b)).collect::<String>()];
            // An escaped byte takes six.
            let size = 6 * line[1].chars().filter(|c| !matches!(c, ' '..='~') || matches!(c, '"' | '\\')).count()
                + line[0].len()
                + line[1].len();
            if size + 8 > room {
                left_out += 1;
            } else {
                room -= size + 8;
                lines.push(line);
            }
        }
    }
    (json!({ "status": status.as_u16(), "headers": lines }).to_string(), left_out)
}

/// Reads what [`write`] wrote.
///
/// # If it fails
/// `Damaged`: somebody else wrote it. Nothing ran now; it did before.
pub(super) fn read(head: &str) -> Result<(StatusCode, HeaderMap)> {
    parse(head).ok_or_else(|| {
        Error::new(ErrorKind::Damaged, "a stored answer has a head that is not ours")
            .hint("look at the claim; if another program shares the store, give each its own prefix")
    })
}

fn parse(head: &str) -> Option<(StatusCode, HeaderMap)> {
    let head: Value = serde_json::from_str(head).ok()?;
    let status = StatusCode::from_u16(u16::try_from(head["status"].as_u64()?).ok()?).ok()?;
    let mut headers = HeaderMap::new();
    for line in head["headers"].as_array()? {
        let (name, value) = (line[0].as_str()?, line[1].as_str()?);
        let bytes = value.chars().map(|c| u8::try_from(c).ok()).collect::<Option<Vec<u8>>>()?;
        headers.append(name.parse::<HeaderName>().ok()?, HeaderValue::from_bytes(&bytes).ok()?);
    }
    Some((status, headers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written() {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("text/plain"));
        headers.append("link", HeaderValue::from_static("</a>; rel=\"next\""));
        headers.append("link", HeaderValue::from_bytes(&[b'\xff', b'\t', b'"', b'\\', 0x80]).unwrap());
        headers.insert("set-cookie", HeaderValue::from_static("secret"));
        let (head, left_out) = write(StatusCode::CREATED, &headers, &KEPT);
        headers.remove("set-cookie");
        assert_eq!((read(&head).unwrap(), left_out), ((StatusCode::CREATED, headers), 0));
        assert!(!head.contains("secret"));
    }

    #[test]
    fn a_head_always_fits_and_says_what_was_left_out() {
        let mut headers = HeaderMap::new();
        for byte in [b'x', 0xff, b'"'] {
            for length in [100, 4000, 60_000] {
                headers.append("link", HeaderValue::from_bytes(&vec![byte; length]).unwrap());
            }
        }
        let (head, left_out) = write(StatusCode::OK, &headers, &KEPT);
        assert!(head.len() <= Stored::HEAD_MAX, "{}", head.len());
        assert_eq!(read(&head).unwrap().1.len() + left_out, 9);
        assert!(left_out > 0);
    }

    #[test]
    fn a_strange_head_is_damaged() {
        for head in ["", "200", "{}", r#"{"status":20,"headers":[]}"#, r#"{"status":200,"headers":[["a"]]}"#] {
            assert_eq!(read(head).unwrap_err().kind(), ErrorKind::Damaged, "{head}");
        }
        assert!(read(r#"{"status":200,"headers":[["content-type","a\nb"]]}"#).is_err(), "no header is smuggled in");
    }
}
