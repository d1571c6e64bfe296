//! The guard in front of any HTTP service, in any language.
//!
//! ```no_run
//! use std::sync::Arc;
//! use http::header::AUTHORIZATION;
//! use stanchion_core::{CasLock, Guard, MemoryStore, Wait};
//! use stanchion_http::layer::{Principal, RoutePolicy};
//! use stanchion_http::proxy::Proxy;
//!
//! # async fn example() -> stanchion_core::Result<()> {
//! let store = MemoryStore::new();
//! let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
//! let orders = RoutePolicy::new("orders", Principal::secret(AUTHORIZATION)).lock("order:{path.2}".parse()?, Wait::No);
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await.unwrap();
//! let stop = std::future::pending::<()>();
//! Proxy::new(guard, "http://127.0.0.1:3000")?.route("/orders/*".parse()?, orders)?.serve(listener, stop).await
//! # }
//! ```
//!
//! Each request takes the first route whose pattern matches; without one it passes unguarded, its body streamed in both
//! directions. What the [layer](crate::layer) says of handlers is true of the upstream, and besides:
//!
//! - A refused connection, a name that does not resolve, a connect timeout: **proof that nothing ran**. The caller gets 503
//!   with `Retry-After`, and the key stays free.
//! - A connection that breaks, or an answer that does not come in time, after the request was sent: **unknown**.
//! - A guarded request gets a connection of its own. On a kept one the upstream may hang up at the moment when we send, and
//!   then nobody could tell whether it took the request.
//! - HTTP/1.1 is spoken on both sides, without TLS.
//! - The upstream sees its own name as `Host`; `x-forwarded-for`, `-host` and `-proto` say the rest. Headers of one
//!   connection (`Connection` and what it lists, `Keep-Alive`, `TE`, `Upgrade`, …) are not forwarded. `CONNECT` and
//!   `Upgrade: websocket` are refused with 501; other upgrades (`h2c`) are not taken, which is no refusal.
//! - Paths that services read in several ways are refused with 501, guarded or not, because a route or a lock could be
//!   evaded with them: `.` and `..` as segments, `;`, `\`, an escaped `/` or NUL, a `%` that is no escape.
//!
//! # What the proxy cannot see
//! An upstream that takes two requests for one, where the proxy takes them for two, is guarded only for the one that you
//! named. Name both, or use `/**`, if yours
//! - does not care for upper and lower case in paths (`/Orders/7`), decodes them twice (`%252F`), or takes `/orders/7.json`
//!   for `/orders/7`;
//! - takes another method from `X-HTTP-Method-Override`, or from a `_method` in query or body: the method of the request
//!   line counts here;
//! - changes something on a method that the route does not guard: only POST and PATCH are, unless
//!   [`RoutePolicy::methods`] says more.

mod forward;
mod headers;
mod pattern;
mod serve;
mod timed;

use std::time::Duration;

use http::request::Parts;
use http::{HeaderName, Request, Response, Uri};
use stanchion_core::{Error, ErrorKind, Guard, Result};
use tower_layer::Layer as _;
use tower_service::Service as _;

use self::forward::{Failure, Forward};
pub use self::pattern::PathPattern;
use crate::layer::{GuardLayer, Guarded, RoutePolicy};
use crate::problem::{Problem, ProblemKind};
use crate::{Body, BoxError};

/// How long an upstream may take to answer, unless told otherwise.
const ANSWER_DEFAULT: Duration = Duration::from_secs(60);
const ANSWER_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// A guarding reverse proxy: see the [module](self).
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_core::{CasLock, Guard, MemoryStore};
/// # use stanchion_http::proxy::Proxy;
/// # let store = MemoryStore::new();
/// # let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
/// let _proxy = Proxy::new(guard, "http://127.0.0.1:3000/api")?;
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Proxy {
    guard: Guard,
    forward: Forward,
    routes: Vec<Route>,
    connections: usize,
}

#[derive(Debug, Clone)]
struct Route {
    pattern: PathPattern,
    layer: GuardLayer,
    service: Guarded<Forward>,
}

impl Proxy {
    /// Forwards to `upstream`: `http://HOST[:PORT][/PATH]`. The path is put in front of each request's own.
    ///
    /// # If it fails
    /// `Invalid` if that is no such address; `Unsupported` for `https`, which is not spoken to upstreams.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Guard, MemoryStore};
    /// # use stanchion_http::proxy::Proxy;
    /// # let store = MemoryStore::new();
    /// # let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
    /// assert!(Proxy::new(guard, "ftp://example.org").is_err());
    /// ```
    pub fn new(guard: Guard, upstream: &str) -> Result<Self> {
        Ok(Self {
            guard,
            forward: Forward::new(upstream_of(upstream)?, ANSWER_DEFAULT),
            routes: Vec::new(),
            connections: 1024,
        })
    }

