//! What goes to one client in answer to one HTTP request: a single JSON answer, or events one after the other.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use http_body_util::BodyExt as _;
use hyper::body::Frame;
use tokio::time::{Instant, Interval, MissedTickBehavior, Sleep};

pub(super) use super::flow::{Event, Gauge, Inlet, Outflow, flow};
use crate::serve::{Body, full};

/// So much is written at once: a large message goes out in pieces, and nobody who reads slowly has a copy of it.
const BATCH: usize = 64 << 10;
/// A quiet stream is given a sign of life, so that nothing between takes it for dead, and we learn if the client is.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
const WAITING: &[u8] = b": waiting\n\n";
/// After so long without a message a stream begins: proxies cut a request that is not answered within a minute.
const SILENT: Duration = Duration::from_secs(10);
/// After so long for a client that would rather have events, and can come back for them: whether an answer is replayed is said
/// in a header, if it is known by then.
const SOON: Duration = Duration::from_millis(50);

/// How soon a client whose stream has ended early shall come back for the rest.
const RETRY: Duration = Duration::from_millis(500);

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

/// Gives ids to the first message, to what is there already, and to all that comes later. Returns what the stream begins with.
pub(super) type Begin = dyn FnOnce(Option<Event>, &mut Outflow) -> Vec<Event> + Send;

/// How a stream is begun whose client can come back for what it has missed.
pub(super) struct Resumable {
    pub(super) begin: Box<Begin>,
    pub(super) hang_up: Option<HangUp>,
}

/// A stream on which nothing is said ends, and the client comes back: what is between cuts requests that take long.
pub(super) struct HangUp {
    pub(super) after: Duration,
    /// Can it still come back?
    pub(super) may: Box<dyn Fn() -> bool + Send + Sync>,
}

/// Waits for the first message: a single answer is sent as JSON, unless the client would rather have events; anything else
/// begins a stream, and so does a long silence. `status` looks at the answer, if that is the first to come.
pub(super) async fn respond(
    flow: Outflow,
    ticket: Ticket,
    form: Form,
    status: impl FnOnce(&str) -> http::StatusCode,
) -> Response<Body> {
    respond_with(flow, ticket, form, None, status).await
}

