//! A client that takes up the stream of its call itself: the answer comes there, and is the call's all the same.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use tokio::sync::mpsc;

use super::support::*;

const SESSION: (&str, &str) = ("mcp-session-id", "s");
const ANSWER: &str = "id: 3\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"text\":\"once\"}]}}\n\n";

type Streams = Arc<Mutex<Vec<(String, mpsc::UnboundedSender<Bytes>)>>>;

/// Whoever takes up the stream of a call has it alone; the call's own is silent from then on, or ends.
async fn taken_over(first_ends: bool) -> (Server, Streams) {
    let streams = Streams::default();
    let all = Arc::clone(&streams);
    let server = Server::start(move |seen: Seen| {
        let (to, from) = mpsc::unbounded_channel();
        let mut all = all.lock().unwrap();
        let reply = if seen.method == "GET" && all.iter().any(|(method, _)| method == "GET") {
            Reply::Whole(409, vec![], "somebody has it".to_owned())
        } else {
            if seen.method == "POST" {
                to.send(Bytes::from_static(b"id: 1\nretry: 10\ndata: \n\n")).unwrap();
            } else if first_ends {
                all.retain(|(method, _)| method != "POST");
            }
            all.push((seen.method, to));
            Reply::Events(from)
        };
        async { reply }
    });
    (server.await, streams)
}

#[tokio::test]
async fn an_answer_that_comes_on_a_stream_its_client_took_up_is_recorded_and_then_passed_on() {
    for first_ends in [false, true] {
        let store = Store::fresh().await;
        let (server, streams) = taken_over(first_ends).await;
        let gateway = Gateway::start(&store, LOCKED, &server.url()).await;
        let mut first = open(gateway.addr, &[BOTH, SESSION], &call("1", Some("k"))).await.unwrap();
        first.frame().await.unwrap().unwrap();
        drop(first);
        let client = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new()).build_http();
        let headers = [("accept", "text/event-stream"), SESSION, ("last-event-id", "1")];
        let resumed = client.request(request(gateway.addr, "GET", &headers, "")).await.unwrap();
        assert_eq!(resumed.status(), 200, "void: the client did not get the stream");
        if first_ends {
            // We ask for it, too, and are refused: the client's answer has to be waited for.
            stanchion_testkit::eventually(SOON, "we have asked", || async { server.seen().len() == 3 }).await;
        }
        let to = streams.lock().unwrap().iter().find(|(method, _)| method == "GET").unwrap().1.clone();
        to.send(Bytes::from_static(ANSWER.as_bytes())).unwrap();
        let mut resumed = resumed.into_body();
        let told = tokio::time::timeout(SOON, resumed.frame()).await.expect("it is passed on").unwrap().unwrap();
        assert_eq!(told.into_data().unwrap(), ANSWER);
        // It was recorded before it was passed on, and the lock is free.
        let again = post(gateway.addr, &[BOTH, SESSION], &call("2", Some("k"))).await;
        assert_eq!((again.problem(), again.is_replay(), again.texts().as_str()), (None, true, "once"), "{again:?}");
        assert_eq!(server.calls().len(), 1, "the call was sent again");
        assert_eq!(gateway.remote.under_way(), 0);
    }
}
