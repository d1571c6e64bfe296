//! Sessions of the older eras over HTTP.

#![expect(clippy::unwrap_used, reason = "help for tests: whatever is missing fails the test")]

use serde_json::{Value, json};
use stanchion_mcp::serve::{Principal, Serve};
use stanchion_memory::MemoryServer;

use super::http::{Running, create};
use super::http_client::Exchange;
use super::support::{Slow, graph_server};

fn hello(version: &str) -> Value {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// One session, with the headers that every request in it has.
struct Session<'a> {
    running: &'a Running,
    headers: Vec<(&'static str, String)>,
}

impl<'a> Session<'a> {
    async fn open(running: &'a Running, version: &str, token: Option<&str>) -> Self {
        let mut headers: Vec<(&str, String)> =
            token.map(|token| ("Authorization", format!("Bearer {token}"))).into_iter().collect();
        let mut session = Self { running, headers: headers.clone() };
        let answer = session.post(&hello(version)).await;
        assert_eq!(answer.status, 200);
        headers.push(("Mcp-Session-Id", answer.header("mcp-session-id").unwrap().to_owned()));
        headers.push(("MCP-Protocol-Version", version.to_owned()));
        session.headers = headers;
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(session.post(&ready).await.status, 202);
        session
    }

    fn headers(&self) -> Vec<(&str, &str)> {
        self.headers.iter().map(|(name, value)| (*name, value.as_str())).collect()
    }

    async fn post(&self, body: &Value) -> Exchange {
        self.running.post(&self.headers(), body).await
    }

    async fn ask(&self, id: u64, method: &str, params: Value) -> Value {
        let mut exchange = self.post(&request(id, method, &params)).await;
        assert_eq!(exchange.status, 200);
        exchange.next().await.unwrap()
    }

    async fn other(&self, method: &str, more: &[(&str, &str)]) -> Exchange {
        let mut headers = self.headers();
        headers.push(("Accept", "text/event-stream"));
        headers.extend(more);
        Exchange::new(self.running.at, method, "/mcp", &headers, "").await
    }
}

#[tokio::test]
async fn a_session_is_served_and_told_once_of_every_change() {
    let running = Running::start(graph_server(), Serve::new()).await;
    let session = Session::open(&running, "2025-11-25", None).await;
    let mut stream = session.other("GET", &[]).await;
    assert_eq!(stream.status, 200);
    session.ask(2, "resources/subscribe", json!({"uri": "memory://knowledge-graph"})).await;
    let created = session.ask(3, "tools/call", create("Ada")).await;
    assert_eq!(created["result"]["structuredContent"]["entities"][0]["name"], "Ada", "{created}");
    assert!(created["result"].get("resultType").is_none(), "{created}");
    let wrong = session.ask(4, "tools/call", json!({"name": "create_entities", "arguments": "x"})).await;
    assert_eq!(wrong["error"]["code"], -32603, "{wrong}");
    // One was its own. The other is of somebody else: without it, the stream has one message.
    running.modern("tools/call", create("Charles"), &[]).await.next().await.unwrap();
    for _ in 0..2 {
        let told = stream.next().await.unwrap();
        assert_eq!(told["method"], "notifications/resources/updated", "{told}");
    }
    // An open stream does not hold up the end, and nothing more was said on it.
    running.stop().await;
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn without_a_stream_to_be_told_on_nothing_waits_for_it() {
    let running = Running::start(graph_server(), Serve::new()).await;
    let session = Session::open(&running, "2025-11-25", None).await;
    session.ask(2, "resources/subscribe", json!({"uri": "memory://knowledge-graph"})).await;
    for id in 3..103 {
        session.ask(id, "tools/call", create(&id.to_string())).await;
    }
    running.stop().await;
}

#[tokio::test]
async fn nobody_is_told_that_a_stream_could_be_taken_up_again() {
    let running = Running::start(graph_server(), Serve::new()).await;
    let marked = |text: &str| text.lines().any(|line| line.starts_with("id:") || line.starts_with("retry:"));
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        assert!(!marked(&running.post(&[], &hello(version)).await.rest().await));
        let session = Session::open(&running, version, None).await;
        let said = session.post(&request(2, "tools/call", &create(version))).await.rest().await;
        assert!(said.contains(version) && !marked(&said), "{said}");
        let stream = session.other("GET", &[]).await;
        session.ask(3, "resources/subscribe", json!({"uri": "memory://knowledge-graph"})).await;
        session.ask(4, "tools/call", create("x")).await;
        // Who asks for it all the same is refused, not kept waiting.
        for event in ["0", "0/0", "1/0", "x"] {
            let refused = session.other("GET", &[("Last-Event-ID", event)]).await;
            assert_eq!(refused.status, 400);
            assert!(refused.rest().await.contains("-32600"));
        }
        assert_eq!(session.other("DELETE", &[]).await.status, 202);
        let said = stream.rest().await;
        assert!(said.contains("notifications/resources/updated") && !marked(&said), "{said}");
        assert_eq!(session.other("GET", &[("Last-Event-ID", "0")]).await.status, 404);
    }
    let modern = running.modern("tools/call", create("y"), &[]).await.rest().await;
    assert!(modern.contains("complete") && !marked(&modern), "{modern}");
    running.stop().await;
}

#[tokio::test]
async fn a_session_belongs_to_who_opened_it() {
    let front =
        Serve::new().principal(Principal::with_token("alice", "a")).principal(Principal::with_token("bob", "b"));
    let running = Running::start(graph_server(), front).await;
    let alices = Session::open(&running, "2025-11-25", Some("a")).await;
    let mut bobs = Session::open(&running, "2025-11-25", Some("b")).await;
    let unknown = {
        let mut none = Session::open(&running, "2025-11-25", Some("b")).await;
        none.headers[1].1 = "no-such-session".into();
        none.post(&request(2, "tools/list", &json!({}))).await.rest().await
    };
    bobs.headers[1] = alices.headers[1].clone();
    let refused = bobs.post(&request(2, "tools/call", &create("x"))).await;
    assert_eq!(refused.status, 404);
    assert_eq!(refused.rest().await, unknown, "there is no telling whether it exists");
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(bobs.post(&initialized).await.status, 404);
    assert_eq!(bobs.other("GET", &[]).await.status, 404);
    bobs.other("DELETE", &[]).await;
    let graph = alices.ask(2, "tools/call", json!({"name": "read_graph", "arguments": {}})).await;
    assert_eq!(graph["result"]["structuredContent"]["entities"], json!([]), "{graph}");
    running.stop().await;
}

#[tokio::test]
async fn an_id_that_is_in_use_is_refused_and_free_again_when_it_is_answered() {
    let slow = Slow::new();
    let running = Running::start(MemoryServer::new(slow.clone()), Serve::new()).await;
    let session = Session::open(&running, "2025-11-25", None).await;
    let mut first = session.post(&request(7, "tools/call", &create("first"))).await;
    slow.asked.acquire().await.unwrap().forget();
    let refused = session.ask(7, "tools/call", create("second")).await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(7), &json!(-32600)), "{refused}");
    slow.may.add_permits(1);
    assert_eq!(first.next().await.unwrap()["result"]["structuredContent"]["entities"][0]["name"], "first");
    // Its client goes away, or takes it back: it is still the id of a call that runs.
    drop(session.post(&request(7, "tools/call", &create("third"))).await);
    slow.asked.acquire().await.unwrap().forget();
    let back = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(session.post(&back).await.status, 202);
    let refused = session.ask(7, "tools/call", create("fourth")).await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    slow.may.add_permits(1);
    let read = json!({"name": "read_graph", "arguments": {}});
    let graph = loop {
        let graph = session.ask(7, "tools/call", read.clone()).await;
        if graph.get("error").is_none() {
            break graph;
        }
    };
    let entities = graph["result"]["structuredContent"]["entities"].as_array().unwrap();
    let names: Vec<&Value> = entities.iter().map(|entity| &entity["name"]).collect();
    assert_eq!(names, ["first", "third"]);
    running.stop().await;
}

