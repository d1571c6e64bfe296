//! Ways around the guard: what an upstream could read otherwise than we do, and where it could send clients.

use std::sync::atomic::Ordering;

use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use super::support::*;

async fn ask(gateway: &Gateway, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Got {
    let client = Client::builder(TokioExecutor::new()).build_http();
    let mut request = request(gateway.addr, method, headers, body);
    *request.uri_mut() = format!("http://{}{target}", gateway.addr).parse().unwrap();
    got(tokio::time::timeout(SOON, client.request(request)).await.unwrap().unwrap()).await
}

#[tokio::test]
async fn a_body_that_its_server_would_decode_otherwise_is_refused() {
    let (store, (server, _)) = (Store::fresh().await, Server::counting().await);
    let gateway = Gateway::start(&store, LOCKED, &server.url()).await;
    let hidden = r#"{"jsonrpc":"2.0","id":1,"method":"tools+AC8-call","params":{"name":"add"}}"#;
    for headers in [
        &[BOTH, ("content-type", "application/json; charset=utf-7")][..],
        &[BOTH, ("content-type", "application/json"), ("content-type", "application/json; charset=utf-7")],
        &[BOTH, ("content-type", "application/json"), ("content-encoding", "deflate")],
    ] {
        let got = ask(&gateway, "POST", "/s", headers, hidden).await;
        assert_eq!((got.status, got.problem().as_deref()), (415, Some("invalid_request")), "{headers:?} {got:?}");
    }
    assert!(server.seen().is_empty(), "{:?}", server.seen());
    let plain = [BOTH, ("content-type", "application/json; charset=UTF-8"), ("content-encoding", "identity")];
    assert_eq!(ask(&gateway, "POST", "/s", &plain, hidden).await.status, 202);
    assert_eq!(ask(&gateway, "POST", "/s", &plain, &call("1", None)).await.texts(), "1");
}

#[tokio::test]
async fn a_client_is_not_sent_past_us() {
    // 302 and 303 are also said by servers that have done what was asked: nobody knows.
    for (status, problem) in
        [(301, "upstream_failed"), (307, "upstream_failed"), (308, "upstream_failed"), (303, "outcome_unknown")]
    {
        for (policy, key) in [(LOCKED, Some("k")), (WRITES, None)] {
            let store = Store::fresh().await;
            let moved = Server::start(move |_| async move {
                let headers = vec![("location", "http://elsewhere.test/mcp?secret=s3cret"), ("x-up", "1")];
                Reply::Whole(status, headers, String::new())
            });
            let moved = moved.await;
            let gateway = Gateway::start(&store, policy, &moved.url()).await;
            let got = post(gateway.addr, &[BOTH], &call("1", key)).await;
            assert_eq!((got.status, got.problem().as_deref()), (200, Some(problem)), "{status} {got:?}");
            assert!(got.body.contains("http://elsewhere.test/mcp") && !got.body.contains("s3cret"), "{got:?}");
            assert!(!got.headers.contains_key("location") && moved.calls().len() == 1);
            let other = post(gateway.addr, &[BOTH], r#"{"id":1,"method":"tools/list"}"#).await;
            assert_eq!((other.status, other.problem().as_deref()), (502, Some(problem)), "{other:?}");
            let get = ask(&gateway, "GET", "/s", &[("accept", "text/event-stream")], "").await;
            assert_eq!((get.status, get.headers.get("location")), (502, None), "{get:?}");
            // Where nothing ran, the key is free when the policy names the right place.
            if key.is_some() && problem == "upstream_failed" {
                let (server, effects) = Server::counting().await;
                let repaired = Gateway::start(&store, policy, &server.url()).await;
                let again = post(repaired.addr, &[BOTH], &call("2", key)).await;
                assert_eq!((again.texts().as_str(), effects.load(Ordering::SeqCst)), ("1", 1), "{again:?}");
            }
        }
    }
}

#[tokio::test]
async fn only_methods_of_the_protocol_pass_and_bodies_only_with_post() {
    let (store, (server, effects)) = (Store::fresh().await, Server::counting().await);
    let gateway = Gateway::start(&store, LOCKED, &server.url()).await;
    for method in ["PUT", "PATCH", "TRACE", "QUERY", "MKCOL"] {
        let got = ask(&gateway, method, "/s", &[BOTH], &call("1", None)).await;
        assert_eq!((got.status, got.headers.contains_key("allow")), (405, true), "{method} {got:?}");
    }
    assert!(server.seen().is_empty());
    for method in ["GET", "DELETE", "OPTIONS"] {
        assert_eq!(ask(&gateway, method, "/s", &[BOTH], &call("1", None)).await.status, 202, "{method}");
        let seen = server.seen().pop().unwrap();
        assert_eq!((seen.method.as_str(), seen.body.len()), (method, 0));
    }
    let overridden = [BOTH, ("x-http-method-override", "PUT"), ("x-method-override", "PUT"), ("x-http-method", "PUT")];
    post(gateway.addr, &overridden, &call("1", None)).await;
    let seen = server.seen().pop().unwrap();
    assert!(overridden[1..].iter().all(|(name, _)| !seen.headers.contains_key(*name)), "{seen:?}");
    assert_eq!(effects.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_fence_that_a_caller_has_made_up_goes_nowhere() {
    let (store, (server, _)) = (Store::fresh().await, Server::counting().await);
    // Only `add` has a lock, and with it a fence.
    let policy = "[servers.s]\neffect = \"non_idempotent\"\nurl = \"http://127.0.0.1:1/mcp\"\n[servers.s.tools.add]\nlock = \"all\"\nfence = \"header:X-Fence\"\n";
    let gateway = Gateway::start(&store, policy, &server.url()).await;
    let made_up = [BOTH, ("x-fence", "999999")];
    let other = call("1", None).replace(r#""add""#, r#""other""#);
    for body in [&other, r#"{"id":1,"method":"ping"}"#] {
        post(gateway.addr, &made_up, body).await;
    }
    ask(&gateway, "GET", "/s", &made_up, "").await;
    assert_eq!(server.seen().len(), 3);
    assert!(server.seen().iter().all(|seen| !seen.headers.contains_key("x-fence")), "{:?}", server.seen());
    post(gateway.addr, &made_up, &call("2", None)).await;
    let fence = server.seen().pop().unwrap().headers["x-fence"].clone();
    assert_ne!(fence, "999999");
}

#[tokio::test]
async fn parameters_of_the_policys_address_are_not_a_callers_to_set() {
    let (store, (server, _)) = (Store::fresh().await, Server::counting().await);
    let gateway = Gateway::start(&store, LOCKED, &format!("{}?tenant=a", server.url())).await;
    ask(&gateway, "POST", "/s?tenant=b&x=1&%74enant=c", &[BOTH], &call("1", None)).await;
    assert_eq!(server.seen().pop().unwrap().target, "/mcp?tenant=a&x=1");
}

#[tokio::test]
async fn cookies_of_the_upstream_stay_there() {
    let store = Store::fresh().await;
    let server = Server::start(|seen: Seen| async move {
        Reply::Whole(200, vec![("content-type", "application/json"), ("set-cookie", "a=b")], seen.result("{}"))
    })
    .await;
    for policy in [LOCKED, WRITES] {
        let gateway = Gateway::start(&store, policy, &server.url()).await;
        let got = post(gateway.addr, &[BOTH], &call("1", None)).await;
        assert_eq!((got.status, got.headers.get("set-cookie")), (200, None));
    }
}

#[tokio::test]
async fn an_answer_whose_stream_is_broken_off_behind_it_is_a_whole_event() {
    let store = Store::fresh().await;
    let server =
        Server::start(|seen: Seen| async move { Reply::events(&[&format!("data: {}", seen.result("{}"))]) }).await;
    let gateway = Gateway::start(&store, LOCKED, &server.url()).await;
    let got = post(gateway.addr, &[BOTH], &call("1", Some("k"))).await;
    assert_eq!(got.body, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n");
}
