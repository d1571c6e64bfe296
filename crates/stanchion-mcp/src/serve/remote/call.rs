//! A call of a tool, until it is known whether it is guarded.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use http_body_util::BodyExt as _;
use tokio::sync::oneshot;

use super::carry::Carried;
use super::headers::{are_events, of_own_list, takes_events};
use super::inner::{Head, Inner};
use super::pass::{Asked, Watch};
use super::sse::Events;
use super::teller::{Teller, ToCaller, json, with_headers};
use super::under_way::{MOST, Who};
use super::upstream::collect;
use crate::calls::Verdict;
use crate::flight::Flight;
use crate::frame::{Frame, Id, Kind};
use crate::gate::{Caller, Guarded, OwnRequest, Plan};
use crate::problem::{Problem, ProblemKind};
use crate::serve::key::idempotency_key;
use crate::serve::{Body, full};
use crate::stdio::FRAME_MAX;
use crate::tool_call::ToolCall;

/// How long the server is waited for to list its tools.
const LIST: Duration = Duration::from_secs(10);

/// What is to be done with a call.
enum Planned {
    Pass { modern: bool },
    Guard(Box<Guarded>),
    Refuse(Box<Problem>, bool),
}

impl Inner {
    pub(super) async fn call(
        self: &Arc<Self>,
        frame: &Frame<'_>,
        body: &Bytes,
        head: Head,
        who: Who,
    ) -> Response<Body> {
        let (Some(id), Some(raw_id)) = (frame.id(), frame.raw_id()) else {
            return bad_request(ProblemKind::InvalidRequest, "a tools/call needs an id: a text or a number");
        };
        match self.planned(frame, &head, &who).await {
            Planned::Pass { modern } => {
                let asked = Asked::Tool { id: raw_id.to_owned(), modern };
                self.pass(head, body.clone(), who, Watch::Nothing, asked).await
            }
            Planned::Guard(guarded) => self.start(guarded, id, head, who).await,
            Planned::Refuse(problem, modern) => {
                let is_bad = matches!(problem.kind(), ProblemKind::InvalidRequest | ProblemKind::ParseError);
                let status = if is_bad { StatusCode::BAD_REQUEST } else { StatusCode::OK };
                json(status, problem.frame(raw_id, modern))
            }
        }
    }

    /// A batch, as one version of the protocol had them: it has one answer, so a call among it cannot be guarded by itself.
    pub(super) async fn batch(
        self: &Arc<Self>,
        frames: &[Frame<'_>],
        body: Bytes,
        head: Head,
        who: Who,
    ) -> Response<Body> {
        for frame in frames.iter().filter(|frame| frame.method() == Some("tools/call")) {
            if !matches!(self.planned(frame, &head, &who).await, Planned::Pass { .. }) {
                let what = "a batch contains a call that is guarded; nothing of it was passed on, send its messages one by one";
                return bad_request(ProblemKind::InvalidRequest, what);
            }
        }
        self.pass(head, body, who, Watch::Nothing, Asked::Other).await
    }

    async fn planned(&self, frame: &Frame<'_>, head: &Head, who: &Who) -> Planned {
        let mut caller = Caller::new(&who.principal);
        caller.key = match idempotency_key(&head.headers) {
            Ok(key) => key,
            Err(problem) => return Planned::Refuse(problem, false),
        };
        let mut plan = self.gate.plan(frame, &caller);
        let call = ToolCall::of(frame).ok();
        if let (Ok(Plan::AskHints), Some(call)) = (&plan, &call) {
            self.gate.learn_hints(&call.tool, call.era().as_deref(), |request| self.ask(head, request)).await;
            plan = self.gate.plan(frame, &caller);
        }
        match plan {
            Ok(Plan::Pass) => Planned::Pass { modern: call.is_some_and(|call| call.is_modern()) },
            Ok(Plan::Guard(guarded)) => Planned::Guard(guarded),
            Ok(Plan::AskHints) => {
                let what = "the server's list of tools changes all the time";
                Planned::Refuse(Box::new(Problem::new(ProblemKind::UpstreamFailed, what)), false)
            }
            Err((problem, modern)) => Planned::Refuse(Box::new(problem), modern),
        }
    }

    /// A request of our own, in the session and with the rights of the caller whose headers these are.
    async fn ask(&self, head: &Head, request: OwnRequest) -> Option<String> {
        let id = format!("{}{}", self.own, stanchion_core::Owner::random().to_hex());
        let frame = request.frame(&id);
        let head = Head { method: Method::POST, headers: of_own_list(&head.headers), uri: head.uri.clone() };
        let id = Id::Text(id.into());
        let is_answer = |text: &str| {
            Frame::parse(text).is_ok_and(|frame| frame.kind() == Kind::Response && frame.id().as_ref() == Some(&id))
        };
        let asking = async {
            let (parts, mut body) = self.upstream.send(head.request(frame.into())).await.ok()?.into_parts();
            if !are_events(&parts.headers) {
                let text = String::from_utf8(collect(body, FRAME_MAX).await.ok()?.into()).ok()?;
                return is_answer(&text).then_some(text);
            }
            let mut events = Events::new(FRAME_MAX);
            while let Some(Ok(chunk)) = body.frame().await {
                events.push(chunk.data_ref().map_or(&[], |bytes| &**bytes));
                while let Some(piece) = events.next().ok()? {
                    if let Some(text) = piece.message().filter(|text| is_answer(text)) {
                        return Some(text.into_owned());
                    }
                }
            }
            None
        };
        tokio::time::timeout(LIST, asking).await.ok()?
    }

    /// Runs it in a task of its own, which outlives the connection that it came on.
    async fn start(self: &Arc<Self>, guarded: Box<Guarded>, id: Id, head: Head, who: Who) -> Response<Body> {
        let flight = Arc::new(Flight::default());
        let locks = guarded.locks().cloned().collect();
        let Some(place) = self.under_way.enter(who, id, Arc::clone(&flight), locks) else {
            let problem = Problem::new(ProblemKind::RateLimited, format!("{MOST} calls are under way already"));
            let refused = self.gate.refuse(&guarded, problem.retry_after(Duration::from_secs(1)), Verdict::Refused);
            return json(StatusCode::OK, refused.frame.unwrap_or_default());
        };
        let (teller, told) = Teller::new(takes_events(&head.headers));
        let (here, gone) = oneshot::channel();
        let carried = Carried { guarded, flight, place, head, teller, gone };
        tokio::spawn(Arc::clone(self).carry(carried));
        match told.await {
            Ok(ToCaller::Whole(answer)) => *answer,
            Ok(ToCaller::Events(headers, unread)) => with_headers(StatusCode::OK, headers, unread.into_body(here)),
            // The task has not told anything: a fault of ours, and it may have run.
            Err(_) => with_headers(StatusCode::INTERNAL_SERVER_ERROR, http::HeaderMap::new(), full("")),
        }
    }
}

/// What is no good request. Passed on, a server that reads more leniently than we do could take it for a call that nobody guards.
pub(super) fn bad_request(kind: ProblemKind, what: &str) -> Response<Body> {
    json(StatusCode::BAD_REQUEST, Problem::new(kind, what).frame("null", false))
}
