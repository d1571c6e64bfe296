//! Callers that cancel, go away or wait, and gateways that stop.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use stanchion_mcp::serve::Endpoint as _;
use stanchion_testkit::eventually;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

use super::support::*;

const SESSION: (&str, &str) = ("mcp-session-id", "s");

/// An upstream whose calls end one by one, as they are let.
async fn held() -> (Server, Arc<Semaphore>) {
    let go = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&go);
    let server = Server::start(move |seen: Seen| {
        let gate = Arc::clone(&gate);
        async move {
            if seen.rpc() != "tools/call" {
                return Reply::Whole(202, vec![], String::new());
            }
            gate.acquire().await.unwrap().forget();
            Reply::json(seen.result(r#"{"content":[{"text":"done"}]}"#))
        }
    });
    (server.await, go)
}

fn start(addr: SocketAddr, id: &str, key: Option<&str>) -> JoinHandle<Got> {
    let body = call(id, key);
    tokio::spawn(async move { post(addr, &[BOTH, SESSION], &body).await })
}

async fn reached(server: &Server, calls: usize) {
    eventually(SOON, "the call is at the upstream", || async { server.calls().len() == calls }).await;
}

async fn under_way(gateway: &Gateway, calls: usize) {
    eventually(SOON, "the calls are at the gateway", || async { gateway.remote.under_way() == calls }).await;
}

fn cancel(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"x"}}}}"#)
}

#[tokio::test]
async fn a_call_that_waits_is_taken_back_here_and_its_upstream_never_hears_of_it() {
    let (store, (server, go)) = (Store::fresh().await, held().await);
    let gateway = Gateway::start(&store, LOCKED, &server.url()).await;
    let first = start(gateway.addr, "1", None);
    reached(&server, 1).await;
    let second = start(gateway.addr, "2.0", None);
    // Until it is known here, its cancellation is passed on; then it is not.
    eventually(SOON, "the cancellation is answered here", || async {
        let before = server.seen().len();
        let got = post(gateway.addr, &[BOTH, SESSION], &cancel("2")).await;
        got.status == 202 && server.seen().len() == before
    })
    .await;
    let got = second.await.unwrap();
    assert_eq!((got.status, got.body.as_str()), (200, ""), "{got:?}");
    go.add_permits(9);
    assert_eq!(first.await.unwrap().texts(), "done");
    assert_eq!(start(gateway.addr, "3", None).await.unwrap().texts(), "done");
    assert_eq!(server.calls(), [call("1", None), call("3", None)]);
}

