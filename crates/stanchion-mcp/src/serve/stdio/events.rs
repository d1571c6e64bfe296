//! What goes to one client in answer to one HTTP request: a single JSON answer, or events one after the other.

use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use http_body_util::BodyExt as _;
use hyper::body::Frame;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::serve::{Body, full};

/// A client that has not taken so much is behind.
const BEHIND: usize = 8 << 20;
/// How long a server is held back for a client that is behind; then the client loses its stream.
const PATIENCE: Duration = Duration::from_secs(1);
/// So much is written at once.
const BATCH: usize = 64 << 10;
/// A quiet stream is given a sign of life, so that nothing between takes it for dead, and we learn if the client is.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
const WAITING: &[u8] = b": waiting\n\n";
/// After so long without a message a stream begins: proxies cut a request that is not answered within a minute.
const SILENT: Duration = Duration::from_secs(10);

/// One message to the client.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) frame: String,
    /// The answer to a request, not something said meanwhile.
    pub(super) is_answer: bool,
    pub(super) replayed: bool,
}

impl Event {
    pub(super) const fn aside(frame: String) -> Self {
        Self { frame, is_answer: false, replayed: false }
    }
    pub(super) const fn answer(frame: String, replayed: bool) -> Self {
        Self { frame, is_answer: true, replayed }
    }
}

#[derive(Debug, Default)]
struct Load {
    state: Mutex<(usize, bool)>,
    room: Condvar,
}

/// The end where messages are put in.
#[derive(Debug, Clone)]
pub(super) struct Inlet {
    to: mpsc::UnboundedSender<Event>,
    load: Arc<Load>,
}

/// The end where they come out.
#[derive(Debug)]
pub(super) struct Outflow {
    from: mpsc::UnboundedReceiver<Event>,
    load: Arc<Load>,
}

/// A way for messages to one client.
pub(super) fn flow() -> (Inlet, Outflow) {
    let (to, from) = mpsc::unbounded_channel();
    let load = Arc::new(Load::default());
    (Inlet { to, load: Arc::clone(&load) }, Outflow { from, load })
}

impl Inlet {
    /// Puts a message in. False if the client is gone, or so far behind that it has lost its stream.
    pub(super) fn put(&self, event: Event) -> bool {
        let mut state = self.load.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.1 && state.0 > BEHIND {
            tracing::warn!("a client does not read what it is sent, and has lost its stream");
            state.1 = true;
        }
        if state.1 {
            return false;
        }
        state.0 += event.frame.len();
        drop(state);
        self.to.send(event).is_ok()
    }

    /// Holds this thread back while the client is behind, for a while.
    pub(super) fn wait_for_room(&self) {
        let state = self.load.state.lock().unwrap_or_else(PoisonError::into_inner);
        let behind = |state: &mut (usize, bool)| state.0 > BEHIND && !state.1;
        drop(self.load.room.wait_timeout_while(state, PATIENCE, behind));
    }
}

impl Outflow {
    async fn next(&mut self) -> Option<Event> {
        let event = self.from.recv().await;
        self.taken(event)
    }

    fn taken(&self, event: Option<Event>) -> Option<Event> {
        let mut state = self.load.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.1 {
            // What was lost cannot be made up for: the client must see the end, not a gap.
            return None;
        }
        if let Some(event) = &event {
            state.0 -= event.frame.len().min(state.0);
            self.load.room.notify_all();
        }
        event
    }
}

impl Drop for Outflow {
    fn drop(&mut self) {
        self.load.state.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
        self.load.room.notify_all();
    }
}

/// What is dropped when the client has got its answer, or has gone.
pub(super) type Ticket = Box<dyn Send + Sync>;

/// The headers of a replayed answer.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// How a request wants to be answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    pub(super) is_single: bool,
    pub(super) prefers_events: bool,
    /// The head of the response says nothing that only the answer can tell.
    pub(super) may_open: bool,
}

/// Waits for the first message: a single answer is sent as JSON, unless the client would rather have events; anything else
/// begins a stream, and so does a long silence. `status` looks at the answer, if that is the first to come.
pub(super) async fn respond(
    mut flow: Outflow,
    ticket: Ticket,
    form: Form,
    status: impl FnOnce(&str) -> http::StatusCode,
) -> Response<Body> {
    let Form { is_single, prefers_events, may_open } = form;
    let first = tokio::select! {
        biased;
        first = flow.next() => first,
        () = tokio::time::sleep(SILENT), if may_open => {
            let mut events = Events::new(flow, ticket);
            events.out.extend_from_slice(WAITING);
            return events.into_response();
        }
    };
    match first {
        Some(event) if event.is_answer && is_single => {
            let (status, replayed) = (status(&event.frame), event.replayed);
            let mut response = if prefers_events && status == http::StatusCode::OK {
                stream(flow, ticket, Some(event))
            } else {
                json(status, event.frame)
            };
            if replayed {
                response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
            }
            response
        }
        first => stream(flow, ticket, first),
    }
}

