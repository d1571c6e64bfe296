//! What is not guarded: passed on, and the answer passed back.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Frame as Chunk, Incoming};

use super::headers::{are_events, to_caller};
use super::inner::{Head, Inner};
use super::sse::{Events, Piece};
use super::teller::{json, theirs, with_headers};
use super::under_way::Who;
use super::upstream::{Failure, collect};
use crate::frame::{Frame, Id, Kind};
use crate::gate::Gate;
use crate::problem::{Problem, ProblemKind};
use crate::serve::Body;
use crate::session::cancelled_id;
use crate::splice::quoted;
use crate::stdio::FRAME_MAX;

/// What is looked for in the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Watch {
    Nothing,
    /// The server's capabilities, in the answer with this id: ours are added.
    Capabilities(Id),
    /// The server's own questions: they may be about any call of this client.
    Questions,
}

/// What a request was, for its sender to be told that it was not answered.
#[derive(Debug, Clone)]
pub(super) enum Asked {
    /// A tool that needs no guard, with its id.
    Tool {
        id: String,
        modern: bool,
    },
    /// Something else with an id.
    Request {
        id: String,
    },
    Other,
}

impl Inner {
    pub(super) async fn pass(
        self: &Arc<Self>,
        head: Head,
        body: Bytes,
        who: Who,
        watch: Watch,
        asked: Asked,
    ) -> Response<Body> {
        let answer = match self.upstream.send(head.request(body)).await {
            Ok(answer) => answer,
            Err(failure) => return unanswered(&failure, asked),
        };
        let (parts, body) = answer.into_parts();
        if are_events(&parts.headers) {
            let stream = Passing {
                from: Some(body),
                events: Events::new(FRAME_MAX),
                out: VecDeque::new(),
                inner: Arc::clone(self),
                who,
                watch,
            };
            return with_headers(parts.status, to_caller(parts.headers), stream.boxed());
        }
        match collect(body, FRAME_MAX).await {
            Ok(body) => {
                let body = match &watch {
                    Watch::Capabilities(id) => advertised(&self.gate, &body, id).map_or(body, Bytes::from),
                    _ => body,
                };
                theirs(parts, body)
            }
            Err(why) => unanswered(&Failure::Lost(why), asked),
        }
    }

    /// Looks at a message that goes to a client on a stream which is not a call's own.
    fn look(&self, message: &str, who: &Who, watch: &Watch) -> Option<String> {
        let frame = Frame::parse(message).ok()?;
        match (frame.kind(), frame.method()) {
            (Kind::Response, _) => match watch {
                Watch::Capabilities(id) if frame.id().as_ref() == Some(id) => {
                    Some(self.gate.advertise(&frame).into_owned())
                }
                _ => None,
            },
            (Kind::Request, Some("sampling/createMessage" | "elicitation/create")) if *watch == Watch::Questions => {
                self.under_way.asked(who, frame.id()?);
                None
            }
            _ => {
                self.look_at_notification(&frame, who);
                None
            }
        }
    }

    pub(super) fn look_at_notification(&self, frame: &Frame<'_>, who: &Who) {
        match (frame.kind(), frame.method()) {
            (Kind::Notification, Some("notifications/tools/list_changed")) => self.gate.tools_changed(),
            (Kind::Notification, Some("notifications/cancelled")) => {
                if let Some(question) = cancelled_id(frame) {
                    self.under_way.answered(who, &question);
                }
            }
            _ => {}
        }
    }
}

fn advertised(gate: &Gate, body: &[u8], id: &Id) -> Option<String> {
    let frame = Frame::parse(std::str::from_utf8(body).ok()?).ok()?;
    (frame.kind() == Kind::Response && frame.id().as_ref() == Some(id)).then(|| gate.advertise(&frame).into_owned())
}

/// What the sender is told when there is no answer.
fn unanswered(failure: &Failure, asked: Asked) -> Response<Body> {
    let kind = match failure {
        Failure::NotSent(_) => ProblemKind::UpstreamFailed,
        Failure::Lost(_) => ProblemKind::OutcomeUnknown,
    };
    let why = failure.to_string();
    match asked {
        Asked::Tool { id, modern } => json(StatusCode::OK, Problem::new(kind, why).frame(&id, modern)),
        Asked::Request { id } => json(StatusCode::BAD_GATEWAY, error(&id, kind, &why)),
        Asked::Other => json(StatusCode::BAD_GATEWAY, error("null", kind, &why)),
    }
}

/// For requests that are no calls of tools: their results have other shapes, so it is an error of the protocol.
fn error(id: &str, kind: ProblemKind, why: &str) -> String {
    let (what, ran) = (quoted(kind.as_str()), kind.may_have_executed());
    let message = quoted(why);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":{message},"data":{{"type":{what},"retryable":{},"mayHaveExecuted":{ran}}}}}}}"#,
        kind.is_retryable()
    )
}

/// A stream of events on its way to the caller. It ends where the upstream's ends or breaks: without its answer, a stream of
/// events is broken either way.
struct Passing {
    from: Option<Incoming>,
    events: Events,
    out: VecDeque<Bytes>,
    inner: Arc<Inner>,
    who: Who,
    watch: Watch,
}

impl Passing {
    fn take(&mut self, chunk: &[u8]) {
        self.events.push(chunk);
        loop {
            match self.events.next() {
                Ok(Some(piece)) => self.piece(piece),
                Ok(None) => return,
                Err(_) => {
                    tracing::warn!(
                        server = self.inner.gate.server(),
                        "an event over {FRAME_MAX} bytes: its stream was ended"
                    );
                    self.from = None;
                    return;
                }
            }
        }
    }

    fn piece(&mut self, piece: Piece) {
        let changed = piece.message().and_then(|message| {
            let changed = self.inner.look(&message, &self.who, &self.watch)?;
            (changed != *message).then(|| piece.with_message(&changed))
        });
        self.out.push_back(changed.unwrap_or(piece).0);
    }
}

impl hyper::body::Body for Passing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Chunk<Bytes>, Infallible>>> {
        loop {
            if let Some(bytes) = self.out.pop_front() {
                return Poll::Ready(Some(Ok(Chunk::data(bytes))));
            }
            let Some(from) = &mut self.from else { return Poll::Ready(None) };
            match std::task::ready!(Pin::new(from).poll_frame(context)) {
                Some(Ok(chunk)) => {
                    if let Some(bytes) = chunk.data_ref() {
                        let bytes = bytes.clone();
                        self.take(&bytes);
                    }
                }
                ended => {
                    if let Some(Err(error)) = ended {
                        tracing::debug!(%error, "a stream of the upstream broke");
                    }
                    self.from = None;
                    if let Some(rest) = self.events.rest() {
                        self.out.push_back(rest.0);
                    }
                }
            }
        }
    }
}