    /// Guards requests whose path matches, by `policy`. The first route that matches counts.
    ///
    /// # If it fails
    /// As [`GuardLayer::new`].
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Guard, MemoryStore};
    /// # use stanchion_http::{layer::{Principal, RoutePolicy}, proxy::Proxy};
    /// # let store = MemoryStore::new();
    /// # let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
    /// let all = RoutePolicy::new("all", Principal::everyone("internal"));
    /// let _proxy = Proxy::new(guard, "http://127.0.0.1:3000")?.route("/**".parse()?, all)?;
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn route(mut self, pattern: PathPattern, policy: RoutePolicy) -> Result<Self> {
        let layer = GuardLayer::new(self.guard.clone(), policy)?;
        self.routes.push(Route { pattern, service: layer.layer(self.forward.clone()), layer });
        Ok(self)
    }

    /// How long the upstream may take until the answer to a guarded request begins, between its pieces, and for all the
    /// rest of it once the caller is gone; 60 s unless set. After that the outcome is unknown. Unguarded requests have no limit but their caller's patience.
    ///
    /// # If it fails
    /// `Invalid` outside 1 ms to 24 h.
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// # use stanchion_core::{CasLock, Guard, MemoryStore};
    /// # use stanchion_http::proxy::Proxy;
    /// # let store = MemoryStore::new();
    /// # let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
    /// let _proxy = Proxy::new(guard, "http://127.0.0.1:3000")?.answer_within(Duration::from_secs(300))?;
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn answer_within(mut self, time: Duration) -> Result<Self> {
        if time < Duration::from_millis(1) || time > ANSWER_MAX {
            return Err(Error::new(ErrorKind::Invalid, "the time for an answer is outside its range")
                .with("time", stanchion_core::text::duration(time))
                .hint("use 1ms to 24h"));
        }
        self.forward.answer_within = time;
        self.rebuild();
        Ok(self)
    }

    /// Hands the lock's fencing token to the upstream in this header, as `NUMBER-NONCE`. A header of that name from a caller
    /// is removed.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Guard, MemoryStore};
    /// # use stanchion_http::proxy::Proxy;
    /// # let store = MemoryStore::new();
    /// # let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
    /// let fence = http::HeaderName::from_static("x-stanchion-fence");
    /// let _proxy = Proxy::new(guard, "http://127.0.0.1:3000")?.fence_header(fence);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn fence_header(mut self, name: HeaderName) -> Self {
        self.forward.fence_header = Some(name);
        self.rebuild();
        self
    }

    /// How many connections are served at the same time; others wait to be accepted. 1024 unless set.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Guard, MemoryStore};
    /// # use stanchion_http::proxy::Proxy;
    /// # let store = MemoryStore::new();
    /// # let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
    /// let _proxy = Proxy::new(guard, "http://127.0.0.1:3000")?.connections(64);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    #[must_use]
    pub fn connections(mut self, most: usize) -> Self {
        self.connections = most.clamp(1, 1 << 20);
        self
    }

    /// Routes hold a copy of the forwarder.
    fn rebuild(&mut self) {
        for route in &mut self.routes {
            route.service = route.layer.layer(self.forward.clone());
        }
    }

    /// One request, from a socket to the answer for it.
    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        if let Some(problem) = refused(&parts) {
            return problem.into_response().map(Body::from);
        }
        let route = self.routes.iter().find(|route| route.pattern.matches(parts.uri.path()));
        let request = Request::from_parts(parts, body);
        let answer = match route {
            Some(route) => route.service.clone().call(request).await,
            None => self.forward.clone().call(request).await,
        };
        // Only unguarded requests come here with an error.
        answer.unwrap_or_else(|e| unanswered(&e).into_response().map(Body::from))
    }
}

fn upstream_of(text: &str) -> Result<Uri> {
    let refuse = |kind, why: &'static str| {
        Error::new(kind, why)
            .with("upstream", format_args!("{:?}", text.chars().take(200).collect::<String>()))
            .hint("write http://HOST[:PORT][/PATH]")
    };
    let uri: Uri = text.parse().map_err(|_| refuse(ErrorKind::Invalid, "the upstream is no address"))?;
    if uri.scheme_str() == Some("https") {
        return Err(refuse(ErrorKind::Unsupported, "https is not spoken to upstreams"));
    }
    let plain = uri.scheme_str() == Some("http") && uri.query().is_none();
    let named = uri.authority().is_some_and(|to| !to.as_str().contains('@') && !to.host().is_empty());
    if plain && named { Ok(uri) } else { Err(refuse(ErrorKind::Invalid, "the upstream is no address")) }
}

/// What is forwarded neither with a guard nor without.
fn refused(parts: &Parts) -> Option<Problem> {
    let why = if parts.method == http::Method::CONNECT {
        "CONNECT is not forwarded"
    } else if headers::asks_for_websocket(&parts.headers) {
        "a connection cannot be upgraded through the proxy"
    } else if !pattern::is_plain(parts.uri.path()) {
        "a path with . or .., with ; or \\, with an escaped / or NUL, or with a bad escape is not forwarded"
    } else {
        return None;
    };
    Some(Problem::new(ProblemKind::Unsupported).detail(why))
}

fn unanswered(error: &BoxError) -> Problem {
    tracing::warn!(%error, "an unguarded request was not answered");
    let sent = error.downcast_ref::<Failure>().is_none_or(|failure| !failure.nothing_sent());
    Problem::new(if sent { ProblemKind::NoAnswer } else { ProblemKind::Unreachable })
}
