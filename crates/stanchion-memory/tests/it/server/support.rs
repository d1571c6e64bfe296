//! A client that sees every line.

#![expect(clippy::unwrap_used, reason = "help for tests: whatever is missing fails the test")]

use std::pin::Pin;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use stanchion_memory::{
    Changed, Compat, FileMemory, FileOptions, GraphMemory, Memory, MemoryError, MemoryServer, Mutation, Notice, Query,
    Selection, serve_lines,
};
use stanchion_testkit::peers::Peers;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// Longer than anything takes that ends.
pub(super) const SOON: Duration = Duration::from_secs(20);

/// Speaks JSON-RPC on lines.
pub(super) struct Client {
    to: Option<Pin<Box<dyn AsyncWrite + Send>>>,
    from: BufReader<Pin<Box<dyn AsyncRead + Send>>>,
    /// What came besides answers.
    pub(super) notified: Vec<Value>,
    last_id: u64,
    process: Option<tokio::process::Child>,
    serving: Option<JoinHandle<stanchion_core::Result<()>>>,
}

pub(super) fn graph_server() -> MemoryServer {
    MemoryServer::new(Arc::new(GraphMemory::default()))
}

/// On a file, where the official server would keep it, too.
pub(super) fn file_server(folder: &tempfile::TempDir, compat: Compat) -> MemoryServer {
    let mut options = FileOptions::default();
    options.compat = compat;
    MemoryServer::new(Arc::new(FileMemory::open(folder.path().join("official.jsonl"), options).unwrap()))
}

impl Client {
    /// At our server.
    pub(super) fn of(server: MemoryServer) -> Self {
        let (to, read) = tokio::io::duplex(64 << 10);
        let (write, from) = tokio::io::duplex(64 << 10);
        let serving = tokio::spawn(serve_lines(server, read, write));
        Self { serving: Some(serving), ..Self::new(Box::pin(from), Box::pin(to)) }
    }

    /// At the official one, on a file of its own.
    pub(super) fn official(peers: &Peers, folder: &tempfile::TempDir) -> Self {
        let mut process = tokio::process::Command::new(peers.node())
            .arg(peers.memory_server())
            .env("MEMORY_FILE_PATH", folder.path().join("official.jsonl"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (to, from) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Self { process: Some(process), ..Self::new(Box::pin(from), Box::pin(to)) }
    }

    fn new(from: Pin<Box<dyn AsyncRead + Send>>, to: Pin<Box<dyn AsyncWrite + Send>>) -> Self {
        Self {
            to: Some(to),
            from: BufReader::new(from),
            notified: Vec::new(),
            last_id: 0,
            process: None,
            serving: None,
        }
    }

    pub(super) async fn line(&mut self, line: &str) {
        let to = self.to.as_mut().unwrap();
        to.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        to.flush().await.unwrap();
    }

    /// The next message as it is written; `None` at the end.
    pub(super) async fn next_line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = tokio::time::timeout(SOON, self.from.read_line(&mut line)).await.expect("an answer in time");
        (read.unwrap() > 0).then_some(line)
    }

    /// The next message; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Value> {
        let line = self.next_line().await?;
        Some(serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}")))
    }

    /// The answer to this request; what comes before it is kept.
    pub(super) async fn ask(&mut self, method: &str, params: Option<Value>) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        self.line(&message.to_string()).await;
        loop {
            let next = self.next().await.unwrap_or_else(|| panic!("the end instead of an answer to {method}"));
            match next["id"] == id {
                true => return next,
                false => self.notified.push(next),
            }
        }
    }

    /// The result of a tool, or what is said instead.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let mut answer = self.ask("tools/call", Some(json!({"name": tool, "arguments": arguments}))).await;
        answer["result"].take()
    }

    /// Everything that is said without being asked, for longer than any watcher takes to see a change.
    pub(super) async fn said_unasked(&mut self) -> Vec<Value> {
        tokio::time::sleep(Duration::from_millis(350)).await;
        self.said_until_now().await
    }

    /// Everything that is said before the answer to a question that is asked now.
    pub(super) async fn said_until_now(&mut self) -> Vec<Value> {
        self.notified.clear();
        self.ask("ping", None).await;
        std::mem::take(&mut self.notified)
    }

    pub(super) async fn initialize(&mut self) -> Value {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let answer = self.ask("initialize", Some(params)).await;
        self.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        answer
    }

    /// Ends the input, and gives back what is said after that.
    pub(super) async fn leave(mut self) -> Vec<Value> {
        drop(self.to.take());
        let mut said = Vec::new();
        while let Some(message) = self.next().await {
            said.push(message);
        }
        if let Some(serving) = self.serving.take() {
            tokio::time::timeout(SOON, serving).await.expect("it ends").unwrap().unwrap();
        }
        if let Some(mut process) = self.process.take() {
            tokio::time::timeout(SOON, process.wait()).await.expect("it ends").unwrap();
        }
        said
    }
}

/// `_meta` of a request of the era without sessions.
pub(super) fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A memory whose changes wait until they may.
#[derive(Debug)]
pub(super) struct Slow {
    graph: GraphMemory,
    pub(super) may: Semaphore,
    pub(super) asked: Semaphore,
}

impl Slow {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { graph: GraphMemory::default(), may: Semaphore::new(0), asked: Semaphore::new(0) })
    }

    /// A change that somebody else makes.
    pub(super) async fn change_past(&self, mutation: Mutation) {
        self.graph.change(mutation).await.unwrap();
    }
}

#[async_trait::async_trait]
impl Memory for Slow {
    async fn change(&self, mutation: Mutation) -> Result<Changed, MemoryError> {
        self.asked.add_permits(1);
        self.may.acquire().await.expect("it is never closed").forget();
        self.graph.change(mutation).await
    }

    async fn read(&self, query: Query) -> Result<(Selection, Vec<Notice>), MemoryError> {
        self.graph.read(query).await
    }

    async fn changed(&self) {
        self.graph.changed().await;
    }
}
