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

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_batch_runs_if_a_part_of_it_is_refused() {
    let store = Store::fresh().await;
    let policy = "[servers.ledger.tools.append]\nlock = \"one\"\n".to_owned();
    let house = House::start(&store, Setup { policy, ..Setup::default() }).await;
    let session = house.session().await;
    let append = |line: &str| call(2, "append", json!({"file": store.path("f"), "line": line}));
    let mut nameless = append("nameless");
    nameless.as_object_mut().unwrap().remove("id");
    for batch in [json!([append("first"), nameless]), json!([nameless])] {
        let got = session.post(&batch).await;
        assert_eq!(got.status, 400, "{got:?}");
        assert!(got.text.contains("Nothing was executed"), "{got:?}");
    }
    // Whatever had begun would hold the lock that this one waits for.
    assert_eq!(session.post(&append("last")).await.said(), "appended");
    assert_eq!(std::fs::read_to_string(store.path("f")).unwrap(), "last\n");
}

/// The client has let go of a call, the server has not: its id is taken, and the rest of the batch has begun already.
#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_batch_whose_id_is_taken_is_refused_under_its_id() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let session = house.session().await;
    let arguments = json!({"file": store.path("f"), "line": "x", "answerWhen": store.path("go")});
    let (asking, first) = (session.with("idempotency-key", "a"), call(2, "append", arguments));
    let running = tokio::spawn(async move { asking.post(&first).await });
    eventually(SOON, "the call runs", || async { store.lines("f") == 1 }).await;
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    let batch = json!([call(1, "pid", json!({})), call(2, "append", json!({"file": store.path("g"), "line": "x"}))]);
    // Until the connection is seen to be gone, the whole of it is refused.
    let accepted = async {
        loop {
            let got = session.post(&batch).await;
            if got.status != 400 {
                return got;
            }
        }
    };
    let got = tokio::time::timeout(SOON, accepted).await.expect("the connection is gone");
    let by_id = |id: u64| got.messages.iter().find(|message| message["id"] == id).unwrap_or_else(|| panic!("{got:?}"));
    assert!(by_id(1)["result"]["content"][0]["text"].is_string(), "{got:?}");
    assert_eq!((&by_id(2)["error"]["code"], store.lines("g")), (&json!(-32600), 0), "{got:?}");
    std::fs::write(store.path("go"), "").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_the_same_quoted_and_bare() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let arguments = json!({"file": store.path("f"), "line": "x"});
    let session = house.session().await;
    let ask = async |key: &str| session.with("idempotency-key", key).call(1, "append", arguments.clone()).await;
    assert!(!ask("k").await.is_replay());
    assert!(ask("\"k\"").await.is_replay());
    let modern = modern_call(json!(1), "append", arguments.clone());
    assert!(house.client().with("idempotency-key", "\"k\"").post_modern(&modern).await.is_replay());
    let bad = ask("\"k").await;
    assert_eq!((bad.status, bad.problem(), store.lines("f")), (400, Some("idempotency_key_invalid"), 1), "{bad:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keyed_call_outlives_its_session_and_another_one_does_not() {
    let store = Store::fresh().await;
    let policy = "[servers.ledger.tools.never]\nlock = \"other\"\n".to_owned();
    let house = House::start(&store, Setup { policy, ..Setup::default() }).await;
    let (stays, goes) = (house.session().await, house.session().await);
    let pid = async |session: &Client| session.call(1, "pid", json!({})).await.said().to_owned();
    let (kept, ended) = (pid(&stays).await, pid(&goes).await);
    let (keyed, go) = (stays.with("idempotency-key", "k"), store.path("go"));
    let arguments = json!({"file": store.path("keyed"), "line": "x", "answerWhen": go});
    let asking = |session: &Client, message: Value| {
        let session = session.clone();
        tokio::spawn(async move { session.post(&message).await })
    };
    let _first = asking(&keyed, call(2, "append", arguments.clone()));
    let _second = asking(&goes, call(2, "never", json!({"file": store.path("plain"), "line": "x"})));
    eventually(SOON, "both run", || async { store.lines("keyed") + store.lines("plain") == 2 }).await;
    for session in [&stays, &goes] {
        assert_eq!(session.send(Method::DELETE, "").await.status, 204);
        assert_eq!(session.call(3, "pid", json!({})).await.status, 404);
    }
    // Control: the time that calls without a key are given has passed.
    eventually(SOON, "the other one's process has ended", || async { !lives(&ended) }).await;
    assert!(lives(&kept), "a keyed call was killed with its session");
    std::fs::write(&go, "").unwrap();
    let again = house.session().await.with("idempotency-key", "k");
    eventually(SOON, "the call is found as done", || async {
        let got = again.call(4, "append", arguments.clone()).await;
        assert_ne!(got.problem(), Some("outcome_unknown"), "{got:?}");
        got.is_replay()
    })
    .await;
    assert_eq!(store.lines("keyed"), 1);
    eventually(SOON, "its process has ended after all", || async { !lives(&kept) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_would_wait_for_its_own_client_is_refused_and_the_first_one_ends() {
    let store = Store::fresh().await;
    let policy = "[servers.ledger]\nlock = \"all\"\nwait = \"50s\"\n".to_owned();
    let house = House::start(&store, Setup { policy, ..Setup::default() }).await;
    let session = house.session().await;
    let body = call(1, "elicit", json!({"file": store.path("f"), "line": "x"})).to_string();
    let mut live = session.open(Method::POST, body).await;
    let asked = live.next().await.unwrap();
    assert_eq!(asked["method"], "elicitation/create");
    let append = |file: &str| json!({"file": store.path(file), "line": "x"});
    let began = std::time::Instant::now();
    let nested = session.call(2, "append", append("nested")).await;
    assert_eq!((nested.problem(), store.lines("nested")), (Some("deadlock"), 0), "{nested:?}");
    assert!(began.elapsed() < Duration::from_secs(40), "it was found out by waiting");
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"go": true}}});
    assert_eq!(session.post(&answer).await.status, 202);
    assert_eq!(live.next().await.unwrap()["id"], 1);
    assert_eq!(store.lines("f"), 1);
    assert_eq!(session.call(3, "append", append("nested")).await.said(), "appended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_that_runs_keeps_its_lock_and_the_next_is_told_why() {
    let store = Store::fresh().await;
    let policy = |wait: &str| format!("[servers.ledger]\nlock = \"all\"\nwait = \"{wait}\"\n");
    let house = House::start(&store, Setup { policy: policy("50s"), ..Setup::default() }).await;
    let session = house.session().await;
    let (seen, go) = (store.path("cancelled"), store.path("go"));
    let arguments = json!({"ms": 1, "cancelled": seen, "file": store.path("f"), "line": "x", "answerWhen": go});
    let (asking, message) = (session.clone(), call(1, "cancellable", arguments));
    let running = tokio::spawn(async move { asking.post(&message).await });
    eventually(SOON, "the call runs", || async { store.lines("f") == 1 }).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(session.post(&cancel).await.status, 202);
    eventually(SOON, "the server is told", || async { seen.exists() }).await;
    let other = House::start(&store, Setup { policy: policy("300ms"), ..Setup::default() }).await;
    let impatient = other.session().await;
    let append = json!({"file": store.path("next"), "line": "x"});
    eventually(SOON, "the next one is told why", || async {
        let got = impatient.call(1, "append", append.clone()).await;
        assert_eq!(got.problem(), Some("lock_busy"), "{got:?}");
        got.text.contains("it was cancelled by its client")
    })
    .await;
    assert_eq!(store.lines("next"), 0, "the lock was given up");
    std::fs::write(&go, "").unwrap();
    // The server answered all the same: that is passed on.
    assert_eq!(running.await.unwrap().said(), "finished");
    assert_eq!(session.call(2, "append", append).await.said(), "appended");
}
