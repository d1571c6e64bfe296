//! What is raced: instances that are started or connected to, and the three ways to speak to them.

#[cfg(feature = "http")]
pub(crate) mod http;
mod instance;
#[cfg(feature = "http")]
mod mcp_http;
mod process;
mod rpc;
mod said;
#[cfg(feature = "http")]
mod sse;
mod stdio;

use std::time::Duration;

use serde_json::Value;

pub(crate) use self::instance::{Instance, Plan, free_port};
use crate::spec::{Request, ValueTemplate, Vars};

/// Answers that are larger are not read.
const ANSWER_MAX: usize = 16 << 20;
/// Longer lists of tools are not read to their end.
const TOOL_PAGES_MAX: usize = 20;

/// A request with everything filled in.
#[derive(Debug, Clone)]
pub(crate) enum Asked {
    Tool { name: String, arguments: Value },
    Http(#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only spoken with the feature"))] HttpAsked),
}

#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only spoken with the feature"))]
pub(crate) struct HttpAsked {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
}

impl Asked {
    pub(crate) fn fill(request: &Request, vars: &Vars) -> Self {
        match request {
            Request::Tool { name, arguments } => Self::Tool { name: name.fill(vars), arguments: arguments.fill(vars) },
            Request::Http { method, path, headers, body } => {
                let mut headers: Vec<_> =
                    headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.fill(vars))).collect();
                let is_json = body.as_ref().is_some_and(|body| !matches!(body, ValueTemplate::Text(_)));
                if is_json && headers.iter().all(|(name, _)| name != "content-type") {
                    headers.push(("content-type".into(), "application/json".into()));
                }
                let body = body.as_ref().map(|body| match body {
                    ValueTemplate::Text(text) => text.fill(vars).into_bytes(),
                    other => other.fill(vars).to_string().into_bytes(),
                });
                Self::Http(HttpAsked { method, path: path.fill(vars), headers, body })
            }
        }
    }
}

/// An answer without an error.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) json: Option<Value>,
    /// The beginning of it, for people.
    pub(crate) shown: String,
}

impl Answer {
    /// It may have no text, and only structured content.
    pub(crate) fn new(text: String, json: Option<Value>) -> Self {
        let shown = match &json {
            Some(json) if text.trim().is_empty() => shown(&json.to_string()),
            _ => shown(&text),
        };
        Self { text, json, shown }
    }
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reply {
    Answer(Answer),
    /// Answered with an error.
    Refused {
        what: String,
        may_have_run: bool,
    },
    /// Certainly not delivered.
    Undelivered(String),
    /// Perhaps delivered, never answered.
    Silent(String),
    /// Answered with something that is no answer.
    Garbage(String),
}

impl Reply {
    /// Why there is no answer, in words; nothing if there is one.
    pub(crate) fn why(self) -> String {
        match self {
            Self::Answer(_) => String::new(),
            Self::Refused { what, .. } => what,
            Self::Undelivered(why) => format!("not delivered: {why}"),
            Self::Silent(why) => why,
            Self::Garbage(what) => format!("no answer but this: {what}"),
        }
    }
}

/// Short enough to be shown.
pub(crate) fn shown(text: &str) -> String {
    let mut short: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect();
    if text.trim().chars().count() > 300 {
        short.push('…');
    }
    short
}

/// An address as it may be told: neither a password nor a query, which may be a key.
///
/// ```
/// assert_eq!(stanchion_race::without_secrets("http://host:1/mcp?key=abc"), "http://host:1/mcp?…");
/// ```
#[must_use]
pub fn without_secrets(url: &str) -> String {
    let (shown, query) = url.split_once('?').map_or((url, ""), |(shown, _)| (shown, "?…"));
    let start = shown.find("://").map_or(0, |at| at + "://".len());
    let (scheme, rest) = shown.split_at(start);
    let end = rest.find('/').unwrap_or(rest.len());
    let rest = match rest.get(..end).and_then(|authority| authority.rfind('@')) {
        Some(at) => format!("…{}", rest.get(at..).unwrap_or_default()),
        None => rest.to_owned(),
    };
    format!("{scheme}{rest}{query}")
}

/// How one instance is spoken to.
#[derive(Debug)]
pub(crate) enum Link {
    Stdio(stdio::Link),
    #[cfg(feature = "http")]
    McpHttp(mcp_http::Link),
    #[cfg(feature = "http")]
    Http(http::Link),
}

/// What was done ahead, so that the release only sends.
pub(crate) enum Ready {
    Nothing,
    #[cfg(feature = "http")]
    Connected(Box<http::Connected>),
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "pipes need nothing ahead"))]
    Failed(String),
}

