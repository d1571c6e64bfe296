//! How long a front waits for what it passes on, and what it leaves behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use stanchion_core::{
    Capability, CasLock, Cond, FencingToken, Idempotency, Key, Locks, MemoryStore, Page, Record, RecordStore, Result,
    Version,
};
use stanchion_mcp::Gate;
use stanchion_mcp::calls::{CallLog, Entry, Verdict, parse};
use stanchion_mcp::policy::PolicyFile;
use stanchion_mcp::serve::{Endpoint as _, Remote, Serve};
use stanchion_testkit::eventually;
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};

use super::support::*;

/// A store that does not answer while it hangs.
#[derive(Debug)]
struct Hanging(MemoryStore, Arc<AtomicBool>);

impl Hanging {
    async fn pass(&self) {
        if self.1.load(Ordering::SeqCst) {
            std::future::pending().await
        }
    }
}

#[async_trait]
impl RecordStore for Hanging {
    fn capability(&self) -> Capability {
        self.0.capability()
    }
    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        self.pass().await;
        self.0.get(key).await
    }
    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        self.pass().await;
        self.0.touch(key, token).await
    }
    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        self.pass().await;
        self.0.put(key, value, cond, ttl).await
    }
    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        self.pass().await;
        self.0.delete(key, cond).await
    }
    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        self.0.scan(prefix, page).await
    }
    async fn changed(&self, key: &Key, since: Option<Version>, until: tokio::time::Instant) -> Result<()> {
        self.0.changed(key, since, until).await
    }
}

fn on(records: Arc<dyn RecordStore>) -> Store {
    let locks = Arc::new(CasLock::new(MemoryStore::new()));
    let claims = Idempotency::new(Arc::clone(&records), locks.clone());
    Store { claims, locks, records, _folder: None }
}

/// An upstream whose calls end when they are let.
async fn held() -> (Server, Arc<Semaphore>) {
    let go = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&go);
    let server = Server::start(move |seen: Seen| {
        let gate = Arc::clone(&gate);
        async move {
            match (seen.method.as_str(), seen.rpc().as_str()) {
                ("GET", _) => {
                    let (to, from) = mpsc::unbounded_channel();
                    to.send(Bytes::from_static(b": hello\n")).unwrap();
                    // It is never ended by its server.
                    std::mem::forget(to);
                    Reply::Events(from)
                }
                (_, "tools/call") => {
                    gate.acquire().await.unwrap().forget();
                    Reply::json(seen.result(r#"{"content":[{"text":"done"}]}"#))
                }
                _ => Reply::Whole(202, vec![], String::new()),
            }
        }
    });
    (server.await, go)
}

fn start(addr: std::net::SocketAddr, id: &str, key: Option<&str>) -> tokio::task::JoinHandle<Got> {
    let body = call(id, key);
    tokio::spawn(async move { post(addr, &[BOTH, ("mcp-session-id", "s")], &body).await })
}

async fn reached(server: &Server, calls: usize) {
    eventually(SOON, "the call is at the upstream", || async { server.calls().len() == calls }).await;
}

#[tokio::test]
async fn a_store_that_hangs_does_not_keep_a_gateway_that_stops() {
    let hangs = Arc::new(AtomicBool::new(false));
    let store = on(Arc::new(Hanging(MemoryStore::new(), Arc::clone(&hangs))));
    let (server, _go) = held().await;
    let gateway = Gateway::start(&store, &format!("{LOCKED}allow_weak = true\n"), &server.url()).await;
    let cancelled = start(gateway.addr, "1", Some("k"));
    reached(&server, 1).await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    post(gateway.addr, &[BOTH, ("mcp-session-id", "s")], cancel).await;
    hangs.store(true, Ordering::SeqCst);
    let stopping = gateway.remote.shut_down(Duration::from_millis(200));
    tokio::time::timeout(SOON, stopping).await.expect("it ends though the store does not answer");
    drop(cancelled);
}

/// A front with this upstream, as `serve` runs it.
struct House {
    remote: Arc<Remote>,
    addr: std::net::SocketAddr,
    stop: oneshot::Sender<()>,
    ended: tokio::task::JoinHandle<Result<()>>,
}

async fn house(gate: Arc<Gate>, url: &str, drain: Duration) -> House {
    let remote = Arc::new(Remote::new(gate, url, http::HeaderMap::new()).unwrap());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let front = Serve::new().endpoint("s", remote.clone()).drain(drain);
    let ended = tokio::spawn(front.run(listener, async { drop(stopped.await) }));
    House { remote, addr, stop, ended }
}

#[tokio::test]
async fn a_request_that_is_only_passed_on_has_its_time_to_end_and_a_stream_is_not_waited_for() {
    let (store, (server, go)) = (Store::fresh().await, held().await);
    let house = house(store.gate(WRITES), &server.url(), SOON).await;
    let client = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new()).build_http();
    let get = request(house.addr, "GET", &[("accept", "text/event-stream")], "");
    let mut listening = client.request(get).await.unwrap();
    assert_eq!(listening.frame().await.unwrap().unwrap().into_data().unwrap(), ": hello\n");
    let passed = start(house.addr, "1", None);
    reached(&server, 1).await;
    let began = Instant::now();
    house.stop.send(()).unwrap();
    let rest = tokio::time::timeout(SOON, listening.collect()).await.expect("the stream is ended").unwrap();
    assert_eq!(rest.to_bytes().len(), 0);
    // Longer than the last words have ever had.
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(!house.ended.is_finished(), "it was cut after {:?}", began.elapsed());
    go.add_permits(1);
    assert_eq!(passed.await.unwrap().texts(), "done");
    tokio::time::timeout(SOON, house.ended).await.unwrap().unwrap().expect("everything has ended in time");
}

