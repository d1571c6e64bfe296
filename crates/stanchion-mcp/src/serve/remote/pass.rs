//! What is not guarded: passed on, and the answer passed back.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Frame as Chunk, Incoming};
use tokio::sync::oneshot;

use super::carry::STOPPED;
use super::headers::{LAST_EVENT_ID, are_events, to_caller};
use super::inner::{Head, Inner};
use super::sse::{Events, Piece};
use super::teller::{json, theirs, with_headers};
use super::under_way::{Passage, Resumed, Who};
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

type Over = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What came back.
enum Passed {
    Whole(Bytes),
    Events(Incoming),
}

/// What is to be done with a message.
enum Look {
    Same,
    Changed(String),
    /// It is the answer to a guarded call, which has got it: it goes on when it is recorded.
    OfACall(oneshot::Receiver<String>),
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
        // What a client listens to ends when we close, and nobody waits for it; everything else has its time to end.
        let is_listening = head.method == Method::GET;
        let passage = (!is_listening).then(|| self.under_way.passage());
        let is_resumed = is_listening && head.headers.contains_key(LAST_EVENT_ID);
        let resumed = is_resumed.then(|| self.under_way.resuming(who.clone()));
        let mut over = if is_listening { self.closing.subscribe() } else { self.giving_up.subscribe() };
        let mut over: Over = Box::pin(async move { drop(over.wait_for(|over| *over).await) });
        let asking = async {
            let (parts, body) = self.upstream.send(head.request(body)).await?.into_parts();
            if are_events(&parts.headers) {
                return Ok((parts, Passed::Events(body)));
            }
            Ok((parts, Passed::Whole(collect(body, FRAME_MAX).await.map_err(Failure::Lost)?)))
        };
        let answer = tokio::select! {
            biased;
            answer = asking => answer,
            () = &mut over => {
                if is_listening {
                    return super::closed();
                }
                Err(Failure::Lost(STOPPED.to_owned()))
            }
        };
        match (answer, &watch) {
            (Err(failure), _) => unanswered(&failure, &asked),
            (Ok((parts, Passed::Whole(body))), Watch::Capabilities(id)) => {
                theirs(parts, advertised(&self.gate, &body, id).map_or(body, Bytes::from))
            }
            (Ok((parts, Passed::Whole(body))), _) => theirs(parts, body),
            (Ok((parts, Passed::Events(body))), _) => {
                let stream = Passing {
                    from: Some(body),
                    events: Events::new(FRAME_MAX),
                    out: VecDeque::new(),
                    held: None,
                    over: Mutex::new(over),
                    inner: Arc::clone(self),
                    who,
                    watch,
                    asked,
                    _passage: passage,
                    _resumed: resumed,
                };
                with_headers(parts.status, to_caller(parts.headers), stream.boxed())
            }
        }
    }

    /// Looks at a message that goes to a client on a stream which is not a call's own.
    fn look(&self, message: &str, who: &Who, watch: &Watch) -> Look {
        let Ok(frame) = Frame::parse(message) else { return Look::Same };
        match (frame.kind(), frame.method(), watch) {
            (Kind::Response, _, Watch::Capabilities(id)) if frame.id().as_ref() == Some(id) => {
                Look::Changed(self.gate.advertise(&frame).into_owned())
            }
            (Kind::Response, _, Watch::Questions) => {
                let call = frame.id().and_then(|id| self.under_way.came_elsewhere(who, &id, message));
                call.map_or(Look::Same, Look::OfACall)
            }
            (Kind::Request, Some("sampling/createMessage" | "elicitation/create"), Watch::Questions) => {
                if let Some(id) = frame.id() {
                    self.under_way.asked(who, id);
                }
                Look::Same
            }
            _ => {
                self.look_at_notification(&frame, who);
                Look::Same
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
fn unanswered(failure: &Failure, asked: &Asked) -> Response<Body> {
    let kind = match failure {
        Failure::NotSent(_) => ProblemKind::UpstreamFailed,
        Failure::Lost(_) => ProblemKind::OutcomeUnknown,
    };
    let status = if matches!(asked, Asked::Tool { .. }) { StatusCode::OK } else { StatusCode::BAD_GATEWAY };
    json(status, words(kind, &failure.to_string(), asked))
}

fn words(kind: ProblemKind, why: &str, asked: &Asked) -> String {
    match asked {
        Asked::Tool { id, modern } => Problem::new(kind, why).frame(id, *modern),
        Asked::Request { id } => error(id, kind, why),
        Asked::Other => error("null", kind, why),
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
    /// An answer that waits until it is recorded. What is behind it waits, too.
    held: Option<(Piece, oneshot::Receiver<String>)>,
    /// Only for the lock's sake: bodies are shared between threads, and futures are not.
    over: Mutex<Over>,
    inner: Arc<Inner>,
    who: Who,
    watch: Watch,
    /// `Other` when there is nothing more to answer.
    asked: Asked,
    _passage: Option<Passage>,
    _resumed: Option<Resumed>,
}

impl Passing {
    fn piece(&mut self, piece: Piece) {
        let Some(message) = piece.message() else { return self.out.push_back(piece.0) };
        match self.inner.look(&message, &self.who, &self.watch) {
            Look::Changed(changed) if changed != *message => self.out.push_back(piece.with_message(&changed).0),
            Look::OfACall(recorded) => {
                drop(message);
                self.held = Some((piece, recorded));
            }
            Look::Same | Look::Changed(_) => {
                if Frame::parse(&message).is_ok_and(|frame| frame.kind() == Kind::Response) {
                    self.asked = Asked::Other;
                }
                drop(message);
                self.out.push_back(piece.0);
            }
        }
    }

    /// Goes on to the next thing to pass on, or to the end.
    fn advance(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some((piece, recorded)) = &mut self.held {
            let recorded = std::task::ready!(Pin::new(recorded).poll(context));
            let bytes = match recorded {
                Ok(frame) if piece.message().is_none_or(|message| message != frame) => piece.with_message(&frame).0,
                _ => piece.0.clone(),
            };
            self.held = None;
            self.out.push_back(bytes);
            return Poll::Ready(());
        }
        match self.events.next() {
            Ok(Some(piece)) => {
                self.piece(piece);
                return Poll::Ready(());
            }
            Ok(None) => {}
            Err(_) => {
                let server = self.inner.gate.server();
                tracing::warn!(server, "an event over {FRAME_MAX} bytes: its stream was ended");
                self.from = None;
                return Poll::Ready(());
            }
        }
        let over = self.over.get_mut().unwrap_or_else(PoisonError::into_inner);
        if over.as_mut().poll(context).is_ready() {
            self.from = None;
            if !matches!(self.asked, Asked::Other) {
                let last = words(ProblemKind::OutcomeUnknown, STOPPED, &self.asked);
                self.out.push_back(Piece::of(&last).0);
            }
            return Poll::Ready(());
        }
        let Some(from) = &mut self.from else { return Poll::Ready(()) };
        match std::task::ready!(Pin::new(from).poll_frame(context)) {
            Some(Ok(chunk)) => self.events.push(chunk.data_ref().map_or(&[], |bytes| &**bytes)),
            ended => {
                if let Some(Err(error)) = ended {
                    tracing::debug!(%error, "a stream of the upstream broke");
                }
                self.from = None;
                if let Some(rest) = self.events.rest() {
                    self.piece(rest);
                }
            }
        }
        Poll::Ready(())
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
            if self.from.is_none() && self.held.is_none() {
                return Poll::Ready(None);
            }
            std::task::ready!(self.advance(context));
        }
    }
}
