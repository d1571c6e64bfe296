//! What an upstream's answer means for the claim, and how an answer that was kept is told again.

use serde::Deserialize;
use serde_json::value::RawValue;
use stanchion_core::claim::Response;
use stanchion_core::{Answer, Reply};

use crate::frame::{Frame, text_of};
use crate::problem::{Problem, ProblemKind};
use crate::splice;

/// The head of an answer whose body is the result of a tool, as JSON.
///
/// ```
/// use stanchion_core::claim::Response;
/// use stanchion_core::{Answer, Reply};
/// let kept = Response::new(stanchion_mcp::KEPT_RESULT, r#"{"content":[]}"#);
/// assert!(stanchion_mcp::frame_of(&Answer::ran(Reply::Done(kept)), "1", false).contains("content"));
/// ```
pub const KEPT_RESULT: &str = "result";
const ERROR: &str = "error";
/// It was never delivered; the body says why.
pub(crate) const NOT_SENT: &str = "not_sent";
/// A replay says so here.
const REPLAYED: &str = "dev.stanchion/replayed";
const RECEIPT: &str = "dev.stanchion/receipt";
const RECORDED: &str = "dev.stanchion/recorded";
const DEGRADED: &str = "dev.stanchion/degraded";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult<'a> {
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(borrow, default)]
    result_type: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RpcError {
    code: i64,
}

/// What the upstream's answer says.
pub(crate) fn reply_of(frame: &Frame<'_>) -> Reply {
    if let Some(error) = frame.error() {
        let response = Response::new(ERROR, error.get().to_owned());
        let code = serde_json::from_str::<RpcError>(error.get()).map(|error| error.code);
        // These the protocol keeps for itself: a request with wrong headers, version or capabilities. All others a tool may raise.
        return match code {
            Ok(-32022..=-32020) => Reply::NoEffect(response),
            _ => Reply::Failed(response),
        };
    }
    let Some(result) = frame.result() else {
        return Reply::Unknown("the server's answer has neither result nor error".to_owned());
    };
    let response = Response::new(KEPT_RESULT, result.get().to_owned());
    let Ok(said) = serde_json::from_str::<ToolResult<'_>>(result.get()) else { return Reply::Done(response) };
    if said.result_type.and_then(text_of).as_deref() == Some("input_required") {
        return Reply::Suspended(response);
    }
    if said.is_error == Some(true) { Reply::Failed(response) } else { Reply::Done(response) }
}

/// The answer to the request with this id, made of what was kept.
///
/// ```
/// use stanchion_core::{Answer, Reply};
/// let frame = stanchion_mcp::frame_of(&Answer::ran(Reply::Unknown("killed".into())), "1", false);
/// assert!(frame.contains("outcome_unknown"));
/// ```
#[must_use]
pub fn frame_of(answer: &Answer, id: &str, modern: bool) -> String {
    let problem = |kind, message: &str| Problem::new(kind, message).receipt(answer.receipt).frame(id, modern);
    let response = match &answer.reply {
        Reply::Done(kept) | Reply::Failed(kept) | Reply::NoEffect(kept) | Reply::Suspended(kept) => kept,
        Reply::Unknown(reason) => return problem(ProblemKind::OutcomeUnknown, reason),
    };
    let Some(body) = response.bytes().and_then(|bytes| std::str::from_utf8(bytes).ok()) else {
        return problem(ProblemKind::AnswerNotKept, "the answer was not kept");
    };
    match response.head.as_str() {
        KEPT_RESULT => flagged(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{body}}}"#), answer),
        ERROR => flagged(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{body}}}"#), answer),
        NOT_SENT => problem(ProblemKind::UpstreamFailed, body),
        // What a person settled with `claims settle --done FILE`: any JSON, told as the text of a result.
        _ => flagged(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, settled(body, modern)), answer),
    }
}

/// Is there an answer to tell again? What [`frame_of`] says instead of one is no replay.
pub(crate) fn is_kept(answer: &Answer) -> bool {
    match &answer.reply {
        Reply::Done(kept) | Reply::Failed(kept) | Reply::NoEffect(kept) | Reply::Suspended(kept) => {
            kept.head != NOT_SENT && kept.bytes().is_some()
        }
        Reply::Unknown(_) => false,
    }
}

