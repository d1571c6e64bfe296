//! The body of a POST: one message, or several in one version of the older era.

use http::{HeaderMap, StatusCode};
use serde_json::value::RawValue;

use super::{headers, words};
use crate::frame::{Frame, Kind, text_of};
use crate::lines::one_line;
use crate::splice::members;

/// The version without sessions.
pub(super) const MODERN: &str = "2026-07-28";
/// Those with sessions.
pub(super) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Where a message says its version.
pub(super) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    Legacy,
    Modern,
}

/// What was posted, each message on one line.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) parts: Vec<String>,
    /// It came as a list.
    pub(super) is_batch: bool,
}

impl Message {
    /// Reads a body.
    pub(super) fn read(body: &[u8]) -> Result<Self, words::Refused> {
        let bad = |what: String| words::refuse(StatusCode::BAD_REQUEST, "null", -32700, &what);
        let text = std::str::from_utf8(body).map_err(|e| bad(format!("Parse error: this is not UTF-8: {e}")))?;
        let text = text.trim_ascii();
        let is_batch = text.starts_with('[');
        let parts = if is_batch {
            let raw: Vec<&RawValue> = serde_json::from_str(text).map_err(|e| bad(format!("Parse error: {e}")))?;
            raw.into_iter().map(|raw| one_line(raw.get()).into_owned()).collect()
        } else {
            vec![one_line(text).into_owned()]
        };
        if parts.is_empty() {
            return Err(words::refuse(StatusCode::BAD_REQUEST, "null", -32600, "Invalid Request: the batch is empty"));
        }
        for part in &parts {
            let frame = Frame::parse(part).map_err(|e| bad(format!("Parse error: {e}")))?;
            let good = match frame.kind() {
                Kind::Request => frame.id().is_some(),
                Kind::Notification | Kind::Response => true,
                Kind::Other => false,
            };
            if !good {
                let what = "Invalid Request: this is neither a request, a notification nor a response";
                return Err(words::refuse(StatusCode::BAD_REQUEST, "null", -32600, what));
            }
        }
        Ok(Self { parts, is_batch })
    }

    /// Which era it belongs to.
    pub(super) fn era(&self, headers: &HeaderMap) -> Era {
        if self.is_batch {
            return Era::Legacy;
        }
        let version = headers::version(headers);
        let Some(frame) = self.parts.first().and_then(|part| Frame::parse(part).ok()) else { return Era::Legacy };
        let unknown = version.is_some_and(|version| !LEGACY.contains(&version));
        let has_session = headers.contains_key(headers::SESSION_ID);
        let modern = version == Some(MODERN)
            || frame.method() == Some("server/discover")
            || said_version(&frame)
            || (unknown && !has_session && frame.method() != Some("initialize"));
        if modern { Era::Modern } else { Era::Legacy }
    }
}

fn said_version(frame: &Frame<'_>) -> bool {
    // Most messages of the older era do not even contain the name.
    frame.text().contains("protocolVersion") && meta(frame, VERSION).is_some()
}

/// A member of `params._meta`.
pub(super) fn meta<'a>(frame: &Frame<'a>, name: &str) -> Option<&'a RawValue> {
    let params = members(frame.params()?.get())?;
    let (_, meta) = params.into_iter().find(|(known, _)| known == "_meta")?;
    members(meta.get())?.into_iter().find(|(known, _)| known == name).map(|(_, raw)| raw)
}

/// A member of `params` that is a text.
pub(super) fn param<'a>(frame: &Frame<'a>, name: &str) -> Option<std::borrow::Cow<'a, str>> {
    let params = members(frame.params()?.get())?;
    let (_, raw) = params.into_iter().find(|(known, _)| known == name)?;
    text_of(raw)
}
