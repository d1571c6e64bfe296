//! One guarded request, from the claim to the answer.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{HeaderValue, Request, Response, StatusCode};
use stanchion_core::claim::Response as Stored;
use stanchion_core::{Answer, Call, ClaimId, Pass, Reply, Result};
use tokio::sync::oneshot;
use tower_service::Service;

use super::collect::{Collected, End, FirstCaller, collect};
use super::meaning::{Meaning, NothingRan};
use super::{DEGRADED, RECORDED, REPLAYED, RoutePolicy, Shared, head};
use crate::problem::{Problem, ProblemKind};
use crate::{Body, BoxError};

/// How long a request goes on that has lost its caller before it began. Most begin within it, so that a repetition finds
/// the answer; and the store's answer to a claim that is on its way is not missed.
const GRACE: Duration = Duration::from_secs(2);

/// Runs the call in a task of its own, which goes on when the caller stops to wait.
pub(super) async fn detached<S, Out>(
    shared: Arc<Shared>,
    inner: S,
    call: Call,
    request: Request<Body>,
) -> Response<Body>
where
    S: Service<Request<Body>, Response = Response<Out>> + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError> + Send,
    Out: http_body::Body<Data = Bytes> + Send + 'static,
    Out::Error: Into<BoxError>,
{
    let receipt = call.claim_id();
    let kind = no_answer(receipt);
    let (caller, answer) = oneshot::channel();
    let (_here, gone) = oneshot::channel::<()>();
    let one = shared.running.one();
    tokio::spawn(async move {
        let desk = Arc::new(Desk(Mutex::new(At::Waiting(caller))));
        let handler = Handler { receipt, shared: Arc::clone(&shared), desk: Arc::clone(&desk) };
        let mut guarded = Box::pin(shared.guard.call(&call, |pass| handler.run(inner, request, pass)));
        let result = tokio::select! {
            biased;
            result = &mut guarded => result,
            // The caller has gone. What waits for a lock or for another request is given up; what runs, runs on.
            _ = gone => {
                let begun = tokio::time::timeout(GRACE, &mut guarded).await;
                if begun.is_err() && desk.is_waiting() {
                    // In this order: what it leaves to be cleaned up is counted before it no longer counts as running.
                    drop(guarded);
                    return drop(one);
                }
                match begun {
                    Ok(result) => result,
                    Err(_) => guarded.await,
                }
            }
        };
        desk.close(result, receipt);
        drop(one);
    });
    // The task sends nothing only if it was cut off: by a panic of ours, a lost lock, or the end of the runtime.
    answer.await.unwrap_or_else(|_| problem(kind, receipt).into_response().map(Body::from))
}

/// How to say that nobody knows: without a key there is nobody to ask again.
const fn no_answer(receipt: Option<ClaimId>) -> ProblemKind {
    if receipt.is_some() { ProblemKind::OutcomeUnknown } else { ProblemKind::NoAnswer }
}

/// Where the first caller stands while the guard works.
struct Desk(Mutex<At>);

enum At {
    /// Nothing to say yet.
    Waiting(FirstCaller),
    /// This, as soon as it is recorded as that reply.
    Ready(FirstCaller, Response<Body>, Reply),
    /// It has all but the end.
    Streaming(End, Reply),
    Gone,
}

impl Desk {
    fn put(&self, at: At) -> At {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), at)
    }

    /// The handler has not begun.
    fn is_waiting(&self) -> bool {
        matches!(*self.0.lock().unwrap_or_else(PoisonError::into_inner), At::Waiting(_))
    }

    /// Tells the caller how it ended.
    fn close(&self, result: Result<Answer>, receipt: Option<ClaimId>) {
        match (self.put(At::Gone), result) {
            // The handler's own answer, if it is the one that repetitions will be given.
            (At::Ready(caller, mut response, reply), Ok(answer)) if reply == answer.reply => {
                flag(&mut response, &answer);
                caller.send(response).map_err(drop).ok()
            }
            // It came too late, or an earlier attempt may have run: two callers must not be told two things.
            (At::Ready(caller, ..) | At::Waiting(caller), Ok(answer)) => caller.send(again(&answer)).map_err(drop).ok(),
            (At::Streaming(end, reply), Ok(answer)) if reply == answer.reply && answer.recorded => {
                end.complete();
                None
            }
            (At::Ready(caller, ..) | At::Waiting(caller), Err(e)) => {
                tracing::warn!(error = %e, receipt = receipt.map(tracing::field::display), "a guarded request was not answered by its handler");
                let problem = with_receipt(Problem::from(&e), receipt);
                caller.send(problem.into_response().map(Body::from)).map_err(drop).ok()
            }
            // Dropping its end fails the caller's transfer.
            (At::Streaming(..) | At::Gone, _) => None,
        };
    }
}

/// The handler's side.
struct Handler {
    /// With a key only.
    receipt: Option<ClaimId>,
    shared: Arc<Shared>,
    desk: Arc<Desk>,
}

