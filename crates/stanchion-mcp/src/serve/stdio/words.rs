//! What we say ourselves, in the form of the protocol.

use http::StatusCode;
use serde_json::{Value, json};

use super::events;
use crate::serve::Body;
use crate::splice::quoted;

/// An error of the protocol as a message.
pub(super) fn error(raw_id: &str, code: i32, message: &str, data: Option<&Value>) -> String {
    let data = data.map(|data| format!(r#","data":{data}"#)).unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0","id":{raw_id},"error":{{"code":{code},"message":{}{data}}}}}"#, quoted(message))
}

/// It was passed on, and no answer will come.
pub(super) fn lost(raw_id: &str, why: &str) -> String {
    let data = json!({"type": "upstream_failed", "retryable": false, "mayHaveExecuted": true});
    let message = format!("upstream_failed: {why}. It may have been executed. Look first.");
    error(raw_id, -32603, &message, Some(&data))
}

/// It was not passed on.
pub(super) fn not_sent(raw_id: &str, why: &str) -> String {
    let data = json!({"type": "upstream_failed", "retryable": true, "retryAfterMs": 1000, "mayHaveExecuted": false});
    let message = format!("upstream_failed: {why}. Nothing was executed. Try again later.");
    error(raw_id, -32603, &message, Some(&data))
}

/// What a request is turned away with.
pub(super) type Refused = Box<http::Response<Body>>;

/// A refusal, on its way back through `?`.
pub(super) fn refuse(status: StatusCode, raw_id: &str, code: i32, message: &str) -> Refused {
    Box::new(refusal(status, raw_id, code, message))
}

/// A refusal that is about the request itself: nothing ran.
pub(super) fn refusal(status: StatusCode, raw_id: &str, code: i32, message: &str) -> http::Response<Body> {
    events::json(status, error(raw_id, code, message, None))
}
