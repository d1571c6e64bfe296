//! The era without sessions: every caller speaks to one and the same process.

mod mirrored;
mod router;
mod shared;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{HeaderMap, Response, StatusCode};
use serde::Deserialize;

use self::mirrored::Mirrored;
use self::router::Entry;
use self::shared::{NotRunning, Running, Shared};
use super::events::{self, Outflow, Ticket, flow};
use super::message::{Message, VERSION, meta};
use super::{Server, UNREAD, headers, words};
use crate::flight::Flight;
use crate::frame::{Frame, Id, Kind, text_of};
use crate::gate::{Answered, Caller, Plan, Sent};
use crate::problem::{Problem, ProblemKind};
use crate::serve::{Body, Visitor, full};
use crate::session::{Client as _, FromClient, cancelled_id};
use crate::splice::{self, members};
use crate::tool_call::ToolCall;

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

#[derive(Debug)]
pub(super) struct Modern {
    server: Arc<Server>,
    shared: Arc<Shared>,
    mirrored: Arc<Mirrored>,
    /// The last id that we have given; never given twice, whichever process it went to.
    last: AtomicU64,
}

impl Modern {
    pub(super) fn new(server: Arc<Server>) -> Self {
        let shared = Arc::new(Shared::new(Arc::clone(&server)));
        Self { server, shared, mirrored: Arc::default(), last: AtomicU64::new(0) }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.shared.is_ready()
    }

    pub(super) async fn shut_down(&self, within: Duration) {
        self.shared.shut_down(within).await;
    }

    pub(super) async fn post(&self, headers: &HeaderMap, message: &Message, visitor: Visitor) -> Response<Body> {
        let Some(frame) = message.parts.first().and_then(|part| Frame::parse(part).ok()) else {
            return words::refusal(StatusCode::BAD_REQUEST, "null", -32600, "Invalid Request");
        };
        let mut caller = Caller::new(&visitor.principal);
        caller.key = match headers::key(headers) {
            Ok(key) => key,
            Err(refused) => return *refused,
        };
        match frame.kind() {
            Kind::Request => self.request(headers, &frame, caller).await,
            Kind::Notification => self.notification(&frame, &caller).await,
            _ => {
                let what = "Invalid Request: this protocol version has no responses from the client";
                words::refusal(StatusCode::BAD_REQUEST, "null", -32600, what)
            }
        }
    }

    async fn notification(&self, frame: &Frame<'_>, caller: &Caller) -> Response<Body> {
        let mut accepted = Response::new(full(""));
        *accepted.status_mut() = StatusCode::ACCEPTED;
        // Nobody is started for it.
        let Some(running) = self.shared.now().await else { return accepted };
        if running.session.to_server().waiting() > UNREAD {
            let what = "the server does not read what it is sent; try again later";
            return words::refusal(StatusCode::SERVICE_UNAVAILABLE, "null", -32603, what);
        }
        match frame.method() {
            Some("notifications/cancelled") => {
                let own = cancelled_id(frame).and_then(|id| running.router.find(&caller.principal, &id));
                if let Some(number) = own {
                    running.cancel(number, "its client has cancelled it");
                }
            }
            // A call that wants no answer would be one that nobody guards.
            Some("tools/call") => {
                let what = "Invalid Request: a tools/call needs an id";
                return words::refusal(StatusCode::BAD_REQUEST, "null", -32600, what);
            }
            Some(method) if is_of_sessions(method) => {}
            _ => running.session.pass(frame.text()),
        }
        accepted
    }

    async fn request(&self, headers: &HeaderMap, frame: &Frame<'_>, caller: Caller) -> Response<Body> {
        let raw_id = frame.raw_id().unwrap_or("null");
        let bad = |code: i32, what: &str| words::refusal(StatusCode::BAD_REQUEST, raw_id, code, what);
        if let Some(what) = ambiguous(frame) {
            return bad(-32600, &what);
        }
        if let Some(what) = incomplete(frame) {
            return bad(-32602, &what);
        }
        if let Some(what) = self.mirrored.disagreement(headers, frame) {
            return bad(-32020, &what);
        }
        if let Some(method) = frame.method().filter(|method| is_of_sessions(method)) {
            let what = format!("Method not found: {method} belongs to versions with sessions, and this one has none");
            return words::refusal(StatusCode::NOT_FOUND, raw_id, -32601, &what);
        }
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let token = meta(frame, "progressToken").map(|raw| raw.get().to_owned());
        let Some(text) = renumbered(frame, number, token.is_some()) else {
            return bad(-32600, "Invalid Request: params or its _meta is no object");
        };
        let running = match self.shared.running(&self.mirrored).await {
            Ok(running) => running,
            Err(why) => return self.without_server(frame, &caller, why).await,
        };
        if running.session.to_server().waiting() > UNREAD {
            let why = "the server does not read what it is sent";
            return events::json(StatusCode::OK, words::not_sent(raw_id, why));
        }
        let (inlet, flow) = flow();
        let method = frame.method().unwrap_or_default().to_owned();
        let is_discover = method == "server/discover";
        let entry = Entry {
            inlet,
            raw_id: raw_id.to_owned(),
            token,
            principal: Arc::clone(&caller.principal),
            wants_logs: meta(frame, LOG_LEVEL).is_some(),
            method,
        };
        if !running.router.open(number, entry) {
            let why = "the server has just ended, or too many requests are under way";
            return events::json(StatusCode::OK, words::not_sent(raw_id, why));
        }
        let ticket = running.ticket(number);
        hand_over(&running, number, &text, &caller);
        answered(flow, ticket, headers::prefers_events(headers), is_discover).await
    }

