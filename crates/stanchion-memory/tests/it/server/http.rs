//! Both eras over HTTP, and who is let in.

#![expect(clippy::unwrap_used, reason = "help for tests: whatever is missing fails the test")]

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Value, json};
use stanchion_core::{CasLock, Guard, MemoryStore};
use stanchion_mcp::serve::{Principal, Serve};
use stanchion_memory::{MemoryServer, serve_http};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::http_client::Exchange;
use super::support::{SOON, Slow, graph_server, modern_meta};

const ACCEPT: (&str, &str) = ("Accept", "application/json, text/event-stream");
const JSON: (&str, &str) = ("Content-Type", "application/json");

pub(super) struct Running {
    pub(super) at: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<stanchion_core::Result<()>>,
}

impl Running {
    pub(super) async fn start(server: MemoryServer, front: Serve) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(serve_http(server, listener, front, async { drop(stopped.await) }));
        Self { at, stop, serving }
    }

    pub(super) async fn post(&self, headers: &[(&str, &str)], body: &Value) -> Exchange {
        let headers: Vec<(&str, &str)> = [ACCEPT, JSON].into_iter().chain(headers.iter().copied()).collect();
        Exchange::new(self.at, "POST", "/mcp", &headers, &body.to_string()).await
    }

    /// A request of the era without sessions.
    pub(super) async fn modern(&self, method: &str, mut params: Value, more: &[(&str, &str)]) -> Exchange {
        params["_meta"] = modern_meta();
        let name = params["name"].as_str().or(params["uri"].as_str()).map(str::to_owned);
        let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        headers.extend(name.as_deref().map(|name| ("Mcp-Name", name)));
        headers.extend(more);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.post(&headers, &body).await
    }

    pub(super) async fn stop(self) {
        self.stop.send(()).unwrap();
        tokio::time::timeout(SOON, self.serving).await.expect("it ends").unwrap().unwrap();
    }
}

pub(super) fn create(name: &str) -> Value {
    let entity = json!({"name": name, "entityType": "t", "observations": []});
    json!({"name": "create_entities", "arguments": {"entities": [entity]}})
}

