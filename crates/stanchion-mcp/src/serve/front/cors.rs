//! What a browser wants to know before its page may ask, and may read what it is told. Only for origins that are let in.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderName, HeaderValue, ORIGIN, VARY,
};
use http::{Method, Response, StatusCode};

use crate::serve::{Body, full};

/// Headers of requests that a page may set, besides those whose names begin with `mcp-`.
const ALLOWED: [&str; 5] = ["accept", "authorization", "content-type", "idempotency-key", "last-event-id"];
/// Those of the protocol itself: allowed whether or not they were asked for.
const OF_MCP: [&str; 4] = ["mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name"];
/// Headers of answers that a page may read.
const EXPOSED: &str = "mcp-session-id, idempotent-replayed";
/// So many headers of tools' arguments are allowed in one answer.
const ARGUMENTS: usize = 64;

pub(super) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS && headers.contains_key(ORIGIN) && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to a preflight. Where a token is sent, `*` is no wildcard: headers of arguments are named as they were asked for.
pub(super) fn preflight(headers: &HeaderMap) -> Response<Body> {
    let asked = headers.get_all(ACCESS_CONTROL_REQUEST_HEADERS).iter().filter_map(|value| value.to_str().ok());
    let asked = asked.flat_map(|list| list.split(',')).map(|name| name.trim().to_ascii_lowercase());
    let arguments = asked
        .filter(|name| name.starts_with("mcp-") && !OF_MCP.contains(&name.as_str()))
        .filter(|name| name.parse::<HeaderName>().is_ok())
        .take(ARGUMENTS);
    let names = ALLOWED.into_iter().chain(OF_MCP).map(str::to_owned).chain(arguments).collect::<Vec<_>>().join(", ");
    let mut response = Response::new(full(""));
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    if let Ok(names) = HeaderValue::from_str(&names) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names);
    }
    response
}

/// Lets the page of this origin read the response.
pub(super) fn mark(response: &mut Response<Body>, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    headers.append(VARY, HeaderValue::from_static("Origin"));
}
