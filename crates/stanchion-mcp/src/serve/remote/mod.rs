//! An upstream that speaks Streamable HTTP: a reverse proxy for both eras, which guards the calls of tools among what it passes on.

mod call;
mod carry;
mod events;
mod headers;
mod inner;
mod meaning;
mod pass;
mod sse;
mod teller;
mod under_way;
mod upstream;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, HeaderMap, HeaderValue, RETRY_AFTER};
use http::{Method, Response, StatusCode};
use stanchion_core::{Owner, Result};
use tokio::sync::watch;
use tokio::time::Instant;

use self::call::bad_request;
use self::carry::CANCELLED;
use self::inner::{Head, Inner};
use self::pass::{Asked, Watch};
use self::teller::{json, with_headers};
use self::under_way::{Cancelling, UnderWay, Who};
use self::upstream::Upstream;
use super::{Body, Endpoint, Request, Visitor, full};
use crate::frame::{Frame, Kind};
use crate::gate::Gate;
use crate::problem::{Problem, ProblemKind};
use crate::rule::Fencing;
use crate::session::cancelled_id;

const METHODS: &str = "GET, POST, DELETE, HEAD, OPTIONS";
/// After the time to end is over, callers are told so and what is known is recorded within this.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A server behind an address.
///
/// `GET`, `POST`, `DELETE`, `HEAD` and `OPTIONS`, and what either era says with them, are passed on and back as they are; only calls of
/// tools are guarded. Bodies are passed on with `POST` alone, and only as UTF-8: what is read otherwise by the upstream than by us,
/// nobody guards. Sessions are the upstream's, so any instance can serve any request; what instances have to know of each other is
/// in the store.
///
/// What an upstream's answer says of a guarded call:
///
/// | answer | the call |
/// |---|---|
/// | 2xx or 4xx with the JSON-RPC answer, or an event with it | is answered: recorded first, then told |
/// | 401, 403, 404, 405, 406, 413, 415, 421, 431; a 4xx with an error that has no id; 429 and 503 with `Retry-After` | did not run; the answer is passed on as it is |
/// | no connection; a 3xx but 302 and 303, whose `Location` is named and not passed on | did not run: `upstream_failed` |
/// | everything else: 5xx, 302, 303, another body, a connection or stream that breaks | may have run: `outcome_unknown` |
///
/// No call is sent twice. When its caller goes away, one with a key runs on; one without a key is taken back while it waits, keeps
/// its locks until the upstream answers if it runs, and is cancelled if it has none.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_core::{CasLock, Idempotency, Locks, MemoryStore};
/// # use stanchion_mcp::{Gate, policy::PolicyFile, serve::Remote};
/// # let (store, locks) = (Arc::new(MemoryStore::new()), Arc::new(CasLock::new(MemoryStore::new())));
/// # let claims = Idempotency::new(store.clone(), locks.clone());
/// let gate = Gate::new("crm", PolicyFile::default().rules("crm"), claims, Locks::shared(locks), store);
/// let _crm = Remote::new(Arc::new(gate), "http://127.0.0.1:9000/mcp", http::HeaderMap::new())?;
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Remote(Arc<Inner>);

impl Remote {
    /// The server at `url`: every request goes to this address, with its own query behind it, of which names that the
    /// address has are left out. `headers` are set on each of them, as `Authorization` for the upstream: callers' own `Authorization` and cookies are for us and stay here.
    ///
    /// # If it fails
    /// Nothing was sent. `Invalid`: it is no `http://` or `https://` address, or there are no root certificates for the latter.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Idempotency, Locks, MemoryStore};
    /// # use stanchion_mcp::{Gate, policy::PolicyFile, serve::Remote};
    /// # let (store, locks) = (Arc::new(MemoryStore::new()), Arc::new(CasLock::new(MemoryStore::new())));
    /// # let claims = Idempotency::new(store.clone(), locks.clone());
    /// # let gate = Gate::new("crm", PolicyFile::default().rules("crm"), claims, Locks::shared(locks), store);
    /// assert!(Remote::new(Arc::new(gate), "ftp://127.0.0.1/mcp", http::HeaderMap::new()).is_err());
    /// ```
    pub fn new(gate: Arc<Gate>, url: &str, headers: HeaderMap) -> Result<Self> {
        Self::trusting(gate, url, headers, None)
    }

    /// The same; the certificates in `ca`, as PEM, are trusted besides the system's.
    ///
    /// # If it fails
    /// Nothing was sent. `Invalid`: as for [`Remote::new`], or `ca` has no certificates or one that cannot be used.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Idempotency, Locks, MemoryStore};
    /// # use stanchion_mcp::{Gate, policy::PolicyFile, serve::Remote};
    /// # let (store, locks) = (Arc::new(MemoryStore::new()), Arc::new(CasLock::new(MemoryStore::new())));
    /// # let claims = Idempotency::new(store.clone(), locks.clone());
    /// # let gate = Gate::new("crm", PolicyFile::default().rules("crm"), claims, Locks::shared(locks), store);
    /// let (url, ca) = ("https://crm.example/mcp", b"no certificate");
    /// assert!(Remote::trusting(Arc::new(gate), url, http::HeaderMap::new(), Some(ca)).is_err());
    /// ```
    pub fn trusting(gate: Arc<Gate>, url: &str, headers: HeaderMap, ca: Option<&[u8]>) -> Result<Self> {
        // One that is no name cannot be sent by anybody.
        let fences = gate.rules().all().filter_map(|rule| match &rule.fencing {
            Fencing::Header(name) => name.parse().ok(),
            _ => None,
        });
        let fences = fences.collect();
        Ok(Self(Arc::new(Inner {
            gate,
            upstream: Upstream::new(url, headers, ca)?,
            under_way: Arc::new(UnderWay::default()),
            fences,
            closing: watch::Sender::new(false),
            giving_up: watch::Sender::new(false),
            own: format!("stanchion-{}-", Owner::random().to_hex()),
        })))
    }

