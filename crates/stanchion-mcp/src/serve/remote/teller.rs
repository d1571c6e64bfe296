//! What the caller of a guarded call is told, and when: one answer, or events with the answer as the last of them.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Response, StatusCode, response};
use http_body_util::BodyExt as _;
use hyper::body::Frame;
use tokio::sync::{mpsc, oneshot};

use super::headers::{REPLAYED, to_caller};
use super::sse::Piece;
use crate::gate::Answered;
use crate::serve::{Body, full};

/// A caller that leaves so many bytes unread is told no more, and counts as gone.
const BACKLOG: usize = 16 << 20;

/// What the upstream's answer came in.
#[derive(Debug)]
pub(super) enum Came {
    /// A body that is the answer.
    Whole(response::Parts),
    /// An event of a stream.
    Event(Piece),
    /// A refusal that goes to the caller as it is.
    Refusal(response::Parts, Bytes),
}

/// What the connection of the caller gets from the call.
#[derive(Debug)]
pub(super) enum ToCaller {
    Whole(Box<Response<Body>>),
    Events(HeaderMap, Unread),
}

/// The call's end of the way to its caller.
#[derive(Debug)]
pub(super) struct Teller {
    state: Mutex<State>,
    takes_events: bool,
}

#[derive(Debug)]
enum State {
    Silent(oneshot::Sender<ToCaller>),
    Events { to: mpsc::UnboundedSender<Bytes>, unread: Arc<AtomicUsize> },
    Over,
}

impl Teller {
    pub(super) fn new(takes_events: bool) -> (Self, oneshot::Receiver<ToCaller>) {
        let (to, from) = oneshot::channel();
        (Self { state: Mutex::new(State::Silent(to)), takes_events }, from)
    }

    /// A message of our own, if the caller takes events.
    pub(super) fn aside(&self, message: &str) {
        if self.takes_events {
            self.open(None);
            self.pass(Piece::of(message));
        }
    }

    /// The upstream answers with events: so do we, with its headers.
    pub(super) fn open(&self, theirs: Option<&HeaderMap>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = match std::mem::replace(&mut *state, State::Over) {
            State::Silent(first) => {
                let (to, from) = mpsc::unbounded_channel();
                let unread = Arc::new(AtomicUsize::new(0));
                let headers = theirs.map_or_else(event_headers, |theirs| to_caller(theirs.clone()));
                let body = Unread { from, unread: Arc::clone(&unread), here: None };
                // A caller that has gone reads nothing, and the call ends as it would have.
                first.send(ToCaller::Events(headers, body)).map_or(State::Over, |()| State::Events { to, unread })
            }
            other => other,
        };
    }

    /// A piece of the upstream's stream.
    pub(super) fn pass(&self, piece: Piece) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Events { to, unread } = &*state {
            let len = piece.0.len();
            let is_slow = unread.fetch_add(len, Ordering::Relaxed) > BACKLOG;
            if is_slow {
                tracing::warn!("a caller does not read what its call says: it is told no more");
            }
            if is_slow || to.send(piece.0).is_err() {
                *state = State::Over;
            }
        }
    }

    /// The end: what was recorded is told.
    pub(super) fn finish(&self, answered: Answered, came: Option<Came>) {
        let state = std::mem::replace(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner), State::Over);
        match state {
            State::Over => {}
            State::Events { to, .. } => {
                let piece = answered.frame.map(|frame| match came {
                    Some(Came::Event(piece)) if answered.from_server => same_or_with(piece, &frame),
                    _ => Piece::of(&frame),
                });
                // Nobody reads it: then nobody is told.
                piece.map_or(Ok(()), |piece| to.send(piece.0)).unwrap_or_default();
            }
            State::Silent(to) => {
                let whole = Box::new(whole(answered, came, self.takes_events));
                drop(to.send(ToCaller::Whole(whole)));
            }
        }
    }
}

/// The upstream's event as it was, unless there is something to add to it.
fn same_or_with(piece: Piece, frame: &str) -> Piece {
    if piece.message().is_some_and(|message| message == frame) { piece } else { piece.with_message(frame) }
}