#[tokio::test]
async fn half_a_character_is_read_over_http_as_on_a_pipe() {
    let running = Running::start(graph_server(), Serve::new()).await;
    let session = Session::open(&running, "2025-11-25", None).await;
    let body = request(2, "tools/call", &create("cut HALF")).to_string().replace("HALF", r"\uD83D");
    let mut headers = session.headers();
    headers.extend([("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json")]);
    let mut answer = Exchange::new(running.at, "POST", "/mcp", &headers, &body).await;
    assert_eq!(answer.status, 200);
    let said = answer.next().await.unwrap();
    assert_eq!(said["result"]["structuredContent"]["entities"][0]["name"], "cut \u{fffd}", "{said}");
    running.stop().await;
}

#[tokio::test]
async fn sessions_that_never_say_goodbye_lock_nobody_out() {
    const MOST: usize = 1024;
    let running = Running::start(graph_server(), Serve::new()).await;
    let listening = Session::open(&running, "2025-11-25", None).await;
    let _stream = listening.other("GET", &[]).await;
    let silent = Session::open(&running, "2025-11-25", None).await;
    let busy = Session::open(&running, "2025-11-25", None).await;
    for _ in 3..MOST {
        assert_eq!(running.post(&[], &hello("2025-11-25")).await.status, 200);
    }
    let status = async |session: &Session<'_>| session.post(&request(2, "tools/list", &json!({}))).await.status;
    assert_eq!(status(&busy).await, 200);
    // One more: it comes in, and the one that nobody has used for longest goes.
    let newest = Session::open(&running, "2025-11-25", None).await;
    assert_eq!(status(&silent).await, 404);
    for session in [&busy, &listening, &newest] {
        assert_eq!(status(session).await, 200);
    }
    assert_eq!(running.modern("tools/list", json!({}), &[]).await.status, 200);
    running.stop().await;
}
