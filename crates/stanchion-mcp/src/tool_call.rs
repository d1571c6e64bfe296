//! A `tools/call`, read as far as the guard needs it.

use std::borrow::Cow;

use serde_json::value::RawValue;
use stanchion_core::{CallKey, Error, ErrorKind, Fingerprint, Result, planted};

use crate::frame::{Frame, text_of};
use crate::problem::{Problem, ProblemKind};
use crate::rule::Fencing;
use crate::splice::{members, pick, quoted};

/// Members of `_meta` that carry a key, best first.
///
/// ```
/// assert_eq!(stanchion_mcp::KEY_NAMES[0], "dev.stanchion/idempotencyKey");
/// ```
pub const KEY_NAMES: [&str; 4] =
    ["dev.stanchion/idempotencyKey", "io.mcp-gateway/idempotency-key", "idempotencyKey", "idempotency_key"];

/// The key that a caller has chosen.
///
/// # If it fails
/// [`ProblemKind::KeyInvalid`]: it is no key, or begins with `derived:`, as those do that we make of arguments. Nothing ran.
///
/// ```
/// assert_eq!(stanchion_mcp::chosen_key("order-7")?.as_str(), "order-7");
/// assert!(stanchion_mcp::chosen_key("derived:7").is_err());
/// # Ok::<(), stanchion_mcp::Problem>(())
/// ```
pub fn chosen_key(text: &str) -> Result<CallKey, Problem> {
    let bad = |why: String| Problem::new(ProblemKind::KeyInvalid, why);
    if text.starts_with("derived:") {
        return Err(bad("keys that begin with `derived:` are not the caller's to choose".to_owned()));
    }
    CallKey::new(text).map_err(|error| bad(error.to_string()))
}

const HOST_CALL_ID: &str = "claudecode/toolUseId";
/// Where the fence of the lock goes.
pub(crate) const FENCE: &str = "dev.stanchion/fence";
/// What the client understands, in the era without sessions.
pub(crate) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";
/// What a request of the era without sessions must carry.
const ERA: &str = "io.modelcontextprotocol/";

/// What is looked at in `params`.
const PARAMS: [&str; 7] = ["name", "arguments", "_meta", "idempotencyKey", "task", "inputResponses", "requestState"];

/// What a call asks for.
#[derive(Debug)]
pub(crate) struct ToolCall<'a> {
    pub(crate) tool: Cow<'a, str>,
    pub(crate) arguments: Option<&'a RawValue>,
    meta: Vec<(Cow<'a, str>, &'a RawValue)>,
    sep_3182: Option<&'a RawValue>,
    /// It wants to be run as a task, which goes on after its answer.
    pub(crate) is_task: bool,
    inputs: [Option<&'a RawValue>; 2],
}

impl<'a> ToolCall<'a> {
    /// # If it fails
    /// `Invalid`: it names no tool, or has a member twice.
    pub(crate) fn of(frame: &Frame<'a>) -> Result<Self> {
        let bad = |why: String| Error::new(ErrorKind::Invalid, "this is no call of a tool").with("why", why);
        let params = frame.params().ok_or_else(|| bad("it has no params".into()))?;
        let [name, arguments, meta, sep_3182, task, responses, state] =
            pick(params.get(), PARAMS).map_err(|e| bad(e.to_string()))?;
        let tool = name.and_then(text_of).ok_or_else(|| bad("its name is no text".into()))?;
        let meta = match there(meta) {
            None => Vec::new(),
            Some(meta) => members(meta.get()).ok_or_else(|| bad("its _meta is no object".into()))?,
        };
        let mut names: Vec<&str> = meta.iter().map(|(name, _)| &**name).collect();
        names.sort_unstable();
        if let Some([twice, _]) = names.array_windows().find(|[one, other]| one == other) {
            return Err(bad(format!("its _meta has {twice:?} twice")));
        }
        Ok(Self {
            tool,
            arguments: there(arguments),
            meta,
            sep_3182: there(sep_3182),
            is_task: there(task).is_some(),
            inputs: [state, responses],
        })
    }

