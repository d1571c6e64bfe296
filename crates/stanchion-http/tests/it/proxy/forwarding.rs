//! What passes, unguarded or not.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use http::{HeaderMap, Method};
use stanchion_core::{ErrorKind, MemoryStore};
use stanchion_http::proxy::Proxy;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{run, start};
use crate::web::{guard, post, route, serve};

async fn read_until(socket: &mut TcpStream, text: &str) -> String {
    let mut seen = Vec::new();
    let read = async {
        while !String::from_utf8_lossy(&seen).contains(text) {
            let mut more = [0; 1024];
            let n = socket.read(&mut more).await.expect("more");
            assert!(n > 0, "closed after {:?}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&more[..n]);
        }
    };
    tokio::time::timeout(Duration::from_secs(10), read).await.expect("it comes");
    String::from_utf8_lossy(&seen).into_owned()
}

#[tokio::test]
async fn bodies_of_unguarded_requests_are_streamed_both_ways() {
    let echo = Router::new().fallback(|request: Request| async move { Body::new(request.into_body()) });
    let proxy = start(serve(echo).await, route()).await;
    let mut socket = TcpStream::connect(proxy.at).await.unwrap();
    socket
        .write_all(b"POST /other HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        .await
        .unwrap();
    // The answer begins before the request has ended: neither is buffered.
    let seen = read_until(&mut socket, "first").await;
    assert!(seen.starts_with("HTTP/1.1 200"), "{seen}");
    socket.write_all(b"6\r\nsecond\r\n0\r\n\r\n").await.unwrap();
    read_until(&mut socket, "second").await;
}

#[tokio::test]
async fn an_upstream_of_the_old_version_does_not_lend_its_version_to_us() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let old = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            read_until(&mut socket, "\r\n\r\n").await;
            socket.write_all(b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
        }
    });
    let proxy = start(old, route()).await;
    let mut socket = TcpStream::connect(proxy.at).await.unwrap();
    for _ in 0..2 {
        socket.write_all(b"GET /other HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let seen = read_until(&mut socket, "ok").await;
        assert!(seen.starts_with("HTTP/1.1 200"), "{seen}");
    }
}

async fn echo_of_headers() -> SocketAddr {
    let app = Router::new().fallback(|method: Method, uri: http::Uri, headers: HeaderMap| async move {
        let lines: Vec<_> =
            headers.iter().map(|(name, value)| format!("{name}={}", value.to_str().unwrap_or("?"))).collect();
        (
            [("connection", "x-secret"), ("x-secret", "1"), ("x-kept", "1")],
            format!("{method} {uri} {}", lines.join(";")),
        )
    });
    serve(app).await
}

#[tokio::test]
async fn headers_of_one_connection_stop_at_the_proxy() {
    let upstream = echo_of_headers().await;
    let proxy = start(upstream, route()).await;
    for path in ["/other?q=1", "/guarded/a?q=1"] {
        let got = post(proxy.at, path)
            .key("k")
            .header("connection", b"x-hop")
            .header("x-hop", b"1")
            .header("te", b"trailers")
            .header("keep-alive", b"5")
            .header("x-own", b"1")
            .body("hello")
            .send()
            .await;
        let seen = String::from_utf8_lossy(&got.body).into_owned();
        assert!(seen.starts_with(&format!("POST {path} ")), "{seen}");
        for line in [
            "x-own=1",
            "idempotency-key=k",
            "content-length=5",
            "x-forwarded-for=127.0.0.1",
            &format!("host={upstream}"),
            &format!("x-forwarded-host={}", proxy.at),
            "x-forwarded-proto=http",
        ] {
            assert!(seen.contains(line), "{line} is not in {seen}");
        }
        assert!(!seen.contains("x-hop") && !seen.contains("keep-alive") && !seen.contains("te=trailers"), "{seen}");
        assert!(got.headers.contains_key("x-kept") && !got.headers.contains_key("x-secret"), "{:?}", got.headers);
    }
}

#[tokio::test]
async fn the_upstreams_own_path_comes_first() {
    let upstream = echo_of_headers().await;
    for (base, seen) in [("", "/a/b?c=d"), ("/", "/a/b?c=d"), ("/api", "/api/a/b?c=d"), ("/api/", "/api/a/b?c=d")] {
        let proxy = Proxy::new(guard(&MemoryStore::new()), &format!("http://{upstream}{base}")).unwrap();
        let got = post(run(proxy).await.at, "/a/b?c=d").method(Method::PUT).send().await;
        assert!(got.body.starts_with(format!("PUT {seen} ").as_bytes()), "{:?}", got.body);
    }
}

#[tokio::test]
async fn upgrades_and_tunnels_are_refused_in_words() {
    let proxy = start(echo_of_headers().await, route()).await;
    for to in [&b"websocket"[..], b"WebSocket", b"h2c, websocket", b"websocket/13"] {
        let ask = post(proxy.at, "/other").method(Method::GET).header("connection", b"upgrade").header("upgrade", to);
        assert_eq!(ask.send().await.slug(), Some((501, "unsupported".into())), "{to:?}");
    }
    let mut socket = TcpStream::connect(proxy.at).await.unwrap();
    socket.write_all(b"CONNECT example.org:443 HTTP/1.1\r\nhost: example.org:443\r\n\r\n").await.unwrap();
    assert!(read_until(&mut socket, "\r\n\r\n").await.starts_with("HTTP/1.1 501"));
}

/// As some clients do with every request until they know better.
#[tokio::test]
async fn an_upgrade_that_a_server_may_ignore_is_ignored() {
    let proxy = start(echo_of_headers().await, route()).await;
    for (method, path) in [(Method::POST, "/guarded/a"), (Method::POST, "/other"), (Method::GET, "/other")] {
        let got = post(proxy.at, path)
            .method(method)
            .key("k")
            .header("connection", b"Upgrade, HTTP2-Settings")
            .header("upgrade", b"h2c")
            .header("http2-settings", b"AAEAAEAA")
            .body("hello")
            .send()
            .await;
        let seen = String::from_utf8_lossy(&got.body).into_owned();
        assert!(got.status == 200 && seen.contains("content-length=5"), "{got:?}");
        assert!(!seen.contains("upgrade") && !seen.contains("http2-settings"), "{seen}");
    }
}

#[test]
fn what_is_no_upstream_is_refused_at_the_start() {
    for (upstream, kind) in [
        ("", ErrorKind::Invalid),
        ("127.0.0.1:3000", ErrorKind::Invalid),
        ("/path", ErrorKind::Invalid),
        ("ftp://a", ErrorKind::Invalid),
        ("http://", ErrorKind::Invalid),
        ("http://a?b", ErrorKind::Invalid),
        ("http://user:secret@a", ErrorKind::Invalid),
        ("http://a b", ErrorKind::Invalid),
        ("https://a", ErrorKind::Unsupported),
    ] {
        let e = Proxy::new(guard(&MemoryStore::new()), upstream).unwrap_err();
        assert_eq!(e.kind(), kind, "{upstream}");
    }
    let proxy = || Proxy::new(guard(&MemoryStore::new()), "http://a").unwrap();
    assert!(proxy().answer_within(Duration::ZERO).is_err() && proxy().answer_within(Duration::MAX).is_err());
}
