//! Real servers on loopback ports: an upstream that does what a test tells it, and gateways in front of it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame as Chunk, Incoming};
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use stanchion_core::{Idempotency, LockBackend, Locks, RecordStore};
use stanchion_mcp::policy::PolicyFile;
use stanchion_mcp::serve::{Endpoint, Remote, Visitor};
use stanchion_mcp::{Frame, Gate};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// How long a busy machine may need.
pub(super) const SOON: Duration = Duration::from_secs(30);

/// A request as it came to the upstream.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Seen {
    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(super) fn rpc(&self) -> String {
        Frame::parse(self.text()).ok().and_then(|frame| frame.method().map(str::to_owned)).unwrap_or_default()
    }

    /// The answer with this result.
    pub(super) fn result(&self, result: &str) -> String {
        let frame = Frame::parse(self.text()).unwrap();
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, frame.raw_id().unwrap())
    }
}

/// What the upstream does about it.
pub(super) enum Reply {
    Whole(u16, Vec<(&'static str, &'static str)>, String),
    /// Events, as they are put into the channel.
    Events(mpsc::UnboundedReceiver<Bytes>),
    /// The connection is closed without an answer.
    Cut,
}

impl Reply {
    pub(super) fn json(body: impl Into<String>) -> Self {
        Self::Whole(200, vec![("content-type", "application/json")], body.into())
    }

    pub(super) fn events(all: &[&str]) -> Self {
        let (to, from) = mpsc::unbounded_channel();
        for event in all {
            to.send(Bytes::from((*event).to_owned())).unwrap();
        }
        Self::Events(from)
    }
}

type Script = dyn Fn(Seen) -> BoxFuture<'static, Reply> + Send + Sync;

/// An upstream.
pub(super) struct Server {
    pub(super) addr: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(super) async fn start<F>(script: impl Fn(Seen) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        Self::at(TcpListener::bind("127.0.0.1:0").await.unwrap(), script)
    }

    pub(super) fn at<F>(listener: TcpListener, script: impl Fn(Seen) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        let script: Arc<Script> = Arc::new(move |seen| Box::pin(script(seen)));
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (addr, all) = (listener.local_addr().unwrap(), Arc::clone(&seen));
        let task = tokio::spawn(serve(listener, move |request| answer(request, Arc::clone(&script), Arc::clone(&all))));
        Self { addr, seen, task }
    }

    /// An upstream whose tool `add` counts, and answers with the count.
    pub(super) async fn counting() -> (Self, Arc<AtomicUsize>) {
        let effects = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&effects);
        let server = Self::start(move |seen| {
            let count = Arc::clone(&count);
            async move { counted(&seen, &count) }
        });
        (server.await, effects)
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.addr)
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The bodies of all calls that reached it.
    pub(super) fn calls(&self) -> Vec<String> {
        self.seen().iter().filter(|seen| seen.rpc() == "tools/call").map(|seen| seen.text().to_owned()).collect()
    }
}

pub(super) fn counted(seen: &Seen, count: &AtomicUsize) -> Reply {
    match seen.rpc().as_str() {
        "tools/call" => {
            let n = count.fetch_add(1, Ordering::SeqCst) + 1;
            Reply::json(seen.result(&format!(r#"{{"content":[{{"type":"text","text":"{n}"}}]}}"#)))
        }
        "tools/list" => Reply::json(seen.result(r#"{"tools":[]}"#)),
        _ => Reply::Whole(202, vec![], String::new()),
    }
}

type Boxed = BoxBody<Bytes, Infallible>;

async fn answer(
    request: Request<Incoming>,
    script: Arc<Script>,
    all: Arc<Mutex<Vec<Seen>>>,
) -> Result<Response<Boxed>, Closed> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Closed)?.to_bytes();
    let seen = Seen { method: parts.method.to_string(), target: parts.uri.to_string(), headers: parts.headers, body };
    all.lock().unwrap().push(seen.clone());
    match script(seen).await {
        Reply::Cut => Err(Closed),
        Reply::Whole(status, headers, body) => {
            let mut answer = Response::new(Full::new(Bytes::from(body)).boxed());
            *answer.status_mut() = StatusCode::from_u16(status).unwrap();
            for (name, value) in headers {
                answer.headers_mut().append(name, value.parse().unwrap());
            }
            Ok(answer)
        }
        Reply::Events(from) => {
            let chunks = futures_util::stream::unfold(from, |mut from| async {
                from.recv().await.map(|bytes| (Ok::<_, Infallible>(Chunk::data(bytes)), from))
            });
            let builder = Response::builder().header("content-type", "text/event-stream").header("x-from", "upstream");
            let body = StreamBody::new(SyncStream(Mutex::new(Box::pin(chunks))));
            Ok(builder.body(body.boxed()).unwrap())
        }
    }
}

/// A stream that is `Sync`, as boxed bodies must be.
struct SyncStream<S>(Mutex<std::pin::Pin<Box<S>>>);

impl<S: futures_util::Stream> futures_util::Stream for SyncStream<S> {
    type Item = S::Item;
    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.lock().unwrap().as_mut().poll_next(context)
    }
}

#[derive(Debug)]
struct Closed;

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("closed on purpose")
    }
}

impl std::error::Error for Closed {}

async fn serve<F, E>(listener: TcpListener, handle: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static)
where
    F: Future<Output = Result<Response<Boxed>, E>> + Send + 'static,
    E: std::error::Error + Send + Sync + 'static,
{
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let handle = handle.clone();
        connections.spawn(async move {
            let served =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(handle));
            // A connection that its client or a script ends early is what these tests are about.
            served.await.unwrap_or_default();
        });
    }
}

