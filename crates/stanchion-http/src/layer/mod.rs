//! The guard as a layer around any `tower` service, such as the routes of `axum`.
//!
//! ```
//! use std::sync::Arc;
//! use axum::{Router, routing::post};
//! use http::header::AUTHORIZATION;
//! use stanchion_core::{CasLock, Guard, MemoryStore};
//! use stanchion_http::layer::{GuardLayer, Principal, RoutePolicy};
//!
//! # fn main() -> stanchion_core::Result<()> {
//! let store = MemoryStore::new(); // or any store that is shared between your instances
//! let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
//! let policy = RoutePolicy::new("payments", Principal::secret(AUTHORIZATION));
//! let app: Router = Router::new()
//!     .route("/charges", post(|| async { "charged" }))
//!     .route_layer(GuardLayer::new(guard, policy)?);
//! # let _ = app;
//! # Ok(()) }
//! ```
//!
//! # What happens to a guarded request
//! 1. Key, principal and the names of its locks are read, and the body up to its limit. Whatever is wrong is answered here,
//!    and nothing ran. A caller that goes away during its upload has asked for nothing.
//! 2. The call moves into a task of its own: **the handler runs on when the caller disconnects**, and a repetition finds its
//!    answer. (A request that still waits two seconds later, for a lock or for another one with its key, is given up.) Before the process ends,
//!    await [`GuardLayer::idle`].
//! 3. The answer is read up to the [cap](RoutePolicy::response_cap), recorded, and then sent. It is stored as status,
//!    [chosen headers](RoutePolicy::keep_headers) and body bytes, after the handler's own compression if any. Trailers are
//!    not stored.
//! 4. **A larger answer is streamed** to the first caller as it comes; of it, length and SHA-256 are stored. Its end is sent
//!    when the record is made; until the store has taken it, and if it says otherwise, the transfer does not end well. A
//!    repetition is told that it ran, but not its answer (410). Answers without a key are always streamed.
//! 5. A replay has the header `idempotent-replayed: true`.
//!
//! A handler that has begun its answer when the caller goes away: without a key its answer ends there. With one, it has 60 s
//! for the rest (behind the [proxy](crate::proxy), as long as the upstream may take to answer); then the outcome is unknown.
//! Its locks are held no longer than that. A caller that takes nothing for 30 s counts as gone.
//!
//! # What the guard adds to an answer
//! - `stanchion-recorded: false`: the store was away when the handler had answered. The answer is true, and is recorded in
//!   the background; until then a repetition is told that the outcome is unknown (and runs again if the effect class is
//!   `idempotent`).
//! - `stanchion-degraded: true`: the store was away, and the guard's `on_store_down` let the request through with less
//!   protection. The head of a streamed answer is gone before this is known here: for those there are only the log and
//!   the metric `stanchion_degraded_calls_total`.
//!
//! Requests with a guarded method and no key, where it is optional, take the same way: they need a principal, take their
//! locks and count for limits, but nothing is remembered of them.
//!
//! The status says what the handler did: see [`RoutePolicy::on_status`] and [`Meaning`]. A panic, and an error of the
//! service that does not prove that [`NothingRan`], leave the outcome unknown. The first caller gets the handler's own
//! answer, also a 500; a repetition then gets the [problem](crate::problem) `outcome-unknown`. Only where the record says
//! something else by then (somebody settled it, another attempt took over, an earlier one may have run) the first caller
//! is told what the record says, as everybody else: a stored answer as a replay, or `outcome-unknown`.

mod admit;
mod collect;
mod head;
mod meaning;
mod principal;
mod route;
mod run;
mod tally;

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderName, Request, Response};
use stanchion_core::{Effect, Error, ErrorKind, Guard, Result, Scope};
use tower_layer::Layer;
use tower_service::Service;

use crate::{Body, BoxError};

pub(crate) use self::collect::Alone;
pub use self::meaning::{Meaning, NothingRan};
pub use self::principal::Principal;
pub use self::route::{BODY_DEFAULT, BODY_MAX, RoutePolicy};

use self::tally::Tally;

/// The header of a replay. Its value is `true`.
///
/// ```
/// assert_eq!(stanchion_http::layer::REPLAYED, "idempotent-replayed");
/// ```
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The header of an answer that the store does not know yet. Its value is `false`.
///
/// ```
/// assert_eq!(stanchion_http::layer::RECORDED, "stanchion-recorded");
/// ```
pub const RECORDED: HeaderName = HeaderName::from_static("stanchion-recorded");

