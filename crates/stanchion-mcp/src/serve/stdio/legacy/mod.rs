//! The era with sessions: each has a process of its own.

mod log;
mod session;
mod state;
mod streams;
#[cfg(test)]
mod tests;
mod ways;

pub(super) use self::ways::progress_token;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Response, StatusCode};
use stanchion_core::Owner;

use self::session::Talk;
use self::state::Asked;
use self::streams::{NotOpened, Resumed};
use super::events::{self, HangUp, Outflow, Resumable, Ticket};
use super::message::{LEGACY, Message, meta};
use super::words::Refused;
use super::{Failing, Server, headers, words};
use crate::frame::{Frame, Id, Kind};
use crate::gate::{Answered, Caller};
use crate::serve::{Body, Visitor, full};
use crate::session::Client as _;

/// All sessions of one server.
#[derive(Debug)]
pub(super) struct Sessions {
    server: Arc<Server>,
    open: Mutex<HashMap<String, Arc<Talk>>>,
    closing: AtomicBool,
    /// The last process ended before it was initialised, or could not be started.
    failing: Failing,
}

/// How a request came, and how it wants to be answered.
#[derive(Debug, Clone, Copy)]
struct Form {
    is_batch: bool,
    prefers_events: bool,
    can_resume: bool,
}

impl Sessions {
    pub(super) fn new(server: Arc<Server>) -> Self {
        Self { server, open: Mutex::default(), closing: AtomicBool::new(false), failing: Failing::default() }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, Arc<Talk>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_ready(&self) -> bool {
        !self.closing.load(Ordering::Acquire) && !self.failing.is()
    }

    pub(super) async fn post(
        self: &Arc<Self>,
        headers: &HeaderMap,
        message: &Message,
        visitor: Visitor,
    ) -> Response<Body> {
        let answered = async {
            check_version(headers)?;
            let frames: Vec<Frame<'_>> = message.parts.iter().filter_map(|part| Frame::parse(part).ok()).collect();
            let form = Form {
                is_batch: message.is_batch,
                prefers_events: headers::prefers_events(headers),
                can_resume: headers::can_resume(headers),
            };
            let mut caller = Caller::new(&visitor.principal);
            caller.key = headers::key(headers)?;
            if frames.iter().any(|frame| frame.method() == Some("initialize")) {
                return match &frames[..] {
                    [frame] if frame.kind() == Kind::Request => self.initialize(frame, &caller, form).await,
                    _ => Err(bad_request("Invalid Request: initialize stands alone, and is a request")),
                };
            }
            let talk = self.find(headers, &visitor)?;
            send(&talk, &frames, &caller, form).await
        };
        answered.await.unwrap_or_else(|refused| *refused)
    }

    /// The stream for what belongs to no request, or one that was cut.
    pub(super) fn get(&self, headers: &HeaderMap, visitor: &Visitor) -> Response<Body> {
        let opened = || {
            headers::check_get(headers)?;
            check_version(headers)?;
            let last_seen = headers::last_event_id(headers);
            let talk = match (self.find(headers, visitor), last_seen) {
                (Err(refused), Some(_)) if refused.status() == StatusCode::NOT_FOUND => return Err(lost_session()),
                (found, _) => found?,
            };
            if let Some(id) = last_seen {
                return resume(&talk, id);
            }
            let opened = talk.streams.open_standing(headers::can_resume(headers));
            let (flow, ticket) = opened.map_err(|why| match why {
                NotOpened::Over => no_session(),
                _ => words::refuse(StatusCode::CONFLICT, "null", -32600, "Conflict: this session has a stream open"),
            })?;
            Ok(events::open(flow, ticket, None))
        };
        opened().unwrap_or_else(|refused: Refused| *refused)
    }

    pub(super) fn delete(self: &Arc<Self>, headers: &HeaderMap, visitor: &Visitor) -> Response<Body> {
        let ended = || {
            check_version(headers)?;
            let talk = self.find(headers, visitor)?;
            // It stays among the open ones until it has ended: whoever stops us waits for what it still runs.
            talk.leave();
            tokio::spawn(async move { talk.say_farewell().await });
            let mut response = Response::new(full(""));
            *response.status_mut() = StatusCode::NO_CONTENT;
            Ok(response)
        };
        ended().unwrap_or_else(|refused: Refused| *refused)
    }

    /// The session that the request names. One of another principal does not exist for this one.
    fn find(&self, headers: &HeaderMap, visitor: &Visitor) -> Result<Arc<Talk>, Refused> {
        let id = headers::text(headers, &headers::SESSION_ID)
            .ok_or_else(|| bad_request("Bad Request: the header Mcp-Session-Id is missing; initialize first"))?;
        let open = self.open();
        let own = |talk: &&Arc<Talk>| talk.principal == visitor.principal && !talk.has_left();
        let talk = open.get(id).filter(own).ok_or_else(no_session)?;
        talk.touch();
        Ok(Arc::clone(talk))
    }

    async fn initialize(
        self: &Arc<Self>,
        frame: &Frame<'_>,
        caller: &Caller,
        form: Form,
    ) -> Result<Response<Body>, Refused> {
        let raw_id = frame.raw_id().unwrap_or("null");
        let full = |what: &str| {
            let mut response = words::refuse(StatusCode::SERVICE_UNAVAILABLE, raw_id, -32603, what);
            response.headers_mut().insert(http::header::RETRY_AFTER, HeaderValue::from_static("5"));
            response
        };
        if self.closing.load(Ordering::Acquire) {
            return Err(full("this gateway is stopping; connect again"));
        }
        let Ok(slot) = Arc::clone(&self.server.limits.sessions).try_acquire_owned() else {
            return Err(full("there are as many sessions as there may be; try again later"));
        };
        let id = Owner::random().to_hex();
        let started = Talk::start(&self.server, id.clone(), Arc::clone(&caller.principal), slot).await;
        let talk = started.map_err(|error| {
            tracing::error!(server = self.server.name(), %error, "the server cannot be started");
            self.failing.set(true);
            let why = format!("the server {} cannot be started: {error}", self.server.name());
            Box::new(events::json(StatusCode::OK, words::not_sent(raw_id, &why)))
        })?;
        let mut starting = Starting(Some(Arc::clone(&talk)));
        self.open().insert(id.clone(), Arc::clone(&talk));
        tokio::spawn(session::watch(Arc::clone(self), Arc::clone(&talk)));
        let mut response = send(&talk, std::slice::from_ref(frame), caller, form).await?;
        starting.0 = None;
        self.failing.set(talk.is_over());
        if talk.is_over() || talk.was_refused() {
            self.open().remove(&id);
            tokio::spawn(async move { talk.end(Duration::ZERO).await });
        } else if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(headers::SESSION_ID, id);
        }
        return Ok(response);

        /// A client that goes away now does not know its session.
        struct Starting(Option<Arc<Talk>>);
        impl Drop for Starting {
            fn drop(&mut self) {
                if let Some(talk) = self.0.take() {
                    tokio::spawn(async move { talk.end(Duration::ZERO).await });
                }
            }
        }
    }

