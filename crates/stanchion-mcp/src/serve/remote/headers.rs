//! Headers on their way through.

use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, EXPECT,
    HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, SET_COOKIE, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};

use crate::serve::key::KEY;

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
pub(super) const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAM: &str = "mcp-param-";
/// By any of them a server could take a request for one of another method than it was looked at as.
const OVERRIDES: [HeaderName; 4] = [
    HeaderName::from_static("x-http-method-override"),
    HeaderName::from_static("x-http-method"),
    HeaderName::from_static("x-method-override"),
    HeaderName::from_static("x-original-method"),
];

/// Removes what is meant for one connection only (RFC 9110 7.6.1).
fn strip(headers: &mut HeaderMap) {
    let listed: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let fixed = [
        CONNECTION,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("proxy-connection"),
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
        CONTENT_LENGTH,
    ];
    for name in listed.iter().chain(&fixed) {
        headers.remove(name);
    }
}

/// What the upstream gets: everything but what was said to us. `own` comes from the policy and wins. `fences` are headers that
/// only we set: a fence that a caller has made up could be larger than any true one.
///
/// Answers have to be read, so they are not compressed.
pub(super) fn to_upstream(headers: &HeaderMap, own: &HeaderMap, fences: &[HeaderName]) -> HeaderMap {
    let mut out = headers.clone();
    strip(&mut out);
    for name in [HOST, AUTHORIZATION, COOKIE, EXPECT, ACCEPT_ENCODING].iter().chain(&OVERRIDES).chain(fences) {
        out.remove(name);
    }
    for (name, value) in own {
        out.insert(name.clone(), value.clone());
    }
    out
}

/// What the caller gets. Where `Location` points, nobody guards; and cookies of ours are not kept, so the upstream's would be sent
/// back to nobody.
pub(super) fn to_caller(mut headers: HeaderMap) -> HeaderMap {
    strip(&mut headers);
    for name in [LOCATION, SET_COOKIE] {
        headers.remove(name);
    }
    headers
}

/// Is the body read by the upstream as it is by us: as UTF-8, and as it is there?
///
/// Readers do not agree on how parameters are quoted, repeated and continued: so `charset` stands there once and plainly, or not.
///
/// # If it fails
/// In words: what is wrong.
pub(super) fn is_plain_utf8(headers: &HeaderMap) -> Result<(), &'static str> {
    let plain = |value: &HeaderValue| value.to_str().is_ok_and(|text| text.trim().eq_ignore_ascii_case("identity"));
    if !headers.get_all(CONTENT_ENCODING).iter().all(plain) {
        return Err("Content-Encoding must be identity");
    }
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let Some(value) = types.next() else { return Ok(()) };
    if types.next().is_some() {
        return Err("Content-Type is there twice");
    }
    let text = value.to_str().map_err(|_| "Content-Type is no text of visible ASCII characters")?.to_ascii_lowercase();
    let good = text.split(';').skip(1).map(str::trim).filter(|p| matches!(*p, "charset=utf-8" | "charset=\"utf-8\""));
    if text.matches("charset").count() != good.count().min(1) {
        return Err("the charset in Content-Type must be utf-8");
    }
    Ok(())
}

/// For a `tools/list` of our own on behalf of the caller whose headers these are.
pub(super) fn of_own_list(headers: &HeaderMap) -> HeaderMap {
    let mut out = headers.clone();
    let of_the_call: Vec<HeaderName> = out.keys().filter(|name| name.as_str().starts_with(PARAM)).cloned().collect();
    for name in of_the_call.iter().chain(&[KEY, NAME, LAST_EVENT_ID]) {
        out.remove(name);
    }
    if out.contains_key(METHOD) {
        out.insert(METHOD, HeaderValue::from_static("tools/list"));
    }
    out.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    out.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    out
}

/// For taking up a stream of events behind this one.
pub(super) fn of_resumption(headers: &HeaderMap, last: &str) -> Option<HeaderMap> {
    let mut out = of_own_list(headers);
    for name in [METHOD, CONTENT_TYPE] {
        out.remove(name);
    }
    out.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    out.insert(LAST_EVENT_ID, HeaderValue::from_str(last).ok()?);
    Some(out)
}

/// Does the caller take events?
pub(super) fn takes_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(is_event_type)
}

/// Is the body a stream of events?
pub(super) fn are_events(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(is_event_type)
}

fn is_event_type(value: &str) -> bool {
    value.split(';').next().is_some_and(|media| media.trim().eq_ignore_ascii_case("text/event-stream"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(rows: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in rows {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn what_was_said_to_us_stays_here() {
        let own = map(&[("authorization", "Bearer upstream")]);
        let said = map(&[
            ("host", "gateway"),
            ("authorization", "Bearer ours"),
            ("cookie", "a=b"),
            ("connection", "close, x-own"),
            ("x-own", "1"),
            ("x-fence", "999"),
            ("x-http-method-override", "PUT"),
            ("mcp-param-region", "=?base64?w7w=?="),
            ("x-unknown", "1"),
            ("x-unknown", "2"),
        ]);
        let out = to_upstream(&said, &own, &[HeaderName::from_static("x-fence")]);
        assert_eq!(out["authorization"], "Bearer upstream");
        assert_eq!(out.get_all("x-unknown").iter().collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(out["mcp-param-region"], "=?base64?w7w=?=");
        assert_eq!(out.keys_len(), 3);
    }

    #[test]
    fn our_own_list_speaks_for_the_caller_and_not_for_the_call() {
        let said =
            map(&[("mcp-session-id", "s"), ("mcp-method", "tools/call"), ("mcp-name", "add"), ("mcp-param-a", "1")]);
        let out = of_own_list(&said);
        assert_eq!(
            (&out["mcp-session-id"], &out["mcp-method"]),
            (&HeaderValue::from_static("s"), &HeaderValue::from_static("tools/list"))
        );
        assert!(!out.contains_key("mcp-name") && !out.contains_key("mcp-param-a"));
    }

    #[test]
    fn a_body_is_utf_8_to_every_reader_or_is_refused() {
        for fine in [
            &[][..],
            &[("content-type", "application/json")],
            &[("content-type", "Application/JSON; Charset=UTF-8"), ("content-encoding", "identity")],
            &[("content-type", "application/json;charset=\"utf-8\"; x=y")],
        ] {
            assert_eq!(is_plain_utf8(&map(fine)), Ok(()), "{fine:?}");
        }
        for bad in [
            &[("content-type", "application/json; charset=utf-7")][..],
            &[("content-type", "application/json; charset=utf-8; charset=utf-7")],
            &[("content-type", "application/json; charset=utf-8; charset=utf-8")],
            &[("content-type", "application/json; x=\"; charset=utf-8; y=\"; charset=utf-16le")],
            &[("content-type", "application/json; charset*=us-ascii''utf-7")],
            &[("content-type", "application/json; charset = utf-7")],
            &[("content-type", "application/json, text/plain; charset=utf-7")],
            &[("content-type", "application/json"), ("content-type", "application/json; charset=utf-7")],
            &[("content-encoding", "gzip")],
            &[("content-encoding", "identity"), ("content-encoding", "br")],
            &[("content-encoding", "identity, gzip")],
        ] {
            assert!(is_plain_utf8(&map(bad)).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_caller_gets_no_place_to_go_to_and_no_cookies() {
        let said = map(&[("location", "http://past/us"), ("set-cookie", "a=b"), ("x-up", "1")]);
        assert_eq!(to_caller(said), map(&[("x-up", "1")]));
    }
}