/// An answer as JSON.
pub(super) fn json(status: http::StatusCode, frame: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(full(frame));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A stream that begins with what is known already. It ends with `first` if that is `None`.
pub(super) fn stream(flow: Outflow, ticket: Ticket, first: Option<Event>) -> Response<Body> {
    let over = first.is_none();
    open_stream(flow, ticket, first, over)
}

/// A stream about which nothing is known yet.
pub(super) fn open(flow: Outflow, ticket: Ticket) -> Response<Body> {
    open_stream(flow, ticket, None, false)
}

fn open_stream(flow: Outflow, ticket: Ticket, first: Option<Event>, over: bool) -> Response<Body> {
    let mut events = Events::new(flow, ticket);
    events.over = over;
    if let Some(first) = first {
        write(&mut events.out, &first.frame);
    }
    events.into_response()
}

struct Events {
    flow: Outflow,
    _ticket: Ticket,
    tick: Interval,
    out: Vec<u8>,
    over: bool,
}

impl Events {
    fn new(flow: Outflow, ticket: Ticket) -> Self {
        let mut tick = tokio::time::interval_at(Instant::now() + SIGN_OF_LIFE, SIGN_OF_LIFE);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { flow, _ticket: ticket, tick, out: Vec::new(), over: false }
    }

    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(self.boxed());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
        response
    }
}

impl hyper::body::Body for Events {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        while !this.over && this.out.len() < BATCH {
            let Poll::Ready(event) = this.flow.from.poll_recv(cx) else { break };
            match this.flow.taken(event) {
                Some(event) => write(&mut this.out, &event.frame),
                None => this.over = true,
            }
        }
        if this.out.is_empty() && !this.over && this.tick.poll_tick(cx).is_ready() {
            this.out.extend_from_slice(WAITING);
            // Registers for the next one.
            if this.tick.poll_tick(cx).is_ready() {
                cx.waker().wake_by_ref();
            }
        }
        if !this.out.is_empty() {
            let bytes = std::mem::take(&mut this.out);
            return Poll::Ready(Some(Ok(Frame::data(bytes.into()))));
        }
        if this.over { Poll::Ready(None) } else { Poll::Pending }
    }
}

/// One message as an event. A message of several lines is told as such: readers put them together again.
fn write(out: &mut Vec<u8>, frame: &str) {
    out.reserve(frame.len() + 24);
    out.extend_from_slice(b"event: message\n");
    for line in frame.trim_end().split(['\n', '\r']) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_several_lines_is_one_event() {
        let mut out = Vec::new();
        write(&mut out, "{\"a\":1,\r\n\"b\":2}\r");
        assert_eq!(String::from_utf8(out).unwrap(), "event: message\ndata: {\"a\":1,\ndata: \ndata: \"b\":2}\n\n");
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_silence_is_a_stream_with_signs_of_life() {
        let form = Form { is_single: true, prefers_events: false, may_open: true };
        let status = |_: &str| http::StatusCode::OK;
        let (inlet, outflow) = flow();
        let began = Instant::now();
        let response = respond(outflow, Box::new(()), form, status).await;
        assert_eq!(began.elapsed().as_secs(), 10);
        assert_eq!(response.headers()[CONTENT_TYPE], "text/event-stream");
        let mut body = response.into_body();
        let mut next = async || body.frame().await.map(|frame| frame.unwrap().into_data().unwrap());
        for seconds in [10, 25, 40] {
            assert_eq!(next().await.unwrap(), ": waiting\n\n");
            assert_eq!(began.elapsed().as_secs(), seconds);
        }
        inlet.put(Event::answer("{}".into(), false));
        drop(inlet);
        assert_eq!(next().await.unwrap(), "event: message\ndata: {}\n\n");
        assert!(next().await.is_none());
        // Whose head depends on the answer waits for it.
        let (inlet, outflow) = flow();
        let answer = async {
            tokio::time::sleep(SILENT * 9).await;
            inlet.put(Event::answer("{}".into(), false));
        };
        let (response, ()) =
            tokio::join!(respond(outflow, Box::new(()), Form { may_open: false, ..form }, status), answer);
        assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
    }

    #[test]
    fn who_does_not_read_loses_the_stream_and_not_a_part_of_it() {
        let (inlet, mut flow) = flow();
        let message = || Event::aside("x".repeat(1 << 20));
        let taken = (0..100).take_while(|_| inlet.put(message())).count();
        assert!((8..=10).contains(&taken), "{taken}");
        assert!(!inlet.put(Event::answer("{}".into(), false)));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert!(runtime.block_on(flow.next()).is_none());
    }
}