    /// Opens nothing more, waits for what runs, and ends all.
    pub(super) async fn shut_down(&self, within: Duration) {
        self.closing.store(true, Ordering::Release);
        // They can still be answered what their servers have asked.
        let all: Vec<Arc<Talk>> = self.open().values().cloned().collect();
        let deadline = tokio::time::Instant::now() + within;
        let ends = all.into_iter().map(|talk| async move {
            talk.streams.close_standing();
            // What is not answered in time is told so when the server has gone.
            tokio::time::timeout_at(deadline, talk.streams.quiet()).await.ok();
            talk.end(deadline.saturating_duration_since(tokio::time::Instant::now())).await;
        });
        futures_util::future::join_all(ends).await;
        self.open().clear();
    }
}

/// Hands messages to the session, and waits for the first that comes back.
async fn send(talk: &Arc<Talk>, frames: &[Frame<'_>], caller: &Caller, form: Form) -> Result<Response<Body>, Refused> {
    let asked = |frame: &Frame<'_>| {
        let (Kind::Request, Some(id), Some(raw_id)) = (frame.kind(), frame.id(), frame.raw_id()) else { return None };
        let token =
            if frame.text().contains("progressToken") { meta(frame, "progressToken").and_then(Id::of) } else { None };
        Some(Asked { id, raw_id: raw_id.to_owned(), token, cancelled: false })
    };
    let requests: Vec<Asked> = frames.iter().filter_map(asked).collect();
    // All of them before any of them is handed over: whoever is refused is told that nothing was executed.
    if frames.iter().any(|frame| frame.method() == Some("tools/call") && frame.id().is_none()) {
        return Err(bad_request(
            "Invalid Request: a tools/call needs an id: a text or a number. Nothing was executed.",
        ));
    }
    talk.check_unread()?;
    if requests.is_empty() {
        for frame in frames {
            if let Some(refused) = talk.hand_over(frame, caller) {
                return Err(Box::new(events::json(StatusCode::BAD_REQUEST, refused)));
            }
        }
        let mut response = Response::new(full(""));
        *response.status_mut() = StatusCode::ACCEPTED;
        return Ok(response);
    }
    let (flow, ticket, number) = open(talk, requests)?;
    for frame in frames {
        let Some(refused) = talk.hand_over(frame, caller) else { continue };
        match (frames.len(), frame.id()) {
            // Others may have been handed over already. Nobody else waits under this id: it was just opened.
            (2.., Some(id)) => {
                let what = "Invalid Request: the id belongs to a call that is under way. This one was not executed.";
                let frame = words::error(frame.raw_id().unwrap_or("null"), -32600, what, None);
                talk.streams.answer(&id, Answered::ours(Some(frame)));
            }
            _ => return Err(Box::new(events::json(StatusCode::BAD_REQUEST, refused))),
        }
    }
    let is_initialize = matches!(frames, [frame] if frame.method() == Some("initialize"));
    let resumable = (form.can_resume && !is_initialize).then(|| {
        let streams = Arc::clone(&talk.streams);
        let begin = move |first, flow: &mut Outflow| streams.begin(number, first, flow);
        Resumable { begin: Box::new(begin), hang_up: hang_up(talk) }
    });
    // Whether there is a session at all is known with the answer, and said in a header.
    let form =
        events::Form { is_single: !form.is_batch, prefers_events: form.prefers_events, may_open: !is_initialize };
    let response = events::respond_with(flow, ticket, form, resumable, |answer| {
        if is_initialize && Frame::parse(answer).is_ok_and(|frame| frame.error().is_some()) {
            talk.refused();
        }
        StatusCode::OK
    });
    Ok(response.await)
}