fn whole(answered: Answered, came: Option<Came>, takes_events: bool) -> Response<Body> {
    match (answered.frame, came) {
        (Some(_), Some(Came::Refusal(parts, body))) if !answered.replayed => theirs(parts, body),
        (Some(frame), Some(Came::Whole(parts))) if answered.from_server => theirs(parts, frame.into()),
        (Some(frame), _) => {
            let mut answer = json(StatusCode::OK, frame);
            if answered.replayed {
                answer.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
            }
            answer
        }
        // Taken back: its caller knows, and a stream may end without an answer.
        (None, _) if takes_events => with_headers(StatusCode::OK, event_headers(), full("")),
        (None, _) => with_headers(StatusCode::ACCEPTED, HeaderMap::new(), full("")),
    }
}

/// An answer of the upstream, with this body.
pub(super) fn theirs(parts: response::Parts, body: Bytes) -> Response<Body> {
    with_headers(parts.status, to_caller(parts.headers), full(body))
}

/// A message of our own.
pub(super) fn json(status: StatusCode, frame: String) -> Response<Body> {
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    with_headers(status, headers, full(frame))
}

pub(super) fn with_headers(status: StatusCode, headers: HeaderMap, body: Body) -> Response<Body> {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    answer
}

fn event_headers() -> HeaderMap {
    HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ])
}

/// Events on their way to the caller.
#[derive(Debug)]
pub(super) struct Unread {
    from: mpsc::UnboundedReceiver<Bytes>,
    unread: Arc<AtomicUsize>,
    /// Dropped with the connection: so the call learns that its caller has gone.
    here: Option<oneshot::Sender<Infallible>>,
}

impl Unread {
    pub(super) fn into_body(mut self, here: oneshot::Sender<Infallible>) -> Body {
        self.here = Some(here);
        self.boxed()
    }
}

impl hyper::body::Body for Unread {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.from.poll_recv(context).map(|piece| {
            piece.map(|piece| {
                self.unread.fetch_sub(piece.len(), Ordering::Relaxed);
                Ok(Frame::data(piece))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(told: ToCaller) -> Unread {
        match told {
            ToCaller::Events(_, unread) => unread,
            ToCaller::Whole(answer) => panic!("{answer:?}"),
        }
    }

    #[tokio::test]
    async fn a_caller_that_does_not_read_is_told_no_more_and_its_memory_is_bounded() {
        let (teller, told) = Teller::new(true);
        teller.aside("{}");
        let unread = events(told.await.unwrap());
        let piece = Piece(Bytes::from(vec![b'x'; 1 << 20]));
        for _ in 0..100 {
            teller.pass(piece.clone());
        }
        assert!(unread.unread.load(Ordering::Relaxed) <= BACKLOG + 3 * piece.0.len());
        let (here, mut gone) = oneshot::channel();
        let read = unread.into_body(here).collect().await.unwrap().to_bytes();
        assert!(read.len() <= BACKLOG + 3 * piece.0.len(), "{}", read.len());
        assert!(gone.try_recv().is_err(), "the call learns that nobody reads");
    }

    #[tokio::test]
    async fn one_that_reads_is_told_everything() {
        let (teller, told) = Teller::new(true);
        teller.open(None);
        let (here, _gone) = oneshot::channel();
        let mut body = events(told.await.unwrap()).into_body(here);
        let piece = Piece(Bytes::from(vec![b'x'; 1 << 20]));
        for _ in 0..100 {
            teller.pass(piece.clone());
            assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), piece.0);
        }
    }

    #[tokio::test]
    async fn one_that_takes_no_events_waits_for_its_answer() {
        let (teller, told) = Teller::new(false);
        teller.aside("{}");
        teller.finish(Answered::ours(Some("{\"id\":1}".to_owned())), None);
        let ToCaller::Whole(answer) = told.await.unwrap() else { panic!("events") };
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "{\"id\":1}");
    }
}
