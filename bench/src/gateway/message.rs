//! The client's requests, and what a good answer looks like.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::spec::Call;
use crate::{Fault, Outcome};

pub(super) const VERSION: &str = "2025-06-18";

pub(super) fn initialize() -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"initialize","method":"initialize","params":{{"protocolVersion":"{VERSION}","capabilities":{{}},"clientInfo":{{"name":"stanchion-bench","version":"1"}}}}}}"#
    )
}

pub(super) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
pub(super) const TOOLS: &str = r#"{"jsonrpc":"2.0","id":"tools","method":"tools/list","params":{}}"#;

/// An answer's envelope; anything else has neither `result` nor `error`.
#[derive(Debug, Deserialize)]
pub(super) struct Answer<'a> {
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl<'a> Answer<'a> {
    /// `None` for requests and notifications of the server.
    pub(super) fn read(line: &'a [u8]) -> Outcome<Option<Self>> {
        let answer: Self = serde_json::from_slice(line)
            .map_err(|e| format!("error: not a message: {e}: {}", String::from_utf8_lossy(line)))?;
        Ok(Some(answer).filter(|answer| answer.result.is_some() || answer.error.is_some()))
    }

    pub(super) fn result(&self) -> Outcome<&'a str> {
        match (self.result, self.error) {
            (Some(result), None) => Ok(result.get()),
            (_, error) => Err(format!("the call failed: error {}", error.map_or("missing", |e| e.get())).into()),
        }
    }
}

/// Makes calls and checks their answers: a gateway that refuses is not fast, it is broken.
#[derive(Debug)]
pub(super) struct Caller {
    call: Call,
    /// As this server spells it: some put a name of their own before it.
    tool: String,
    /// Fresh in every round.
    key: String,
    /// How often the tool had been run when the one key's answer was made.
    writes: Option<u64>,
}

#[derive(Deserialize)]
struct Tools {
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'a> {
    #[serde(borrow)]
    content: Vec<Content<'a>>,
    #[serde(default)]
    is_error: bool,
    structured_content: Option<Writes>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    text: Option<std::borrow::Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Writes {
    writes: Option<u64>,
}

impl Caller {
    /// `tools`: the result of `tools/list`.
    pub(super) fn new(call: Call, key: &str, tools: &str) -> Outcome<Self> {
        let tools: Tools = serde_json::from_str(tools)?;
        let found = tools.tools.into_iter().find(|tool| tool.name.ends_with(call.tool()));
        let tool = found.ok_or_else(|| Fault::from(format!("error: the server offers no {}", call.tool())))?.name;
        Ok(Self { call, tool, key: key.to_owned(), writes: None })
    }

    pub(super) fn request(&self, id: u64, out: &mut Vec<u8>) -> Outcome {
        use std::io::Write as _;
        let (tool, key) = (&self.tool, &self.key);
        let text = self.text(id);
        write!(
            out,
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"call {text}"}}"#
        )?;
        match self.call {
            Call::Echo | Call::Write => {}
            Call::FreshKey => write!(out, r#","_meta":{{"dev.stanchion/idempotencyKey":"{key}-{id}"}}"#)?,
            Call::OneKey => write!(out, r#","_meta":{{"dev.stanchion/idempotencyKey":"{key}"}}"#)?,
        }
        out.extend_from_slice(b"}}");
        Ok(())
    }

    /// All calls of one key must have the same arguments.
    fn text(&self, id: u64) -> u64 {
        if self.call == Call::OneKey { 0 } else { id }
    }

    /// The result must be the one of this call; with one key, the one of its first call.
    pub(super) fn check(&mut self, id: u64, result: &str) -> Outcome {
        let read: CallResult<'_> = serde_json::from_str(result)?;
        let text = read.content.first().and_then(|content| content.text.as_deref());
        let number = text.and_then(|text| text.strip_prefix("call ")).and_then(|number| number.parse().ok());
        if read.is_error || number != Some(self.text(id)) {
            return Err(format!("call {id} got an error or another's answer: {result}").into());
        }
        if self.call != Call::OneKey {
            return Ok(());
        }
        let writes = read.structured_content.and_then(|content| content.writes);
        let writes = writes.ok_or("error: the answer of a write does not say how often it ran")?;
        match *self.writes.get_or_insert(writes) {
            first if first == writes => Ok(()),
            first => Err(format!("error: the one key ran again: write {first}, then {writes}").into()),
        }
    }
}
