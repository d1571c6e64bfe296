//! The front on a loopback port, the ledger behind it, and clients that look at everything.

#![expect(clippy::unwrap_used, reason = "help for tests: whatever is missing fails the test")]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use stanchion_core::{Idempotency, LockBackend, Locks, RecordStore};
use stanchion_mcp::Gate;
use stanchion_mcp::policy::PolicyFile;
use stanchion_mcp::serve::{Nursery, Principal, Program, Serve, StdioEndpoint, StdioLimits};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinHandle};

/// How long a busy machine may need.
pub(crate) const SOON: Duration = Duration::from_secs(60);

pub(crate) const MODERN: &str = "2026-07-28";

/// A store that several instances share.
#[derive(Clone)]
pub(crate) struct Store {
    claims: Idempotency,
    locks: Arc<dyn LockBackend>,
    records: Arc<dyn RecordStore>,
    folder: Arc<tempfile::TempDir>,
}

impl Store {
    pub(crate) async fn fresh() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("s.db").display());
        let opened = stanchion_stores::open(&url).await.unwrap();
        let records = opened.records.unwrap();
        let claims = Idempotency::new(Arc::clone(&records), Arc::clone(&opened.locks));
        let claims = opened.fused.map_or(claims.clone(), |fused| claims.fused(fused));
        Self { claims, locks: opened.locks, records, folder: Arc::new(folder) }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// How often something happened.
    pub(crate) fn lines(&self, name: &str) -> usize {
        std::fs::read_to_string(self.path(name)).map_or(0, |text| text.lines().count())
    }
}

/// What an instance is like.
pub(crate) struct Setup {
    pub(crate) policy: String,
    pub(crate) principals: Vec<Principal>,
    pub(crate) limits: StdioLimits,
    pub(crate) drain: Duration,
    pub(crate) arguments: Vec<&'static str>,
    /// Another server instead of the ledger.
    pub(crate) instead: Option<Vec<&'static str>>,
    /// A second server, at `/other`.
    pub(crate) other: Option<Vec<&'static str>>,
    pub(crate) frame_max: usize,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            policy: String::new(),
            principals: Vec::new(),
            limits: StdioLimits::default(),
            drain: SOON,
            arguments: Vec::new(),
            instead: None,
            other: None,
            frame_max: 1 << 20,
        }
    }
}

/// One instance, with the ledger at `/ledger`.
pub(crate) struct House {
    pub(crate) addr: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<stanchion_core::Result<()>>,
}

impl Drop for House {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl House {
    pub(crate) async fn start(store: &Store, setup: Setup) -> Self {
        let file = PolicyFile::parse(&setup.policy, "test.toml").unwrap_or_else(|e| panic!("{e}"));
        let endpoint = |name: &str, words: Vec<&str>| {
            let locks = Locks::shared(Arc::clone(&store.locks));
            let gate = Gate::new(name, file.rules(name), store.claims.clone(), locks, Arc::clone(&store.records));
            let (program, nursery) = (Program::new(words), Nursery::start().unwrap());
            Arc::new(StdioEndpoint::new(Arc::new(gate), program, nursery, setup.limits.clone()))
        };
        let ledger = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/ledger.mjs");
        let words = ["node", ledger, "--stdio"].into_iter().chain(setup.arguments).collect();
        let mut front = Serve::new()
            .endpoint("ledger", endpoint("ledger", setup.instead.unwrap_or(words)))
            .allowed_host("mcp.test")
            .allowed_origin("https://app.test")
            .frame_max(setup.frame_max)
            .drain(setup.drain)
            .store(Arc::clone(&store.records))
            .metrics(|| "up 1\n".to_owned());
        if let Some(words) = setup.other {
            front = front.endpoint("other", endpoint("other", words));
        }
        for principal in setup.principals {
            front = front.principal(principal);
        }
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(front.run(listener, async { drop(stopped.await) }));
        Self { addr, stop: Some(stop), task }
    }

