//! What is known when the upstream does not answer.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use futures_util::{StreamExt as _, stream};
use stanchion_core::{MemoryStore, Policy};
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, eventually};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use super::{in_front_of, run, start};
use crate::web::{Runs, guard, post, route, serve};

fn counting() -> (Router, Runs) {
    let runs = Runs::default();
    let counted = runs.clone();
    (Router::new().fallback(move || async move { format!("run {}", counted.one()) }), runs)
}

#[tokio::test]
async fn a_refused_connection_proves_that_nothing_ran() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = taken.local_addr().unwrap();
    drop(taken);
    let proxy = start(upstream, route()).await;
    for path in ["/guarded", "/other"] {
        let got = post(proxy.at, path).key("k").send().await;
        let (status, slug, json) = got.problem().expect("a problem");
        assert_eq!((status, &*slug), (503, "unreachable"));
        assert_eq!((&json["mayHaveExecuted"], &json["retryable"]), (&false.into(), &true.into()));
        assert!(got.headers.contains_key("retry-after"));
    }
    // As soon as it is there, the same key runs.
    let (app, runs) = counting();
    let listener = TcpListener::bind(upstream).await.unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    let got = post(proxy.at, "/guarded").key("k").send().await;
    assert_eq!((&got.body[..], got.replayed(), runs.count()), (&b"run 1"[..], false, 1));
}

#[tokio::test]
async fn a_lost_answer_is_unknown_and_never_sent_again() {
    for fault in [Fault::LoseReply, Fault::LoseRequest, Fault::Reset] {
        let (app, runs) = counting();
        let lossy = FaultProxy::start(serve(app).await, Protocol::Http).await;
        let proxy = start(lossy.addr(), route()).await;
        lossy.set_plan(Plan::nth(0, fault));
        for _ in 0..3 {
            let (status, slug, json) = post(proxy.at, "/guarded").key("k").send().await.problem().expect("a problem");
            assert_eq!((status, &*slug), (409, "outcome-unknown"), "{fault:?}");
            assert_eq!((&json["mayHaveExecuted"], &json["retryable"]), (&true.into(), &false.into()));
        }
        assert_eq!(runs.count(), usize::from(fault == Fault::LoseReply), "{fault:?}");
        // Another key is not held up.
        assert_eq!(post(proxy.at, "/guarded").key("other").send().await.status, 200);
    }
}

/// The control: without the guard, a retry after the lost answer is a second effect.
#[tokio::test]
async fn without_the_guard_a_lost_answer_is_sent_again() {
    let (app, runs) = counting();
    let lossy = FaultProxy::start(serve(app).await, Protocol::Http).await;
    let proxy = start(lossy.addr(), route()).await;
    lossy.set_plan(Plan::nth(0, Fault::LoseReply));
    let (status, slug, json) = post(proxy.at, "/other").key("k").send().await.problem().expect("a problem");
    assert_eq!((status, &*slug, &json["mayHaveExecuted"]), (502, "no-answer", &true.into()));
    assert_eq!(post(proxy.at, "/other").key("k").send().await.status, 200);
    assert_eq!(runs.count(), 2);
}

#[tokio::test]
async fn an_answer_that_is_late_is_unknown() {
    let (gate, runs) = (Arc::new(Notify::new()), Runs::default());
    let (open, counted) = (Arc::clone(&gate), runs.clone());
    let app = Router::new().fallback(move || async move {
        counted.one();
        open.notified().await;
    });
    let proxy = in_front_of(serve(app).await, route()).answer_within(Duration::from_millis(200)).unwrap();
    let proxy = run(proxy).await;
    for _ in 0..2 {
        let got = post(proxy.at, "/guarded").key("k").send().await;
        assert_eq!((got.slug(), runs.count()), (Some((409, "outcome-unknown".into())), 1));
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_unknown() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 4096];
            assert_ne!(socket.read(&mut request).await.unwrap_or(0), 0);
            socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf").await.ok();
        }
    });
    let proxy = start(upstream, route()).await;
    for _ in 0..2 {
        let got = post(proxy.at, "/guarded").key("k").send().await;
        assert_eq!(got.slug(), Some((409, "outcome-unknown".into())));
    }
}

#[tokio::test]
async fn an_answer_that_stalls_is_unknown() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 4096];
            assert_ne!(socket.read(&mut request).await.unwrap_or(0), 0);
            socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf").await.ok();
            open.push(socket);
        }
    });
    let proxy = run(in_front_of(upstream, route()).answer_within(Duration::from_millis(200)).unwrap()).await;
    for _ in 0..2 {
        let got = post(proxy.at, "/guarded").key("k").send().await;
        assert_eq!(got.slug(), Some((409, "outcome-unknown".into())));
    }
}

/// Each piece comes in time, so only the time for all of them ends it.
#[tokio::test]
async fn an_answer_that_goes_on_without_its_caller_has_the_time_of_an_answer() {
    let runs = Runs::default();
    let counted = runs.clone();
    let app = Router::new().fallback(move || async move {
        counted.one();
        let pieces = stream::repeat_with(|| Ok::<_, std::io::Error>("piece")).then(|piece| async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            piece
        });
        axum::body::Body::from_stream(pieces)
    });
    let policy = route().response_cap(0).unwrap();
    let proxy = run(in_front_of(serve(app).await, policy).answer_within(Duration::from_secs(1)).unwrap()).await;
    let mut socket = tokio::net::TcpStream::connect(proxy.at).await.unwrap();
    let ask = b"POST /guarded HTTP/1.1\r\nhost: x\r\nx-user: alice\r\nidempotency-key: k\r\ncontent-length: 0\r\n\r\n";
    socket.write_all(ask).await.unwrap();
    socket.read_exact(&mut [0; 500]).await.unwrap();
    let again = || async { post(proxy.at, "/guarded").key("k").send().await.slug().expect("a problem") };
    assert_eq!(again().await, (409, "idempotency-key-in-progress".into()), "its caller is there");
    drop(socket);
    eventually(Duration::from_secs(20), "it ends", || async { again().await == (409, "outcome-unknown".into()) }).await;
    assert_eq!(runs.count(), 1);
}

/// An upstream that keeps the connection after its answer, and hangs up when the next request comes: what happens to a
/// kept connection when its time is over at the wrong moment.
#[tokio::test]
async fn an_upstream_that_hangs_up_on_kept_connections_leaves_nothing_unknown() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4096];
                assert_ne!(socket.read(&mut request).await.unwrap_or(0), 0);
                socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone").await.ok();
                socket.read(&mut request).await.map(drop).ok();
            });
        }
    });
    let store = MemoryStore::new();
    let proxy = stanchion_http::proxy::Proxy::new(guard(&store), &format!("http://{upstream}"))
        .unwrap()
        .route("/**".parse().unwrap(), route().policy(Policy::default().allow_weak()))
        .unwrap();
    let proxy = run(proxy).await;
    for n in 0..20 {
        let got = post(proxy.at, "/").key(&format!("k{n}")).send().await;
        assert_eq!((got.status.as_u16(), &got.body[..]), (200, &b"done"[..]), "request {n}");
    }
}
