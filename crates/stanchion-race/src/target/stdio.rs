//! MCP over standard input and output: one message on each line.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};

use super::{ANSWER_MAX, Reply, rpc, shown};

#[derive(Debug)]
pub(crate) struct Link {
    to: mpsc::UnboundedSender<Out>,
    waiting: Waiting,
    next: AtomicU64,
}

#[derive(Debug)]
enum Out {
    Line(Vec<u8>),
    /// So many of the next lines are written as one.
    Together(usize),
    /// Nothing follows.
    End,
}

impl Out {
    fn line(message: &Value) -> Self {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        Self::Line(line)
    }
}

#[derive(Debug, Clone, Default)]
struct Waiting(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    calls: HashMap<u64, oneshot::Sender<Value>>,
    ended: bool,
    garbage: Option<String>,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody who waits will be answered, and nobody else either.
    fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        state.calls.clear();
    }
}

impl Link {
    pub(super) fn new(to: ChildStdin, from: ChildStdout) -> Self {
        let (sender, lines) = mpsc::unbounded_channel();
        let waiting = Waiting::default();
        tokio::spawn(write(to, lines));
        tokio::spawn(read(from, waiting.clone(), sender.clone()));
        Self { to: sender, waiting, next: AtomicU64::new(1) }
    }

    /// The handshake. Without an answer to it, nothing else is said.
    pub(super) async fn initialize(&self) -> Result<(), String> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let answer = self.exchange(id, &rpc::initialize(id)).await.ok_or("it ended before it answered")?;
        if answer.get("result").and_then(|result| result.get("protocolVersion")).is_none() {
            return Err(format!("its answer to initialize is {}", shown(&answer.to_string())));
        }
        self.send(&rpc::initialized());
        Ok(())
    }

    pub(super) async fn call(&self, tool: &str, arguments: &Value) -> Reply {
        if self.waiting.lock().ended {
            return Reply::Undelivered("the process has ended".into());
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        match self.exchange(id, &rpc::call(id, tool, arguments)).await {
            Some(answer) => rpc::reply(&answer),
            None => Reply::Silent("the process ended before it answered".into()),
        }
    }

    /// One page of its tools.
    pub(super) async fn tools(&self, cursor: Option<&str>) -> Result<Value, String> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let answer = self.exchange(id, &rpc::tools(id, cursor)).await;
        answer.ok_or_else(|| self.trouble().unwrap_or_else(|| "it ended before it answered tools/list".into()))
    }

    async fn exchange(&self, id: u64, message: &Value) -> Option<Value> {
        let (answer, answered) = oneshot::channel();
        {
            let mut state = self.waiting.lock();
            if state.ended {
                return None;
            }
            state.calls.insert(id, answer);
        }
        self.send(message);
        answered.await.ok()
    }

    fn send(&self, message: &Value) {
        // Whoever waits is told by the reader that the process has ended.
        self.to.send(Out::line(message)).ok();
    }

    /// The next `calls` arrive together, however far apart a busy machine wakes those who make them.
    pub(super) fn together(&self, calls: usize) {
        self.to.send(Out::Together(calls)).ok();
    }

    /// Closes its input behind what was sent.
    pub(super) fn close(&self) {
        self.to.send(Out::End).ok();
    }

    pub(super) fn trouble(&self) -> Option<String> {
        let state = self.waiting.lock();
        let garbage = state.garbage.as_ref().map(|line| format!("it wrote a line that is no message: {line}"));
        garbage.or_else(|| state.ended.then(|| "it closed its output".to_owned()))
    }
}

async fn write(mut to: ChildStdin, mut queue: mpsc::UnboundedReceiver<Out>) {
    let (mut bytes, mut expected) = (Vec::new(), 0);
    while let Some(next) = queue.recv().await {
        match next {
            Out::Together(calls) => expected = calls,
            Out::End => return,
            Out::Line(line) => {
                bytes.extend_from_slice(&line);
                expected = expected.saturating_sub(1);
            }
        }
        if expected > 0 || !queue.is_empty() || bytes.is_empty() {
            continue;
        }
        if to.write_all(&bytes).await.is_err() || to.flush().await.is_err() {
            return;
        }
        bytes.clear();
    }
}

async fn read(from: ChildStdout, waiting: Waiting, to: mpsc::UnboundedSender<Out>) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    let most = u64::try_from(ANSWER_MAX).unwrap_or(u64::MAX);
    loop {
        line.clear();
        match (&mut from).take(most).read_until(b'\n', &mut line).await {
            Ok(1..) if line.ends_with(b"\n") => {}
            Ok(read) => {
                if read >= ANSWER_MAX {
                    waiting.lock().garbage.get_or_insert_with(|| "more than 16 MiB without an end".into());
                }
                break;
            }
            Err(_) => break,
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let Some(message) = serde_json::from_slice::<Value>(&line).ok().filter(Value::is_object) else {
            waiting.lock().garbage.get_or_insert_with(|| shown(&String::from_utf8_lossy(&line)));
            continue;
        };
        if message.get("method").is_some() {
            if message.get("id").is_some() {
                to.send(Out::line(&rpc::answer_to(&message))).ok();
            }
            continue;
        }
        let waits = message.get("id").and_then(Value::as_u64).and_then(|id| waiting.lock().calls.remove(&id));
        if let Some(waits) = waits {
            // Gone if nobody waits any more.
            waits.send(message).ok();
        }
    }
    waiting.end();
}
