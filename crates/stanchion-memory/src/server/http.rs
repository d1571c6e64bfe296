//! Many clients over Streamable HTTP, at `/mcp`.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body::{Body as HttpBody, Frame as BodyFrame, SizeHint};
use http_body_util::{BodyExt as _, Full};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use stanchion_core::Result;
use stanchion_mcp::serve::{Body, Endpoint, Serve, Visitor, full, idempotency_key};
use stanchion_mcp::stdio::FRAME_MAX;
use stanchion_mcp::{Frame, splice};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::keys::Caller;
use super::running::{OneMore, Running};
use super::{Connection, MemoryServer};

/// So many clients of the eras with sessions may have one at the same time.
const SESSIONS: usize = 1024;
/// So long a session is kept for a client that is silent: people come back after lunch.
const SILENT: Duration = Duration::from_secs(4 * 60 * 60);

/// Serves clients at `/mcp` until `stop` is ready; then what is under way is answered. `front` says who may come: which hosts, which
/// origins, which tokens.
///
/// # If it fails
/// `Invalid`: everybody could call from other machines, and `front` does not allow that. Nothing was served.
/// `Unavailable`: something was still running at the end.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # use std::sync::Arc;
/// # use stanchion_memory::{GraphMemory, MemoryServer, serve_http};
/// use stanchion_mcp::serve::{Principal, Serve};
/// let front = Serve::new().principal(Principal::with_token("alice", "s3cret"));
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
/// let server = MemoryServer::new(Arc::new(GraphMemory::default()));
/// serve_http(server, listener, front, std::future::ready(())).await?;
/// # Ok::<(), stanchion_core::Error>(()) }).unwrap();
/// ```
pub async fn serve_http(
    server: MemoryServer,
    listener: TcpListener,
    front: Serve,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    front.endpoint("mcp", Arc::new(Http::new(server))).run(listener, stop).await
}

struct Http {
    service: StreamableHttpService<Connection, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    /// Requests whose answers are not yet out, and changes whose clients have gone.
    running: Running,
    stopping: watch::Sender<bool>,
}

impl Http {
    fn new(server: MemoryServer) -> Self {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(SILENT);
        let sessions = Arc::new(sessions);
        let stopping = watch::Sender::new(false);
        let config = StreamableHttpServerConfig::default()
            // The front has looked at them.
            .disable_allowed_hosts()
            .with_json_response(true)
            .with_max_request_body_bytes(FRAME_MAX);
        let (is_over, running) = (stopping.clone(), server.running.clone());
        let connection = move || {
            let connection = server.connection();
            // Those who listen go when we do.
            Ok(Connection { session: connection.session.until(&is_over), ..connection })
        };
        let service = StreamableHttpService::new(connection, Arc::clone(&sessions), config);
        Self { service, sessions, running, stopping }
    }

    /// Would it be one more session, and one too many?
    async fn is_too_many(&self, body: &Bytes) -> bool {
        let text = String::from_utf8_lossy(body);
        let is_new = Frame::parse(&text).is_ok_and(|frame| frame.method() == Some("initialize"));
        is_new && self.sessions.sessions.read().await.len() >= SESSIONS
    }
}

#[async_trait]
impl Endpoint for Http {
    async fn handle(&self, mut request: Request<Bytes>, visitor: Visitor) -> Response<Body> {
        let key = match idempotency_key(request.headers()) {
            Ok(key) => key,
            Err(problem) => {
                let text = String::from_utf8_lossy(request.body());
                let id = Frame::parse(&text).ok().and_then(|frame| frame.raw_id()).unwrap_or("null").to_owned();
                return said(StatusCode::BAD_REQUEST, problem.frame(&id, false));
            }
        };
        if self.is_too_many(request.body()).await {
            return said(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions\n");
        }
        request.extensions_mut().insert(Caller { principal: visitor.principal, key });
        let is_post = request.method() == Method::POST;
        let response = self.service.handle(request.map(|body| Full::new(with_key(body)))).await;
        match is_post {
            true => response.map(|body| Counted { body, _counts: self.running.one_more() }.boxed()),
            false => response,
        }
    }

    async fn is_ready(&self) -> bool {
        !*self.stopping.borrow()
    }

    async fn shut_down(&self, within: Duration) {
        self.stopping.send_replace(true);
        if tokio::time::timeout(within, self.running.none()).await.is_err() {
            tracing::warn!("requests were still under way {within:?} after the stop");
        }
        // Streams that stay open by themselves.
        self.service.config.cancellation_token.cancel();
    }
}

fn said(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(full(text));
    *response.status_mut() = status;
    response
}

/// A key in `params`, where `rmcp` would not find it, goes into `_meta`, unless one is there.
fn with_key(body: Bytes) -> Bytes {
    const NAME: &str = "idempotencyKey";
    if memchr::memmem::find(&body, NAME.as_bytes()).is_none() {
        return body;
    }
    let Ok(text) = std::str::from_utf8(&body) else { return body };
    let Ok(message) = serde_json::from_str::<Value>(text) else { return body };
    let Some(key) = message["params"].get(NAME).filter(|_| message["params"]["_meta"].get(NAME).is_none()) else {
        return body;
    };
    splice::set(text, &["params", "_meta", NAME], &key.to_string()).map_or(body.clone(), Bytes::from)
}

/// A body that counts for as long as it is not wholly out.
struct Counted {
    body: Body,
    _counts: OneMore,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyFrame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
