//! What each answer of an upstream says of the call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::HeaderValue;

use super::support::*;

/// What the upstream says to a call.
type Says = fn(Seen) -> Reply;

/// What the next call with the key of the first finds.
#[derive(Debug, PartialEq)]
enum Next {
    /// The first did not run: this one does.
    Runs,
    /// The first one's answer.
    Replay,
    Unknown,
}

/// The upstream's first answer, what the caller sees of it (status and type of problem), and what a second call finds.
async fn first_then(reply: Says) -> (Got, Next, usize) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::sqlite(folder.path()).await;
    let is_first = Arc::new(AtomicBool::new(true));
    let server = Server::start(move |seen: Seen| {
        let first = is_first.swap(false, Ordering::SeqCst);
        async move { if first { reply(seen) } else { Reply::json(seen.result(r#"{"content":[{"text":"second"}]}"#)) } }
    })
    .await;
    let gateway = Gateway::start(&store, LOCKED, &server.url()).await;
    let got = post(gateway.addr, &[BOTH, ("mcp-session-id", "s")], &call("1", Some("k"))).await;
    let again = post(gateway.addr, &[BOTH], &call("2", Some("k"))).await;
    let next = match (again.is_replay(), again.problem().as_deref()) {
        (_, Some("outcome_unknown")) => Next::Unknown,
        (true, _) => Next::Replay,
        (false, None) if again.texts() == "second" => Next::Runs,
        _ => panic!("{again:?}"),
    };
    (got, next, server.calls().len())
}

#[tokio::test]
async fn a_refusal_is_passed_on_as_it_is_and_the_key_is_free_again() {
    let rows: [(u16, Says); 7] = [
        (401, |_| Reply::Whole(401, vec![("www-authenticate", "Bearer resource_metadata=\"x\"")], "who?".into())),
        (403, |_| Reply::Whole(403, vec![("x-why", "scope")], String::new())),
        (404, |_| {
            Reply::Whole(404, vec![], r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"gone"},"id":null}"#.into())
        }),
        (400, |_| {
            Reply::Whole(
                400,
                vec![],
                r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"no session"},"id":null}"#.into(),
            )
        }),
        (503, |_| Reply::Whole(503, vec![("retry-after", "7")], "later".into())),
        (429, |_| Reply::Whole(429, vec![("retry-after", "7")], "later".into())),
        (400, |seen| {
            let body =
                seen.result("0").replace(r#""result":0"#, r#""error":{"code":-32020,"message":"HeaderMismatch"}"#);
            Reply::Whole(400, vec![("x-err", "1")], body)
        }),
    ];
    for (status, reply) in rows {
        let (got, next, calls) = first_then(reply).await;
        let said = Seen {
            method: String::new(),
            target: String::new(),
            headers: Default::default(),
            body: call("1", None).into(),
        };
        let Reply::Whole(_, headers, body) = reply(said) else { unreachable!() };
        assert_eq!((got.status, got.body), (status, body));
        for (name, value) in headers {
            assert_eq!(got.headers.get(name), Some(&HeaderValue::from_static(value)));
        }
        assert_eq!((next, calls), (Next::Runs, 2), "{status}");
    }
}

#[tokio::test]
async fn an_answer_with_our_id_is_kept_with_its_status_for_the_first_caller() {
    let (got, next, calls) = first_then(|seen| {
        let body = seen.result("0").replace(r#""result":0"#, r#""error":{"code":-32602,"message":"bad argument"}"#);
        Reply::Whole(400, vec![("content-type", "application/json")], body)
    })
    .await;
    assert_eq!((got.status, next, calls), (400, Next::Replay, 1));
    assert!(got.body.contains("bad argument"));
    let (got, next, _) = first_then(|seen| Reply::json(seen.result(r#"{"content":[],"isError":true}"#))).await;
    assert_eq!((got.status, got.is_replay(), next), (200, false, Next::Replay));
}

#[tokio::test]
async fn whatever_else_is_said_is_unknown_and_never_sent_again() {
    let rows: [Says; 9] = [
        |_| Reply::Whole(500, vec![], "broken".into()),
        |seen| {
            Reply::Whole(502, vec![], seen.result("0").replace(r#""result":0"#, r#""error":{"code":1,"message":"x"}"#))
        },
        |_| Reply::Whole(503, vec![], String::new()),
        |_| Reply::Whole(202, vec![], String::new()),
        |_| Reply::json(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#),
        |_| Reply::json(r#"{"jsonrpc":"2.0","id":1,"resu"#),
        |_| Reply::events(&["data: {\"method\":\"notifications/x\"}\n\n"]),
        |_| Reply::events(&["data: {\"id\":1,\"result\":"]),
        |_| Reply::Cut,
    ];
    for (nth, reply) in rows.into_iter().enumerate() {
        let (got, next, calls) = first_then(reply).await;
        let told = if got.headers["content-type"] == "text/event-stream" {
            got.body.contains(r#""type":"outcome_unknown""#).then(|| "outcome_unknown".to_owned())
        } else {
            got.problem()
        };
        assert_eq!(
            (got.status, told.as_deref(), next, calls),
            (200, Some("outcome_unknown"), Next::Unknown, 1),
            "row {nth}: {got:?}"
        );
    }
}

#[tokio::test]
async fn without_a_connection_nothing_ran() {
    let store = Store::fresh().await;
    // Bound, so that nobody else takes the port, and not listening.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let addr = socket.local_addr().unwrap();
    let gateway = Gateway::start(&store, LOCKED, &format!("http://{addr}/mcp")).await;
    let got = post(gateway.addr, &[BOTH], &call("1", Some("k"))).await;
    assert_eq!((got.status, got.problem().as_deref()), (200, Some("upstream_failed")), "{got:?}");
    assert!(got.body.contains(r#""mayHaveExecuted":false"#));
    let other = post(gateway.addr, &[BOTH], r#"{"id":1,"method":"tools/list"}"#).await;
    assert_eq!((other.status, other.problem().as_deref()), (502, Some("upstream_failed")));
    use stanchion_mcp::serve::Endpoint as _;
    assert!(!gateway.remote.is_ready().await);
    // When it is back, the same key runs.
    let server = Server::at(socket.listen(16).unwrap(), |seen: Seen| async move { Reply::json(seen.result("{}")) });
    assert!(gateway.remote.is_ready().await);
    let got = post(gateway.addr, &[BOTH], &call("2", Some("k"))).await;
    assert_eq!((got.problem(), got.is_replay(), server.calls().len()), (None, false, 1), "{got:?}");
}

#[tokio::test]
async fn what_cannot_be_read_reaches_no_upstream() {
    let store = Store::fresh().await;
    let (server, _) = Server::counting().await;
    let gateway = Gateway::start(&store, LOCKED, &server.url()).await;
    let twice = r#"{"id":1,"method":"ping","method":"tools/call","params":{"name":"add"}}"#;
    let batch = format!("[{},{}]", r#"{"id":9,"method":"ping"}"#, call("1", None));
    let no_id = r#"{"method":"tools/call","params":{"name":"add"}}"#;
    let no_name = r#"{"id":1,"method":"tools/call","params":{}}"#;
    for (body, wanted) in [
        ("", "parse_error"),
        ("{", "parse_error"),
        ("7", "parse_error"),
        ("[{", "parse_error"),
        (twice, "parse_error"),
        (batch.as_str(), "invalid_request"),
        (no_id, "invalid_request"),
        (no_name, "invalid_request"),
    ] {
        let got = post(gateway.addr, &[BOTH], body).await;
        assert_eq!((got.status, got.problem().as_deref()), (400, Some(wanted)), "{body}");
    }
    let got = post(gateway.addr, &[BOTH, ("idempotency-key", "\"a")], &call("1", None)).await;
    assert_eq!(got.problem().as_deref(), Some("idempotency_key_invalid"));
    assert!(server.seen().is_empty(), "{:?}", server.seen());
}

#[tokio::test]
async fn hints_are_asked_for_once_and_for_the_caller() {
    let store = Store::fresh().await;
    let server = Server::start(|seen: Seen| async move {
        match seen.rpc().as_str() {
            "tools/list" if !seen.text().contains("cursor") => {
                let page = seen.result(r#"{"tools":[{"name":"other"}],"nextCursor":"2"}"#);
                Reply::events(&[&format!("data: {{\"method\":\"notifications/x\"}}\n\ndata: {page}\n\n")])
            }
            "tools/list" => {
                Reply::json(seen.result(r#"{"tools":[{"name":"add","annotations":{"readOnlyHint":true}}]}"#))
            }
            _ => Reply::json(seen.result("{}")),
        }
    })
    .await;
    let own = http::HeaderMap::from_iter([(http::header::AUTHORIZATION, "Bearer up".parse().unwrap())]);
    let gateway = Gateway::with(&store, "[servers.s]\nlock = \"all\"\n", &server.url(), own).await;
    let headers = [
        BOTH,
        ("mcp-session-id", "s"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "add"),
    ];
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    for _ in 0..2 {
        assert_eq!(post(gateway.addr, &headers, body).await.status, 200);
    }
    let seen = server.seen();
    assert_eq!(
        seen.iter().map(Seen::rpc).collect::<Vec<_>>(),
        ["tools/list", "tools/list", "tools/call", "tools/call"]
    );
    for list in &seen[..2] {
        let wanted = [
            ("mcp-session-id", "s"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/list"),
            ("authorization", "Bearer up"),
        ];
        assert!(wanted.iter().all(|(name, value)| list.headers[*name] == **value), "{list:?}");
        assert!(!list.headers.contains_key("mcp-name"));
        assert!(list.text().contains(r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#));
    }
}

#[tokio::test]
async fn the_fence_is_handed_on_as_a_header() {
    let store = Store::fresh().await;
    let (server, _) = Server::counting().await;
    let policy = format!("{LOCKED}fence = \"header:x-fence\"\nurl = \"http://127.0.0.1:1/mcp\"\n");
    let gateway = Gateway::start(&store, &policy, &server.url()).await;
    for id in ["1", "2"] {
        post(gateway.addr, &[BOTH, ("x-fence", "999999")], &call(id, None)).await;
    }
    let fences: Vec<String> =
        server.seen().iter().map(|seen| seen.headers["x-fence"].to_str().unwrap().to_owned()).collect();
    assert!(fences.iter().all(|fence| fence != "999999") && fences[0] != fences[1], "{fences:?}");
}
