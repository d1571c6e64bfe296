use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::{any, post as route_post};
use futures_util::future::join_all;
use http::{HeaderMap, HeaderName};
use stanchion_core::{Acquire, CasLock, FencingToken, InFlight, Key, Locks, MemoryStore, Policy, Wait};
use stanchion_http::key::KeyRules;
use stanchion_http::proxy::Proxy;

use super::{SPELLINGS, in_front_of, run, start};
use crate::web::{Runs, guard, post, route, serve};

fn counting() -> (Router, Runs) {
    let runs = Runs::default();
    let counted = runs.clone();
    let handler =
        move || async move { (http::StatusCode::CREATED, [("location", "/1")], format!("run {}", counted.one())) };
    (Router::new().fallback(handler), runs)
}

#[tokio::test]
async fn a_keyed_request_runs_once_behind_the_proxy() {
    let (app, runs) = counting();
    let proxy = start(serve(app).await, route()).await;
    let ask = || post(proxy.at, "/guarded/charge").key("k").json(r#"{"a":1}"#);
    let (first, again) = (ask().send().await, ask().send().await);
    assert_eq!((first.status.as_u16(), &first.body[..], first.replayed()), (201, &b"run 1"[..], false));
    assert_eq!((again.status.as_u16(), &again.body[..], again.replayed()), (201, &b"run 1"[..], true));
    assert_eq!(again.headers["location"], "/1");
    let other = post(proxy.at, "/guarded/charge").key("k").json(r#"{"a":2}"#).send().await;
    assert_eq!(other.slug(), Some((422, "idempotency-key-reused".into())));
    let missing = post(proxy.at, "/guarded/charge").send().await;
    assert_eq!(missing.slug(), Some((400, "idempotency-key-missing".into())));
    assert_eq!(runs.count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_ten_parallel_requests_one_reaches_the_upstream() {
    let (app, runs) = counting();
    let policy = route().policy(Policy::default().allow_weak().in_flight(InFlight::Attach));
    let proxy = start(serve(app).await, policy).await;
    let answers = join_all((0..10).map(|_| post(proxy.at, "/guarded").key("k").send())).await;
    assert!(answers.iter().all(|got| &got.body[..] == b"run 1"), "{answers:?}");
    assert_eq!(runs.count(), 1);
    // Control: on a path without a route, all of them do.
    join_all((0..10).map(|_| post(proxy.at, "/other").key("k").send())).await;
    assert_eq!(runs.count(), 11);
}

#[tokio::test]
async fn another_spelling_of_the_path_does_not_evade_the_guard() {
    let (app, runs) = counting();
    let proxy = start(serve(app).await, route()).await;
    for path in ["/guarded/x", "//guarded/x", "/%67uarded/x", "/guarded//x/"] {
        assert_eq!(post(proxy.at, path).send().await.slug(), Some((400, "idempotency-key-missing".into())), "{path}");
    }
    for path in [
        "/other/../guarded/x",
        "/other/%2e%2e/guarded/x",
        "/./guarded/x",
        "/other/..%2fguarded/x",
        "/guarded%2Fx",
        "/guarded%2fx",
        "/guarded%5Cx",
        "/guarded%00/x",
        "/guarded;v=1/x",
        "/guarded%3Bv=1/x",
        "/guarded%/x",
        "/%zz",
    ] {
        assert_eq!(post(proxy.at, path).send().await.slug(), Some((501, "unsupported".into())), "{path}");
    }
    assert_eq!(runs.count(), 0);
    // Control: what everybody reads in one way passes.
    for path in ["/a%20b", "/a:b,c=d@e+f", "/caf%C3%A9", "/100%25", "/a.b/..c", "/a?b=%2F;%zz"] {
        assert_eq!(post(proxy.at, path).send().await.status, 201, "{path}");
    }
}

#[tokio::test]
async fn another_spelling_of_the_path_does_not_evade_the_lock() {
    let (app, runs) = counting();
    let store = MemoryStore::new();
    let policy = route().key(KeyRules::optional()).lock("order:{path.2}".parse().unwrap(), Wait::No);
    let proxy = Proxy::new(guard(&store), &format!("http://{}", serve(app).await))
        .and_then(|proxy| proxy.route("/orders/*".parse()?, policy))
        .unwrap();
    let proxy = run(proxy).await;
    let held = Locks::new(CasLock::new(store)).acquire(&Acquire::new(Key::new("order:7").unwrap())).await.unwrap();
    for path in SPELLINGS {
        assert_eq!(post(proxy.at, path).send().await.slug(), Some((409, "lock-busy".into())), "{path}");
    }
    assert_eq!(runs.count(), 0);
    held.release().await.unwrap();
    for path in SPELLINGS {
        assert_eq!(post(proxy.at, path).send().await.status, 201, "{path}");
    }
}

/// Reads, lets others run, writes: loses updates unless it is alone.
fn account() -> (Router, Arc<AtomicUsize>) {
    let balance = Arc::new(AtomicUsize::new(0));
    let shared = Arc::clone(&balance);
    let handler = move || async move {
        let read = shared.load(Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(2)).await;
        shared.store(read + 1, Ordering::SeqCst);
    };
    (Router::new().fallback(handler), balance)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_named_by_path_header_and_body_keeps_every_update() {
    let template = "order:{path.2}:{header.x-tenant}:{body.line.id}".parse().unwrap();
    let policy = route().key(KeyRules::optional()).lock(template, Wait::For(Duration::from_secs(20)));
    let (app, balance) = account();
    let proxy = start(serve(app).await, policy).await;
    let ask = |path| post(proxy.at, path).header("x-tenant", b"t").json(r#"{"line":{"id":3}}"#);
    let answers = join_all((0..20).map(|_| ask("/orders/7").send())).await;
    assert!(answers.iter().all(|got| got.status == 200), "{answers:?}");
    assert_eq!(balance.load(Ordering::SeqCst), 20);
    // Control: without a route there is no lock, and updates are lost.
    join_all((0..20).map(|_| ask("/other").send())).await;
    assert!(balance.load(Ordering::SeqCst) < 40);
}

#[tokio::test]
async fn the_fence_goes_to_the_upstream_and_cannot_be_forged() {
    let name = HeaderName::from_static("x-fence");
    let echo = Router::new().fallback(any(|headers: HeaderMap| async move {
        headers.get_all("x-fence").iter().map(|value| value.to_str().unwrap_or("?")).collect::<Vec<_>>().join("|")
    }));
    let policy = route().key(KeyRules::optional()).lock("order:{path.2}".parse().unwrap(), Wait::No);
    let proxy = run(in_front_of(serve(echo).await, policy).fence_header(name)).await;
    let forged = |path| post(proxy.at, path).header("x-fence", b"99-0000000000000001");
    let mut last = 0;
    for _ in 0..3 {
        let got = forged("/orders/7").send().await;
        let fence: FencingToken = std::str::from_utf8(&got.body).unwrap().parse().expect("one token");
        assert!(fence.number() > last && fence.nonce() != 1, "{fence}");
        last = fence.number();
    }
    assert_eq!(&forged("/other").send().await.body[..], b"");
}

#[tokio::test]
async fn stopping_lets_a_running_request_end() {
    let (began, begun) = tokio::sync::oneshot::channel();
    let began = Arc::new(std::sync::Mutex::new(Some(began)));
    let gate = Arc::new(tokio::sync::Notify::new());
    let open = Arc::clone(&gate);
    let app = Router::new().fallback(route_post(move || async move {
        began.lock().unwrap().take().map(|began| began.send(()));
        open.notified().await;
        "done"
    }));
    let proxy = start(serve(app).await, route()).await;
    let asked = tokio::spawn(post(proxy.at, "/guarded").key("k").send());
    begun.await.unwrap();
    proxy.stop.send(()).unwrap();
    gate.notify_one();
    assert_eq!(&asked.await.unwrap().body[..], b"done");
    proxy.served.await.unwrap().expect("it ended in order");
    assert!(post(proxy.at, "/guarded").key("k").try_send().await.is_err(), "nobody listens any more");
}
