//! Two calls through the gateway: real frames, real pumps, a server that counts.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stanchion_core::{Idempotency, Locks};
use stanchion_mcp::policy::PolicyFile;
use stanchion_mcp::{Caller, Gate, Outlet, Session, stdio};

use super::{Broken, Outcome, Trail};
use crate::museum::explore::BoxFuture;

/// Who calls, and what it asks for; always with the same key.
type Asked = (&'static str, &'static str);

pub(in crate::museum) fn two_tenants_at_the_gate() -> BoxFuture<Outcome> {
    let calls = [("ann", r#"{"to":"bob"}"#), ("eve", r#"{"to":"bob"}"#)];
    played(calls, |worked, _| (worked != 2).then(|| Broken::new("S4", "Eve is told the answer to Ann's call")))
}

pub(in crate::museum) fn two_payloads_at_the_gate() -> BoxFuture<Outcome> {
    let calls = [("ann", r#"{"to":"bob"}"#), ("ann", r#"{"to":"eve"}"#)];
    played(calls, |_, second| {
        let told = second.contains(r#""content""#);
        told.then(|| Broken::new("S4", "a call with another payload is told the answer of the first"))
    })
}

pub(in crate::museum) fn one_call_twice_at_the_gate() -> BoxFuture<Outcome> {
    let call = ("ann", r#"{"to":"bob"}"#);
    played([call, call], |worked, _| (worked != 1).then(|| Broken::new("S4", "one key, and the tool has worked twice")))
}

fn played(calls: [Asked; 2], judge: fn(u32, &str) -> Option<Broken>) -> BoxFuture<Outcome> {
    Box::pin(async move {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", folder.path().join("claims").display());
        let opened = stanchion_stores::open(&url).await.expect("a store");
        let records = opened.records.expect("SQLite keeps records");
        let claims = Idempotency::new(Arc::clone(&records), Arc::clone(&opened.locks));
        let rules = PolicyFile::default().rules("mail");
        let gate = Arc::new(Gate::new("mail", rules, claims, Locks::shared(opened.locks), records));
        let (worked, mut trail, mut last) = (Arc::new(AtomicU32::new(0)), Trail::default(), String::new());
        for (who, what) in calls {
            let (gate, worked, runtime) = (Arc::clone(&gate), Arc::clone(&worked), tokio::runtime::Handle::current());
            let called = tokio::task::spawn_blocking(move || call(&gate, runtime, &worked, who, what)).await;
            last = called.expect("a caller that does not panic");
            trail.step(format!("{who} calls send with {what} and the key key-1"));
        }
        (judge(worked.load(Ordering::SeqCst), &last), trail)
    })
}

/// A session of its own for each caller, with the same server behind it.
fn call(gate: &Arc<Gate>, runtime: tokio::runtime::Handle, worked: &Arc<AtomicU32>, who: &str, what: &str) -> String {
    let (to_server, server) = UnixStream::pair().expect("a pair of sockets");
    let (to_client, client) = UnixStream::pair().expect("a pair of sockets");
    client.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
    let outlet = Outlet::new("client", to_client).expect("an outlet");
    let ours = Outlet::new("server", to_server.try_clone().expect("a socket")).expect("an outlet");
    let session = Session::new(Arc::clone(gate), ours, Arc::new(stdio::PipeClient(outlet.clone())), runtime);
    let counted = Arc::clone(worked);
    std::thread::spawn(move || serve(server, &counted));
    let pump = session.clone();
    std::thread::spawn(move || stdio::pump_server(&pump, to_server, &outlet, stdio::FRAME_MAX, |_| {}));
    let frame = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"send","arguments":{what},"_meta":{{"dev.stanchion/idempotencyKey":"key-1"}}}}}}"#
    );
    let asked = format!("{frame}\n");
    stdio::pump_client(&session, asked.as_bytes(), &Caller::new(who), stdio::FRAME_MAX).expect("a frame that is read");
    let mut answer = String::new();
    // Without an answer the judge sees an empty one.
    BufReader::new(client).read_line(&mut answer).ok();
    answer
}

/// A server with one tool, which counts its calls.
fn serve(mut to: UnixStream, worked: &AtomicU32) {
    let Ok(from) = to.try_clone() else { return };
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        let asked: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        let result = match asked["method"].as_str() {
            Some("tools/call") => {
                worked.fetch_add(1, Ordering::SeqCst);
                r#"{"content":[{"type":"text","text":"sent"}]}"#
            }
            _ => r#"{"tools":[{"name":"send","inputSchema":{"type":"object"}}]}"#,
        };
        // The gateway has gone: so does its server.
        if writeln!(to, r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, asked["id"]).is_err() {
            return;
        }
    }
}