impl Handler {
    async fn run<S, Out>(self, mut inner: S, mut request: Request<Body>, pass: Pass) -> Reply
    where
        S: Service<Request<Body>, Response = Response<Out>>,
        S::Error: Into<BoxError>,
        Out: http_body::Body<Data = Bytes> + Send + 'static,
        Out::Error: Into<BoxError>,
    {
        let At::Waiting(caller) = self.desk.put(At::Gone) else {
            return Reply::Unknown("the guard ran the handler twice".into());
        };
        request.extensions_mut().insert(pass);
        let answer = AssertUnwindSafe(async { inner.call(request).await }).catch_unwind().await;
        let answer = match answer {
            Ok(Ok(answer)) => answer.map(Body::new),
            Ok(Err(e)) => return self.failed(caller, e.into()),
            Err(_panic) => return self.doubt(Some(caller), "the handler panicked".into()),
        };
        let route = &self.shared.route;
        let meaning = route.meanings.of(answer.status(), answer.extensions().get().copied());
        // Without a key nothing is kept, so nothing is held back.
        let cap = if self.receipt.is_some() { route.response_cap } else { 0 };
        match AssertUnwindSafe(collect(answer, cap, self.receipt.is_some(), caller)).catch_unwind().await {
            Ok(Collected::Whole(parts, caller, body)) => {
                let stored = Stored::new(self.head(route, &parts), body.clone());
                let reply = reply(meaning, parts.status, stored);
                self.desk.put(At::Ready(caller, Response::from_parts(parts, Body::from(body)), reply.clone()));
                reply
            }
            Ok(Collected::Streamed(parts, body, end)) => {
                let stored = Stored { head: self.head(route, &parts), body };
                let reply = reply(meaning, parts.status, stored);
                self.desk.put(At::Streaming(end, reply.clone()));
                reply
            }
            Ok(Collected::Broken(caller, e)) => self.doubt(caller, format!("the handler's answer broke off: {e}")),
            Err(_panic) => self.doubt(None, "the handler panicked while it answered".into()),
        }
    }

    fn head(&self, route: &RoutePolicy, parts: &http::response::Parts) -> String {
        let (head, left_out) = head::write(parts.status, &parts.headers, &route.kept_headers);
        if left_out > 0 && self.receipt.is_some() {
            tracing::warn!(route = route.label, left_out, "headers of an answer are too large to be kept for replays");
        }
        head
    }

    /// The service returned no answer at all.
    fn failed(&self, caller: FirstCaller, e: BoxError) -> Reply {
        if !NothingRan::is_in(&*e) {
            return self.doubt(Some(caller), format!("the handler failed: {e}"));
        }
        tracing::warn!(route = self.shared.route.label, error = %e, "a request was not delivered; nothing ran");
        let response = problem(ProblemKind::Unreachable, self.receipt).into_response();
        let (head, _) = head::write(response.status(), response.headers(), &head::KEPT);
        let reply = Reply::NoEffect(Stored::new(head, response.body().clone()));
        self.desk.put(At::Ready(caller, response.map(Body::from), reply.clone()));
        reply
    }

    fn doubt(&self, caller: Option<FirstCaller>, why: String) -> Reply {
        tracing::warn!(route = self.shared.route.label, why, "the outcome of a request is unknown");
        let reply = Reply::Unknown(why);
        if let Some(caller) = caller {
            let problem = problem(no_answer(self.receipt), self.receipt);
            self.desk.put(At::Ready(caller, problem.into_response().map(Body::from), reply.clone()));
        }
        reply
    }
}

fn reply(meaning: Meaning, status: StatusCode, stored: Stored) -> Reply {
    match meaning {
        Meaning::Final if status.is_client_error() || status.is_server_error() => Reply::Failed(stored),
        Meaning::Final => Reply::Done(stored),
        Meaning::NothingRan => Reply::NoEffect(stored),
        Meaning::Unknown => Reply::Unknown(format!("the handler answered {status}")),
    }
}

/// What the guard has, besides the handler's words, to say to the caller.
fn flag(response: &mut Response<Body>, answer: &Answer) {
    if !answer.recorded {
        response.headers_mut().insert(RECORDED, HeaderValue::from_static("false"));
    }
    if answer.degraded {
        response.headers_mut().insert(DEGRADED, HeaderValue::from_static("true"));
    }
}

/// What the guard says, instead of the handler.
fn again(answer: &Answer) -> Response<Body> {
    let mut response = recall(&answer.reply, answer.receipt);
    flag(&mut response, answer);
    response
}

fn recall(reply: &Reply, receipt: Option<ClaimId>) -> Response<Body> {
    let say = |kind| problem(kind, receipt).into_response().map(Body::from);
    let stored = match reply {
        Reply::Done(stored) | Reply::Failed(stored) | Reply::NoEffect(stored) => stored,
        Reply::Unknown(_) => return say(no_answer(receipt)),
        Reply::Suspended(_) => return say(ProblemKind::Internal),
    };
    // A redaction may have taken the head, or the body.
    let (Some(body), false) = (stored.bytes(), stored.head.is_empty()) else {
        return say(ProblemKind::NotRetained);
    };
    match head::read(&stored.head) {
        Ok((status, headers)) => {
            let mut response = Response::new(Body::from(body.clone()));
            *response.status_mut() = status;
            *response.headers_mut() = headers;
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
            response
        }
        Err(e) => {
            tracing::error!(error = %e, receipt = receipt.map(tracing::field::display), "a stored answer cannot be read");
            with_receipt(Problem::from(&e), receipt).into_response().map(Body::from)
        }
    }
}

fn problem(kind: ProblemKind, receipt: Option<ClaimId>) -> Problem {
    with_receipt(Problem::new(kind), receipt)
}

fn with_receipt(problem: Problem, receipt: Option<ClaimId>) -> Problem {
    match receipt {
        Some(receipt) => problem.receipt(receipt.to_string()),
        None => problem,
    }
}