    /// Asks it to stop, and returns what will become of it.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }

    pub(crate) async fn stopped(mut self) -> stanchion_core::Result<()> {
        self.stop();
        (&mut self.task).await.unwrap()
    }

    pub(crate) fn client(&self) -> Client {
        let headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("accept".to_owned(), "application/json, text/event-stream".to_owned()),
        ];
        Client { addr: self.addr, path: "/ledger".to_owned(), headers }
    }

    /// A client with a session.
    pub(crate) async fn session(&self) -> Client {
        self.client().initialize().await
    }
}

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) addr: SocketAddr,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
}

impl Client {
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut headers: Vec<_> = self.headers.iter().filter(|(known, _)| known != name).cloned().collect();
        headers.push((name.to_owned(), value.to_owned()));
        Self { headers, ..self.clone() }
    }

    /// With one more header, though there may be one of this name.
    pub(crate) fn adding(&self, name: &str, value: &str) -> Self {
        let mut client = self.clone();
        client.headers.push((name.to_owned(), value.to_owned()));
        client
    }

    pub(crate) fn without(&self, name: &str) -> Self {
        let headers = self.headers.iter().filter(|(known, _)| known != name).cloned().collect();
        Self { headers, ..self.clone() }
    }

    pub(crate) fn at(&self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self.clone() }
    }

    pub(crate) fn named(&self, principal: &str) -> Self {
        self.with("authorization", &format!("Bearer token-of-{principal}"))
    }

    pub(crate) async fn initialize(&self) -> Self {
        let got = self.post(&initialize(1)).await;
        assert_eq!(got.status, 200, "{got:?}");
        let client =
            self.with("mcp-session-id", got.header("mcp-session-id")).with("mcp-protocol-version", "2025-11-25");
        let told = client.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        assert_eq!((told.status, told.text.as_str()), (202, ""));
        client
    }

    /// A connection of its own for each request.
    pub(crate) async fn open(&self, method: Method, body: impl Into<Bytes>) -> Live {
        let socket = tokio::net::TcpStream::connect(self.addr).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await.unwrap();
        let task = tokio::spawn(async { connection.await.unwrap_or_default() }).abort_handle();
        let mut request = Request::new(Full::new(body.into()));
        *request.method_mut() = method;
        *request.uri_mut() = self.path.parse().unwrap();
        if !self.headers.iter().any(|(name, _)| name == "host") {
            request.headers_mut().insert("host", self.addr.to_string().parse().unwrap());
        }
        for (name, value) in &self.headers {
            request.headers_mut().append(name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap());
        }
        // Whoever is dropped here hangs up.
        let guard = HangUp(task);
        let response = tokio::time::timeout(SOON, sender.send_request(request)).await.expect("a response").unwrap();
        Live { response, seen: String::new(), _open: (sender, guard) }
    }

    pub(crate) async fn send(&self, method: Method, body: impl Into<Bytes>) -> Got {
        self.open(method, body).await.rest().await
    }

    pub(crate) async fn post(&self, message: &Value) -> Got {
        self.send(Method::POST, message.to_string()).await
    }

    /// A call of a tool in the era with sessions.
    pub(crate) async fn call(&self, id: u64, tool: &str, arguments: Value) -> Got {
        self.post(&call(id, tool, arguments)).await
    }

    /// The headers that this era wants for this message.
    pub(crate) fn modern(&self, message: &Value) -> Self {
        let method = message["method"].as_str().unwrap_or_default();
        let client = self.with("mcp-protocol-version", MODERN).with("mcp-method", method);
        match message["params"]["name"].as_str().or(message["params"]["uri"].as_str()) {
            Some(name) => client.with("mcp-name", name),
            None => client.without("mcp-name"),
        }
    }

    pub(crate) async fn post_modern(&self, message: &Value) -> Got {
        self.modern(message).post(message).await
    }
}

