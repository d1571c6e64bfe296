//! One request: checked, read, and handed to the server it is for.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::json;
use stanchion_core::Key;

use super::door::Refused;
use super::{Front, cors};
use crate::serve::{Body, full};

/// What a request is turned away with.
type Refusal = Box<Response<Body>>;

/// How long a client may pause within the body of a request.
const BODY_PAUSE: Duration = Duration::from_secs(30);
/// How long the store may take to say that it is there.
const STORE_WITHIN: Duration = Duration::from_secs(2);

impl Front {
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let name = request.uri().path().trim_start_matches('/').trim_end_matches('/').to_owned();
        let page = self.door.page(request.headers(), request.uri());
        let (mut response, label) = match self.checked(&name, request, page.is_some()).await {
            Ok(response) => (response, if self.endpoints.contains_key(&name) { name } else { "-".to_owned() }),
            Err(response) => (*response, "-".to_owned()),
        };
        if let Some(page) = page {
            cors::mark(&mut response, page);
        }
        let status = response.status().as_u16().to_string();
        metrics::counter!("stanchion_serve_requests_total", "server" => label, "status" => status).increment(1);
        response
    }

    async fn checked(&self, name: &str, request: Request<Incoming>, of_page: bool) -> Result<Response<Body>, Refusal> {
        self.door.admits(request.headers(), request.uri()).map_err(refusal)?;
        if of_page && cors::is_preflight(request.method(), request.headers()) {
            // A browser sends no token with it, and calls nothing before it is answered.
            return Ok(cors::preflight(request.headers()));
        }
        match name {
            "healthz" => return only_get(request.method(), || said(StatusCode::OK, "ok\n")),
            "readyz" if is_get(request.method()) => return Ok(self.ready().await),
            "readyz" => return Err(not_allowed()),
            _ => {}
        }
        let visitor = self.door.visitor(request.headers()).map_err(refusal)?;
        if name == "metrics"
            && let Some(render) = &self.metrics
        {
            return only_get(request.method(), || {
                let mut response = Response::new(full(render()));
                let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
                response.headers_mut().insert(CONTENT_TYPE, kind);
                response
            });
        }
        let endpoint = self.endpoints.get(name).ok_or_else(|| self.unknown_path())?;
        let (head, body) = request.into_parts();
        let body = self.read(&head.headers, body).await?;
        Ok(endpoint.handle(Request::from_parts(head, body), visitor).await)
    }

    /// The whole body, if it is no larger than a message may be.
    async fn read(&self, headers: &HeaderMap, mut body: Incoming) -> Result<Bytes, Refusal> {
        let too_large = || {
            let what = format!("a message may have {} bytes\n", self.frame_max);
            closing(said(StatusCode::PAYLOAD_TOO_LARGE, &what))
        };
        let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
        if length.is_some_and(|length| length > self.frame_max) {
            return Err(too_large());
        }
        let mut whole = BytesMut::new();
        loop {
            let next = tokio::time::timeout(BODY_PAUSE, body.frame()).await;
            let next = next.map_err(|_| closing(said(StatusCode::REQUEST_TIMEOUT, "the body did not arrive\n")))?;
            let Some(frame) = next else { return Ok(whole.freeze()) };
            let frame = frame.map_err(|_| closing(said(StatusCode::BAD_REQUEST, "the body is broken off\n")))?;
            let Ok(data) = frame.into_data() else { continue };
            if whole.len() + data.len() > self.frame_max {
                return Err(too_large());
            }
            if whole.is_empty() && length == Some(data.len()) {
                return Ok(data);
            }
            whole.extend_from_slice(&data);
        }
    }

    fn unknown_path(&self) -> Refusal {
        let known: Vec<String> = self.endpoints.keys().map(|name| format!("/{name}")).collect();
        let what = format!("nothing is here; there are {}, /healthz, /readyz, /metrics\n", known.join(", "));
        Box::new(said(StatusCode::NOT_FOUND, &what))
    }

    /// Does the store answer, and can each server take calls?
    async fn ready(&self) -> Response<Body> {
        let store = match (&self.store, Key::new("stanchion:ready")) {
            (Some(store), Ok(key)) => {
                matches!(tokio::time::timeout(STORE_WITHIN, store.get(&key)).await, Ok(Ok(_)))
            }
            _ => true,
        };
        let mut servers = serde_json::Map::new();
        for (name, endpoint) in &self.endpoints {
            servers.insert(name.clone(), json!(endpoint.is_ready().await));
        }
        let stopping = self.stopping.load(Ordering::Acquire);
        // One that fails is named. The others are still served: only if all of them fail is it better to ask another instance.
        let none = !servers.is_empty() && servers.values().all(|ready| *ready == json!(false));
        let ready = store && !stopping && !none;
        let body = json!({"ready": ready, "store": store, "stopping": stopping, "servers": servers}).to_string();
        let mut response = Response::new(full(body));
        *response.status_mut() = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}

fn is_get(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

fn only_get(method: &Method, answer: impl FnOnce() -> Response<Body>) -> Result<Response<Body>, Refusal> {
    if is_get(method) { Ok(answer()) } else { Err(not_allowed()) }
}

fn not_allowed() -> Refusal {
    let mut response = said(StatusCode::METHOD_NOT_ALLOWED, "only GET\n");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    Box::new(response)
}

fn refusal(why: Refused) -> Refusal {
    Box::new(match why {
        Refused::Host => said(StatusCode::FORBIDDEN, "this host is not served here; allow it with --allowed-host\n"),
        Refused::Origin => {
            said(StatusCode::FORBIDDEN, "pages of this origin may not ask; allow it with --allowed-origin\n")
        }
        Refused::NoToken => unauthorized("a bearer token is needed\n", "Bearer"),
        Refused::WrongToken => unauthorized("this token is not known\n", "Bearer error=\"invalid_token\""),
    })
}

fn unauthorized(what: &str, challenge: &'static str) -> Response<Body> {
    let mut response = said(StatusCode::UNAUTHORIZED, what);
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    response
}

/// The rest of the body is not read: nothing can follow on this connection.
fn closing(mut response: Response<Body>) -> Refusal {
    response.headers_mut().insert(http::header::CONNECTION, HeaderValue::from_static("close"));
    Box::new(response)
}

fn said(status: StatusCode, what: &str) -> Response<Body> {
    let mut response = Response::new(full(what.to_owned()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
