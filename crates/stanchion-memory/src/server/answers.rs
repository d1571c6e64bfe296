//! What is said to a call: the official server's words for what it knows, the gateway's for what it does not.

use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde::Serialize;
use serde_json::{Map, Value, json};
use stanchion_core::{Error, ErrorKind, Ran};
use stanchion_mcp::{Problem, ProblemKind};

use super::arguments::{Refused, shown};
use super::shape::pretty;
use crate::{EntityNotFound, MemoryError, Notice, Outcome, Selection};

/// Where programs find notices.
const NOTICES: &str = "dev.stanchion/notices";

/// The answer to a call: a result, or an error of the protocol.
pub(super) type Said = Result<Value, ErrorData>;

/// The protocol's own "internal error", which the official SDK answers a message with that it cannot use.
pub(super) fn unusable(why: String) -> ErrorData {
    ErrorData::new(ErrorCode::INTERNAL_ERROR, why, None)
}

/// In the official SDK's words.
pub(super) fn no_such_method() -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "Method not found", None)
}

pub(super) fn refused(refused: Refused) -> Said {
    match refused {
        Refused::Message(why) => Err(unusable(why)),
        Refused::Call(why) => Ok(failed(why)),
    }
}

fn failed(text: impl Into<String>) -> Value {
    json!({"content": [{"type": "text", "text": text.into()}], "isError": true})
}

fn result(text: String, structured: Value, notices: &[Notice]) -> Value {
    let mut content = vec![json!({"type": "text", "text": text})];
    content.extend(notices.iter().map(|notice| json!({"type": "text", "text": format!("stanchion: {notice}")})));
    let mut result = Map::new();
    result.extend(noticed(notices).map(|meta| ("_meta".to_owned(), meta.into())));
    result.insert("content".into(), content.into());
    result.insert("structuredContent".into(), structured);
    result.into()
}

/// What programs read of notices; nothing, if there are none. They are also said on standard error.
pub(super) fn noticed(notices: &[Notice]) -> Option<Map<String, Value>> {
    if notices.is_empty() {
        return None;
    }
    notices.iter().for_each(|notice| tracing::warn!(kind = notice.kind, "{notice}"));
    let told: Vec<Value> = notices.iter().map(|one| json!({"kind": one.kind, "text": one.text})).collect();
    Some(Map::from_iter([(NOTICES.to_owned(), told.into())]))
}

/// What a reader is told.
pub(super) fn selection(selection: &Selection, notices: &[Notice]) -> Value {
    result(pretty(selection), value(selection), notices)
}

/// What a writer is told.
pub(super) fn outcome(tool: &str, outcome: &Outcome, notices: &[Notice]) -> Value {
    let member = |name: &str, value: Value| Value::Object(Map::from_iter([(name.to_owned(), value)]));
    match outcome {
        Outcome::Entities(entities) => result(pretty(entities), member("entities", value(entities)), notices),
        Outcome::Relations(relations) => result(pretty(relations), member("relations", value(relations)), notices),
        Outcome::Observations(added) => result(pretty(added), member("results", value(added)), notices),
        Outcome::Deleted => {
            let message = match tool {
                "delete_entities" => "Entities deleted successfully",
                "delete_observations" => "Observations deleted successfully",
                _ => "Relations deleted successfully",
            };
            result(message.to_owned(), json!({"success": true, "message": message}), notices)
        }
    }
}

fn value(value: &impl Serialize) -> Value {
    // What we answer with has texts as names and no failing parts.
    serde_json::to_value(value).unwrap_or_default()
}

/// A call that did not do what it should.
pub(super) fn failure(error: MemoryError, modern: bool) -> Said {
    match error {
        MemoryError::NotFound(EntityNotFound(name)) => Ok(failed(EntityNotFound(shown(&name)).to_string())),
        MemoryError::Kept(error) => problem(&kept(error), modern),
    }
}

