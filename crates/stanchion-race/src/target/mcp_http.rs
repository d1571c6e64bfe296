//! MCP over streamable HTTP.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::Response;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::timeout;

use super::http::{Address, NotYet, Pump, body, send};
use super::sse::Events;
use super::{ANSWER_MAX, HttpAsked, Ready, Reply, rpc, shown};

const SESSION: &str = "mcp-session-id";
/// Nobody waits longer for the end of a session.
const END: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Link {
    address: Address,
    headers: Vec<(String, String)>,
    next: AtomicU64,
}

impl Link {
    /// The handshake, once it can be connected to.
    pub(super) async fn open(address: Address, headers: Vec<(String, String)>) -> Result<Self, NotYet> {
        let mut link = Self { address, headers, next: AtomicU64::new(2) };
        let (response, pump) = match link.post(&rpc::initialize(1), Ready::Nothing, None).await {
            Ok(answer) => answer,
            Err(Reply::Undelivered(why) | Reply::Silent(why)) => return Err(NotYet::Away(why)),
            Err(other) => return Err(link.wrong("initialize", other)),
        };
        let session = response.headers().get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let answer = match message(response, 1, pump).await {
            Ok(answer) => answer,
            Err(Reply::Silent(why)) => return Err(NotYet::Away(why)),
            Err(other) => return Err(link.wrong("initialize", other)),
        };
        let version = answer.get("result").and_then(|result| result.get("protocolVersion")).and_then(Value::as_str);
        let Some(version) = version else {
            return Err(NotYet::Wrong(format!("its answer to initialize is {}", shown(&answer.to_string()))));
        };
        link.headers.push(("mcp-protocol-version".into(), version.to_owned()));
        link.headers.extend(session.map(|id| (SESSION.into(), id)));
        match link.post(&rpc::initialized(), Ready::Nothing, None).await {
            Ok(_) => Ok(link),
            Err(other) => Err(link.wrong("notifications/initialized", other)),
        }
    }

    /// Ends the session, as a client should. Whether the server lets it is its own affair.
    pub(super) async fn end(&self) {
        if self.headers.iter().all(|(name, _)| name != SESSION) {
            return;
        }
        let (path, headers) = (self.address.target(""), self.headers.clone());
        let asked = HttpAsked { method: "DELETE", path, headers, body: None };
        let ended = timeout(END, send(&self.address, Ready::Nothing, &asked, None)).await;
        if !matches!(ended, Ok(Ok(_))) {
            tracing::debug!("a session could not be ended");
        }
    }

    fn wrong(&self, asked: &str, reply: Reply) -> NotYet {
        NotYet::Wrong(format!("it answered {asked} with {}", self.address.covered(reply).why()))
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    pub(super) async fn call(&self, tool: &str, arguments: &Value, ready: Ready, cut: Option<Duration>) -> Reply {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (response, pump) = match self.post(&rpc::call(id, tool, arguments), ready, cut).await {
            Ok(answer) => answer,
            Err(reply) => return self.address.covered(reply),
        };
        let reply = message(response, id, pump).await.map_or_else(|reply| reply, |answer| rpc::reply(&answer));
        self.address.covered(reply)
    }

    /// One page of its tools.
    pub(super) async fn tools(&self, cursor: Option<&str>) -> Result<Value, String> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let asked = self.post(&rpc::tools(id, cursor), Ready::Nothing, None).await;
        let answer = match asked {
            Ok((response, pump)) => message(response, id, pump).await,
            Err(reply) => Err(reply),
        };
        answer.map_err(|reply| format!("it answered tools/list with {}", self.address.covered(reply).why()))
    }

    async fn post(
        &self,
        message: &Value,
        ready: Ready,
        cut: Option<Duration>,
    ) -> Result<(Response<Incoming>, Pump), Reply> {
        let mut headers = self.headers.clone();
        headers.push(("content-type".into(), "application/json".into()));
        headers.push(("accept".into(), "application/json, text/event-stream".into()));
        let (path, body) = (self.address.target(""), Some(message.to_string().into_bytes()));
        send(&self.address, ready, &HttpAsked { method: "POST", path, headers, body }, cut).await
    }
}

/// The message that answers this id, from a body or from a stream.
async fn message(response: Response<Incoming>, id: u64, pump: Pump) -> Result<Value, Reply> {
    let status = response.status();
    let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let answers =
        |message: &Value| message.get("id").and_then(Value::as_u64) == Some(id) && message.get("method").is_none();
    if !kind.starts_with("text/event-stream") {
        let body = body(response).await?;
        drop(pump);
        let found = serde_json::from_slice::<Value>(&body).ok();
        let said = || shown(&String::from_utf8_lossy(&body));
        return match found {
            Some(message) if answers(&message) => Ok(message),
            Some(message) if !status.is_success() => {
                let may_have_run = !rpc::says_nothing_ran(&message);
                Err(Reply::Refused { what: format!("{} {}", status.as_u16(), said()), may_have_run })
            }
            None if !status.is_success() => {
                Err(Reply::Refused { what: format!("{} {}", status.as_u16(), said()), may_have_run: true })
            }
            _ => Err(Reply::Garbage(said())),
        };
    }
    let (mut events, mut stream, mut read) = (Events::default(), response.into_body(), 0);
    while let Some(frame) = stream.frame().await {
        let frame = frame.map_err(|error| Reply::Silent(format!("no whole answer: {error}")))?;
        let Ok(bytes) = frame.into_data() else { continue };
        read += bytes.len();
        if read.max(events.kept()) > ANSWER_MAX {
            return Err(Reply::Garbage("a stream of more than 16 MiB without an answer".into()));
        }
        for data in events.feed(&bytes) {
            match serde_json::from_slice::<Value>(&data) {
                Ok(message) if answers(&message) => return Ok(message),
                // Notifications, and questions that nobody answers here.
                Ok(_) => {}
                Err(_) => return Err(Reply::Garbage(shown(&String::from_utf8_lossy(&data)))),
            }
        }
    }
    Err(Reply::Silent("the stream ended without an answer".into()))
}