pub(crate) fn initialize(id: u64) -> Value {
    let client = json!({"name": "test", "version": "1"});
    let capabilities = json!({"elicitation": {}, "sampling": {}});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params})
}

pub(crate) fn call(id: u64, tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

/// A request of the era without sessions.
pub(crate) fn modern(id: Value, method: &str, mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) fn modern_call(id: Value, tool: &str, arguments: Value) -> Value {
    modern(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

struct HangUp(AbortHandle);

impl Drop for HangUp {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A response that is still coming. Dropped, its connection is closed.
pub(crate) struct Live {
    pub(crate) response: Response<Incoming>,
    seen: String,
    _open: (hyper::client::conn::http1::SendRequest<Full<Bytes>>, HangUp),
}

impl Live {
    pub(crate) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    async fn more(&mut self) -> bool {
        let frame = tokio::time::timeout(SOON, self.response.body_mut().frame()).await.expect("more of the body");
        match frame {
            Some(Ok(frame)) => {
                self.seen += std::str::from_utf8(&frame.into_data().unwrap()).unwrap();
                true
            }
            Some(Err(_)) | None => false,
        }
    }

    /// The next message of a stream; `None` at its end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.seen.split_once("\n\n") {
                let message = message(event);
                self.seen = rest.to_owned();
                if message.is_some() {
                    return message;
                }
                continue;
            }
            if !self.more().await {
                return None;
            }
        }
    }

    /// The next event of a stream, also one without a message; `None` at its end.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        // Looks at nothing twice: there are large ones.
        let mut from = 0;
        while !self.seen[from..].contains("\n\n") {
            from = self.seen.floor_char_boundary(self.seen.len().saturating_sub(1));
            if !self.more().await {
                return None;
            }
        }
        let (event, rest) = self.seen.split_once("\n\n")?;
        let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        let event = Event { id: field("id: "), retry: field("retry: "), message: message(event) };
        self.seen = rest.to_owned();
        Some(event)
    }

    pub(crate) async fn rest(mut self) -> Got {
        while self.more().await {}
        let headers = self.response.headers().clone();
        let is_stream = headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
        let messages = if is_stream {
            self.seen.split("\n\n").filter_map(message).collect()
        } else {
            serde_json::from_str(&self.seen).into_iter().collect()
        };
        Got { status: self.status(), headers, messages, text: self.seen, is_stream }
    }
}

fn message(event: &str) -> Option<Value> {
    let data: Vec<&str> = event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    if data.is_empty() { None } else { Some(serde_json::from_str(&data.join("\n")).unwrap()) }
}

/// One event of a stream.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) retry: Option<String>,
    pub(crate) message: Option<Value>,
}

/// What a client got.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// The one answer, or the messages of a stream.
    pub(crate) messages: Vec<Value>,
    pub(crate) text: String,
    pub(crate) is_stream: bool,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name} in {self:?}")).to_str().unwrap()
    }

    pub(crate) fn answer(&self) -> &Value {
        self.messages.last().unwrap_or_else(|| panic!("no answer in {self:?}"))
    }

    /// The text of a tool's result.
    pub(crate) fn said(&self) -> &str {
        self.answer()["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {self:?}"))
    }

    /// The `type` of a problem of ours.
    pub(crate) fn problem(&self) -> Option<&str> {
        let answer = self.answer();
        let data = [&answer["result"]["_meta"]["dev.stanchion/error"], &answer["error"]["data"]];
        data.into_iter().find_map(|data| data["type"].as_str())
    }

    pub(crate) fn code(&self) -> Option<i64> {
        self.answer()["error"]["code"].as_i64()
    }

    pub(crate) fn is_replay(&self) -> bool {
        self.headers.get("idempotent-replayed").is_some_and(|value| value == "true")
    }
}

pub(crate) fn principals() -> Vec<Principal> {
    ["alice", "bob"].map(|name| Principal::with_token(name, &format!("token-of-{name}"))).into()
}

/// Is this process there?
pub(crate) fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}
