//! The caller goes away while its request runs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::middleware::Next;
use axum::routing::post as route_post;
use stanchion_core::{Acquire, CasLock, ClaimId, Key, Locks, MemoryStore, Page, RecordStore as _, Wait};
use stanchion_testkit::eventually;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Notify;
use tower_service::Service as _;

use crate::web::{Runs, guard, guarded, post, route, serve};

const SOON: Duration = Duration::from_secs(10);
const REQUEST: &str = "POST / HTTP/1.1\r\nhost: x\r\nx-user: alice\r\nidempotency-key: k\r\ncontent-length: 0\r\n\r\n";

struct Scene {
    app: Router,
    began: Arc<Notify>,
    go_on: Arc<Notify>,
    /// The handler was dropped before its end.
    dropped: Arc<AtomicBool>,
    finished: Runs,
}

struct Watch(Arc<AtomicBool>, bool);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.store(!self.1, Ordering::SeqCst);
    }
}

fn scene() -> Scene {
    let (began, go_on, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()), Arc::<AtomicBool>::default());
    let finished = Runs::default();
    let (b, g, d, f) = (began.clone(), go_on.clone(), dropped.clone(), finished.clone());
    let handler = move || async move {
        let mut watch = Watch(d, false);
        b.notify_one();
        g.notified().await;
        watch.1 = true;
        format!("finished {}", f.one())
    };
    Scene { app: Router::new().route("/", route_post(handler)), began, go_on, dropped, finished }
}

/// Sends a request and goes away as soon as its handler runs.
async fn hang_up(at: SocketAddr, began: &Notify) {
    let mut socket = tokio::net::TcpStream::connect(at).await.expect("a connection");
    socket.write_all(REQUEST.as_bytes()).await.expect("sent");
    began.notified().await;
    drop(socket);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_handler_finishes_and_a_retry_gets_its_answer() {
    let (scene, noticed) = (scene(), Arc::<AtomicBool>::default());
    let layer = guarded(guard(&MemoryStore::new()), route());
    let server = Arc::clone(&noticed);
    let watching = axum::middleware::from_fn(move |request: Request, next: Next| {
        let server = Arc::clone(&server);
        async move {
            let mut watch = Watch(server, false);
            let answer = next.run(request).await;
            watch.1 = true;
            answer
        }
    });
    let at = serve(scene.app.layer(layer.clone()).layer(watching)).await;
    hang_up(at, &scene.began).await;
    // The server has dropped the request; the handler has not got to its end.
    eventually(SOON, "the server notices", || async { noticed.load(Ordering::SeqCst) }).await;
    assert_eq!(scene.finished.count(), 0);
    scene.go_on.notify_one();
    tokio::time::timeout(SOON, layer.idle()).await.expect("the handler ends");
    assert_eq!((scene.finished.count(), scene.dropped.load(Ordering::SeqCst)), (1, false));
    let again = post(at, "/").key("k").send().await;
    assert_eq!((&again.body[..], again.replayed()), (&b"finished 1"[..], true));
    assert_eq!(scene.finished.count(), 1);
}

/// In virtual time: a minute without a caller.
#[tokio::test(start_paused = true)]
async fn the_handler_has_all_the_time_it_needs() {
    let scene = scene();
    let layer = guarded(guard(&MemoryStore::new()), route());
    let mut app = scene.app.layer(layer.clone());
    let request = || {
        let request = http::Request::post("/").header("x-user", "alice").header("idempotency-key", "k");
        request.body(axum::body::Body::empty()).expect("a request")
    };
    let asked = tokio::spawn(app.call(request()));
    scene.began.notified().await;
    asked.abort();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((scene.finished.count(), scene.dropped.load(Ordering::SeqCst)), (0, false));
    scene.go_on.notify_one();
    layer.idle().await;
    let again = app.call(request()).await.expect("an answer");
    assert!(again.headers().contains_key("idempotent-replayed"), "{again:?}");
    assert_eq!(scene.finished.count(), 1);
}

/// The control: without the layer, the server drops the handler half-way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_layer_the_handler_is_cut_off() {
    let scene = scene();
    let at = serve(scene.app).await;
    hang_up(at, &scene.began).await;
    eventually(SOON, "the handler is dropped", || async { scene.dropped.load(Ordering::SeqCst) }).await;
    assert_eq!(scene.finished.count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_goes_away_during_its_upload_has_asked_for_nothing() {
    let scene = scene();
    let layer = guarded(guard(&MemoryStore::new()), route());
    let at = serve(scene.app.layer(layer.clone())).await;
    let mut socket = tokio::net::TcpStream::connect(at).await.expect("a connection");
    let request = "POST / HTTP/1.1\r\nhost: x\r\nx-user: alice\r\nidempotency-key: k\r\ncontent-length: 9\r\n\r\nhalf";
    socket.write_all(request.as_bytes()).await.expect("sent");
    drop(socket);
    // Another request with the key is the first one to run, also with another body.
    scene.go_on.notify_one();
    let got = post(at, "/").key("k").body("whole").send().await;
    assert_eq!((&got.body[..], got.replayed()), (&b"finished 1"[..], false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_still_waits_is_given_up_with_its_caller() {
    let (store, scene) = (MemoryStore::new(), scene());
    let wait = Wait::For(Duration::from_secs(600));
    let layer = guarded(guard(&store), route().lock("busy".parse().unwrap(), wait));
    let at = serve(scene.app.layer(layer.clone())).await;
    let busy = Acquire::new(Key::new("busy").unwrap());
    let lease = Locks::new(CasLock::new(store.clone())).acquire(&busy).await.unwrap();
    let mut socket = tokio::net::TcpStream::connect(at).await.expect("a connection");
    socket.write_all(REQUEST.as_bytes()).await.expect("sent");
    let claimed = || async { !store.scan(ClaimId::RECORDS, Page::first(1)).await.unwrap().is_empty() };
    eventually(SOON, "the request has claimed its key and waits", claimed).await;
    drop(socket);
    tokio::time::timeout(SOON, layer.idle()).await.expect("nobody waits any more, though the lock is still taken");
    lease.release().await.unwrap();
    // Nothing ran, so the next one with the key does.
    scene.go_on.notify_one();
    let got = post(at, "/").key("k").send().await;
    assert_eq!((&got.body[..], got.replayed(), scene.finished.count()), (&b"finished 1"[..], false, 1));
}
