//! A real server and a real client over loopback.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use stanchion_core::{CasLock, Guard, MemoryStore, Policy};
use stanchion_http::layer::{GuardLayer, Principal, RoutePolicy};

/// Counts how often a handler ran.
#[derive(Clone, Default)]
pub(crate) struct Runs(Arc<AtomicUsize>);

impl Runs {
    /// One more; its number.
    pub(crate) fn one(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

pub(crate) fn guard(store: &MemoryStore) -> Guard {
    Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store.clone())))
}

pub(crate) fn guarded(guard: Guard, policy: RoutePolicy) -> GuardLayer {
    GuardLayer::new(guard, policy).expect("a good policy")
}

/// `x-user` says who asks; the memory store is accepted.
pub(crate) fn route() -> RoutePolicy {
    RoutePolicy::new("test", Principal::header(HeaderName::from_static("x-user")))
        .policy(Policy::default().allow_weak())
}

pub(crate) async fn serve(app: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Got {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Got {
    pub(crate) fn replayed(&self) -> bool {
        self.headers.get("idempotent-replayed").is_some_and(|value| value == "true")
    }

    /// The document, if it is a problem; its status and type are checked to agree with the response.
    pub(crate) fn problem(&self) -> Option<(u16, String, Value)> {
        if self.headers.get("content-type")? != "application/problem+json" {
            return None;
        }
        let json: Value = serde_json::from_slice(&self.body).expect("a problem is JSON");
        assert_eq!(json["status"], self.status.as_u16());
        let slug = json["type"].as_str().expect("a type").rsplit('/').next().unwrap_or_default().to_owned();
        Some((self.status.as_u16(), slug, json))
    }

    /// Status and slug of a problem, or `None`.
    pub(crate) fn slug(&self) -> Option<(u16, String)> {
        self.problem().map(|(status, slug, _)| (status, slug))
    }
}

/// A request in the making.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) to: SocketAddr,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

pub(crate) fn post(to: SocketAddr, path: &str) -> Ask {
    let headers = HeaderMap::from_iter([(HeaderName::from_static("x-user"), HeaderValue::from_static("alice"))]);
    Ask { to, method: Method::POST, path: path.into(), headers, body: Bytes::new() }
}

impl Ask {
    pub(crate) fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    pub(crate) fn key(self, key: &str) -> Self {
        self.header("idempotency-key", key.as_bytes())
    }

    pub(crate) fn user(mut self, user: &'static str) -> Self {
        self.headers.insert("x-user", HeaderValue::from_static(user));
        self
    }

    /// Adds a line, also if there is one of that name.
    pub(crate) fn header(mut self, name: &'static str, value: &[u8]) -> Self {
        self.headers.append(name, HeaderValue::from_bytes(value).expect("a header value"));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn json(self, body: &'static str) -> Self {
        self.header("content-type", b"application/json").body(body)
    }

    /// Sends it and reads the whole answer.
    pub(crate) async fn send(self) -> Got {
        self.try_send().await.expect("an answer")
    }

    pub(crate) async fn try_send(self) -> Result<Got, Box<dyn std::error::Error + Send + Sync>> {
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build_http();
        let mut request = Request::new(Full::new(self.body));
        *request.method_mut() = self.method;
        *request.uri_mut() = format!("http://{}{}", self.to, self.path).parse()?;
        *request.headers_mut() = self.headers;
        let (parts, body) = client.request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Got { status: parts.status, headers: parts.headers, body })
    }
}