    /// How many guarded calls are under way.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Idempotency, Locks, MemoryStore};
    /// # use stanchion_mcp::{Gate, policy::PolicyFile, serve::Remote};
    /// # let (store, locks) = (Arc::new(MemoryStore::new()), Arc::new(CasLock::new(MemoryStore::new())));
    /// # let claims = Idempotency::new(store.clone(), locks.clone());
    /// # let gate = Gate::new("crm", PolicyFile::default().rules("crm"), claims, Locks::shared(locks), store);
    /// let crm = Remote::new(Arc::new(gate), "http://127.0.0.1:9000/mcp", http::HeaderMap::new())?;
    /// assert_eq!(crm.under_way(), 0);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.0.under_way.len()
    }
}

#[async_trait::async_trait]
impl Endpoint for Remote {
    async fn handle(&self, request: Request, visitor: Visitor) -> Response<Body> {
        // Counted before it is asked whether we close: who closes sees either this, or that it was not let in. A stream that a
        // client listens to is not waited for.
        let _passage = (request.method() != Method::GET).then(|| self.0.under_way.passage());
        if *self.0.closing.borrow() {
            return closed();
        }
        let (parts, body) = request.into_parts();
        // Some servers read a call from the body of any method; TRACE asks for an echo, with the policy's headers.
        if !METHODS.split(", ").any(|method| method == parts.method.as_str()) {
            let headers = HeaderMap::from_iter([(ALLOW, HeaderValue::from_static(METHODS))]);
            return with_headers(StatusCode::METHOD_NOT_ALLOWED, headers, full(""));
        }
        let who = Who::of(visitor.principal, &parts.headers);
        let headers = headers::to_upstream(&parts.headers, &self.0.upstream.headers, &self.0.fences);
        let head = Head { method: parts.method, headers, uri: parts.uri };
        if head.method != Method::POST {
            return self.0.pass(head, Bytes::new(), who, Watch::Questions, Asked::Other).await;
        }
        if let Err(why) = headers::is_plain_utf8(&head.headers) {
            let problem = Problem::new(ProblemKind::InvalidRequest, why);
            return json(StatusCode::UNSUPPORTED_MEDIA_TYPE, problem.frame("null", false));
        }
        self.0.post(head, body, who).await
    }

    async fn is_ready(&self) -> bool {
        !*self.0.closing.borrow() && self.0.upstream.listens().await
    }

    async fn shut_down(&self, within: Duration) {
        self.0.closing.send_replace(true);
        let (under_way, server) = (&self.0.under_way, self.0.gate.server());
        let deadline = Instant::now() + within;
        if tokio::time::timeout_at(deadline, under_way.all_ended()).await.is_err() {
            let (calls, others) = (under_way.len(), under_way.passages());
            tracing::warn!(server, calls, others, "calls were still running at shutdown");
            self.0.giving_up.send_replace(true);
        }
        let rest = async {
            under_way.all_ended().await;
            self.0.gate.settled().await;
        };
        // A store that hangs must not keep us for ever: what it was not told, it finds out when leases end.
        if tokio::time::timeout_at(deadline.max(Instant::now() + LAST_WORDS), rest).await.is_err() {
            tracing::warn!(server, "not everything could be recorded and released at shutdown");
        }
    }
}

/// What is said when nothing new is taken.
fn closed() -> Response<Body> {
    let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static("1"))]);
    with_headers(StatusCode::SERVICE_UNAVAILABLE, headers, full(""))
}

impl Inner {
    async fn post(self: &Arc<Self>, head: Head, body: Bytes, who: Who) -> Response<Body> {
        let text = match std::str::from_utf8(&body) {
            Ok(text) => text,
            Err(e) => return bad_request(ProblemKind::ParseError, &format!("the body is not UTF-8: {e}")),
        };
        if let Some(elements) = crate::stdio::elements(text) {
            return match elements.into_iter().map(Frame::parse).collect::<std::result::Result<Vec<_>, _>>() {
                Ok(frames) => self.batch(&frames, body.clone(), head, who).await,
                Err(e) => {
                    bad_request(ProblemKind::ParseError, &format!("the batch has an element that is no message: {e}"))
                }
            };
        }
        let frame = match Frame::parse(text) {
            Ok(frame) => frame,
            Err(e) => return bad_request(ProblemKind::ParseError, &format!("the body is no message: {e}")),
        };
        let mut watch = Watch::Nothing;
        match (frame.kind(), frame.method()) {
            (_, Some("tools/call")) => return self.call(&frame, &body, head, who).await,
            (Kind::Notification, Some("notifications/cancelled")) => {
                let cancelling = cancelled_id(&frame).map(|id| self.under_way.cancel(&who, &id, self.note(CANCELLED)));
                match cancelling {
                    Some(Cancelling::TakenBack) => {
                        return with_headers(StatusCode::ACCEPTED, HeaderMap::new(), full(""));
                    }
                    Some(Cancelling::Runs | Cancelling::NotOurs) | None => {}
                }
            }
            (Kind::Request, Some("initialize" | "server/discover")) => {
                watch = frame.id().map_or(Watch::Nothing, Watch::Capabilities);
            }
            (Kind::Response, _) => {
                if let Some(id) = frame.id() {
                    self.under_way.answered(&who, &id);
                }
            }
            _ => {}
        }
        let asked = match (frame.kind(), frame.raw_id()) {
            (Kind::Request, Some(id)) => Asked::Request { id: id.to_owned() },
            _ => Asked::Other,
        };
        self.pass(head, body.clone(), who, watch, asked).await
    }
}
