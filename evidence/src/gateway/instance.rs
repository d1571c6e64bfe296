//! One gateway process with its client and its server: the real gate, session and pumps between simulated pipes.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use stanchion_core::{CasLock, Idempotency, Key, Locks, MemoryStore};
use stanchion_mcp::policy::PolicyFile;
use stanchion_mcp::{Caller, Gate, KEY_NAMES, Outlet, Session, stdio};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::fate::{Dice, Event, Life};
use super::line::{Line, Virtual};
use super::server::{Ledger, Pipe, Server};

/// What is between clients and servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Guarded,
    /// Control: clients choose no keys.
    NoKeys,
    /// Control: calls of one server may run at the same time.
    NoLock,
    /// Control: no gateway at all.
    Bare,
}

/// What all instances of a world share.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub(super) way: Way,
    pub(super) store: MemoryStore,
    pub(super) begun: Instant,
    pub(super) ledger: Ledger,
    pub(super) dice: Dice,
}

/// Calls that a client waits for.
#[derive(Debug, Clone, Default)]
struct Waiting(Arc<Mutex<HashMap<u64, oneshot::Sender<Value>>>>);

impl Waiting {
    fn table(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Value>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, line: &str) {
        let Ok(frame) = serde_json::from_str::<Value>(line) else { return };
        let waiting = frame["id"].as_u64().and_then(|id| self.table().remove(&id));
        if let Some(waiting) = waiting {
            // Who has become impatient does not listen.
            waiting.send(frame).unwrap_or_default();
        }
    }
}

/// What a client hears of a call.
#[derive(Debug)]
pub(super) enum Heard {
    Answer(Value),
    /// The connection ended.
    Lost,
    /// It waits no longer.
    Nothing,
}

#[derive(Debug)]
pub(super) struct Instance {
    shared: Shared,
    life: Life,
    server: Life,
    waiting: Waiting,
    next: AtomicU64,
    session: Option<Arc<Session>>,
    to_server: mpsc::UnboundedSender<String>,
    outlets: Vec<Outlet>,
}

impl Instance {
    pub(super) fn start(shared: &Shared) -> io::Result<Arc<Self>> {
        let (life, server, waiting) = (Life::default(), Life::default(), Waiting::default());
        let (to_server, pipe) = mpsc::unbounded_channel();
        let (mut session, mut outlets) = (None, Vec::new());
        if shared.way != Way::Bare {
            let (sender, hearer) = (to_server.clone(), waiting.clone());
            let server_end = Pipe { part: Vec::new(), to: move |line| sender.send(line).unwrap_or_default() };
            let client_end = Pipe { part: Vec::new(), to: move |line: String| hearer.hear(&line) };
            outlets = vec![Outlet::new("server", server_end)?, Outlet::new("client", client_end)?];
            let client = Arc::new(stdio::PipeClient(outlets[1].clone()));
            let runtime = tokio::runtime::Handle::current();
            session = Some(Session::new(Arc::new(gate(shared, &life)), outlets[0].clone(), client, runtime));
        }
        let answer = {
            let (life, waiting, session, to_client) =
                (life.clone(), waiting.clone(), session.clone(), outlets.get(1).cloned());
            move |frame: String| match (&session, &to_client) {
                _ if life.is_over() => {}
                (Some(session), Some(to_client)) => {
                    let line = format!("{frame}\n");
                    // Bytes in memory can be read.
                    stdio::pump_server(session, line.as_bytes(), to_client, stdio::FRAME_MAX, |_| {})
                        .unwrap_or_default();
                }
                _ => waiting.hear(&frame),
            }
        };
        let behind = Server { ledger: shared.ledger.clone(), dice: shared.dice.clone(), life: server.clone() };
        tokio::spawn(behind.serve(pipe, answer));
        let (shared, next) = (shared.clone(), AtomicU64::new(1));
        Ok(Arc::new(Self { shared, life, server, waiting, next, session, to_server, outlets }))
    }

    pub(super) fn is_over(&self) -> bool {
        self.life.is_over() || self.server.is_over()
    }

    /// One call of the tool, with the note as its key.
    pub(super) async fn ask(&self, note: &str, patience: Duration) -> Heard {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut frame = json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "add", "arguments": {"note": note}},
        });
        if self.shared.way != Way::NoKeys {
            frame["params"]["_meta"] = json!({KEY_NAMES[0]: note});
        }
        let (tell, told) = oneshot::channel();
        self.waiting.table().insert(id, tell);
        if self.is_over() {
            return Heard::Lost;
        }
        match &self.session {
            Some(session) => {
                let line = format!("{frame}\n");
                stdio::pump_client(session, line.as_bytes(), &Caller::new("agents"), stdio::FRAME_MAX)
                    .unwrap_or_default();
            }
            None => self.to_server.send(frame.to_string()).unwrap_or_default(),
        }
        match tokio::time::timeout(patience, told).await {
            Ok(Ok(answer)) => Heard::Answer(answer),
            Ok(Err(_)) => Heard::Lost,
            Err(_) => Heard::Nothing,
        }
    }

    /// `kill -9`: from now on nothing comes out of it, and what it holds is held until its lease ends.
    pub(super) fn kill(self: &Arc<Self>, how: Event) {
        self.shared.dice.saw(how);
        if how != Event::GatewayKilled {
            self.server.end();
        }
        match &self.session {
            Some(session) if how == Event::ServerKilled => {
                session.server_gone();
                let this = Arc::clone(self);
                tokio::spawn(async move {
                    if let Some(session) = &this.session {
                        session.drain(Duration::from_secs(5)).await;
                    }
                    this.end();
                });
            }
            _ => self.end(),
        }
    }

    /// Ends the process: its client sees that.
    pub(super) fn end(&self) {
        self.life.end();
        self.waiting.table().clear();
        self.outlets.iter().for_each(Outlet::close);
    }
}

fn gate(shared: &Shared, life: &Life) -> Gate {
    let line = Line { store: shared.store.clone(), life: life.clone(), dice: shared.dice.clone() };
    let (records, locks) = (Arc::new(line.clone()), Arc::new(CasLock::new(line)));
    let claims = Idempotency::new(records.clone(), locks.clone());
    let locks = Locks::with_clock(locks, Arc::new(Virtual(shared.begun)));
    let gate = Gate::new("ledger", PolicyFile::default().rules("ledger"), claims, locks, records);
    match Key::new("mcp:ledger") {
        Ok(key) if shared.way != Way::NoLock => gate.default_lock(key),
        _ => gate,
    }
}