/// The same, and the stream can be resumed.
pub(super) async fn respond_with(
    mut flow: Outflow,
    ticket: Ticket,
    form: Form,
    resumable: Option<Resumable>,
    status: impl FnOnce(&str) -> http::StatusCode,
) -> Response<Body> {
    let Form { is_single, prefers_events, may_open } = form;
    let came = Instant::now();
    let hang_up = resumable.as_ref().and_then(|resumable| resumable.hang_up.as_ref());
    let silent = if resumable.is_some() && prefers_events { SOON } else { SILENT };
    let silent = hang_up.map_or(silent, |hang_up| silent.min(hang_up.after));
    let first = tokio::select! {
        biased;
        first = flow.next() => first,
        () = tokio::time::sleep(silent), if may_open => {
            let mut events = Events::new(flow, ticket);
            match resumable {
                Some(resumable) => events.begin(resumable, None, came),
                None => events.out.extend_from_slice(WAITING),
            }
            return events.into_response();
        }
    };
    match first {
        Some(event) if event.is_answer && is_single => {
            let (status, replayed) = (status(&event.frame), event.replayed);
            let mut response = if prefers_events && status == http::StatusCode::OK {
                stream(flow, ticket, Some(event), resumable, came)
            } else {
                json(status, Arc::unwrap_or_clone(event.frame))
            };
            if replayed {
                response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
            }
            response
        }
        first => stream(flow, ticket, first, resumable, came),
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
fn stream(
    flow: Outflow,
    ticket: Ticket,
    first: Option<Event>,
    resumable: Option<Resumable>,
    came: Instant,
) -> Response<Body> {
    let mut events = Events::new(flow, ticket);
    match (first, resumable) {
        (None, _) => events.over = true,
        (Some(first), None) => events.ahead.push_back(first),
        (first, Some(resumable)) => events.begin(resumable, first, came),
    }
    events.into_response()
}

/// A stream about which nothing is known yet.
pub(super) fn open(flow: Outflow, ticket: Ticket, hang_up: Option<HangUp>) -> Response<Body> {
    let mut events = Events::new(flow, ticket);
    events.hang_up = hang_up.map(|hang_up| Silence::since(Instant::now(), hang_up));
    events.into_response()
}

/// Waits for a stream to be silent for too long.
struct Silence {
    hang_up: HangUp,
    until: Pin<Box<Sleep>>,
}

impl Silence {
    fn since(at: Instant, hang_up: HangUp) -> Self {
        Self { until: Box::pin(tokio::time::sleep_until(at + hang_up.after)), hang_up }
    }

    fn broken(&mut self) {
        self.until.as_mut().reset(Instant::now() + self.hang_up.after);
    }

    fn is_too_long(&mut self, cx: &mut Context<'_>) -> bool {
        while self.until.as_mut().poll(cx).is_ready() {
            if (self.hang_up.may)() {
                return true;
            }
            self.broken();
        }
        false
    }
}

struct Events {
    flow: Outflow,
    _ticket: Ticket,
    tick: Interval,
    /// Goes out before anything else.
    ahead: VecDeque<Event>,
    writing: Option<Writing>,
    out: Vec<u8>,
    over: bool,
    hang_up: Option<Silence>,
}

impl Events {
    fn new(flow: Outflow, ticket: Ticket) -> Self {
        let mut tick = tokio::time::interval_at(Instant::now() + SIGN_OF_LIFE, SIGN_OF_LIFE);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (ahead, out) = (VecDeque::new(), Vec::new());
        Self { flow, _ticket: ticket, tick, ahead, writing: None, out, over: false, hang_up: None }
    }

    /// Nothing has been said since the request came.
    fn begin(&mut self, resumable: Resumable, first: Option<Event>, came: Instant) {
        let since = if first.is_some() { Instant::now() } else { came };
        self.ahead = (resumable.begin)(first, &mut self.flow).into();
        self.hang_up = resumable.hang_up.map(|hang_up| Silence::since(since, hang_up));
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
            if this.flow.is_cut() {
                this.over = true;
                break;
            }
            if let Some(writing) = &mut this.writing {
                if writing.write(&mut this.out) {
                    this.writing = None;
                }
                continue;
            }
            if let Some(event) = this.ahead.pop_front() {
                this.writing = Writing::begin(&mut this.out, event);
                continue;
            }
            let Poll::Ready(event) = this.flow.poll_next(cx) else { break };
            match event {
                Some(event) => {
                    this.writing = Writing::begin(&mut this.out, event);
                    this.hang_up.iter_mut().for_each(Silence::broken);
                }
                None => this.over = true,
            }
        }
        if this.out.is_empty() && !this.over {
            this.over = this.hang_up.as_mut().is_some_and(|silence| silence.is_too_long(cx));
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

/// One message, a part of which has been written as an event.
struct Writing {
    frame: Arc<String>,
    at: usize,
    end: usize,
}

impl Writing {
    /// Writes what comes before the message. `None` if there is none.
    fn begin(out: &mut Vec<u8>, Event { id, frame, .. }: Event) -> Option<Self> {
        if let Some(id) = id {
            out.extend_from_slice(format!("id: {id}\n").as_bytes());
        }
        if frame.is_empty() {
            out.extend_from_slice(format!("retry: {}\ndata:\n\n", RETRY.as_millis()).as_bytes());
            return None;
        }
        out.extend_from_slice(b"event: message\ndata: ");
        let end = frame.trim_end().len();
        Some(Self { frame, at: 0, end })
    }

    /// Writes a piece. True if it was the last one. A message of several lines is told as such: readers put them together again.
    fn write(&mut self, out: &mut Vec<u8>) -> bool {
        let to = self.end.min(self.at + BATCH);
        let piece = self.frame.as_bytes().get(self.at..to).unwrap_or_default();
        for (nth, line) in piece.split(|byte| matches!(byte, b'\n' | b'\r')).enumerate() {
            if nth > 0 {
                out.extend_from_slice(b"\ndata: ");
            }
            out.extend_from_slice(line);
        }
        self.at = to;
        let is_last = to == self.end;
        if is_last {
            out.extend_from_slice(b"\n\n");
        }
        is_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_several_lines_is_one_event() {
        let mut out = Vec::new();
        let event = Event::aside("{\"a\":1,\r\n\"b\":2}\r".to_owned());
        assert!(Writing::begin(&mut out, event).unwrap().write(&mut out));
        assert_eq!(String::from_utf8(out).unwrap(), "event: message\ndata: {\"a\":1,\ndata: \ndata: \"b\":2}\n\n");
    }

    /// A client that does not read holds what was written for it, so that is little.
    #[tokio::test]
    async fn a_large_message_goes_out_in_small_pieces_and_whole() {
        // Breaks of lines at the seams, too.
        let text: String = (0..BATCH / 2).map(|n| if n % 127 == 0 { "12345\n789" } else { "123456789" }).collect();
        let expected = format!("event: message\ndata: {}\n\n", text.replace('\n', "\ndata: "));
        let (inlet, outflow) = flow();
        inlet.put(Event::answer(text, false));
        drop(inlet);
        let mut body = open(outflow, Box::new(()), None).into_body();
        let mut told = Vec::new();
        while let Some(frame) = body.frame().await {
            let piece = frame.unwrap().into_data().unwrap();
            assert!(piece.len() < 3 * BATCH, "{}", piece.len());
            told.extend_from_slice(&piece);
        }
        assert_eq!(String::from_utf8(told).unwrap(), expected);
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

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_is_hung_up_if_its_client_can_come_back() {
        let form = Form { is_single: true, prefers_events: false, may_open: true };
        let (inlet, outflow) = flow();
        let can = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
        let asked = std::sync::Arc::clone(&can);
        let may = Box::new(move || asked.load(std::sync::atomic::Ordering::Relaxed));
        let begin = |first: Option<Event>, _: &mut Outflow| {
            assert!(first.is_none());
            vec![Event::place("a-0".to_owned())]
        };
        let hang_up = Some(HangUp { after: Duration::from_secs(4), may });
        let resumable = Some(Resumable { begin: Box::new(begin), hang_up });
        let began = Instant::now();
        let response = respond_with(outflow, Box::new(()), form, resumable, |_| http::StatusCode::OK).await;
        assert_eq!(began.elapsed().as_secs(), 4);
        let mut body = response.into_body();
        let mut next = async || body.frame().await.map(|frame| frame.unwrap().into_data().unwrap());
        assert_eq!(next().await.unwrap(), "id: a-0\nretry: 500\ndata:\n\n");
        can.store(false, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(next().await.unwrap(), ": waiting\n\n");
        assert_eq!(began.elapsed().as_secs(), 4 + 15);
        can.store(true, std::sync::atomic::Ordering::Relaxed);
        inlet.put(Event::aside("{}".to_owned()));
        assert_eq!(next().await.unwrap(), "event: message\ndata: {}\n\n");
        assert!(next().await.is_none());
        assert_eq!(began.elapsed().as_secs(), 4 + 15 + 4);
    }
}