#[tokio::test]
async fn a_cancelled_call_that_runs_keeps_its_lock_and_the_next_is_told_why() {
    let (store, (server, go)) = (Store::fresh().await, held().await);
    let gateway = Gateway::start(&store, LOCKED, &server.url()).await;
    let first = start(gateway.addr, "1", None);
    reached(&server, 1).await;
    assert_eq!(post(gateway.addr, &[BOTH, SESSION], &cancel("1")).await.status, 202);
    assert!(server.seen().iter().any(|seen| seen.text() == cancel("1")), "its upstream has to be told");
    let impatient = Gateway::start(&store, &LOCKED.replace("20s", "500ms"), &server.url()).await;
    eventually(SOON, "the note says why", || async {
        let got = post(impatient.addr, &[BOTH, SESSION], &call("9", None)).await;
        assert_eq!(got.problem().as_deref(), Some("lock_busy"), "{got:?}");
        got.body.contains("it was cancelled by its client")
    })
    .await;
    assert_eq!(server.calls().len(), 1, "the lock was given up");
    // One that waits longer is told while it waits, if it wants to hear of progress.
    let body = call("2", None).replace(r#""arguments""#, r#""_meta":{"progressToken":"t"},"arguments""#);
    let second = tokio::time::timeout(SOON, open(gateway.addr, &[BOTH, SESSION], &body)).await.unwrap().unwrap();
    go.add_permits(9);
    let got = got(second).await;
    assert_eq!(got.headers["content-type"], "text/event-stream");
    let (told, answer) = got.body.split_once("\n\n").unwrap();
    assert!(told.contains("notifications/progress") && told.contains("it was cancelled by its client"), "{got:?}");
    assert!(answer.contains(r#""text":"done""#), "{got:?}");
    // The server answered all the same: that is passed on.
    assert_eq!(first.await.unwrap().texts(), "done");
}

#[tokio::test]
async fn a_caller_without_a_key_that_goes_while_it_waits_takes_its_call_with_it() {
    let (store, (server, go)) = (Store::fresh().await, held().await);
    let gateway = Gateway::start(&store, LOCKED, &server.url()).await;
    let first = start(gateway.addr, "1", None);
    reached(&server, 1).await;
    let (leaves, stays) = (start(gateway.addr, "2", None), start(gateway.addr, "3", Some("k")));
    let keyed_leaves = start(gateway.addr, "4", Some("other"));
    under_way(&gateway, 4).await;
    leaves.abort();
    keyed_leaves.abort();
    assert!(leaves.await.is_err() && keyed_leaves.await.is_err());
    under_way(&gateway, 3).await;
    go.add_permits(9);
    assert_eq!(first.await.unwrap().texts(), "done");
    assert_eq!(stays.await.unwrap().texts(), "done");
    // One with a key runs on without its caller.
    reached(&server, 3).await;
    gateway.remote.shut_down(SOON).await;
    let mut calls = server.calls();
    calls.sort();
    let mut wanted = [call("1", None), call("3", Some("k")), call("4", Some("other"))];
    wanted.sort();
    assert_eq!(calls, wanted);
}

#[tokio::test]
async fn a_lock_is_held_for_a_call_that_runs_though_its_caller_has_gone() {
    let (store, (server, go)) = (Store::fresh().await, held().await);
    let gateway = Gateway::start(&store, LOCKED, &server.url()).await;
    let first = start(gateway.addr, "1", None);
    reached(&server, 1).await;
    first.abort();
    assert!(first.await.is_err());
    let impatient = Gateway::start(&store, &LOCKED.replace("20s", "500ms"), &server.url()).await;
    eventually(SOON, "the note says why", || async {
        let got = post(impatient.addr, &[BOTH], &call("2", None)).await;
        assert_eq!(got.problem().as_deref(), Some("lock_busy"), "{got:?}");
        got.body.contains("its client has gone")
    })
    .await;
    go.add_permits(9);
    assert_eq!(start(gateway.addr, "3", None).await.unwrap().texts(), "done");
    assert_eq!(server.calls().len(), 2);
}

/// An upstream that answers with events which the test sends.
async fn streaming() -> (Server, Arc<Mutex<Vec<mpsc::UnboundedSender<Bytes>>>>) {
    let streams: Arc<Mutex<Vec<mpsc::UnboundedSender<Bytes>>>> = Arc::default();
    let all = Arc::clone(&streams);
    let server = Server::start(move |_| {
        let (to, from) = mpsc::unbounded_channel();
        all.lock().unwrap().push(to);
        async { Reply::Events(from) }
    });
    (server.await, streams)
}

#[tokio::test]
async fn a_call_that_locks_nothing_and_has_no_key_is_cancelled_with_its_connection() {
    let store = Store::fresh().await;
    // Guarded only by a limit; and not guarded at all.
    for policy in [format!("{WRITES}concurrency = 5\n"), WRITES.to_owned()] {
        let (server, streams) = streaming().await;
        let gateway = Gateway::start(&store, &policy, &server.url()).await;
        let answer = open(gateway.addr, &[BOTH], &call("1", None)).await.unwrap();
        let stream = streams.lock().unwrap().pop().unwrap();
        assert!(!stream.is_closed(), "void: it is closed already");
        drop(answer);
        tokio::time::timeout(SOON, stream.closed()).await.expect("the upstream sees that its caller has gone");
    }
}

#[tokio::test]
async fn events_before_the_answer_arrive_while_the_call_runs() {
    let store = Store::fresh().await;
    let (server, streams) = streaming().await;
    let gateway = Gateway::start(&store, LOCKED, &server.url()).await;
    let mut answer = open(gateway.addr, &[BOTH], &call("1", Some("k"))).await.unwrap();
    let stream = streams.lock().unwrap().pop().unwrap();
    for event in [": ping\n", "id: 1\ndata: {\"method\":\"notifications/progress\"}\n\n"] {
        stream.send(Bytes::from_static(event.as_bytes())).unwrap();
        let chunk = tokio::time::timeout(SOON, answer.frame()).await.unwrap().unwrap().unwrap();
        assert_eq!(chunk.into_data().unwrap(), event);
    }
    let last = "id: 2\ndata: {\"id\":1,\"result\":{\"content\":[]}}\n\n";
    stream.send(Bytes::from_static(last.as_bytes())).unwrap();
    let rest =
        tokio::time::timeout(SOON, answer.collect()).await.expect("the answer ends the stream").unwrap().to_bytes();
    assert_eq!(rest, last);
    let again = post(gateway.addr, &[BOTH], &call("2", Some("k"))).await;
    assert!(again.is_replay() && again.headers["content-type"] == "application/json", "{again:?}");
}

#[tokio::test]
async fn a_stream_that_its_server_ends_early_is_taken_up_where_it_was() {
    let store = Store::fresh().await;
    let server = Server::start(|seen: Seen| async move {
        match (seen.method.as_str(), seen.headers.get("last-event-id").map(|id| id.to_str().unwrap())) {
            ("POST", _) => Reply::events(&["id: p1\nretry: 10\ndata: \n\n"]),
            ("GET", Some("p1")) => Reply::events(&["id: p2\ndata: {\"method\":\"notifications/x\"}\n\n"]),
            ("GET", Some("p2")) => Reply::events(&["id: p3\ndata: {\"id\":1,\"result\":{\"content\":[]}}\n\n"]),
            _ => Reply::Whole(400, vec![], String::new()),
        }
    })
    .await;
    let gateway = Gateway::start(&store, LOCKED, &server.url()).await;
    let got = post(gateway.addr, &[BOTH, SESSION], &call("1", Some("k"))).await;
    assert_eq!(
        got.body,
        "id: p1\nretry: 10\ndata: \n\nid: p2\ndata: {\"method\":\"notifications/x\"}\n\nid: p3\ndata: {\"id\":1,\"result\":{\"content\":[]}}\n\n"
    );
    assert_eq!(server.seen().iter().filter(|seen| seen.method == "POST").count(), 1, "the call was sent again");
    assert!(server.seen().iter().all(|seen| seen.headers["mcp-session-id"] == "s"));
}

#[tokio::test]
async fn a_gateway_that_stops_waits_for_what_runs_and_then_says_what_it_does_not_know() {
    let (store, (server, go)) = (Store::fresh().await, held().await);
    let gateway = Gateway::start(&store, WRITES, &server.url()).await;
    let patient = start(gateway.addr, "1", Some("a"));
    reached(&server, 1).await;
    let stopping = tokio::spawn({
        let remote = Arc::clone(&gateway.remote);
        async move { remote.shut_down(SOON).await }
    });
    eventually(SOON, "nothing new is taken", || async {
        post(gateway.addr, &[BOTH], &call("9", None)).await.status == 503
    })
    .await;
    assert!(!stopping.is_finished());
    go.add_permits(1);
    stopping.await.unwrap();
    assert_eq!(patient.await.unwrap().texts(), "done");

    let gateway = Gateway::start(&store, WRITES, &server.url()).await;
    let hangs = start(gateway.addr, "2", Some("b"));
    reached(&server, 2).await;
    gateway.remote.shut_down(Duration::from_millis(100)).await;
    assert_eq!(hangs.await.unwrap().problem().as_deref(), Some("outcome_unknown"));
    let other = Gateway::start(&store, WRITES, &server.url()).await;
    assert_eq!(start(other.addr, "3", Some("b")).await.unwrap().problem().as_deref(), Some("outcome_unknown"));
    assert_eq!(start(other.addr, "3", Some("a")).await.unwrap().texts(), "done");
    assert_eq!(server.calls().len(), 2);
}

#[tokio::test]
async fn an_upstream_that_never_answers_is_given_up_after_max_hold() {
    let (store, (server, _go)) = (Store::fresh().await, held().await);
    let gateway = Gateway::start(&store, &format!("{LOCKED}max_hold = \"300ms\"\n"), &server.url()).await;
    for id in ["1", "2"] {
        let got = start(gateway.addr, id, None).await.unwrap();
        assert_eq!(got.problem().as_deref(), Some("outcome_unknown"), "{got:?}");
        assert!(got.body.contains("max_hold"));
    }
    assert_eq!(server.calls().len(), 2);
}

#[tokio::test]
async fn locks_make_a_race_of_the_upstream_harmless() {
    let store = Store::fresh().await;
    for (policy, loses) in [(LOCKED, false), (WRITES, true)] {
        let total = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let shared = Arc::clone(&total);
        let server = Server::start(move |seen: Seen| {
            let total = Arc::clone(&shared);
            async move {
                // Read, think, write: a lost update if two do it at once.
                let read = total.load(Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(10)).await;
                total.store(read + 1, Ordering::SeqCst);
                Reply::json(seen.result("{}"))
            }
        })
        .await;
        let (a, b) =
            (Gateway::start(&store, policy, &server.url()).await, Gateway::start(&store, policy, &server.url()).await);
        let calls: Vec<_> =
            (0..20).map(|n| start(if n % 2 == 0 { a.addr } else { b.addr }, &n.to_string(), None)).collect();
        for got in futures_util::future::join_all(calls).await {
            assert_eq!(got.unwrap().problem(), None);
        }
        let total = total.load(Ordering::SeqCst);
        assert_eq!(total < 20, loses, "{total} of 20 writes; a control that loses nothing makes this test void");
    }
}
