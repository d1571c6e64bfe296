//! The era without sessions: many clients, one process.

use http::Method;
use serde_json::{Value, json};
use stanchion_testkit::eventually;

use crate::serve_support::*;

#[tokio::test(flavor = "multi_thread")]
async fn both_eras_are_served_at_one_path() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let client = house.client();
    let discovered = client.post_modern(&modern(json!("d"), "server/discover", json!({}))).await;
    assert_eq!((discovered.status, &discovered.answer()["id"]), (200, &json!("d")));
    assert_eq!(discovered.answer()["result"]["supportedVersions"], json!([MODERN]));
    assert!(!discovered.headers.contains_key("mcp-session-id"));
    let (one, two) = (modern_call(json!(1), "pid", json!({})), modern_call(json!(1), "pid", json!({})));
    let shared = client.post_modern(&one).await.said().to_owned();
    assert_eq!(client.post_modern(&two).await.said(), shared);
    assert_ne!(house.session().await.call(1, "pid", json!({})).await.said(), shared);
    for method in [Method::GET, Method::DELETE] {
        let got = client.with("mcp-protocol-version", MODERN).send(method, "").await;
        assert_eq!((got.status, got.header("allow")), (405, "POST"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_have_the_status_that_this_era_wants() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let client = house.client();
    let list = modern(json!(7), "tools/list", json!({}));
    let mut bare = list.clone();
    bare["params"] = json!({});
    let mut future = list.clone();
    future["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("v999");
    let echo = modern_call(json!(7), "echo", json!({}));
    let twice = list.to_string().replacen(r#""_meta":{"#, r#""_meta":{"progressToken":1,"progressToken":2,"#, 1);
    let rows: Vec<(&str, Client, String, u16, i64)> = vec![
        ("no _meta", client.modern(&list), bare.to_string(), 400, -32602),
        ("no method header", client.modern(&list).without("mcp-method"), list.to_string(), 400, -32020),
        ("other method", client.modern(&list).with("mcp-method", "TOOLS/LIST"), list.to_string(), 400, -32020),
        ("no name", client.modern(&echo).without("mcp-name"), echo.to_string(), 400, -32020),
        ("other name", client.modern(&echo).with("mcp-name", "other"), echo.to_string(), 400, -32020),
        ("no version header", client.modern(&list).without("mcp-protocol-version"), list.to_string(), 400, -32020),
        ("other version", client.modern(&list), future.to_string(), 400, -32020),
        ("future", client.modern(&list).with("mcp-protocol-version", "v999"), future.to_string(), 400, -32022),
        (
            "unknown",
            client.modern(&list).with("mcp-method", "x/y"),
            modern(json!(7), "x/y", json!({})).to_string(),
            404,
            -32601,
        ),
        ("a member twice", client.modern(&list), twice, 400, -32600),
    ];
    for (what, client, body, status, code) in rows {
        let got = client.send(Method::POST, body).await;
        assert_eq!((got.status, got.code(), &got.answer()["id"]), (status, Some(code), &json!(7)), "{what}: {got:?}");
    }
    let encoded =
        client.modern(&echo).with("mcp-name", "=?base64?ZWNobw==?=").send(Method::POST, echo.to_string()).await;
    assert_eq!(encoded.status, 200, "{encoded:?}");
}

/// Two clients use the same ids and tokens at the same time, and each hears only of its own.
#[tokio::test(flavor = "multi_thread")]
async fn same_ids_and_tokens_of_two_clients_are_kept_apart() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup { principals: principals(), ..Setup::default() }).await;
    let one = |name: &'static str, id: Value, token: Value, steps: u32| {
        let (client, file) = (house.client().named(name), store.path(name));
        async move {
            let mut message =
                modern_call(id.clone(), "progress", json!({"steps": steps, "ms": 2, "file": file, "line": name}));
            message["params"]["_meta"]["progressToken"] = token.clone();
            let got = client.post_modern(&message).await;
            let told: Vec<u64> = got.messages.iter().filter_map(|m| m["params"]["progress"].as_u64()).collect();
            assert_eq!(told, (1..=u64::from(steps)).collect::<Vec<_>>(), "{got:?}");
            for message in &got.messages[..got.messages.len() - 1] {
                assert_eq!(message["params"]["progressToken"], token);
            }
            assert_eq!((&got.answer()["id"], got.said()), (&id, "done"));
        }
    };
    for round in 0..5 {
        let id = || json!(round);
        tokio::join!(
            one("alice", id(), json!("t"), 20),
            one("bob", id(), json!("t"), 13),
            one("alice", json!("x"), json!(1), 7),
            one("bob", json!("x"), json!(1), 5)
        );
    }
    assert_eq!((store.lines("alice"), store.lines("bob")), (10, 10));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_byte_but_the_id_arrives_and_comes_back() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",  "io.modelcontextprotocol/clientCapabilities":{},"odd":1e400}"#;
    let body = format!(
        r#"{{"x-unknown":12345678901234567890, "jsonrpc":"2.0","id": 1.50,"method":"tools/call","params":{{"name":"echo","arguments":{{"raw":true,"n":1.0}},{meta}}} }}"#
    );
    let shape = modern_call(json!(1), "echo", json!({}));
    let got = house.client().modern(&shape).send(Method::POST, body.clone()).await;
    assert!(got.text.starts_with(r#"{"jsonrpc":"2.0","id":1.50,"#), "{got:?}");
    let seen = got.said();
    let (before, after) = body.split_once("1.50").unwrap();
    let number = seen.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    assert!(number.is_some_and(|number| number.parse::<u64>().is_ok()), "{seen}\n{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn subscriptions_carry_the_id_of_their_own_client() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let client = house.client();
    let listen = |id: Value| modern(id, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let mut streams = Vec::new();
    for id in [json!(1), json!(1), json!("one")] {
        let message = listen(id.clone());
        let mut live = client.modern(&message).open(Method::POST, message.to_string()).await;
        let first = live.next().await.unwrap();
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
        streams.push((id, live));
    }
    let changed = client.post_modern(&modern_call(json!(1), "list_changed", json!({}))).await;
    assert_eq!(changed.messages.len(), 1, "{changed:?}");
    for (id, live) in &mut streams {
        let told = live.next().await.unwrap();
        assert_eq!(told["method"], "notifications/tools/list_changed");
        assert_eq!(&told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_hangs_up_cancels_a_call_without_a_key_and_none_with_one() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let client = house.client();
    let marks = |name: &str| {
        let of = |what: &str| store.path(&format!("{name}-{what}"));
        (of("started"), of("cancelled"), of("go"), of("effects"))
    };
    let message = |name: &str| {
        let (started, cancelled, go, file) = marks(name);
        let arguments =
            json!({"ms": 1, "started": started, "cancelled": cancelled, "file": file, "line": "x", "answerWhen": go});
        modern_call(json!(1), "cancellable", arguments)
    };
    let hang_up = async |client: Client, name: &str| {
        let message = message(name);
        let body = message.to_string();
        let client = client.modern(&message);
        let running = tokio::spawn(async move { client.open(Method::POST, body).await.rest().await });
        eventually(SOON, "the call runs", || async { marks(name).0.exists() }).await;
        running.abort();
        assert!(running.await.unwrap_err().is_cancelled());
    };
    hang_up(client.clone(), "plain").await;
    eventually(SOON, "the server is told", || async { marks("plain").1.exists() }).await;
    let keyed = client.with("idempotency-key", "k");
    hang_up(keyed.clone(), "keyed").await;
    // Cancelled before it was answered, it would not be found as done.
    std::fs::write(marks("keyed").2, "").unwrap();
    let asked = message("keyed");
    eventually(SOON, "the call is found as done", || async { keyed.post_modern(&asked).await.is_replay() }).await;
    assert_eq!(keyed.post_modern(&asked).await.said(), "finished");
    assert_eq!((store.lines("keyed-effects"), marks("keyed").1.exists()), (1, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_server_is_started_again_and_a_kept_answer_needs_none() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let client = house.client();
    let append = modern_call(json!(1), "append", json!({"file": store.path("f"), "line": "x"}));
    assert_eq!(client.with("idempotency-key", "k").post_modern(&append).await.said(), "appended");
    let before = client.post_modern(&modern_call(json!(1), "pid", json!({}))).await.said().to_owned();
    // Three deaths in a row: the third is followed by a pause that nobody is made to wait for.
    let crash = modern_call(json!(2), "crash", json!({}));
    for death in 0..2 {
        let got = client.post_modern(&crash).await;
        assert_eq!(got.problem(), Some("upstream_failed"), "{death}: {got:?}");
        assert_eq!(got.answer()["error"]["data"]["mayHaveExecuted"], true);
    }
    let mut down = client.post_modern(&crash).await;
    if down.answer()["error"]["data"]["mayHaveExecuted"] == true {
        down = client.post_modern(&modern_call(json!(3), "pid", json!({}))).await;
    }
    assert_eq!(down.problem(), Some("upstream_failed"), "{down:?}");
    let kept = client.with("idempotency-key", "k").post_modern(&append).await;
    assert_eq!((kept.is_replay(), kept.said(), store.lines("f")), (true, "appended", 1));
    let pid = modern_call(json!(4), "pid", json!({}));
    eventually(SOON, "the server is back", || async { client.post_modern(&pid).await.problem().is_none() }).await;
    assert_ne!(client.post_modern(&pid).await.said(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_names_events_first_gets_events() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let list = modern(json!(1), "tools/list", json!({}));
    let events = house.client().with("accept", "text/event-stream, application/json");
    assert!(events.post_modern(&list).await.is_stream);
    assert!(!house.client().post_modern(&list).await.is_stream);
    assert!(events.initialize().await.call(1, "pid", json!({})).await.is_stream);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_nobody_uses_ends_and_the_next_caller_gets_a_new_one() {
    let store = Store::fresh().await;
    let limits = stanchion_mcp::serve::StdioLimits::default().session_idle(std::time::Duration::from_millis(300));
    let house = House::start(&store, Setup { limits, ..Setup::default() }).await;
    let client = house.client();
    let pid = modern_call(json!(1), "pid", json!({}));
    let before = client.post_modern(&pid).await.said().to_owned();
    // A call that runs is use.
    let slow = modern_call(json!(2), "slow", json!({"ms": 1000}));
    assert_eq!(client.post_modern(&slow).await.said(), "slow");
    eventually(SOON, "the idle process has ended", || async { !lives(&before) }).await;
    assert_ne!(client.post_modern(&pid).await.said(), before);
}

/// A server that makes texts of ids, whatever they were.
const TEXTS: &str = r#"
const fs = require('node:fs');
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const { file, line: text } = params?.arguments ?? {};
  if (file) fs.appendFileSync(file, `${text}\n`);
  const result = method === 'tools/list' ? { tools: [{ name: 'append' }] } : { content: [{ type: 'text', text: 'appended' }] };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: String(id), result })}\n`);
}).on('close', () => process.exit(0));
"#;

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_whose_id_has_become_a_text_is_recorded_before_it_is_told() {
    let store = Store::fresh().await;
    let instead = Some(vec!["node", "-e", TEXTS]);
    let house = House::start(&store, Setup { instead, ..Setup::default() }).await;
    let client = house.client();
    let listed = client.post_modern(&modern(json!(7), "tools/list", json!({}))).await;
    assert_eq!((&listed.answer()["id"], listed.code()), (&json!(7), None), "{listed:?}");
    let append = |id: u8| modern_call(json!(id), "append", json!({"file": store.path("f"), "line": "x"}));
    let keyed = client.with("idempotency-key", "k");
    let first = keyed.post_modern(&append(1)).await;
    assert_eq!((first.said(), &first.answer()["id"], first.is_replay()), ("appended", &json!(1), false));
    let again = keyed.post_modern(&append(2)).await;
    assert_eq!((again.said(), &again.answer()["id"], again.is_replay()), ("appended", &json!(2), true), "{again:?}");
    assert_eq!(store.lines("f"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn methods_of_the_older_era_do_not_reach_the_process_of_all() {
    let store = Store::fresh().await;
    // It ends when it is initialised, as one does that takes another client for a mistake.
    let script = TEXTS.replace("if (id === undefined) return;", "if (!/^tools/.test(method)) process.exit(1);");
    let instead = Some(vec!["node", "-e", &*script.leak()]);
    let house = House::start(&store, Setup { instead, ..Setup::default() }).await;
    let client = house.client();
    let call = modern_call(json!(1), "append", json!({"file": store.path("f"), "line": "x"}));
    assert_eq!(client.post_modern(&call).await.said(), "appended");
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"] {
        let got = client.post_modern(&modern(json!(7), method, json!({}))).await;
        assert_eq!((got.status, got.code(), &got.answer()["id"]), (404, Some(-32601), &json!(7)), "{method}: {got:?}");
    }
    for method in ["notifications/initialized", "notifications/roots/list_changed"] {
        let got = client.post_modern(&json!({"jsonrpc": "2.0", "method": method})).await;
        assert_eq!(got.status, 202, "{method}: {got:?}");
    }
    assert_eq!(client.post_modern(&call).await.said(), "appended", "the process of all was ended");
    // Control: what is unknown is the server's affair, and ends this one.
    let got = client.post_modern(&modern(json!(7), "x/y", json!({}))).await;
    assert_eq!(got.problem(), Some("upstream_failed"), "void: this server does not end: {got:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_is_there_twice_says_nothing() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let message = modern_call(json!(1), "append", json!({"file": store.path("f"), "line": "x"}));
    let client = house.client().modern(&message);
    for (header, value) in [("mcp-name", "other"), ("mcp-name", "append"), ("mcp-method", "tools/list")] {
        let got = client.adding(header, value).post(&message).await;
        assert_eq!((got.status, got.code(), store.lines("f")), (400, Some(-32020), 0), "{header}: {got:?}");
    }
    assert_eq!((client.post(&message).await.said(), store.lines("f")), ("appended", 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_asks_for_input_runs_once_in_each_of_its_rounds() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let keyed = house.client().with("idempotency-key", "k");
    let arguments = json!({"file": store.path("f"), "line": "done", "first": "asked"});
    let first = keyed.post_modern(&modern_call(json!(1), "ask", arguments.clone())).await;
    let question = first.answer()["result"].clone();
    assert_eq!((&question["resultType"], first.is_replay()), (&json!("input_required"), false), "{first:?}");
    let again = keyed.post_modern(&modern_call(json!("new"), "ask", arguments.clone())).await;
    assert_eq!((&again.answer()["id"], again.is_replay()), (&json!("new"), true), "{again:?}");
    assert_eq!(again.answer()["result"]["inputRequests"], question["inputRequests"]);
    assert_eq!(again.answer()["result"]["requestState"], question["requestState"]);
    assert_eq!(std::fs::read_to_string(store.path("f")).unwrap(), "asked\n");
    let reply = json!({"action": "accept", "content": {"go": true}});
    let continued = |id: u8| {
        let mut message = modern_call(json!(id), "ask", arguments.clone());
        message["params"]["inputResponses"] = json!({"input": reply});
        message["params"]["requestState"] = question["requestState"].clone();
        message
    };
    let ended = keyed.post_modern(&continued(3)).await;
    assert_eq!((ended.said(), ended.is_replay()), (reply.to_string().as_str(), false), "{ended:?}");
    let again = keyed.post_modern(&continued(4)).await;
    assert_eq!((again.said(), again.is_replay()), (reply.to_string().as_str(), true), "{again:?}");
    assert_eq!(std::fs::read_to_string(store.path("f")).unwrap(), "asked\ndone\n");
}
