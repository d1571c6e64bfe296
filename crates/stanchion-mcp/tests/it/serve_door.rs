//! Who is let in, and what is wrong with a request before any server sees it.

use http::Method;
use serde_json::json;

use crate::serve_support::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_turned_away_for_its_own_reason() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let (client, session) = (house.client(), house.session().await);
    let list = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/list"}).to_string();
    let huge = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#, "x".repeat(1 << 20));
    let rows: Vec<(&str, Client, Method, &str, u16)> = vec![
        ("fine", session.clone(), Method::POST, &list, 200),
        ("fine with a slash", session.at("/ledger/"), Method::POST, &list, 200),
        ("unknown path", session.at("/nothing"), Method::POST, &list, 404),
        ("unknown session", session.with("mcp-session-id", "0123"), Method::POST, &list, 404),
        ("no session", session.without("mcp-session-id"), Method::POST, &list, 400),
        ("no JSON", session.clone(), Method::POST, "{", 400),
        ("empty", session.clone(), Method::POST, "", 400),
        ("no message", session.clone(), Method::POST, "{}", 400),
        ("an id that is none", session.clone(), Method::POST, r#"{"id":null,"method":"tools/list"}"#, 400),
        ("a member twice", session.clone(), Method::POST, r#"{"id":1,"id":2,"method":"tools/list"}"#, 400),
        ("unknown version", session.with("mcp-protocol-version", "1999-01-01"), Method::POST, &list, 400),
        ("method", session.clone(), Method::PUT, &list, 405),
        ("what it takes", session.with("accept", "application/json"), Method::POST, &list, 406),
        ("a stream it does not take", session.with("accept", "application/json"), Method::GET, "", 406),
        ("what it sends", session.with("content-type", "text/plain"), Method::POST, &list, 415),
        ("too large", session.clone(), Method::POST, &huge, 413),
        ("host", client.with("host", "evil.test"), Method::POST, &list, 403),
        (
            "host with our port",
            client.with("host", &format!("evil.test:{}", house.addr.port())),
            Method::POST,
            &list,
            403,
        ),
        ("allowed host", session.with("host", "mcp.test"), Method::POST, &list, 200),
        ("origin", session.with("origin", "https://evil.test"), Method::POST, &list, 403),
        ("origin of a local page", session.with("origin", "http://localhost:3000"), Method::POST, &list, 200),
        ("allowed origin", session.with("origin", "https://app.test"), Method::POST, &list, 200),
    ];
    for (what, client, method, body, status) in rows {
        let got = client.send(method, body.to_owned()).await;
        assert_eq!(got.status, status, "{what}: {got:?}");
    }
    let unknown = session.at("/nothing").send(Method::POST, list.clone()).await;
    assert!(unknown.text.contains("/ledger"), "{unknown:?}");
    let wrong = session.send(Method::PUT, list).await;
    assert_eq!(wrong.header("allow"), "GET, POST, DELETE");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_known_token_comes_in() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup { principals: principals(), ..Setup::default() }).await;
    let client = house.client();
    let none = client.post(&initialize(1)).await;
    assert_eq!((none.status, none.header("www-authenticate")), (401, "Bearer"));
    let wrong = client.named("mallory").post(&initialize(1)).await;
    assert_eq!((wrong.status, wrong.header("www-authenticate")), (401, "Bearer error=\"invalid_token\""));
    assert!(!wrong.text.contains("mallory"), "{wrong:?}");
    assert_eq!(client.named("alice").post(&initialize(1)).await.status, 200);
    // Whoever only asks how we are needs none; what is counted is for those who may call.
    for (path, status) in [("/healthz", 200), ("/readyz", 200), ("/metrics", 401)] {
        assert_eq!(client.at(path).send(Method::GET, "").await.status, status, "{path}");
    }
    assert_eq!(client.named("bob").at("/metrics").send(Method::GET, "").await.text, "up 1\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_names_each_server() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let got = house.client().at("/readyz").send(Method::GET, "").await;
    assert_eq!(got.answer(), &json!({"ready": true, "store": true, "stopping": false, "servers": {"ledger": true}}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_for_other_machines_needs_tokens() {
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    let refused = stanchion_mcp::serve::Serve::new().run(listener, std::future::pending()).await.unwrap_err();
    assert_eq!(refused.kind(), stanchion_core::ErrorKind::Invalid);
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    let allowed = stanchion_mcp::serve::Serve::new().allow_anonymous(true);
    allowed.run(listener, std::future::ready(())).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_failing_server_is_named_and_only_all_of_them_make_it_unready() {
    let store = Store::fresh().await;
    let nothing = || Some(vec!["/no/such/program"]);
    let half = House::start(&store, Setup { other: nothing(), ..Setup::default() }).await;
    let ready = async |house: &House| house.client().at("/readyz").send(Method::GET, "").await;
    for (path, message) in [("/other", initialize(1)), ("/ledger", initialize(1))] {
        half.client().at(path).post(&message).await;
    }
    let got = ready(&half).await;
    assert_eq!((got.status, &got.answer()["ready"]), (200, &json!(true)), "{got:?}");
    assert_eq!(got.answer()["servers"], json!({"ledger": true, "other": false}));
    // Control.
    let none = House::start(&store, Setup { instead: nothing(), other: nothing(), ..Setup::default() }).await;
    for path in ["/other", "/ledger"] {
        assert_eq!(none.client().at(path).post(&initialize(1)).await.problem(), Some("upstream_failed"));
    }
    assert_eq!(ready(&none).await.status, 503);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_an_allowed_origin_may_ask_and_read_and_no_others() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup { principals: principals(), ..Setup::default() }).await;
    let from = |origin: &str| house.client().with("origin", origin);
    let asks = |origin: &str| {
        let names = "authorization, mcp-method, mcp-param-region, x-other";
        let client = from(origin).with("access-control-request-method", "POST");
        client.with("access-control-request-headers", names)
    };
    // A browser sends no token with it.
    let got = asks("https://app.test").send(Method::OPTIONS, "").await;
    assert_eq!((got.status, got.header("access-control-allow-origin")), (204, "https://app.test"), "{got:?}");
    assert_eq!(got.header("access-control-allow-methods"), "GET, POST, DELETE");
    let allowed: Vec<&str> = got.header("access-control-allow-headers").split(", ").collect();
    for name in ["accept", "authorization", "content-type", "idempotency-key", "last-event-id", "mcp-session-id"] {
        assert!(allowed.contains(&name), "{name}: {got:?}");
    }
    assert!(allowed.contains(&"mcp-param-region") && !allowed.contains(&"x-other"), "{got:?}");
    let got = from("https://app.test").named("alice").post(&initialize(1)).await;
    assert_eq!((got.status, got.header("access-control-allow-origin")), (200, "https://app.test"));
    assert_eq!((got.header("vary"), got.header("mcp-session-id").len()), ("Origin", 32));
    assert_eq!(got.header("access-control-expose-headers"), "mcp-session-id, idempotent-replayed");
    // A page must be able to read why it was turned away.
    let got = from("https://app.test").post(&initialize(1)).await;
    assert_eq!((got.status, got.header("access-control-allow-origin")), (401, "https://app.test"));
    for (origin, status) in [("https://evil.test", 403), ("http://localhost:3000", 401)] {
        let got = asks(origin).send(Method::OPTIONS, "").await;
        assert_eq!(got.status, status, "{origin}: {got:?}");
        assert!(!got.headers.keys().any(|name| name.as_str().starts_with("access-control")), "{origin}: {got:?}");
    }
    let plain = house.client().named("alice").post(&initialize(1)).await;
    assert!(!plain.headers.contains_key("access-control-allow-origin"), "{plain:?}");
}
