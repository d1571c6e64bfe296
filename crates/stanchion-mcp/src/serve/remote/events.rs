//! The events of a guarded call, up to its answer.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::headers::{are_events, of_resumption};
use super::inner::{Head, Inner};
use super::sse::{Events, Piece};
use super::teller::Teller;
use super::under_way::Place;
use crate::frame::{Frame, Kind};
use crate::stdio::FRAME_MAX;

/// After the answer, the rest of a stream is read for so long: a stream that has ended leaves a connection that can be used again.
const REST: Duration = Duration::from_secs(1);
/// When a stream that ended early is taken up again, unless the server says when; and the longest that it can say.
const RETRY: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(30);
/// So often in a row without a single event.
const TRIES: u32 = 3;

/// How a stream ended.
enum Ended {
    Answer(Piece, String),
    /// Without the answer, for this reason.
    Early(String),
    Unreadable(String),
}

/// From where a stream can be taken up.
#[derive(Debug, Default)]
struct Mark {
    last: Option<String>,
    retry: Option<Duration>,
    /// Something came since it was last taken up.
    moved: bool,
}

impl Inner {
    /// Reads events to the answer. What comes before it goes to the caller at once; the answer itself does not, it has to be
    /// recorded first.
    ///
    /// A server of the older era may end a stream whose events have ids, and be asked for the rest: that sends no call again.
    ///
    /// # If it fails
    /// In words: no answer will come.
    pub(super) async fn read_events(
        &self,
        mut body: Incoming,
        head: &Head,
        place: &Place,
        teller: &Teller,
    ) -> Result<(Piece, String), String> {
        let mut mark = Mark::default();
        let mut tries = 0;
        loop {
            let why = match self.read_stream(body, place, teller, &mut mark).await {
                Ended::Answer(piece, text) => return Ok((piece, text)),
                Ended::Unreadable(why) => return Err(why),
                Ended::Early(why) => why,
            };
            tries = if std::mem::take(&mut mark.moved) { 0 } else { tries + 1 };
            // A call that was cancelled needs no answer: that its stream has ended is one.
            let Some(last) = mark.last.as_deref().filter(|_| tries <= TRIES && !place.is_cancelled()) else {
                return Err(why);
            };
            tokio::time::sleep(mark.retry.unwrap_or(RETRY)).await;
            let Some(resumed) = self.resume(head, last).await else {
                // A client that has taken up the stream itself has it alone, and the answer comes by there.
                self.under_way.none_resumed(&place.who).await;
                return Err(why);
            };
            body = resumed;
        }
    }

    async fn resume(&self, head: &Head, last: &str) -> Option<Incoming> {
        let headers = of_resumption(&head.headers, last)?;
        let head = Head { method: Method::GET, headers, uri: head.uri.clone() };
        let (parts, body) = self.upstream.send(head.request(Bytes::new())).await.ok()?.into_parts();
        (parts.status.is_success() && are_events(&parts.headers)).then_some(body)
    }

    async fn read_stream(&self, mut body: Incoming, place: &Place, teller: &Teller, mark: &mut Mark) -> Ended {
        let mut events = Events::new(FRAME_MAX);
        let why = loop {
            let chunk = match body.frame().await {
                Some(Ok(chunk)) => chunk,
                Some(Err(e)) => break format!("the stream broke before the answer: {e}"),
                None => break "the stream ended before the answer".to_owned(),
            };
            events.push(chunk.data_ref().map_or(&[], |bytes| &**bytes));
            loop {
                match events.next() {
                    Ok(None) => break,
                    Ok(Some(piece)) => {
                        if let Some(text) = self.is_answer(&piece, place, mark) {
                            tokio::spawn(async move {
                                // Whatever follows an answer is of no use to anybody.
                                let rest = async { while let Some(Ok(_)) = body.frame().await {} };
                                tokio::time::timeout(REST, rest).await.unwrap_or_default();
                            });
                            return Ended::Answer(piece, text);
                        }
                        teller.pass(piece);
                    }
                    Err(_) => return Ended::Unreadable(format!("an event is over the limit of {FRAME_MAX} bytes")),
                }
            }
        };
        // An answer that is whole is one, though the empty line behind it is missing.
        match events.rest().map(|piece| (self.is_answer(&piece, place, mark), piece)) {
            Some((Some(text), piece)) => Ended::Answer(piece.closed(), text),
            _ => Ended::Early(why),
        }
    }

    /// The message, if it is the answer; else it is looked at.
    fn is_answer(&self, piece: &Piece, place: &Place, mark: &mut Mark) -> Option<String> {
        if let Some(id) = piece.id() {
            mark.last = Some(id).filter(|id| !id.is_empty());
        }
        if let Some(retry) = piece.retry() {
            mark.retry = Some(Duration::from_millis(retry).min(RETRY_MAX));
        }
        mark.moved = true;
        let text = piece.message()?;
        let frame = Frame::parse(&text).ok()?;
        match (frame.kind(), frame.method()) {
            (Kind::Response, _) if frame.id().as_ref() == Some(&place.id) => return Some(text.into_owned()),
            (Kind::Request, Some("sampling/createMessage" | "elicitation/create")) => {
                if let Some(question) = frame.id() {
                    place.asked(question);
                }
            }
            _ => self.look_at_notification(&frame, &place.who),
        }
        None
    }
}
