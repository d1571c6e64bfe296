//! The caller goes away while its answer is streamed.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::post as route_post;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http_body_util::BodyExt as _;
use stanchion_core::{MemoryStore, Wait};
use stanchion_http::key::KeyRules;
use stanchion_http::layer::{GuardLayer, RoutePolicy};
use tower_service::Service as _;

use crate::web::{Runs, guard, guarded, post, route, serve};

type Piece = Result<Bytes, std::io::Error>;

/// An answer whose second and later pieces come when time passes; as many as `pieces`.
fn slow(policy: RoutePolicy, pieces: usize) -> (Router, GuardLayer, Runs) {
    let (layer, runs) = (guarded(guard(&MemoryStore::new()), policy), Runs::default());
    let counted = runs.clone();
    let handler = move || async move {
        counted.one();
        let pieces = stream::iter(0..pieces).then(|n| async move {
            if n > 0 {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            Ok(Bytes::from_static(b"piece")) as Piece
        });
        Body::from_stream(pieces)
    };
    (Router::new().route("/", route_post(handler)).layer(layer.clone()), layer, runs)
}

fn request(key: Option<&str>) -> http::Request<Body> {
    let request = http::Request::post("/").header("x-user", "alice");
    let request = key.into_iter().fold(request, |request, key| request.header("idempotency-key", key));
    request.body(Body::empty()).expect("a request")
}

/// Asks, takes the first piece, goes away, and says how long the request ran on.
async fn ran_on(app: &mut Router, layer: &GuardLayer, key: Option<&str>) -> Duration {
    let mut body = app.call(request(key)).await.expect("an answer").into_body();
    body.frame().await.expect("a piece").expect("no error");
    let left = tokio::time::Instant::now();
    drop(body);
    tokio::time::timeout(Duration::from_secs(1000), layer.idle()).await.expect("it ends");
    left.elapsed()
}

fn keyless() -> RoutePolicy {
    route().key(KeyRules::optional()).lock("all".parse().expect("a template"), Wait::No)
}

#[tokio::test(start_paused = true)]
async fn without_a_key_the_answer_ends_with_its_caller_and_the_lock_is_free() {
    let (mut app, layer, runs) = slow(keyless(), usize::MAX);
    for n in 1..=3 {
        assert!(ran_on(&mut app, &layer, None).await < Duration::from_secs(1), "at once");
        assert_eq!(runs.count(), n, "the lock was free");
    }
}

#[tokio::test]
async fn without_a_key_an_answer_that_never_pauses_ends_with_its_caller() {
    let layer = guarded(guard(&MemoryStore::new()), keyless());
    let endless = || async { Body::from_stream(stream::repeat_with(|| Ok(Bytes::from_static(b"piece")) as Piece)) };
    let at = serve(Router::new().route("/", route_post(endless)).layer(layer.clone())).await;
    let mut socket = tokio::net::TcpStream::connect(at).await.unwrap();
    let ask = b"POST / HTTP/1.1\r\nhost: x\r\nx-user: alice\r\ncontent-length: 0\r\n\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut socket, ask).await.unwrap();
    tokio::io::AsyncReadExt::read_exact(&mut socket, &mut [0; 1000]).await.unwrap();
    assert_eq!(post(at, "/").send().await.slug(), Some((409, "lock-busy".into())), "it holds its lock");
    drop(socket);
    tokio::time::timeout(Duration::from_secs(10), layer.idle()).await.expect("it ends");
}

#[tokio::test(start_paused = true)]
async fn with_a_key_the_answer_has_a_minute_and_is_then_unknown() {
    for cap in [0, 1 << 20] {
        let (mut app, layer, runs) = slow(route().response_cap(cap).unwrap(), usize::MAX);
        let took = if cap == 0 {
            ran_on(&mut app, &layer, Some("k")).await
        } else {
            // Nothing is sent before the cap is reached: the caller leaves while it waits.
            let left = tokio::time::Instant::now();
            tokio::time::timeout(Duration::from_millis(1), app.call(request(Some("k")))).await.expect_err("no answer");
            tokio::time::timeout(Duration::from_secs(1000), layer.idle()).await.expect("it ends");
            left.elapsed()
        };
        assert!((60..63).contains(&took.as_secs()), "{took:?}");
        let again = app.call(request(Some("k"))).await.unwrap();
        assert_eq!((again.status().as_u16(), runs.count()), (409, 1), "unknown, and not run again");
    }
}

#[tokio::test(start_paused = true)]
async fn with_a_key_an_answer_that_ends_within_the_minute_is_recorded() {
    let (mut app, layer, runs) = slow(route().response_cap(0).unwrap(), 50);
    let took = ran_on(&mut app, &layer, Some("k")).await;
    assert!((49..51).contains(&took.as_secs()), "{took:?}");
    let again = app.call(request(Some("k"))).await.unwrap();
    assert_eq!((again.status().as_u16(), runs.count()), (410, 1), "it ran, and its answer is not retained");
}

/// The control: who stays may take longer than a minute.
#[tokio::test(start_paused = true)]
async fn a_caller_that_stays_gets_all_of_it() {
    for key in [Some("k"), None] {
        let (mut app, _, _) = slow(keyless().response_cap(0).unwrap(), 200);
        let body = app.call(request(key)).await.unwrap().into_body();
        assert_eq!(body.collect().await.expect("a whole answer").to_bytes().len(), 1000);
    }
}
