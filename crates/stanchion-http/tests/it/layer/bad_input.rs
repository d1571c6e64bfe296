//! Requests that are refused before anything runs.

use std::net::SocketAddr;

use axum::Router;
use axum::routing::post as route_post;
use stanchion_core::{Effect, ErrorKind, MemoryStore, Policy};
use stanchion_http::key::KeyRules;
use stanchion_http::layer::{BODY_MAX, GuardLayer, Principal, RoutePolicy};

use crate::web::{Runs, guard, guarded, post, route, serve};

async fn service(policy: RoutePolicy) -> (SocketAddr, Runs) {
    let runs = Runs::default();
    let counted = runs.clone();
    let app = Router::new()
        .route("/", route_post(move |_body: bytes::Bytes| async move { format!("run {}", counted.one()) }));
    (serve(app.layer(guarded(guard(&MemoryStore::new()), policy))).await, runs)
}

#[tokio::test]
async fn bad_keys_are_400_whether_or_not_a_key_is_required() {
    for policy in [route(), route().key(KeyRules::optional())] {
        let (at, runs) = service(policy).await;
        let long = "k".repeat(300);
        for key in [
            &b""[..],
            b"   ",
            b"\"\"",
            long.as_bytes(),
            "schl\u{fc}ssel".as_bytes(),
            b"\xff",
            b"\"open",
            b"a, b",
            b"a\tb",
        ] {
            let got = post(at, "/").header("idempotency-key", key).send().await;
            assert_eq!(got.slug(), Some((400, "idempotency-key-invalid".into())), "{key:?}");
        }
        let twice = post(at, "/").key("a").key("a").send().await;
        assert_eq!(twice.slug(), Some((400, "idempotency-key-invalid".into())));
        assert_eq!(runs.count(), 0);
    }
}

#[tokio::test]
async fn an_optional_key_may_be_absent_and_then_nothing_is_remembered() {
    let (at, runs) = service(route().key(KeyRules::optional())).await;
    for n in 1..=2 {
        let got = post(at, "/").send().await;
        assert_eq!((&got.body[..], got.replayed()), (format!("run {n}").as_bytes(), false));
    }
    assert_eq!(runs.count(), 2);
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_and_nothing_runs() {
    let (at, runs) = service(route().body_limit(1000).unwrap()).await;
    let got = post(at, "/").key("k").body(vec![b'x'; 1001]).send().await;
    assert_eq!((got.slug(), runs.count()), (Some((413, "body-too-large".into())), 0));
    // The key is still free.
    let fits = post(at, "/").key("k").body(vec![b'x'; 1000]).send().await;
    assert_eq!((&fits.body[..], fits.replayed()), (&b"run 1"[..], false));
}

#[tokio::test]
async fn a_body_without_a_length_is_limited_as_well() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let (at, runs) = service(route().body_limit(1000).unwrap()).await;
    let mut socket = tokio::net::TcpStream::connect(at).await.unwrap();
    let head = "POST / HTTP/1.1\r\nhost: x\r\nx-user: alice\r\nidempotency-key: k\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    let chunk = format!("258\r\n{}\r\n", "x".repeat(600));
    socket.write_all(format!("{head}{chunk}{chunk}0\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = vec![0; 12];
    socket.read_exact(&mut answer).await.unwrap();
    assert_eq!((&answer[..], runs.count()), (&b"HTTP/1.1 413"[..], 0));
}

#[tokio::test]
async fn nobody_is_not_a_principal() {
    let (at, runs) = service(route()).await;
    let mut nobody = post(at, "/").key("k");
    nobody.headers.remove("x-user");
    let mut empty = nobody.clone();
    empty.headers.insert("x-user", http::HeaderValue::from_static(""));
    let two = post(at, "/").key("k").header("x-user", b"bob");
    for ask in [nobody, empty, two] {
        assert_eq!(ask.send().await.slug(), Some((403, "principal-missing".into())));
    }
    assert_eq!(runs.count(), 0);
}

#[tokio::test]
async fn a_principal_of_any_length_is_told_apart() {
    let (at, runs) = service(route()).await;
    let ask = |user: &str| {
        let mut ask = post(at, "/").key("k");
        ask.headers.insert("x-user", user.parse().expect("a header value"));
        ask
    };
    let long = "x".repeat(257);
    let users = [&*long, &"x".repeat(4000), &"x".repeat(256), &format!("{long}y"), "tab\there"];
    for (n, user) in users.into_iter().enumerate() {
        let (first, again) = (ask(user).send().await, ask(user).send().await);
        assert_eq!((first.status.as_u16(), first.replayed()), (200, false), "{} bytes: {first:?}", user.len());
        assert_eq!((&again.body, again.replayed(), runs.count()), (&first.body, true, n + 1));
    }
    // Nobody gets at it by calling himself by the digest.
    let digest = stanchion_core::Fingerprint::of_bytes(long.as_bytes());
    for user in [format!("sha256:{digest}"), digest.to_string()] {
        assert!(!ask(&user).send().await.replayed(), "{user}");
    }
}

#[test]
fn policies_that_cannot_work_are_refused_at_the_start() {
    let everyone = || Principal::everyone("internal");
    let refused = |policy| GuardLayer::new(guard(&MemoryStore::new()), policy).unwrap_err().kind();
    for label in ["", "a\nb", &"x".repeat(257)] {
        assert_eq!(refused(RoutePolicy::new(label, everyone())), ErrorKind::Invalid, "{label:?}");
    }
    let transactional = Policy::default().effect(Effect::Transactional);
    assert_eq!(refused(RoutePolicy::new("a", everyone()).policy(transactional)), ErrorKind::Unsupported);
    assert!(route().body_limit(BODY_MAX + 1).is_err() && route().response_cap(16 << 20).is_err());
}