/// The header of an answer that was made with less protection, because the store was away. Its value is `true`.
///
/// ```
/// assert_eq!(stanchion_http::layer::DEGRADED, "stanchion-degraded");
/// ```
pub const DEGRADED: HeaderName = HeaderName::from_static("stanchion-degraded");

/// Guards the requests of one route: see the [module](self). Clones share everything.
///
/// ```
/// use std::sync::Arc;
/// use stanchion_core::{CasLock, Guard, MemoryStore};
/// use stanchion_http::layer::{GuardLayer, Principal, RoutePolicy};
/// let store = MemoryStore::new();
/// let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
/// let _layer = GuardLayer::new(guard, RoutePolicy::new("payments", Principal::everyone("internal")))?;
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Clone)]
pub struct GuardLayer {
    shared: Arc<Shared>,
}

struct Shared {
    guard: Guard,
    route: RoutePolicy,
    running: Tally,
}

impl GuardLayer {
    /// Guards with `guard`, by `policy`.
    ///
    /// # If it fails
    /// `Invalid` if the policy's label is not 1 to 256 bytes without control characters; `Unsupported` for the effect class
    /// `transactional`, whose work belongs into a transaction of the handler.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Guard, MemoryStore};
    /// # use stanchion_http::layer::{GuardLayer, Principal, RoutePolicy};
    /// # let store = MemoryStore::new();
    /// # let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
    /// let everyone = Principal::everyone("internal");
    /// assert!(GuardLayer::new(guard.clone(), RoutePolicy::new("", everyone.clone())).is_err());
    /// assert!(GuardLayer::new(guard, RoutePolicy::new("payments", everyone)).is_ok());
    /// ```
    pub fn new(guard: Guard, policy: RoutePolicy) -> Result<Self> {
        Scope::new("anybody", &policy.label, "anything")?;
        if policy.policy.effect_class() == Effect::Transactional {
            return Err(Error::new(ErrorKind::Unsupported, "a handler behind the layer cannot be transactional")
                .with("route", &policy.label)
                .hint("claim the key inside the handler's own transaction, without the layer"));
        }
        Ok(Self { shared: Arc::new(Shared { guard, route: policy, running: Tally::default() }) })
    }

    /// Returns when no guarded request runs and nothing is left to clean up. For a process that is about to end, after it
    /// has stopped to accept: callers that went away may have left their requests running. Bound it with a timeout.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stanchion_core::{CasLock, Guard, MemoryStore};
    /// # use stanchion_http::layer::{GuardLayer, Principal, RoutePolicy};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let store = MemoryStore::new();
    /// # let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store)));
    /// # let layer = GuardLayer::new(guard, RoutePolicy::new("payments", Principal::everyone("internal")))?;
    /// layer.idle().await;
    /// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
    /// ```
    pub async fn idle(&self) {
        self.shared.running.zero().await;
        self.shared.guard.claims().settled().await;
    }
}

impl fmt::Debug for GuardLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardLayer").field("policy", &self.shared.route).finish_non_exhaustive()
    }
}

impl<S> Layer<S> for GuardLayer {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { shared: Arc::clone(&self.shared), inner }
    }
}

/// A service behind a [`GuardLayer`].
///
/// ```
/// use stanchion_http::layer::Guarded;
/// fn takes_any_service<S>(_guarded: Guarded<S>) {}
/// ```
#[derive(Clone)]
pub struct Guarded<S> {
    shared: Arc<Shared>,
    inner: S,
}

impl<S> fmt::Debug for Guarded<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").field("policy", &self.shared.route).finish_non_exhaustive()
    }
}

impl<S, In, Out> Service<Request<In>> for Guarded<S>
where
    S: Service<Request<Body>, Response = Response<Out>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError> + Send,
    In: http_body::Body<Data = Bytes> + Send + 'static,
    In::Error: Into<BoxError>,
    Out: http_body::Body<Data = Bytes> + Send + 'static,
    Out::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<In>) -> Self::Future {
        // The one that was polled ready is the one to call; its clone may not be ready.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        let shared = Arc::clone(&self.shared);
        let request = request.map(Body::new);
        Box::pin(async move {
            match admit::admit(&shared.route, request).await {
                admit::Admitted::Unguarded(request) => Ok(inner.call(request).await?.map(Body::new)),
                admit::Admitted::Refused(problem) => Ok(problem.into_response().map(Body::from)),
                admit::Admitted::Guarded(call, request) => Ok(run::detached(shared, inner, *call, request).await),
            }
        })
    }
}
