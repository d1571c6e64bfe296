//! One request to the upstream, and what is known when there is no answer.

use std::error::Error as StdError;
use std::fmt;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderName, HeaderValue, Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use stanchion_core::Pass;
use tower_service::Service;

use super::headers::{self, Peer};
use super::timed::Timed;
use crate::layer::{Alone, NothingRan};
use crate::{Body, BoxError};

const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Forwards requests to one upstream.
#[derive(Clone)]
pub(super) struct Forward {
    upstream: Uri,
    /// A connection for each request: for those that must not meet one that is about to close.
    fresh: Client<HttpConnector, Body>,
    pooled: Client<HttpConnector, Body>,
    pub(super) answer_within: Duration,
    pub(super) fence_header: Option<HeaderName>,
}

impl Forward {
    pub(super) fn new(upstream: Uri, answer_within: Duration) -> Self {
        let client = |idle| {
            let mut connector = HttpConnector::new();
            connector.set_connect_timeout(Some(CONNECT_WITHIN));
            connector.set_nodelay(true);
            Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_max_idle_per_host(idle)
                .build(connector)
        };
        Self { upstream, fresh: client(0), pooled: client(32), answer_within, fence_header: None }
    }

    /// The upstream's address with the request's path behind its own.
    fn target(&self, asked: &Uri) -> Result<Uri, http::Error> {
        let base = self.upstream.path().trim_end_matches('/');
        let asked = asked.path_and_query().map_or("/", PathAndQuery::as_str);
        let mut parts = self.upstream.clone().into_parts();
        parts.scheme = Some(Scheme::HTTP);
        // An asterisk (OPTIONS *) is no path.
        let joined = if asked == "*" { "*".to_owned() } else { format!("{base}{asked}") };
        parts.path_and_query = Some(joined.parse()?);
        Ok(Uri::from_parts(parts)?)
    }
}

impl Service<Request<Body>> for Forward {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let (pass, peer) = (request.extensions_mut().remove::<Pass>(), request.extensions_mut().remove::<Peer>());
        headers::strip(request.headers_mut());
        headers::forwarded(request.headers_mut(), peer);
        if let Some(name) = &self.fence_header {
            request.headers_mut().remove(name);
            let fence = pass.as_ref().and_then(|pass| pass.fence);
            if let Some(Ok(value)) = fence.map(|fence| HeaderValue::from_str(&fence.to_string())) {
                request.headers_mut().insert(name, value);
            }
        }
        let target = self.target(request.uri());
        // Who is not guarded waits as long as its caller does, and blocks nobody.
        let (client, time) = match pass {
            Some(_) => (self.fresh.clone(), self.answer_within),
            None => (self.pooled.clone(), Duration::MAX),
        };
        Box::pin(async move {
            *request.uri_mut() = target.map_err(Failure::not_sent)?;
            *request.version_mut() = http::Version::HTTP_11;
            let answer = tokio::time::timeout(time, client.request(request)).await;
            match answer {
                Ok(Ok(answer)) => {
                    let mut answer = answer.map(|body| Body::new(Timed::new(body, time)));
                    headers::strip(answer.headers_mut());
                    // The version is a matter of each connection; an old upstream must not end ours.
                    *answer.version_mut() = http::Version::HTTP_11;
                    answer.extensions_mut().insert(Alone(time));
                    Ok(answer)
                }
                // Not even a connection: the upstream has not seen a byte.
                Ok(Err(e)) if e.is_connect() => Err(Failure::not_sent(e).into()),
                Ok(Err(e)) => Err(Failure::sent(e).into()),
                Err(_) => Err(Failure::sent(format!("no answer within {time:?}")).into()),
            }
        })
    }
}

impl fmt::Debug for Forward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forward").field("upstream", &self.upstream).finish_non_exhaustive()
    }
}

/// Why there is no answer. Its source is [`NothingRan`] if nothing was sent.
#[derive(Debug)]
pub(super) struct Failure(BoxError);

impl Failure {
    fn not_sent(e: impl Into<BoxError>) -> Self {
        Self(Box::new(NothingRan::new(e)))
    }

    fn sent(e: impl Into<BoxError>) -> Self {
        Self(e.into())
    }

    pub(super) fn nothing_sent(&self) -> bool {
        NothingRan::is_in(self)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        // The libraries' own messages are short; the cause is at the end of the chain.
        let mut next = self.0.source();
        while let Some(error) = next {
            write!(f, ": {error}")?;
            next = error.source();
        }
        Ok(())
    }
}

impl StdError for Failure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}