/// The same as a result in any case.
pub(super) fn failure_result(error: MemoryError, modern: bool) -> Value {
    failure(error, modern).unwrap_or_else(|error| failed(error.message))
}

/// What is the matter with the place where the graph is kept, in the gateway's words.
fn kept(error: Error) -> Problem {
    let kind = match error.kind() {
        ErrorKind::Damaged => ProblemKind::FileDamaged,
        // Others were quicker, time and again.
        ErrorKind::Conflict => ProblemKind::LockBusy,
        ErrorKind::OutcomeUnknown | ErrorKind::LeaseLost => ProblemKind::OutcomeUnknown,
        _ => return Problem::from(error),
    };
    Problem::new(kind, error.to_string().replace(char::is_control, " "))
}

/// Can the change have happened?
pub(super) fn may_have_changed(error: &MemoryError) -> bool {
    match error {
        MemoryError::NotFound(_) => false,
        MemoryError::Kept(error) => error.kind().ran() == Ran::Maybe,
    }
}

/// What a problem is answered with.
pub(super) fn problem(problem: &Problem, modern: bool) -> Said {
    of_frame(&problem.frame("0", modern))
}

/// The result or the error within an answer of the gateway's making.
pub(super) fn of_frame(frame: &str) -> Said {
    let broken = || unusable("an answer cannot be read".to_owned());
    let mut frame: Value = serde_json::from_str(frame).map_err(|_| broken())?;
    match frame.get_mut("error") {
        None => frame.get_mut("result").map(Value::take).ok_or_else(broken),
        Some(error) => Err(serde_json::from_value(error.take()).map_err(|_| broken())?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(error: Error) -> String {
        let said = failure(MemoryError::Kept(error), false).unwrap();
        assert_eq!(said["isError"], true, "{said}");
        said["_meta"]["dev.stanchion/error"]["type"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_busy_lock_a_damaged_file_and_a_failed_tool_are_three_answers() {
        assert_eq!(kind(Error::new(ErrorKind::Contended, "the file is busy")), "lock_busy");
        assert_eq!(kind(Error::new(ErrorKind::Damaged, "not a memory")), "file_damaged");
        let failed = failure(EntityNotFound("Ada".into()).into(), false).unwrap();
        let official =
            json!({"content": [{"type": "text", "text": "Entity with name Ada not found"}], "isError": true});
        assert_eq!(failed, official);
    }

    #[test]
    fn what_may_have_been_written_says_so_and_what_was_not_says_that() {
        for (error, may, expected) in [
            (ErrorKind::OutcomeUnknown, true, "outcome_unknown"),
            (ErrorKind::LeaseLost, true, "outcome_unknown"),
            (ErrorKind::Unexpected, true, "internal"),
            (ErrorKind::Unavailable, false, "store_down"),
            (ErrorKind::Denied, false, "store_unsuitable"),
            (ErrorKind::Conflict, false, "lock_busy"),
        ] {
            let said = failure(Error::new(error, "x").into(), false).unwrap();
            let data = &said["_meta"]["dev.stanchion/error"];
            assert_eq!((&data["type"], &data["mayHaveExecuted"]), (&json!(expected), &json!(may)), "{error:?}");
            let text = said["content"][0]["text"].as_str().unwrap();
            assert_eq!(text.contains("Nothing was"), !may, "{text}");
        }
    }

    #[test]
    fn a_notice_stands_beside_the_answer() {
        let notice = Notice { kind: "file_damaged", text: "1 line was set aside".into() };
        let said = outcome("delete_entities", &Outcome::Deleted, &[notice]);
        assert_eq!(said["content"][1]["text"], "stanchion: 1 line was set aside");
        assert_eq!(said["_meta"][NOTICES], json!([{"kind": "file_damaged", "text": "1 line was set aside"}]));
        assert_eq!(said["structuredContent"], json!({"success": true, "message": "Entities deleted successfully"}));
    }
}
