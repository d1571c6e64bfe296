//! An MCP client over HTTP: a connection of its own for each request, which it can leave at any moment.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::stdio_client::problem;

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";
/// How long an answer may take on a busy machine; longer than any wait of the gateway itself.
const ANSWER: Duration = Duration::from_secs(60);

/// With sessions, or without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

#[derive(Clone)]
pub(crate) struct HttpClient {
    address: SocketAddr,
    path: String,
    era: Era,
    headers: Vec<(String, String)>,
}

/// A call of a tool.
#[derive(Debug, Clone)]
pub(crate) struct ToolCall {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    pub(crate) key: Option<String>,
}

impl ToolCall {
    pub(crate) fn new(tool: &'static str, arguments: Value) -> Self {
        Self { tool, arguments, key: None }
    }

    pub(crate) fn key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }
}

impl HttpClient {
    /// A client of the era without sessions.
    pub(crate) fn modern(address: SocketAddr, path: &str) -> Self {
        let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Self { address, path: path.to_owned(), era: Era::Modern, headers }
    }

    /// The same client with a session of its own.
    pub(crate) fn in_session(&self) -> Self {
        let mut client = Self { era: Era::Legacy, ..self.clone() };
        let params =
            json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let hello = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params});
        let got = client.post(&hello.to_string(), &[]).answer();
        let session = got.header("mcp-session-id").unwrap_or_else(|| panic!("a session: {got:?}")).to_owned();
        client
            .headers
            .extend([("mcp-session-id".to_owned(), session), ("mcp-protocol-version".to_owned(), LEGACY.to_owned())]);
        client.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, &[]).answer();
        client
    }

    pub(crate) fn of(&self, era: Era) -> Self {
        match era {
            Era::Modern => self.clone(),
            Era::Legacy => self.in_session(),
        }
    }

    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut client = self.clone();
        client.headers.push((name.to_owned(), value.to_owned()));
        client
    }

    /// Sends a call and reads nothing.
    pub(crate) fn start(&self, id: &str, call: &ToolCall) -> Pending {
        let mut params = json!({"name": call.tool, "arguments": call.arguments});
        if let Some(key) = &call.key {
            params["_meta"]["dev.stanchion/idempotencyKey"] = json!(key);
        }
        let mut headers = Vec::new();
        if self.era == Era::Modern {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
            headers = vec![("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", call.tool)];
        }
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
        self.post(&frame, &headers)
    }

    /// A call and its answer.
    pub(crate) fn ask(&self, id: &str, call: &ToolCall) -> Got {
        let got = self.start(id, call).answer();
        assert_eq!(got.message()["id"], serde_json::from_str::<Value>(id).expect("an id"), "{got:?}");
        got
    }

    fn post(&self, body: &str, more: &[(&str, &str)]) -> Pending {
        let mut socket = TcpStream::connect(self.address).expect("it listens");
        socket.set_read_timeout(Some(ANSWER)).expect("a timeout");
        let mut head = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n",
            self.path,
            self.address,
            body.len()
        );
        let own = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        own.chain(more.iter().copied()).for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        socket.write_all(format!("{head}\r\n{body}").as_bytes()).expect("it reads");
        Pending(socket)
    }
}

/// A request whose answer nobody has read. Dropped, its connection is cut.
pub(crate) struct Pending(TcpStream);

impl Pending {
    /// What came before the connection ended; nothing if it broke.
    pub(crate) fn rest(mut self) -> Option<Got> {
        let mut all = Vec::new();
        self.0.read_to_end(&mut all).ok()?;
        let all = String::from_utf8(all).expect("text");
        let (head, body) = all.split_once("\r\n\r\n")?;
        let head = head.to_ascii_lowercase();
        let body = if head.contains("transfer-encoding: chunked") { whole(body)? } else { body.to_owned() };
        Some(Got { head, body })
    }

    pub(crate) fn answer(self) -> Got {
        self.rest().expect("an answer")
    }
}

/// A body out of its chunks; `None` if the last one is missing.
fn whole(mut chunks: &str) -> Option<String> {
    let mut body = String::new();
    loop {
        let (size, rest) = chunks.split_once("\r\n")?;
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body += rest.get(..size)?;
        chunks = rest.get(size..)?.strip_prefix("\r\n")?;
    }
}

/// What a client got.
#[derive(Debug)]
pub(crate) struct Got {
    head: String,
    body: String,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let start = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(&start))
    }

    /// The answer itself, whole or as the last event of a stream.
    fn frame(&self) -> &str {
        self.body.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&self.body)
    }

    pub(crate) fn message(&self) -> Value {
        serde_json::from_str(self.frame()).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The text of the result, byte for byte.
    pub(crate) fn raw_result(&self) -> String {
        #[derive(serde::Deserialize)]
        struct Answer<'a> {
            #[serde(borrow)]
            result: &'a RawValue,
        }
        let answer: Answer<'_> = serde_json::from_str(self.frame()).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        answer.result.get().to_owned()
    }

    /// The result as the server said it: without the marks of a replay.
    pub(crate) fn unmarked_result(&self) -> String {
        let mut result = self.raw_result();
        if let Some((before, rest)) = result.split_once(r#""dev.stanchion/receipt":""#) {
            let (_, after) = rest.split_once('"').expect("its end");
            result = format!("{before}{}", after.strip_prefix(',').unwrap_or(after));
        }
        for mark in [r#""dev.stanchion/replayed":true,"#, r#""dev.stanchion/replayed":true"#, r#""_meta":{},"#] {
            result = result.replacen(mark, "", 1);
        }
        result
    }

    /// The text that the tool answered with.
    #[track_caller]
    pub(crate) fn text(&self) -> String {
        let message = self.message();
        let text = message["result"]["content"][0]["text"].as_str().map(str::to_owned);
        text.unwrap_or_else(|| panic!("no text: {self:?}"))
    }

    /// What an error of ours says; null if it is none.
    pub(crate) fn problem(&self) -> Value {
        problem(&self.message()).clone()
    }

    pub(crate) fn problem_type(&self) -> Option<String> {
        self.problem()["type"].as_str().map(str::to_owned)
    }

    /// Told again, and marked in both places; a mark in only one of them is a fault.
    #[track_caller]
    pub(crate) fn is_replay(&self) -> bool {
        let in_meta = self.message()["result"]["_meta"]["dev.stanchion/replayed"] == json!(true);
        let in_head = self.header("idempotent-replayed") == Some("true");
        assert_eq!(in_meta, in_head, "one mark without the other: {self:?}");
        in_meta
    }

    /// This problem, and whether it may have run. No problem is the replay of an answer.
    #[track_caller]
    pub(crate) fn is_problem(&self, kind: &str, may_have_executed: bool) {
        assert!(!self.is_replay(), "{self:?}");
        let problem = self.problem();
        assert_eq!(
            (problem["type"].as_str(), problem["mayHaveExecuted"].as_bool()),
            (Some(kind), Some(may_have_executed)),
            "{self:?}"
        );
    }
}