/// A store that several gateways share.
#[derive(Clone)]
pub(super) struct Store {
    pub(super) claims: Idempotency,
    pub(super) locks: Arc<dyn LockBackend>,
    pub(super) records: Arc<dyn RecordStore>,
    /// Where it lives, if it is this test's alone.
    pub(super) _folder: Option<Arc<tempfile::TempDir>>,
}

impl Store {
    pub(super) async fn open(url: &str) -> Self {
        let opened = stanchion_stores::open(url).await.unwrap();
        let records = opened.records.unwrap();
        let claims = Idempotency::new(Arc::clone(&records), Arc::clone(&opened.locks));
        let claims = match opened.fused {
            Some(fused) => claims.fused(fused),
            None => claims,
        };
        Self { claims, locks: opened.locks, records, _folder: None }
    }

    pub(super) async fn sqlite(folder: &Path) -> Self {
        Self::open(&format!("sqlite:{}", folder.join("s.db").display())).await
    }

    /// A store of its own. One in memory is not trusted with calls that have keys.
    pub(super) async fn fresh() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Self::sqlite(folder.path()).await;
        Self { _folder: Some(Arc::new(folder)), ..store }
    }

    pub(super) fn gate(&self, policy: &str) -> Arc<Gate> {
        let rules = PolicyFile::parse(policy, "test.toml").unwrap_or_else(|e| panic!("{e}")).rules("s");
        let locks = Locks::shared(Arc::clone(&self.locks));
        Arc::new(Gate::new("s", rules, self.claims.clone(), locks, Arc::clone(&self.records)))
    }
}

/// Policy for a tool that is not read-only, so that no hints are asked for.
pub(super) const WRITES: &str = "[servers.s]\neffect = \"non_idempotent\"\n";
/// The same, with one lock.
pub(super) const LOCKED: &str = "[servers.s]\neffect = \"non_idempotent\"\nlock = \"all\"\nwait = \"20s\"\n";

/// A gateway instance.
pub(super) struct Gateway {
    pub(super) addr: SocketAddr,
    pub(super) remote: Arc<Remote>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Gateway {
    pub(super) async fn start(store: &Store, policy: &str, url: &str) -> Self {
        Self::with(store, policy, url, HeaderMap::new()).await
    }

    pub(super) async fn with(store: &Store, policy: &str, url: &str, headers: HeaderMap) -> Self {
        let remote = Arc::new(Remote::new(store.gate(policy), url, headers).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (addr, handling) = (listener.local_addr().unwrap(), Arc::clone(&remote));
        let task = tokio::spawn(serve(listener, move |request| {
            let remote = Arc::clone(&handling);
            async move {
                let (parts, body) = request.into_parts();
                let principal = parts.headers.get("x-principal").map_or("alice", |name| name.to_str().unwrap()).into();
                let body = body.collect().await.map_err(|_| Closed)?.to_bytes();
                Ok::<_, Closed>(remote.handle(Request::from_parts(parts, body), Visitor { principal }).await)
            }
        }));
        Self { addr, remote, task }
    }
}

/// A header, which has to be there.
pub(super) fn value<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).unwrap_or_else(|| panic!("no {name} in {headers:?}")).to_str().unwrap()
}

/// What a client got.
#[derive(Debug)]
pub(super) struct Got {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Got {
    /// The `type` of a problem that the gateway told, from `_meta` or from `data`.
    pub(super) fn problem(&self) -> Option<String> {
        let said: serde_json::Value = serde_json::from_str(&self.body).ok()?;
        let data = [&said["result"]["_meta"]["dev.stanchion/error"], &said["error"]["data"]];
        data.into_iter().find_map(|data| data["type"].as_str().map(str::to_owned))
    }

    pub(super) fn is_replay(&self) -> bool {
        self.headers.get("idempotent-replayed").is_some_and(|value| value == "true")
    }

    pub(super) fn texts(&self) -> String {
        let said: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        said["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }
}

pub(super) const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");

pub(super) fn request(addr: SocketAddr, method: &str, headers: &[(&str, &str)], body: &str) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(format!("http://{addr}/s"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::new(Bytes::from(body.to_owned()))).unwrap()
}

/// Sends, on a connection of its own, and returns the head of the answer.
pub(super) async fn open(
    addr: SocketAddr,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<Response<Incoming>, hyper_util::client::legacy::Error> {
    let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build_http();
    client.request(request(addr, "POST", headers, body)).await
}

pub(super) async fn got(answer: Response<Incoming>) -> Got {
    let (parts, body) = answer.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Got { status: parts.status.as_u16(), headers: parts.headers, body: String::from_utf8(body.into()).unwrap() }
}

pub(super) async fn post(addr: SocketAddr, headers: &[(&str, &str)], body: &str) -> Got {
    let asking = async { got(open(addr, headers, body).await.unwrap()).await };
    tokio::time::timeout(SOON * 2, asking).await.expect("every request is answered")
}

/// A call of the tool `add`.
pub(super) fn call(id: &str, key: Option<&str>) -> String {
    let meta = key.map(|key| format!(r#","_meta":{{"dev.stanchion/idempotencyKey":"{key}"}}"#)).unwrap_or_default();
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"add","arguments":{{"n":1}}{meta}}}}}"#
    )
}
