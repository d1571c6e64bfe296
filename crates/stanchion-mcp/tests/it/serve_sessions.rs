//! The era with sessions, in front of a server that is a command.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use stanchion_mcp::serve::StdioLimits;
use stanchion_testkit::eventually;

use crate::serve_support::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_session_has_a_process_of_its_own_and_belongs_to_one_principal() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup { principals: principals(), ..Setup::default() }).await;
    let (alice, bob) =
        (house.client().named("alice").initialize().await, house.client().named("bob").initialize().await);
    let (first, second) = (alice.call(1, "pid", json!({})).await, bob.call(1, "pid", json!({})).await);
    assert_ne!(first.said(), second.said());
    // The id alone opens nothing.
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let got = alice.named("bob").send(method.clone(), call(2, "pid", json!({})).to_string()).await;
        assert_eq!(got.status, 404, "{method}: {got:?}");
    }
    assert_eq!(alice.call(3, "pid", json!({})).await.said(), first.said());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_answer_is_json_and_progress_makes_it_a_stream() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let session = house.session().await;
    let plain = session.call(1, "append", json!({"file": store.path("f"), "line": "x"})).await;
    assert_eq!((plain.is_stream, plain.said()), (false, "appended"));
    let mut told = call(2, "progress", json!({"steps": 3}));
    told["params"]["_meta"]["progressToken"] = json!("mine");
    let told = session.post(&told).await;
    assert!(told.is_stream);
    let steps: Vec<&Value> = told.messages[..3].iter().map(|message| &message["params"]["progress"]).collect();
    assert_eq!((steps, told.messages.len(), told.said()), (vec![&json!(1), &json!(2), &json!(3)], 4, "done"));
    assert_eq!(told.messages[0]["params"]["progressToken"], "mine");
    // A body over several lines is one message to a server that reads lines.
    let pretty = serde_json::to_string_pretty(&call(3, "echo", json!({"n": 1}))).unwrap();
    let echoed = session.send(Method::POST, pretty).await;
    assert_eq!(serde_json::from_str::<Value>(echoed.said()).unwrap(), json!({"name": "echo", "arguments": {"n": 1}}));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_asks_its_client_within_the_call_and_is_answered_by_another_post() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let session = house.session().await;
    let body = call(1, "elicit", json!({"file": store.path("f"), "line": "x"})).to_string();
    let mut live = session.open(Method::POST, body).await;
    let asked = live.next().await.unwrap();
    assert_eq!(asked["method"], "elicitation/create");
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"go": true}}});
    assert_eq!(session.post(&answer).await.status, 202);
    let told = live.next().await.unwrap();
    assert_eq!(told["id"], 1, "{told}");
    assert!(live.next().await.is_none());
    assert_eq!(store.lines("f"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_belongs_to_no_request_goes_to_the_one_standing_stream() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let session = house.session().await;
    // Nobody listens yet: it is kept for whoever comes.
    let quiet = session.call(1, "list_changed", json!({})).await;
    assert!(quiet.messages.iter().any(|message| message["method"] == "notifications/tools/list_changed"), "{quiet:?}");
    let mut standing = session.open(Method::GET, "").await;
    assert_eq!(standing.status(), 200);
    let second = session.send(Method::GET, "").await;
    assert_eq!(second.status, 409, "{second:?}");
    let called = session.call(2, "list_changed", json!({})).await;
    assert_eq!(called.messages.len(), 1, "{called:?}");
    assert_eq!(standing.next().await.unwrap()["method"], "notifications/tools/list_changed");
    drop(standing);
    eventually(SOON, "the stream can be opened again", || async {
        session.open(Method::GET, "").await.status() == 200
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delete_ends_the_session_and_its_process() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let session = house.session().await;
    let pid = session.call(1, "pid", json!({})).await.said().to_owned();
    assert!(lives(&pid), "void: it never lived");
    assert_eq!(session.send(Method::DELETE, "").await.status, 204);
    assert_eq!(session.call(2, "pid", json!({})).await.status, 404);
    eventually(SOON, "its process has ended", || async { !lives(&pid) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_server_dies_everybody_is_told_and_the_session_is_gone() {
    let store = Store::fresh().await;
    let policy = "[servers.ledger.tools.crash]\nlock = \"one\"\n";
    let house = House::start(&store, Setup { policy: policy.to_owned(), ..Setup::default() }).await;
    let session = house.session().await;
    // Teaches the gate which tools only read, so that `slow` is passed on at once.
    session.call(1, "count", json!({"file": store.path("f")})).await;
    let passed = {
        let (session, file) = (session.clone(), store.path("passed"));
        tokio::spawn(async move { session.call(2, "slow", json!({"file": file, "line": "x", "ms": 600_000})).await })
    };
    eventually(SOON, "the call that is passed on runs", || async { store.lines("passed") == 1 }).await;
    let guarded = session.call(3, "crash", json!({"file": store.path("f"), "line": "x"})).await;
    assert_eq!((guarded.problem(), store.lines("f")), (Some("outcome_unknown"), 1));
    let passed = passed.await.unwrap();
    assert_eq!((passed.problem(), passed.code()), (Some("upstream_failed"), Some(-32603)), "{passed:?}");
    assert_eq!(passed.answer()["error"]["data"]["mayHaveExecuted"], true);
    eventually(SOON, "the session is gone", || async { session.call(4, "pid", json!({})).await.status == 404 }).await;
    // A new one can be had.
    house.session().await.call(1, "pid", json!({})).await.said();
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_bounded_and_end_when_nobody_uses_them() {
    let store = Store::fresh().await;
    let limits = StdioLimits::default().max_sessions(1).session_idle(Duration::from_millis(500));
    let house = House::start(&store, Setup { limits, ..Setup::default() }).await;
    let session = house.session().await;
    let pid = session.call(1, "pid", json!({})).await.said().to_owned();
    // An open stream is use.
    let standing = session.open(Method::GET, "").await;
    let full = house.client().post(&initialize(1)).await;
    assert_eq!((full.status, full.header("retry-after")), (503, "5"));
    drop(standing);
    eventually(SOON, "the idle session has ended", || async { !lives(&pid) }).await;
    eventually(SOON, "there is room again", || async { house.client().post(&initialize(1)).await.status == 200 }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_the_header_runs_once_and_its_replay_is_marked() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let session = house.session().await.with("idempotency-key", "k-1");
    let arguments = json!({"file": store.path("f"), "line": "x"});
    let first = session.call(1, "append", arguments.clone()).await;
    let again = house.session().await.with("idempotency-key", "k-1").call(9, "append", arguments).await;
    assert_eq!((first.is_replay(), again.is_replay(), store.lines("f")), (false, true, 1));
    assert_eq!((again.said(), &again.answer()["id"]), ("appended", &json!(9)));
    let other = session.call(2, "append", json!({"file": store.path("f"), "line": "other"})).await;
    assert_eq!((other.problem(), store.lines("f")), (Some("idempotency_key_conflict"), 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_answered_as_a_stream() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let session = house.session().await;
    let batch = json!([call(1, "count", json!({"file": store.path("f")})), call(2, "pid", json!({}))]);
    let got = session.post(&batch).await;
    let mut ids: Vec<i64> = got.messages.iter().filter_map(|message| message["id"].as_i64()).collect();
    ids.sort_unstable();
    assert_eq!((got.is_stream, ids), (true, vec![1, 2]));
    let twice = session.post(&json!([call(1, "pid", json!({})), call(1, "pid", json!({}))])).await;
    assert_eq!(twice.status, 400);
}