/// Goes on with a stream after the event that its client has seen last.
fn resume(talk: &Arc<Talk>, last_seen: &str) -> Result<Response<Body>, Refused> {
    match talk.streams.resume(last_seen) {
        Resumed::Live { flow, ticket, is_standing } => {
            Ok(events::open(flow, ticket, if is_standing { None } else { hang_up(talk) }))
        }
        Resumed::Over => {
            // Clients that saw an empty stream end would come back again and again.
            let mut response = Response::new(full(""));
            *response.status_mut() = StatusCode::NO_CONTENT;
            Ok(response)
        }
        Resumed::Unknown => Err(bad_request(
            "Bad Request: Last-Event-ID names no event of this session after which everything is still kept. \
             What was missed cannot be had any more, and a call that was under way may have been executed.",
        )),
    }
}

fn hang_up(talk: &Arc<Talk>) -> Option<HangUp> {
    let (after, streams) = (talk.hang_up?, Arc::clone(&talk.streams));
    Some(HangUp { after, may: Box::new(move || streams.may_resume()) })
}

fn open(talk: &Arc<Talk>, requests: Vec<Asked>) -> Result<(Outflow, Ticket, u64), Refused> {
    talk.streams.open(requests).map_err(|why| match why {
        NotOpened::Over => no_session(),
        NotOpened::Taken => bad_request("Invalid Request: this id belongs to a request that is under way"),
        NotOpened::TooMany => words::refuse(
            StatusCode::TOO_MANY_REQUESTS,
            "null",
            -32603,
            "too many requests of this session are under way",
        ),
    })
}

fn check_version(headers: &HeaderMap) -> Result<(), Refused> {
    match headers::version(headers) {
        None => Ok(()),
        Some(version) if LEGACY.contains(&version) => Ok(()),
        Some(_) => {
            let known = LEGACY.join(", ");
            Err(bad_request(&format!("Bad Request: unsupported protocol version (supported: {known})")))
        }
    }
}

fn bad_request(what: &str) -> Refused {
    words::refuse(StatusCode::BAD_REQUEST, "null", -32600, what)
}

/// The session of a stream that was cut.
fn lost_session() -> Refused {
    let what = "Session not found: what was under way in it may have been executed; initialize a new one";
    words::refuse(StatusCode::NOT_FOUND, "null", -32600, what)
}

fn no_session() -> Refused {
    words::refuse(StatusCode::NOT_FOUND, "null", -32600, "Session not found: initialize a new one")
}