#[tokio::test]
async fn an_open_stream_alone_is_no_failure_and_a_passed_call_that_hangs_is_told_that_nobody_knows() {
    let (store, (server, _go)) = (Store::fresh().await, held().await);
    let first = house(store.gate(WRITES), &server.url(), Duration::from_secs(600)).await;
    let client = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new()).build_http();
    let get = request(first.addr, "GET", &[("accept", "text/event-stream")], "");
    let mut listening = client.request(get).await.unwrap();
    listening.frame().await.unwrap().unwrap();
    first.stop.send(()).unwrap();
    tokio::time::timeout(SOON, first.ended).await.expect("nothing is waited for").unwrap().expect("no failure");

    let second = house(store.gate(WRITES), &server.url(), Duration::from_millis(300)).await;
    let hangs = start(second.addr, "1", None);
    reached(&server, 1).await;
    second.stop.send(()).unwrap();
    assert_eq!(hangs.await.unwrap().problem().as_deref(), Some("outcome_unknown"));
    tokio::time::timeout(SOON, second.ended).await.unwrap().unwrap().expect("everybody was told");
}

#[tokio::test]
async fn a_call_that_a_stop_ends_is_written_down_and_has_its_receipt() {
    let (store, (server, _go)) = (Store::fresh().await, held().await);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let log = CallLog::open(&path).unwrap();
    let rules = PolicyFile::parse(LOCKED, "test.toml").unwrap().rules("s");
    let locks = Locks::shared(Arc::clone(&store.locks));
    let gate = Gate::new("s", rules, store.claims.clone(), locks, Arc::clone(&store.records)).log(log.clone());
    let house = house(Arc::new(gate), &server.url(), Duration::from_millis(300)).await;
    let runs = start(house.addr, "1", Some("runs"));
    reached(&server, 1).await;
    let waits = start(house.addr, "2", Some("waits"));
    eventually(SOON, "the second call waits", || async { house.remote.under_way() == 2 }).await;
    house.stop.send(()).unwrap();
    let (runs, waits) = (runs.await.unwrap(), waits.await.unwrap());
    assert_eq!(runs.problem().as_deref(), Some("outcome_unknown"), "{runs:?}");
    assert_eq!(waits.problem().as_deref(), Some("upstream_failed"), "{waits:?}");
    assert!(runs.body.contains("receipt"), "whoever settles it needs its receipt: {runs:?}");
    log.flush().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let mut verdicts: Vec<Verdict> = text
        .lines()
        .filter_map(|line| match parse(line) {
            Some(Entry::Call(line)) => Some(line.verdict),
            _ => None,
        })
        .collect();
    verdicts.sort_by_key(|verdict| verdict.as_str());
    assert_eq!(verdicts, [Verdict::Refused, Verdict::Unknown], "{text}");
}

/// A store in which writing a note takes until it is let.
#[derive(Debug)]
struct SlowNotes {
    records: MemoryStore,
    go_on: Notify,
    begun: AtomicBool,
    written: AtomicBool,
}

#[async_trait]
impl RecordStore for SlowNotes {
    fn capability(&self) -> Capability {
        self.records.capability()
    }
    async fn get(&self, key: &Key) -> Result<Option<Record>> {
        self.records.get(key).await
    }
    async fn touch(&self, key: &Key, token: &FencingToken) -> Result<Option<Record>> {
        self.records.touch(key, token).await
    }
    async fn put(&self, key: &Key, value: Bytes, cond: Cond, ttl: Option<Duration>) -> Result<Version> {
        if key.as_str().starts_with("note:") {
            self.begun.store(true, Ordering::SeqCst);
            self.go_on.notified().await;
            let written = self.records.put(key, value, cond, ttl).await;
            self.written.store(true, Ordering::SeqCst);
            return written;
        }
        self.records.put(key, value, cond, ttl).await
    }
    async fn delete(&self, key: &Key, cond: Cond) -> Result<()> {
        self.records.delete(key, cond).await
    }
    async fn scan(&self, prefix: &str, page: Page) -> Result<Vec<(Key, Record)>> {
        self.records.scan(prefix, page).await
    }
    async fn changed(&self, key: &Key, since: Option<Version>, until: tokio::time::Instant) -> Result<()> {
        self.records.changed(key, since, until).await
    }
}

#[tokio::test]
async fn a_note_that_is_written_slowly_does_not_outlive_its_call() {
    let (begun, written) = (AtomicBool::new(false), AtomicBool::new(false));
    let records = Arc::new(SlowNotes { records: MemoryStore::new(), go_on: Notify::new(), begun, written });
    let store = on(records.clone());
    let (server, go) = held().await;
    let gateway = Gateway::start(&store, LOCKED, &server.url()).await;
    let running = start(gateway.addr, "1", None);
    reached(&server, 1).await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    post(gateway.addr, &[BOTH, ("mcp-session-id", "s")], cancel).await;
    eventually(SOON, "the note is on its way", || async { records.begun.load(Ordering::SeqCst) }).await;
    go.add_permits(1);
    assert_eq!(running.await.unwrap().texts(), "done");
    records.go_on.notify_one();
    eventually(SOON, "the note is written", || async { records.written.load(Ordering::SeqCst) }).await;
    // When it is all over, nothing is left.
    eventually(SOON, "the call is over", || async { gateway.remote.under_way() == 0 }).await;
    gateway.remote.shut_down(SOON).await;
    let left = records.scan("note:", Page::first(9)).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
}
