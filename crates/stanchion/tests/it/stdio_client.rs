//! An MCP client over pipes that sends exactly the bytes it is given and keeps every line it gets.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Home, PATIENCE, Running};

/// The scripted server of the gateway's tests.
pub(crate) fn ledger() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../stanchion-mcp/tests/servers/ledger.mjs")
}

pub(crate) struct StdioClient {
    pub(crate) process: Running,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Read, and not asked for yet.
    kept: VecDeque<String>,
    errors: Receiver<String>,
}

impl StdioClient {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let (send, lines) = channel();
        let (send_error, errors) = channel();
        let output = BufReader::new(process.stdout.take().expect("stdout"));
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        let stderr = BufReader::new(process.stderr.take().expect("stderr"));
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| send_error.send(line)));
        let input = process.stdin.take();
        Self { process: Running(process), input, lines, kept: VecDeque::new(), errors }
    }

    /// `stanchion wrap OPTIONS -- node ledger.mjs`, initialised.
    pub(crate) fn wrapped(home: &Home, options: &[&str]) -> Self {
        let ledger = ledger();
        let args = [&["wrap"], options, &["--", "node", ledger.to_str().expect("a path"), "--stdio"]].concat();
        Self::start(home.command(&args)).initialised()
    }

    pub(crate) fn initialised(mut self) -> Self {
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}, "sampling": {}}, "clientInfo": {"name": "test", "version": "1"}});
        self.send(&json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}).to_string());
        self.answer("\"hello\"");
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        self
    }

    pub(crate) fn send(&mut self, line: &str) {
        let input = self.input.as_mut().expect("the input is open");
        writeln!(input, "{line}").expect("it reads");
    }

    /// A call of a tool; `meta` may be null.
    pub(crate) fn call(&mut self, id: &str, tool: &str, arguments: &Value, meta: &Value) {
        let mut params = json!({"name": tool, "arguments": arguments});
        if !meta.is_null() {
            params["_meta"] = meta.clone();
        }
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#));
    }

    /// The next line that `wanted` accepts; the others are kept.
    pub(crate) fn line(&mut self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        if let Some(at) = self.kept.iter().position(|line| wanted(line)) {
            return self.kept.remove(at).expect("it is there");
        }
        let end = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) if wanted(&line) => return line,
                Ok(line) => self.kept.push_back(line),
                Err(e) => panic!("{what}: {e}; kept {:?}; stderr {:?}", self.kept, self.stderr()),
            }
        }
    }

    /// The answer to the request with this id (as JSON).
    pub(crate) fn answer(&mut self, id: &str) -> Value {
        let wanted: Value = serde_json::from_str(id).expect("an id");
        let line = self.line(&format!("the answer to {id}"), |line| {
            let message: Value = serde_json::from_str(line).expect("every line is JSON");
            message.get("method").is_none() && message["id"] == wanted
        });
        serde_json::from_str(&line).expect("JSON")
    }

    /// A call and its answer.
    pub(crate) fn ask(&mut self, id: &str, tool: &str, arguments: &Value, meta: &Value) -> Value {
        self.call(id, tool, arguments, meta);
        self.answer(id)
    }

    /// Is there no such line for this long?
    pub(crate) fn stays_silent(&mut self, id: &str, time: Duration) -> bool {
        let wanted: Value = serde_json::from_str(id).expect("an id");
        let end = Instant::now() + time;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    let message: Value = serde_json::from_str(&line).expect("every line is JSON");
                    if message.get("method").is_none() && message["id"] == wanted {
                        return false;
                    }
                    self.kept.push_back(line);
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return true,
            }
        }
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// The exit code, once it has ended.
    pub(crate) fn code(&mut self) -> Option<i32> {
        self.input = None;
        self.process.0.wait().expect("it ends").code()
    }

    /// What it has written to stderr so far.
    pub(crate) fn stderr(&self) -> String {
        self.errors.try_iter().collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.0.id()
    }
}

/// A key for a call.
pub(crate) fn key(key: &str) -> Value {
    json!({"dev.stanchion/idempotencyKey": key})
}

/// What an error of ours says, wherever it is.
pub(crate) fn problem(answer: &Value) -> &Value {
    answer.pointer("/error/data").unwrap_or_else(|| &answer["result"]["_meta"]["dev.stanchion/error"])
}

/// The lines of a ledger.
pub(crate) fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}
