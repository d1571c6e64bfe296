//! Bodies: requests read up to a limit, answers kept up to a cap and streamed beyond it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Response, response};
use http_body::{Body as _, Frame};
use http_body_util::BodyExt as _;
use sha2::{Digest as _, Sha256};
use stanchion_core::Fingerprint;
use stanchion_core::claim;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::{Body, BoxError};

/// A caller that sends nothing for this long has asked for nothing. One that takes nothing for this long is let go, as if
/// it had gone away.
const STALLED: Duration = Duration::from_secs(30);

/// Pieces on their way to the first caller.
const PIECES: usize = 8;

pub(super) enum Unread {
    TooLarge,
    /// The caller went away, or sent what is no body.
    Broken(BoxError),
}

/// The whole body, if it has at most `limit` bytes.
pub(super) async fn read(mut body: Body, limit: usize) -> Result<Bytes, Unread> {
    if body.size_hint().lower() > limit as u64 {
        return Err(Unread::TooLarge);
    }
    let mut whole = BytesMut::new();
    loop {
        let next = tokio::time::timeout(STALLED, body.frame()).await;
        let Some(frame) = next.map_err(|_| Unread::Broken("nothing came for 30 s".into()))? else {
            return Ok(whole.freeze());
        };
        // Trailers say nothing that a handler or a fingerprint needs.
        if let Ok(data) = frame.map_err(Unread::Broken)?.into_data() {
            if data.len() > limit - whole.len() {
                return Err(Unread::TooLarge);
            }
            whole.extend_from_slice(&data);
        }
    }
}

/// Where the first caller waits for its answer.
pub(super) type FirstCaller = oneshot::Sender<Response<Body>>;

/// What became of an answer.
pub(super) enum Collected {
    /// All of it is here, and nobody has seen it yet.
    Whole(response::Parts, FirstCaller, Bytes),
    /// It was larger. The first caller has it, except for its end: no caller sees a complete answer before it is recorded.
    /// Without a caller and a key it may have been read in part only.
    Streamed(response::Parts, claim::Body, End),
    /// It broke off. The first caller knows, unless it still waits.
    Broken(Option<FirstCaller>, BoxError),
}

/// How long an answer may go on without its caller, unless it says otherwise.
const ALONE: Duration = Duration::from_secs(60);

/// An answer that says how long it may go on without its caller, in its extensions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Alone(pub(crate) Duration);

/// Reads an answer to its end. When the caller is gone, an answer that nobody will ask for again ends as well; one that is
/// `kept` for repetitions has a bounded time, because locks are held all the while.
pub(super) async fn collect(answer: Response<Body>, cap: usize, kept: bool, mut caller: FirstCaller) -> Collected {
    let (parts, body) = answer.into_parts();
    let Alone(alone) = parts.extensions.get().copied().unwrap_or(Alone(ALONE));
    let mut source = Source { body, alone: kept.then_some(alone), until: None };
    let mut whole = BytesMut::new();
    let over = loop {
        match source.next(caller.closed()).await {
            Next::End | Next::Left => return Collected::Whole(parts, caller, whole.freeze()),
            Next::Broken(e) => return Collected::Broken(Some(caller), e),
            Next::Piece(frame) => match frame.into_data() {
                Ok(data) if data.len() > cap - whole.len() => break data,
                Ok(data) => whole.extend_from_slice(&data),
                Err(_trailers) => {}
            },
        }
    };
    let (to, pieces) = mpsc::channel(PIECES);
    let reached = Arc::<AtomicBool>::default();
    let streamed = Response::from_parts(parts.clone(), Body::new(Pieces { pieces, reached: Arc::clone(&reached) }));
    // If it has gone away, its end of the stream is closed.
    caller.send(streamed).ok();
    let mut stream = Stream { to: Some(to), len: 0, hash: Sha256::new() };
    stream.push(Frame::data(whole.freeze())).await;
    stream.push(Frame::data(over)).await;
    loop {
        match source.next(stream.left()).await {
            Next::End | Next::Left => break,
            Next::Broken(e) => return Collected::Broken(None, e),
            Next::Piece(frame) => stream.push(frame).await,
        }
    }
    let body = stream.kept();
    Collected::Streamed(parts, body, End { reached, to: stream.to })
}

/// What the handler answers.
struct Source {
    body: Body,
    /// How long it may go on without its caller; `None` if it ends with it.
    alone: Option<Duration>,
    /// When that time is over; `None` while the caller is there.
    until: Option<Instant>,
}

