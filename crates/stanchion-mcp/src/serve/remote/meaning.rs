//! What an upstream's HTTP answer to a call says of the call.

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};

use crate::frame::{Frame, Id, Kind};

/// How much of an answer that is none is shown.
const SHOWN: usize = 200;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The answer to the call.
    Answer(String),
    /// It was refused before any tool was looked at. The answer goes to the caller as it is: it says what to do, as in
    /// "sign in" (401), "initialise again" (404) or "later" (503).
    Refused(String),
    /// It may have run.
    Lost(String),
}

/// A body that is not a stream of events.
pub(super) fn meaning(status: StatusCode, headers: &HeaderMap, body: &[u8], id: &Id) -> Meaning {
    let text = std::str::from_utf8(body).ok();
    let frame = text.and_then(|text| Frame::parse(text).ok());
    let is_ours = frame.as_ref().is_some_and(|frame| frame.kind() == Kind::Response && frame.id().as_ref() == Some(id));
    // An error without an id: the server has not come as far as to read whose it is.
    let is_unread =
        frame.as_ref().is_some_and(|frame| frame.error().is_some() && matches!(frame.raw_id(), None | Some("null")));
    let later = headers.contains_key(RETRY_AFTER);
    match (status.as_u16(), text) {
        (401 | 403 | 404 | 405 | 406 | 413 | 415 | 421 | 431, _) => Meaning::Refused(said(status, text)),
        (429 | 503, _) if later => Meaning::Refused(said(status, text)),
        (200..=299 | 400..=499, Some(text)) if is_ours => Meaning::Answer(text.to_owned()),
        (200..=299, Some(text)) if is_unread => Meaning::Answer(text.to_owned()),
        // Kept as the answer to its key, it would be told to a caller that does better the next time.
        (400..=499, _) if is_unread => Meaning::Refused(said(status, text)),
        _ => Meaning::Lost(said(status, text)),
    }
}

fn said(status: StatusCode, text: Option<&str>) -> String {
    let shown: String = text.unwrap_or("(no text)").chars().filter(|c| !c.is_control()).take(SHOWN).collect();
    let colon = if shown.is_empty() { "" } else { ": " };
    format!("the server said {status}{colon}{shown}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_says_whether_anything_ran() {
        let (ours, error) = (r#" {"id":7.0,"result":{}} "#, r#"{"id":7,"error":{"code":1,"message":""}}"#);
        let unread = r#"{"id":null,"error":{"code":-32000,"message":""}}"#;
        let rows: [(u16, bool, &str, &str); 20] = [
            (200, false, ours, "answer"),
            (200, false, error, "answer"),
            (400, false, error, "answer"),
            (422, false, error, "answer"),
            (200, false, unread, "answer"),
            (400, false, unread, "refused"),
            (401, false, "", "refused"),
            (403, false, error, "refused"),
            (404, false, unread, "refused"),
            (404, false, "not here", "refused"),
            (429, true, "", "refused"),
            (503, true, "", "refused"),
            (429, false, "", "lost"),
            (503, false, "", "lost"),
            (500, false, error, "lost"),
            (502, true, "", "lost"),
            (400, false, "no", "lost"),
            (202, false, "", "lost"),
            (200, false, r#"{"id":8,"result":{}}"#, "lost"),
            (200, false, r#"{"id":7,"result":"#, "lost"),
        ];
        for (status, later, body, wanted) in rows {
            let mut headers = HeaderMap::new();
            if later {
                headers.insert(RETRY_AFTER, http::HeaderValue::from_static("1"));
            }
            let status = StatusCode::from_u16(status).unwrap();
            let found = match meaning(status, &headers, body.as_bytes(), &Id::Integer(7)) {
                Meaning::Answer(text) => {
                    assert_eq!(text, body);
                    "answer"
                }
                Meaning::Refused(_) => "refused",
                Meaning::Lost(_) => "lost",
            };
            assert_eq!(found, wanted, "{status} {body}");
        }
        let lost = meaning(StatusCode::OK, &HeaderMap::new(), b"\xff", &Id::Integer(7));
        assert!(matches!(lost, Meaning::Lost(_)));
    }
}