fn settled(body: &str, modern: bool) -> String {
    let text = splice::quoted(body);
    let complete = if modern { r#""resultType":"complete","# } else { "" };
    format!(r#"{{{complete}"content":[{{"type":"text","text":{text}}}]}}"#)
}

/// The frame with what the caller has to know besides.
pub(crate) fn flagged(frame: &str, answer: &Answer) -> String {
    let mut out = frame.to_owned();
    let is_error = Frame::parse(frame).is_ok_and(|frame| frame.error().is_some());
    let place: &[&str] = if is_error { &["error", "data"] } else { &["result", "_meta"] };
    let mut set = |name: &str, value: &str| {
        let path: Vec<&str> = place.iter().copied().chain([name]).collect();
        // Data or `_meta` that is no object is left alone, and the mark stands beside it. A result that is none stays as it is.
        let beside = || splice::set(&out, &[place[0], name], value);
        if let Some(spliced) = splice::set(&out, &path, value).or_else(beside) {
            out = spliced;
        }
    };
    if answer.replayed {
        if let Some(receipt) = answer.receipt {
            set(RECEIPT, &splice::quoted(&receipt.to_string()));
        }
        set(REPLAYED, "true");
    }
    if !answer.recorded {
        set(RECORDED, "false");
    }
    if answer.degraded {
        set(DEGRADED, "true");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(text: &str) -> Reply {
        reply_of(&Frame::parse(text).unwrap())
    }

    #[test]
    fn each_answer_is_taken_for_what_it_says() {
        assert!(matches!(reply(r#"{"id":1,"result":{"content":[]}}"#), Reply::Done(_)));
        assert!(matches!(reply(r#"{"id":1,"result":{"content":[],"isError":true}}"#), Reply::Failed(_)));
        assert!(matches!(reply(r#"{"id":1,"result":{"isError":"yes"}}"#), Reply::Done(_)));
        assert!(matches!(reply(r#"{"id":1,"result":{"resultType":"input_required"}}"#), Reply::Suspended(_)));
        assert!(matches!(reply(r#"{"id":1,"result":7}"#), Reply::Done(_)));
        assert!(matches!(reply(r#"{"id":1,"error":{"code":-32020,"message":""}}"#), Reply::NoEffect(_)));
        // Code of the tool may raise them after its effect.
        for code in [-32700, -32600, -32601, -32602, -32603, -32000, 7] {
            let answer = format!(r#"{{"id":1,"error":{{"code":{code},"message":""}}}}"#);
            assert!(matches!(reply(&answer), Reply::Failed(_)), "{code}");
        }
        assert!(matches!(reply(r#"{"id":1}"#), Reply::Unknown(_)));
    }

    #[test]
    fn what_stands_for_an_answer_is_no_replay() {
        let kept = reply(r#"{"id":1,"result":{"content":[]}}"#);
        let not_sent = Reply::NoEffect(Response::new(NOT_SENT, "away"));
        for (reply, is) in [(kept, true), (not_sent, false), (Reply::Unknown("killed".into()), false)] {
            let mut answer = Answer::ran(reply);
            answer.replayed = true;
            assert_eq!((is_kept(&answer), frame_of(&answer, "1", false).contains(REPLAYED)), (is, is), "{answer:?}");
        }
    }

    #[test]
    fn what_is_told_again_is_what_was_said_with_a_mark() {
        let mut answer = Answer::ran(reply(r#"{"id":1,"result":{"n":1.0,"_meta":{"x":12345678901234567890}}}"#));
        answer.replayed = true;
        assert_eq!(
            frame_of(&answer, "\"b\"", false),
            r#"{"jsonrpc":"2.0","id":"b","result":{"n":1.0,"_meta":{"dev.stanchion/replayed":true,"x":12345678901234567890}}}"#
        );
        let mut answer = Answer::ran(reply(r#"{"id":1,"error":{"code":5,"message":"no"}}"#));
        answer.replayed = true;
        assert_eq!(
            frame_of(&answer, "2", false),
            r#"{"jsonrpc":"2.0","id":2,"error":{"data":{"dev.stanchion/replayed":true},"code":5,"message":"no"}}"#
        );
    }
}