    fn meta(&self, name: &str) -> Option<&'a RawValue> {
        there(self.meta.iter().find(|(known, _)| known == name).map(|(_, raw)| *raw))
    }

    /// Does it carry a fence where only the gateway may put one?
    pub(crate) fn has_fence(&self, fencing: &Fencing) -> bool {
        match fencing {
            Fencing::None | Fencing::Header(_) => false,
            Fencing::Meta => self.meta(FENCE).is_some(),
            Fencing::Argument(name) => self.argument(name).is_some(),
        }
    }

    /// Has its client said that it understands tasks, so that the server may make one of the call?
    pub(crate) fn allows_tasks(&self) -> bool {
        self.meta(CAPABILITIES).is_some_and(|raw| raw.get().contains(TASKS))
    }

    /// The key that the caller chose: in `_meta`, in `params`, in the header, in the argument that the policy names, and as
    /// the host's own id of this call if the policy says so; the first that is there counts.
    ///
    /// # If it fails
    /// `Invalid`: it is there and is no text.
    pub(crate) fn key(
        &self,
        header: Option<&'a str>,
        argument: Option<&str>,
        host_call_id: bool,
    ) -> Result<Option<Cow<'a, str>>> {
        let carried = KEY_NAMES.iter().find_map(|name| self.meta(name)).or(self.sep_3182);
        if let Some(raw) = carried {
            return text(raw).map(Some);
        }
        if let Some(key) = header {
            return Ok(Some(Cow::Borrowed(key)));
        }
        if let Some(name) = argument
            && let Some(raw) = self.argument(name)
        {
            return text(raw).map(Some);
        }
        let host = if host_call_id { self.meta(HOST_CALL_ID) } else { None };
        host.map(text).transpose()
    }

    fn argument(&self, name: &str) -> Option<&'a RawValue> {
        let members = members(self.arguments?.get())?;
        members.into_iter().find(|(known, _)| known == name).map(|(_, raw)| raw)
    }

    /// What the call stands for. No arguments and empty ones are the same.
    ///
    /// # If it fails
    /// `Invalid`: a member is there twice.
    pub(crate) fn fingerprint(&self) -> Result<Fingerprint> {
        if planted!("gateway-fingerprint-without-arguments") {
            return Ok(Fingerprint::of_bytes(self.tool.as_bytes()));
        }
        Fingerprint::of_json(self.arguments.map_or("{}", RawValue::get))
    }

    /// For a further round of a call that asked for input: what it was given.
    ///
    /// # If it fails
    /// `Invalid`: a member is there twice.
    pub(crate) fn round(&self) -> Result<Option<Fingerprint>> {
        if self.inputs.iter().all(Option::is_none) {
            return Ok(None);
        }
        let [state, responses] = self.inputs.map(|raw| raw.map_or("null", RawValue::get));
        Fingerprint::of_json(&format!("[{state},{responses}]")).map(Some)
    }

    /// How its caller wants to hear of progress.
    pub(crate) fn progress_token(&self) -> Option<&'a str> {
        self.meta("progressToken").map(RawValue::get)
    }

    /// The trace it belongs to.
    pub(crate) fn trace(&self) -> Option<String> {
        let parent = text_of(self.meta("traceparent")?)?;
        let id = parent.split('-').nth(1)?;
        (id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| id.to_owned())
    }

    /// Is it of the era without sessions?
    pub(crate) fn is_modern(&self) -> bool {
        self.meta.iter().any(|(name, _)| name == "io.modelcontextprotocol/protocolVersion")
    }

    /// `_meta` for a request of our own in the same era, on behalf of the same client.
    pub(crate) fn era(&self) -> Option<String> {
        let own = self.meta.iter().filter(|(name, _)| name.starts_with(ERA));
        let own: Vec<_> = own.map(|(name, raw)| format!("{}:{}", quoted(name), raw.get())).collect();
        (!own.is_empty()).then(|| format!("{{{}}}", own.join(",")))
    }
}

/// `null` is nothing.
fn there(raw: Option<&RawValue>) -> Option<&RawValue> {
    raw.filter(|raw| raw.get() != "null")
}

fn text(raw: &RawValue) -> Result<Cow<'_, str>> {
    text_of(raw).ok_or_else(|| {
        Error::new(ErrorKind::Invalid, "an idempotency key is a text")
            .hint("send it as a JSON string of 1 to 255 characters")
    })
}
