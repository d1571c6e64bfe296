//! Every byte arrives as it was sent, in both directions.

use super::support::*;

/// Nothing of this is known to anybody, and no two JSON libraries would write it the same.
const ODD: &str = r#""zz" : 12345678901234567890123, "a":1.0e+2 ,"ü\u00fc":[ null,-0.0, 1E400 ],"" : {"x":{}}"#;

/// A number that is none to us: arguments are read, to name locks and to know a call again.
const TOO_LARGE: &str = "1E400";

fn odd_call(key: bool) -> String {
    let key = if key { r#""dev.stanchion/idempotencyKey" : "k\u0031", "# } else { "" };
    let arguments = ODD.replace(TOO_LARGE, "1E40");
    format!(
        " {{{ODD}, \"params\" : {{ \"arguments\":{{{arguments} }},\"name\":\"add\" , \"_meta\":{{{key}{ODD}}}, {ODD} }},\t\"method\":\"tools\\/call\",\r\n \"id\" : 1.50e0 , \"jsonrpc\":\"2.0\" }}\n"
    )
}

fn odd_answer() -> String {
    format!("\n{{ \"result\":{{{ODD},\"_meta\":{{ {ODD} }},\"content\":[{{{ODD}}}] }} , {ODD},\"id\":1.50e0 }} ")
}

#[tokio::test]
async fn unknown_members_numbers_order_and_whitespace_survive_guarded_or_not() {
    for (policy, keyed) in [(LOCKED, true), (LOCKED, false), (WRITES, false)] {
        let store = Store::fresh().await;
        let server = Server::start(|_| async { Reply::json(odd_answer()) }).await;
        let gateway = Gateway::start(&store, policy, &server.url()).await;
        let sent = odd_call(keyed);
        let got = post(gateway.addr, &[BOTH, ("mcp-param-x", "=?base64?w7w=?="), ("x-odd", "1")], &sent).await;
        assert_eq!(server.seen()[0].text(), sent);
        assert_eq!((got.status, got.body.as_str()), (200, odd_answer().as_str()));
        let seen = &server.seen()[0].headers;
        assert_eq!((value(seen, "mcp-param-x"), value(seen, "x-odd")), ("=?base64?w7w=?=", "1"));
    }
}

#[tokio::test]
async fn other_methods_and_messages_pass_untouched() {
    let store = Store::fresh().await;
    let answer = format!("{{{ODD}, \"id\":\"\\u0041\" ,\"result\" : {{{ODD}}} }}");
    let reply = answer.clone();
    let server = Server::start(move |_| {
        let reply = reply.clone();
        async move {
            Reply::Whole(
                207,
                vec![("content-type", "application/json"), ("x-up", "1"), ("mcp-session-id", "s1")],
                reply,
            )
        }
    })
    .await;
    let gateway = Gateway::start(&store, LOCKED, &server.url()).await;
    for sent in [
        format!("{{ {ODD},\"id\":\"\\u0041\", \"method\":\"none/such\" , \"params\":[{{{ODD}}}] }}"),
        format!("{{\"method\":\"notifications/x\" ,{ODD}}}"),
        format!("{{\"id\":7.00,\"result\":{{{ODD}}}}}"),
        format!("[ {{\"method\":\"ping\",\"id\":1}} , {{{ODD}}} ]"),
    ] {
        let got = post(gateway.addr, &[BOTH, ("mcp-session-id", "s1")], &sent).await;
        assert_eq!(server.seen().pop().unwrap().text(), sent);
        assert_eq!((got.status, got.body.as_str()), (207, answer.as_str()));
        assert_eq!((value(&got.headers, "x-up"), value(&got.headers, "mcp-session-id")), ("1", "s1"));
    }
}

#[tokio::test]
async fn a_stream_of_events_is_the_same_bytes_guarded_or_not() {
    let answer = format!(r#"{{{ODD},"id":1.50e0,"result":{{{ODD}}}}}"#);
    let events = [
        ": welcome\n\nretry: 1234\n\n".to_owned(),
        format!("id: a/1\r\nevent: message\r\ndata: {{\"method\":\"notifications/progress\",{ODD}}}\r\n\r\n"),
        ":keep-alive\n".to_owned(),
        format!("event: other\nid:2\ndata: {answer}\nwhat: ever\n\n"),
        format!("data:{{ {ODD},\ndata:  \"method\":\"notifications/message\"}}\n\n"),
        format!("id: last\nevent: message\ndata: {answer}\n\n"),
    ];
    for (policy, keyed) in [(LOCKED, true), (WRITES, false)] {
        let store = Store::fresh().await;
        let said = events.clone();
        let server = Server::start(move |_| {
            let said = said.clone();
            async move { Reply::events(&said.each_ref().map(String::as_str)) }
        })
        .await;
        let gateway = Gateway::start(&store, policy, &server.url()).await;
        let got = post(gateway.addr, &[BOTH], &odd_call(keyed)).await;
        assert_eq!(got.body, events.concat());
        assert_eq!(
            (value(&got.headers, "content-type"), value(&got.headers, "x-from")),
            ("text/event-stream", "upstream")
        );
        assert_eq!(server.calls().len(), 1);
    }
}

#[tokio::test]
async fn streams_sessions_and_queries_of_the_older_era_are_the_upstreams() {
    let store = Store::fresh().await;
    let server = Server::start(|seen: Seen| async move {
        match seen.method.as_str() {
            "GET" => Reply::events(&["id: 9\ndata: {\"method\":\"notifications/x\"}\n\n", "data: not whole"]),
            _ => Reply::Whole(405, vec![("allow", "GET")], "no\n".to_owned()),
        }
    })
    .await;
    let gateway = Gateway::start(&store, LOCKED, &server.url()).await;
    let client = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new()).build_http();
    let headers = [("accept", "text/event-stream"), ("mcp-session-id", "s"), ("last-event-id", "8")];
    let mut request = request(gateway.addr, "GET", &headers, "");
    *request.uri_mut() = format!("http://{}/s?a=%20b", gateway.addr).parse().unwrap();
    let got = got(client.request(request).await.unwrap()).await;
    assert_eq!(got.body, "id: 9\ndata: {\"method\":\"notifications/x\"}\n\ndata: not whole");
    let seen = server.seen().pop().unwrap();
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("GET", "/mcp?a=%20b"));
    assert_eq!((value(&seen.headers, "mcp-session-id"), value(&seen.headers, "last-event-id")), ("s", "8"));
    let delete = super::support::request(gateway.addr, "DELETE", &[("mcp-session-id", "s")], "");
    let got = super::support::got(client.request(delete).await.unwrap()).await;
    assert_eq!((got.status, got.body.as_str(), value(&got.headers, "allow")), (405, "no\n", "GET"));
}

