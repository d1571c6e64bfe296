//! The store goes away: what callers are told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::routing::post as route_post;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use stanchion_core::{
    Capability, CasLock, ChaosStore, Cond, Error, ErrorKind, FencingToken, Guard, Key, MemoryStore, OnStoreDown, Page,
    Record, RecordStore, Result, Version,
};
use stanchion_http::layer::{GuardLayer, RoutePolicy};
use tower_service::Service as _;

use crate::web::{guard, guarded, post, route, serve};

/// A store that can be switched off for writes.
#[derive(Debug, Clone, Default)]
struct Switch(MemoryStore, Arc<AtomicBool>);

#[async_trait]
impl RecordStore for Switch {
    fn capability(&self) -> Capability {
        self.0.capability()
    }
    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        self.0.get(key).await
    }
    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        self.0.touch(key, token).await
    }
    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        if self.1.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Unavailable, "switched off"));
        }
        self.0.put(key, value, cond, ttl).await
    }
    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        self.0.delete(key, cond).await
    }
    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        self.0.scan(prefix, page).await
    }
    async fn changed(&self, key: &Key, since: Option<Version>, until: tokio::time::Instant) -> Result<()> {
        self.0.changed(key, since, until).await
    }
}

/// A service whose handler switches the store off, if `off`, before it answers.
fn service(off: bool, policy: RoutePolicy) -> (Router, GuardLayer, Switch) {
    let store = Switch::default();
    let guard = Guard::new(Arc::new(store.clone()), Arc::new(CasLock::new(store.clone())));
    let (layer, switch) = (guarded(guard, policy), Arc::clone(&store.1));
    let handler = move || async move {
        switch.store(off, Ordering::SeqCst);
        "it happened"
    };
    (Router::new().route("/", route_post(handler)).layer(layer.clone()), layer, store)
}

fn request() -> http::Request<axum::body::Body> {
    let request = http::Request::post("/").header("x-user", "alice").header("idempotency-key", "k");
    request.body(axum::body::Body::empty()).expect("a request")
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_recorded_says_so_until_it_is() {
    for off in [true, false] {
        let (mut app, layer, store) = service(off, route());
        let first = app.call(request()).await.unwrap();
        assert_eq!(first.headers().get("stanchion-recorded").map(|value| value == "false"), off.then_some(true));
        assert_eq!(first.into_body().collect().await.unwrap().to_bytes(), "it happened");
        store.1.store(false, Ordering::SeqCst);
        layer.idle().await;
        let again = app.call(request()).await.unwrap();
        let has = |name| again.headers().contains_key(name);
        assert!(has("idempotent-replayed") && !has("stanchion-recorded") && !has("stanchion-degraded"), "{again:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_streamed_answer_that_is_not_recorded_is_not_completed() {
    for off in [true, false] {
        let (mut app, _, _) = service(off, route().response_cap(0).unwrap());
        let body = app.call(request()).await.unwrap().into_body().collect().await;
        assert_eq!(body.is_err(), off);
    }
}

#[tokio::test]
async fn an_answer_with_less_protection_says_so() {
    for down in [true, false] {
        let store = MemoryStore::new();
        let chaos = if down { "error=1" } else { "error=0" };
        let faulty = ChaosStore::new(store.clone(), chaos.parse().unwrap());
        let guard = Guard::new(Arc::new(faulty), Arc::new(CasLock::new(store))).on_store_down(OnStoreDown::Local);
        let app = Router::new().route("/", route_post(|| async { "it happened" }));
        let at = serve(app.layer(guarded(guard, route()))).await;
        for replayed in [false, true] {
            let got = post(at, "/").key("k").send().await;
            let said = got.headers.get("stanchion-degraded").map(|value| value == "true");
            assert_eq!((&got.body[..], got.replayed(), said), (&b"it happened"[..], replayed, down.then_some(true)));
        }
    }
}

/// The control: a store that is there adds nothing to an answer.
#[tokio::test]
async fn a_recorded_answer_has_no_flags() {
    let app = Router::new().route("/", route_post(|| async { "it happened" }));
    let at = serve(app.layer(guarded(guard(&MemoryStore::new()), route()))).await;
    let got = post(at, "/").key("k").send().await;
    assert!(got.headers.keys().all(|name| !name.as_str().starts_with("stanchion-")), "{got:?}");
}