#[tokio::test]
async fn the_era_without_sessions_is_served_and_told_of_changes() {
    let running = Running::start(graph_server(), Serve::new()).await;
    let found = running.modern("server/discover", json!({}), &[]).await.next().await.unwrap();
    assert!(found["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{found}");
    let filter = json!({"notifications": {"resourceSubscriptions": ["memory://knowledge-graph"]}});
    let mut listening = running.modern("subscriptions/listen", filter, &[]).await;
    let accepted = listening.next().await.unwrap();
    assert_eq!(accepted["method"], "notifications/subscriptions/acknowledged", "{accepted}");
    let mut created = running.modern("tools/call", create("Ada"), &[]).await;
    assert!(created.header("mcp-session-id").is_none());
    let created = created.next().await.unwrap();
    assert_eq!(created["result"]["resultType"], "complete", "{created}");
    let told = listening.next().await.unwrap();
    assert_eq!(told["method"], "notifications/resources/updated", "{told}");
    // The end is told to who listens.
    running.stop().await;
    let mut last = Value::Null;
    while let Some(next) = listening.next().await {
        last = next;
    }
    assert!(last.get("result").is_some(), "{last}");
}

#[tokio::test]
async fn a_page_from_elsewhere_and_a_bent_name_are_refused() {
    let running = Running::start(graph_server(), Serve::new()).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": modern_meta()}});
    let port = running.at.port();
    let local = format!("localhost:{port}");
    let modern = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")];
    let status = async |more: &[(&str, &str)]| {
        let headers: Vec<(&str, &str)> = modern.into_iter().chain(more.iter().copied()).collect();
        running.post(&headers, &ping).await.status
    };
    assert_eq!(status(&[]).await, 200);
    assert_eq!(status(&[("Host", &local)]).await, 200);
    assert_eq!(status(&[("Origin", &format!("http://{local}"))]).await, 200);
    let evil = format!("evil.example:{port}");
    assert_eq!(status(&[("Host", &evil)]).await, 403);
    assert_eq!(status(&[("Origin", "http://evil.example")]).await, 403);
    assert_eq!(status(&[("Origin", "null")]).await, 403);
    let health = Exchange::new(running.at, "GET", "/healthz", &[], "").await;
    assert_eq!((health.status, health.rest().await.contains("ok")), (200, true));
    running.stop().await;
}

#[tokio::test]
async fn without_the_token_nobody_comes_in_and_a_body_is_bounded() {
    let front = Serve::new().principal(Principal::with_token("alice", "s3cret")).frame_max(100_000);
    let running = Running::start(graph_server(), front).await;
    let status = async |token: Option<&str>| {
        let token = token.map(|token| format!("Bearer {token}"));
        let headers: Vec<(&str, &str)> = token.iter().map(|token| ("Authorization", token.as_str())).collect();
        running.modern("tools/list", json!({}), &headers).await.status
    };
    assert_eq!((status(None).await, status(Some("wrong")).await, status(Some("s3cret")).await), (401, 401, 200));
    let large = create(&"x".repeat(100_000));
    let refused = running.modern("tools/call", large, &[("Authorization", "Bearer s3cret")]).await;
    assert_eq!(refused.status, 413);
    running.stop().await;
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let open = serve_http(graph_server(), listener, Serve::new(), std::future::pending()).await.unwrap_err();
    assert_eq!(open.kind(), stanchion_core::ErrorKind::Invalid, "{open}");
}

#[tokio::test]
async fn keys_in_the_header_and_in_params_count_and_belong_to_their_principal() {
    let store = Arc::new(MemoryStore::new());
    let server = graph_server().keys("memory-test", move || {
        let store = Arc::clone(&store);
        async move { Ok(Guard::new(store, Arc::new(CasLock::new(MemoryStore::new())))) }
    });
    let front =
        Serve::new().principal(Principal::with_token("alice", "a")).principal(Principal::with_token("bob", "b"));
    let running = Running::start(server, front).await;
    let call = async |token: &str, params: Value, key: Option<&str>| {
        let token = format!("Bearer {token}");
        let mut headers = vec![("Authorization", token.as_str())];
        headers.extend(key.map(|key| ("Idempotency-Key", key)));
        running.modern("tools/call", params, &headers).await.next().await.unwrap()
    };
    let replayed = |answer: &Value| answer["result"]["_meta"]["dev.stanchion/replayed"] == true;
    let first = call("a", create("x"), Some("\"k\"")).await;
    assert!(!replayed(&first) && first["result"]["structuredContent"]["entities"][0]["name"] == "x", "{first}");
    let again = call("a", create("x"), Some("k")).await;
    assert!(replayed(&again), "{again}");
    assert_eq!(again["result"]["content"], first["result"]["content"]);
    let mut in_params = create("x");
    in_params["idempotencyKey"] = json!("k");
    assert!(replayed(&call("a", in_params, None).await));
    // Bob's key is another: the call runs, and finds the entity there.
    let bobs = call("b", create("x"), Some("k")).await;
    assert_eq!(bobs["result"]["structuredContent"], json!({"entities": []}), "{bobs}");
    let bad = call("a", create("y"), Some("\"k")).await;
    assert_eq!(bad["error"]["data"]["type"], "idempotency_key_invalid", "{bad}");
    running.stop().await;
}

#[tokio::test]
async fn a_keyed_call_runs_on_without_its_client_and_the_end_waits_for_it() {
    let slow = Slow::new();
    let store = Arc::new(MemoryStore::new());
    let server = MemoryServer::new(slow.clone()).keys("memory-test", move || {
        let store = Arc::clone(&store);
        async move { Ok(Guard::new(store, Arc::new(CasLock::new(MemoryStore::new())))) }
    });
    let running = Running::start(server.clone(), Serve::new()).await;
    let keyed = [("Idempotency-Key", "k")];
    // It is answered only later, and by then its client has gone.
    tokio::select! {
        _ = running.modern("tools/call", create("Ada"), &keyed) => panic!("the change may not happen yet"),
        asked = slow.asked.acquire() => asked.unwrap().forget(),
    }
    slow.may.add_permits(1);
    running.stop().await;
    let again = Running::start(server, Serve::new()).await;
    let answer = again.modern("tools/call", create("Ada"), &keyed).await.next().await.unwrap();
    assert_eq!(answer["result"]["_meta"]["dev.stanchion/replayed"], true, "{answer}");
    assert_eq!(answer["result"]["structuredContent"]["entities"][0]["name"], "Ada");
    again.stop().await;
}