#[tokio::test]
async fn what_was_said_to_the_gateway_stays_there_and_the_policys_headers_are_added() {
    let store = Store::fresh().await;
    let (server, _) = Server::counting().await;
    let own = http::HeaderMap::from_iter([(http::header::AUTHORIZATION, "Bearer for-upstream".parse().unwrap())]);
    let gateway = Gateway::with(&store, LOCKED, &server.url(), own).await;
    let headers = [
        BOTH,
        ("authorization", "Bearer ours"),
        ("cookie", "a=b"),
        ("idempotency-key", "\"k\""),
        ("traceparent", "00-1-2-01"),
    ];
    post(gateway.addr, &headers, &call("1", None)).await;
    let seen = server.seen().pop().unwrap().headers;
    assert_eq!((value(&seen, "authorization"), value(&seen, "idempotency-key")), ("Bearer for-upstream", "\"k\""));
    assert_eq!((value(&seen, "traceparent"), seen.get("cookie")), ("00-1-2-01", None));
    assert_eq!(seen["host"], server.addr.to_string());
    // The header is a key: a second call with it is the first one.
    let got = post(gateway.addr, &[BOTH, ("idempotency-key", "k")], &call("2", None)).await;
    assert!(got.is_replay() && server.calls().len() == 1, "{got:?}");
}

#[tokio::test]
async fn our_capability_is_added_to_the_servers_and_nothing_else_changes() {
    for (method, as_events) in [("initialize", false), ("server/discover", false), ("initialize", true)] {
        let store = Store::fresh().await;
        let server = Server::start(move |seen: Seen| async move {
            let answer = format!(r#"{{ "id":1.0,{ODD},"result":{{"capabilities":{{"tools":{{}}, {ODD} }},{ODD}}}}}"#);
            if as_events {
                Reply::events(&[&format!("id: 1\ndata: {answer}\nx: y\n\n")])
            } else {
                drop(seen);
                Reply::json(answer)
            }
        })
        .await;
        let gateway = Gateway::start(&store, LOCKED, &server.url()).await;
        let got = post(gateway.addr, &[BOTH], &format!(r#"{{"id":1,"method":"{method}"}}"#)).await;
        let before = format!(r#"{{ "id":1.0,{ODD},"result":{{"capabilities":{{"#);
        let after = format!(r#","tools":{{}}, {ODD} }},{ODD}}}}}"#);
        let (before, after) =
            if as_events { (format!("id: 1\ndata: {before}"), format!("{after}\nx: y\n\n")) } else { (before, after) };
        let added = got.body.strip_prefix(&before).and_then(|rest| rest.strip_suffix(&after));
        let added = added.unwrap_or_else(|| panic!("{got:?}"));
        let added: serde_json::Value = serde_json::from_str(&format!("{{{added}}}")).unwrap();
        assert!(added["extensions"]["dev.stanchion/idempotency"].is_object(), "{added}");
        if !as_events {
            assert_eq!(got.headers["content-length"], got.body.len().to_string());
        }
    }
}
