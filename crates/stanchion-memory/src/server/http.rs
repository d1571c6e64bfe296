//! Many clients over Streamable HTTP, at `/mcp`.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body::{Body as HttpBody, Frame as BodyFrame, SizeHint};
use http_body_util::{BodyExt as _, Full};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use stanchion_core::Result;
use stanchion_mcp::serve::{Body, Endpoint, Serve, Visitor, full, idempotency_key};
use stanchion_mcp::stdio::FRAME_MAX;
use stanchion_mcp::{Frame, splice};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

use super::keys::Caller;
use super::lines::mended;
use super::running::{OneMore, Running};
use super::sessions::Sessions;
use super::{Connection, MemoryServer};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

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
    service: StreamableHttpService<Connection, Sessions>,
    sessions: Arc<Sessions>,
    /// One after the other, so that there are never more than there may be.
    opening: Mutex<()>,
    /// Requests whose answers are not yet out, and changes whose clients have gone.
    running: Running,
    stopping: watch::Sender<bool>,
}

impl Http {
    fn new(server: MemoryServer) -> Self {
        let sessions = Arc::new(Sessions::default());
        let stopping = watch::Sender::new(false);
        let config = StreamableHttpServerConfig::default()
            // The front has looked at them.
            .disable_allowed_hosts()
            .with_json_response(true)
            // It would tell clients that they can take up a stream again.
            .with_sse_retry(None)
            .with_max_request_body_bytes(FRAME_MAX);
        let (is_over, running) = (stopping.clone(), server.running.clone());
        let connection = move || {
            let connection = server.connection();
            // Those who listen go when we do.
            Ok(Connection { session: connection.session.until(&is_over), ..connection })
        };
        let service = StreamableHttpService::new(connection, Arc::clone(&sessions), config);
        Self { service, sessions, opening: Mutex::default(), running, stopping }
    }

    /// A session of somebody else is one that does not exist, and one of the own cannot take up a stream again.
    fn session(&self, method: &Method, headers: &mut HeaderMap, principal: &str) -> Result<(), Box<Response<Body>>> {
        let Some(id) = headers.get(SESSION_ID) else { return Ok(()) };
        if !id.to_str().is_ok_and(|id| self.sessions.is_of(id, principal)) {
            headers.insert(SESSION_ID, HeaderValue::from_static("unknown"));
            return Ok(());
        }
        if method == Method::GET && headers.contains_key(LAST_EVENT_ID) {
            let why = "Bad Request: streams cannot be taken up again here";
            return Err(Box::new(refused(StatusCode::BAD_REQUEST, "null", -32600, why)));
        }
        Ok(())
    }
}

#[async_trait]
impl Endpoint for Http {
    async fn handle(&self, mut request: Request<Bytes>, visitor: Visitor) -> Response<Body> {
        let key = match idempotency_key(request.headers()) {
            Ok(key) => key,
            Err(problem) => {
                return said(StatusCode::BAD_REQUEST, problem.frame(&raw_id(request.body()), false));
            }
        };
        if let Some(mended) = may_need_mending(request.body()).then(|| mended(request.body())).flatten() {
            *request.body_mut() = mended.into();
        }
        self.sessions.sweep(Instant::now()).await;
        let method = request.method().clone();
        if let Err(refused) = self.session(&method, request.headers_mut(), &visitor.principal) {
            return *refused;
        }
        let opening = match is_initialize(request.body()) {
            true => Some(self.opening.lock().await),
            false => None,
        };
        if opening.is_some() && !self.sessions.make_room().await {
            let (id, why) = (raw_id(request.body()), "there are as many sessions as there may be; try again later");
            let mut response = refused(StatusCode::SERVICE_UNAVAILABLE, &id, -32603, why);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
            return response;
        }
        request.extensions_mut().insert(Caller { principal: visitor.principal, key });
        let response = self.service.handle(request.map(|body| Full::new(with_key(body)))).await;
        drop(opening);
        match method == Method::POST {
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
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn refused(status: StatusCode, raw_id: &str, code: i32, why: &str) -> Response<Body> {
    let error = json!({"code": code, "message": why});
    said(status, format!(r#"{{"jsonrpc":"2.0","id":{raw_id},"error":{error}}}"#))
}

fn raw_id(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    Frame::parse(&text).ok().and_then(|frame| frame.raw_id()).unwrap_or("null").to_owned()
}

fn is_initialize(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    Frame::parse(&text).is_ok_and(|frame| frame.method() == Some("initialize"))
}

/// Is it worth a closer look? Halves of characters are written as `\\ud8` to `\\udf`.
fn may_need_mending(body: &[u8]) -> bool {
    [&b"\\ud"[..], b"\\uD"].iter().any(|half| memchr::memmem::find(body, half).is_some())
        || std::str::from_utf8(body).is_err()
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

#[cfg(test)]
mod tests {
    use super::super::sessions::SESSIONS;
    use super::*;
    use crate::GraphMemory;

    #[tokio::test]
    async fn when_every_session_is_in_use_one_more_is_refused_and_told_when_to_come_back() {
        let server = Http::new(MemoryServer::new(Arc::new(GraphMemory::default())));
        let ask = async |method: Method, session: Option<&HeaderValue>, body: &'static str| {
            let mut request = Request::new(Bytes::from_static(body.as_bytes()));
            *request.method_mut() = method;
            let headers = request.headers_mut();
            headers.insert("host", HeaderValue::from_static("localhost"));
            headers.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
            headers.insert("content-type", HeaderValue::from_static("application/json"));
            headers.extend(session.map(|id| (SESSION_ID, id.clone())));
            server.handle(request, Visitor { principal: "alice".into() }).await
        };
        let hello = r#"{"jsonrpc":"2.0","id":"h","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
        let mut streams = Vec::new();
        for _ in 0..SESSIONS {
            let opened = ask(Method::POST, None, hello).await;
            assert_eq!(opened.status(), StatusCode::OK);
            streams.push(ask(Method::GET, opened.headers().get(SESSION_ID), "").await);
        }
        let refused = ask(Method::POST, None, hello).await;
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(refused.headers().get(RETRY_AFTER).unwrap(), "5");
        let text = refused.into_body().collect().await.unwrap().to_bytes();
        let said: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!((&said["id"], &said["error"]["code"]), (&json!("h"), &json!(-32603)), "{said}");
        // One stops listening.
        streams.pop();
        assert_eq!(ask(Method::POST, None, hello).await.status(), StatusCode::OK);
    }
}
