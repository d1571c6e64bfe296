//! A tool that asks its client something while it holds a lock, and a client that calls the same server before it answers.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use tokio::sync::mpsc;

use super::support::*;

const SESSION: (&str, &str) = ("mcp-session-id", "s");
const QUESTION: &str = "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/create\",\"params\":{}}\n\n";
const REPLY: &str = r#"{"jsonrpc":"2.0","id":"q","result":{"action":"accept"}}"#;

/// The tool `add` asks, and ends when it is answered; the question comes on its own stream or on the session's.
async fn asking(on_own_stream: bool) -> Server {
    type Streams = Arc<Mutex<Vec<mpsc::UnboundedSender<Bytes>>>>;
    let (calls, gets) = (Streams::default(), Streams::default());
    Server::start(move |seen: Seen| {
        let say = |streams: &Streams, event: String| {
            if let Some(to) = streams.lock().unwrap().first() {
                to.send(Bytes::from(event)).unwrap();
            }
        };
        let reply = match (seen.method.as_str(), seen.rpc().as_str()) {
            ("GET", _) | (_, "tools/call") => {
                let (to, from) = mpsc::unbounded_channel();
                let is_call = seen.method == "POST";
                (if is_call { &calls } else { &gets }).lock().unwrap().push(to);
                if is_call {
                    say(if on_own_stream { &calls } else { &gets }, QUESTION.to_owned());
                }
                Reply::Events(from)
            }
            _ => {
                if seen.text() == REPLY {
                    say(&calls, "data: {\"id\":1,\"result\":{\"content\":[]}}\n\n".to_owned());
                }
                Reply::Whole(202, vec![], String::new())
            }
        };
        async { reply }
    })
    .await
}

#[tokio::test]
async fn a_call_that_would_wait_for_its_own_client_is_refused_and_the_first_one_ends() {
    for on_own_stream in [true, false] {
        let store = Store::fresh().await;
        let server = asking(on_own_stream).await;
        let gateway = Gateway::start(&store, LOCKED, &server.url()).await;
        let client = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new()).build_http();
        let get = request(gateway.addr, "GET", &[("accept", "text/event-stream"), SESSION], "");
        let mut session = client.request(get).await.unwrap();
        let mut first = open(gateway.addr, &[BOTH, SESSION], &call("1", None)).await.unwrap();
        let asked = if on_own_stream { first.frame().await } else { session.frame().await };
        assert_eq!(asked.unwrap().unwrap().into_data().unwrap(), QUESTION);
        let began = std::time::Instant::now();
        let nested = post(gateway.addr, &[BOTH, SESSION], &call("2", None)).await;
        assert_eq!(nested.problem().as_deref(), Some("deadlock"), "{nested:?}");
        assert!(began.elapsed().as_secs() < 15, "it was found out by waiting");
        assert_eq!(server.calls().len(), 1);
        // Another client's call waits for the lock as for any other.
        let other = Gateway::start(&store, &LOCKED.replace("20s", "1500ms"), &server.url()).await;
        let got = post(other.addr, &[BOTH, ("mcp-session-id", "t")], &call("3", None)).await;
        assert_eq!(got.problem().as_deref(), Some("lock_busy"), "{got:?}");
        assert_eq!(post(gateway.addr, &[BOTH, SESSION], REPLY).await.status, 202);
        let rest = tokio::time::timeout(SOON, first.collect()).await.unwrap().unwrap().to_bytes();
        assert_eq!(rest, "data: {\"id\":1,\"result\":{\"content\":[]}}\n\n");
    }
}