impl Link {
    /// Connects ahead. A connection that will be cut is cut hard, so that the peer sees a reset and no end.
    pub(crate) async fn prepare(&self, will_be_cut: bool) -> Ready {
        match self {
            Self::Stdio(_) => {
                debug_assert!(!will_be_cut, "pipes cannot be cut");
                Ready::Nothing
            }
            #[cfg(feature = "http")]
            Self::McpHttp(link) => http::ready(link.address(), will_be_cut).await,
            #[cfg(feature = "http")]
            Self::Http(link) => http::ready(link.address(), will_be_cut).await,
        }
    }

    /// The next `calls` are made at one moment. Connections of their own need not be told.
    pub(crate) fn together(&self, calls: usize) {
        match self {
            Self::Stdio(link) => link.together(calls),
            #[cfg(feature = "http")]
            Self::McpHttp(_) | Self::Http(_) => {}
        }
    }

    /// Nothing more is asked. Connections of their own need not be told.
    pub(crate) fn close(&self) {
        match self {
            Self::Stdio(link) => link.close(),
            #[cfg(feature = "http")]
            Self::McpHttp(_) | Self::Http(_) => {}
        }
    }

    /// Asks, and waits for the answer; or cuts the connection so long after the request.
    pub(crate) async fn ask(&self, asked: &Asked, ready: Ready, cut_after: Option<Duration>) -> Reply {
        match (self, asked) {
            (Self::Stdio(link), Asked::Tool { name, arguments }) => link.call(name, arguments).await,
            #[cfg(feature = "http")]
            (Self::McpHttp(link), Asked::Tool { name, arguments }) => {
                link.call(name, arguments, ready, cut_after).await
            }
            #[cfg(feature = "http")]
            (Self::Http(link), Asked::Http(asked)) => link.ask(asked, ready, cut_after).await,
            // The reader of specifications lets only fitting calls pass.
            _ => {
                drop((ready, cut_after));
                Reply::Undelivered("the call does not fit the target".into())
            }
        }
    }

    /// What it says of its tools; of very many the first.
    pub(crate) async fn tools(&self) -> Result<Vec<Value>, String> {
        let (mut all, mut cursor) = (Vec::new(), None);
        for _ in 0..TOOL_PAGES_MAX {
            let page = match self {
                Self::Stdio(link) => link.tools(cursor.as_deref()).await?,
                #[cfg(feature = "http")]
                Self::McpHttp(link) => link.tools(cursor.as_deref()).await?,
                #[cfg(feature = "http")]
                Self::Http(_) => return Err("plain HTTP has no tools".into()),
            };
            let (tools, next) = rpc::listed(&page)?;
            all.extend(tools);
            match next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        Ok(all)
    }

    /// Ends what a server keeps for us, if it runs on.
    pub(crate) async fn end(&self) {
        match self {
            #[cfg(feature = "http")]
            Self::McpHttp(link) => link.end().await,
            #[cfg(feature = "http")]
            Self::Http(_) => {}
            Self::Stdio(_) => {}
        }
    }

    /// What the instance said or did that no target may.
    pub(crate) fn trouble(&self) -> Option<String> {
        match self {
            Self::Stdio(link) => link.trouble(),
            #[cfg(feature = "http")]
            Self::McpHttp(_) | Self::Http(_) => None,
        }
    }
}
