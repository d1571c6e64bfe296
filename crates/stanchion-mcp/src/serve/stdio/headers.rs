//! The headers that both eras need.

use http::header::{ACCEPT, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, StatusCode};

use super::{events, words};
use crate::serve::key::idempotency_key;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Versions from this one on know events without data; older clients fail on them.
const RESUMABLE: &str = "2025-11-25";

/// A header as text, without the space around it.
pub(super) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

/// The version that the request says it speaks.
pub(super) fn version(headers: &HeaderMap) -> Option<&str> {
    text(headers, &VERSION)
}

/// Can a stream to this client be resumed? Versions are days: they can be compared as texts.
pub(super) fn can_resume(headers: &HeaderMap) -> bool {
    version(headers).is_some_and(|version| version >= RESUMABLE)
}

/// The event that the client has seen last. One that cannot be read is none of ours, and not the same as none.
pub(super) fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(LAST_EVENT_ID)?;
    Some(value.to_str().unwrap_or("?").trim()).filter(|id| !id.is_empty())
}

/// The caller's key, if it sent one.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<String>, words::Refused> {
    idempotency_key(headers)
        .map_err(|problem| Box::new(events::json(StatusCode::BAD_REQUEST, problem.frame("null", false))))
}

/// Is what a POST must say of its body and of what it takes there?
pub(super) fn check_post(headers: &HeaderMap) -> Result<(), words::Refused> {
    let kind = text(headers, &CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        let what = "Unsupported Media Type: Content-Type must be application/json";
        return Err(words::refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "null", -32600, what));
    }
    if !accepts(headers, "application", "json") || !accepts(headers, "text", "event-stream") {
        let what = "Not Acceptable: Accept must name application/json and text/event-stream";
        return Err(words::refuse(StatusCode::NOT_ACCEPTABLE, "null", -32600, what));
    }
    Ok(())
}

/// Does the client take events?
pub(super) fn check_get(headers: &HeaderMap) -> Result<(), words::Refused> {
    if accepts(headers, "text", "event-stream") {
        return Ok(());
    }
    let what = "Not Acceptable: Accept must name text/event-stream";
    Err(words::refuse(StatusCode::NOT_ACCEPTABLE, "null", -32600, what))
}

/// Does the client name events before JSON? Then it would rather have them.
pub(super) fn prefers_events(headers: &HeaderMap) -> bool {
    let listed: Vec<&str> = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let listed = listed.join(",").to_ascii_lowercase();
    let at = |kind: &str| listed.split(',').position(|one| one.split(';').next().unwrap_or_default().trim() == kind);
    matches!((at("text/event-stream"), at("application/json")), (Some(events), Some(json)) if events < json)
}

fn accepts(headers: &HeaderMap, main: &str, sub: &str) -> bool {
    let listed = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    listed.flat_map(|list| list.split(',')).any(|one| {
        let mut parts = one.split(';');
        let kind = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let refused = parts.any(|part| matches!(part.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
        let (its_main, its_sub) = kind.split_once('/').unwrap_or_default();
        !refused && (its_main == main || its_main == "*") && (its_sub == sub || its_sub == "*")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_takes_is_read_as_it_is_meant() {
        let rows = [
            ("application/json, text/event-stream", true),
            ("text/event-stream;q=0.9,application/json;q=1", true),
            ("*/*", true),
            ("application/*, text/*", true),
            ("application/json", false),
            ("text/event-stream", false),
            ("application/json, text/event-stream;q=0", false),
            ("", false),
        ];
        for (accept, fine) in rows {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, "Application/JSON; charset=utf-8".parse().unwrap());
            headers.insert(ACCEPT, accept.parse().unwrap());
            assert_eq!(check_post(&headers).is_ok(), fine, "{accept}");
        }
    }
}