    /// The server is not there. A call with a key may have been answered before, and is told that answer.
    async fn without_server(&self, frame: &Frame<'_>, caller: &Caller, why: NotRunning) -> Response<Body> {
        let raw_id = frame.raw_id().unwrap_or("null");
        let problem = Problem::new(ProblemKind::UpstreamFailed, &*why.why).retry_after(why.retry_after);
        if frame.method() != Some("tools/call") {
            return events::json(StatusCode::OK, words::not_sent(raw_id, &why.why));
        }
        let gate = &self.server.gate;
        if let Ok(call) = ToolCall::of(frame) {
            // It cannot be asked which tools only read: all of them count as writing for a while.
            gate.learn_hints(&call.tool, None, |_| async { None }).await;
        }
        let (guarded, why) = match gate.plan(frame, caller) {
            Ok(Plan::Guard(guarded)) => (guarded, why.why),
            Ok(Plan::Pass | Plan::AskHints) => return events::json(StatusCode::OK, problem.frame(raw_id, true)),
            Err((problem, modern)) => return events::json(StatusCode::OK, problem.frame(raw_id, modern)),
        };
        let (inlet, flow) = flow();
        let gate = Arc::clone(gate);
        tokio::spawn(async move {
            let flight = Flight::default();
            let told = gate.run(&guarded, &flight, |_| {}, |_| async { Sent::NotSent(why) }).await;
            if let Some(frame) = told.frame {
                inlet.put(events::Event::answer(frame, told.replayed));
            }
        });
        answered(flow, Box::new(()), false, false).await
    }
}

/// What one client would do to the process of all: this era has no such methods.
fn is_of_sessions(method: &str) -> bool {
    matches!(
        method,
        "initialize"
            | "ping"
            | "logging/setLevel"
            | "resources/subscribe"
            | "resources/unsubscribe"
            | "notifications/initialized"
            | "notifications/roots/list_changed"
    )
}

fn hand_over(running: &Running, number: u64, text: &str, caller: &Caller) {
    let id = Id::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    match running.session.look_at_client(text, caller) {
        FromClient::Pass => running.session.pass(text),
        FromClient::Start(job) => running.session.start(*job),
        FromClient::Dealt => {}
        FromClient::Answer(_, frame) => running.router.answer(&id, Answered::ours(Some(frame))),
    }
}

async fn answered(flow: Outflow, ticket: Ticket, prefers_events: bool, is_discover: bool) -> Response<Body> {
    let form = events::Form { is_single: true, prefers_events, may_open: true };
    events::respond(flow, ticket, form, |answer| status(answer, is_discover)).await
}

#[derive(Deserialize)]
struct Code {
    code: i64,
}

/// The status that this era wants with an error.
fn status(answer: &str, is_discover: bool) -> StatusCode {
    let frame = Frame::parse(answer).ok();
    let error = frame.as_ref().and_then(Frame::error).and_then(|raw| serde_json::from_str::<Code>(raw.get()).ok());
    match error.map(|error| error.code) {
        // A server that does not know it is of the older era. 400 makes clients fall back to that.
        Some(-32601) if is_discover => StatusCode::BAD_REQUEST,
        Some(-32601) => StatusCode::NOT_FOUND,
        Some(-32022..=-32020 | -32700 | -32600) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Members that are there twice: readers disagree which one counts, and one of them could be another caller's.
fn ambiguous(frame: &Frame<'_>) -> Option<String> {
    let params = members(frame.params()?.get())?;
    let meta =
        params.iter().find(|(name, _)| name == "_meta").and_then(|(_, raw)| members(raw.get())).unwrap_or_default();
    let twice = |members: &[(std::borrow::Cow<'_, str>, _)]| {
        let mut seen = HashSet::new();
        members.iter().find(|(name, _)| !seen.insert(name.clone())).map(|(name, _)| name.to_string())
    };
    twice(&params).or_else(|| twice(&meta)).map(|name| format!("Invalid Request: the member {name:?} is there twice"))
}

/// What every request of this era must carry.
fn incomplete(frame: &Frame<'_>) -> Option<String> {
    let lacks = |name: &str| Some(format!("Invalid params: _meta lacks {name}"));
    if meta(frame, VERSION).and_then(text_of).is_none() {
        return lacks(VERSION);
    }
    match meta(frame, CAPABILITIES) {
        Some(raw) if raw.get().starts_with('{') => None,
        _ => lacks(CAPABILITIES),
    }
}

/// The request with ids of ours; every other byte stays.
fn renumbered(frame: &Frame<'_>, number: u64, has_token: bool) -> Option<String> {
    let number = number.to_string();
    let text = splice::set(frame.text(), &["id"], &number)?;
    if has_token { splice::set(&text, &["params", "_meta", "progressToken"], &number) } else { Some(text) }
}