enum Next {
    Piece(Frame<Bytes>),
    End,
    /// The caller is gone, and nobody else will ask.
    Left,
    Broken(BoxError),
}

impl Source {
    /// The next piece; `left` is ready when the caller is gone.
    async fn next(&mut self, left: impl Future<Output = ()>) -> Next {
        // A body that always has a piece would let nobody else run.
        tokio::task::coop::consume_budget().await;
        let (alone, until) = (self.alone, &mut self.until);
        let over = async {
            left.await;
            let Some(alone) = alone else { return Next::Left };
            let until = *until.get_or_insert_with(|| Instant::now() + alone);
            if Instant::now() < until {
                tokio::time::sleep_until(until).await;
            }
            Next::Broken(format!("its caller is gone, and it did not end within {alone:?}").into())
        };
        tokio::select! {
            biased;
            over = over => over,
            frame = self.body.frame() => match frame {
                None => Next::End,
                Some(Ok(frame)) => Next::Piece(frame),
                Some(Err(e)) => Next::Broken(e),
            },
        }
    }
}

/// The end of a streamed answer. Without [`complete`](Self::complete) the first caller's transfer fails, so that an answer
/// that broke off, or was never recorded, is not taken for a whole one.
pub(super) struct End {
    reached: Arc<AtomicBool>,
    to: Option<mpsc::Sender<Frame<Bytes>>>,
}

impl End {
    pub(super) fn complete(self) {
        // Not for a caller that was let go: it lacks pieces.
        self.reached.store(self.to.is_some(), Ordering::Release);
    }
}

/// An answer on its way, and what is remembered of it.
struct Stream {
    to: Option<mpsc::Sender<Frame<Bytes>>>,
    len: u64,
    hash: Sha256,
}

impl Stream {
    async fn push(&mut self, frame: Frame<Bytes>) {
        if let Some(data) = frame.data_ref() {
            self.len += data.len() as u64;
            self.hash.update(data);
        }
        if let Some(to) = &self.to
            && to.send_timeout(frame, STALLED).await.is_err()
        {
            self.to = None;
        }
    }

    /// Ready when nobody takes the pieces any more.
    async fn left(&self) {
        if let Some(to) = &self.to {
            to.closed().await;
        }
    }

    /// Length and SHA-256: the body itself is gone.
    fn kept(&mut self) -> claim::Body {
        let hex: String = self.hash.finalize_reset().iter().map(|byte| format!("{byte:02x}")).collect();
        let digest = hex.parse().unwrap_or_else(|_| Fingerprint::of_bytes(hex.as_bytes()));
        claim::Body::Dropped { len: self.len, digest }
    }
}

/// The first caller's side of the stream.
struct Pieces {
    pieces: mpsc::Receiver<Frame<Bytes>>,
    reached: Arc<AtomicBool>,
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match ready!(self.pieces.poll_recv(cx)) {
            Some(frame) => Poll::Ready(Some(Ok(frame))),
            None if self.reached.swap(true, Ordering::AcqRel) => Poll::Ready(None),
            None => Poll::Ready(Some(Err("the answer broke off, or could not be recorded".into()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt as _, stream};
    use http_body_util::StreamBody;

    fn pieces(count: usize) -> Response<Body> {
        let frames = (0..count).map(|_| Ok::<_, BoxError>(Frame::data(Bytes::from_static(b"piece"))));
        Response::new(Body::new(StreamBody::new(stream::iter(frames))))
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_takes_nothing_is_let_go_and_the_answer_is_read_to_its_end() {
        let (caller, answer) = oneshot::channel();
        let Collected::Streamed(_, claim::Body::Dropped { len, .. }, end) = collect(pieces(100), 5, true, caller).await
        else {
            panic!("it is larger than its cap");
        };
        assert_eq!(len, 500);
        end.complete();
        // What it took is not the whole, so it must not look like it.
        assert!(answer.await.unwrap().into_body().collect().await.is_err());
    }

    #[tokio::test]
    async fn a_streamed_answer_has_an_end_only_once_it_is_recorded() {
        for recorded in [true, false] {
            let (caller, answer) = oneshot::channel();
            let Collected::Streamed(_, _, end) = collect(pieces(3), 5, true, caller).await else {
                panic!("it is larger than its cap");
            };
            let mut body = answer.await.unwrap().into_body();
            for length in [5, 5, 5] {
                assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap().len(), length);
            }
            assert!(body.frame().now_or_never().is_none(), "no end yet");
            if recorded {
                end.complete();
            } else {
                drop(end);
            }
            assert_eq!(body.frame().await.is_none(), recorded);
        }
    }
}
