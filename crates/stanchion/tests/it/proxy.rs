//! `stanchion proxy` in front of a real HTTP service, with a real client.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::routing::{get, post};
use stanchion_testkit::engines::{Postgres, Redis};
use stanchion_testkit::eventually_sync;

use crate::support::{Home, PATIENCE, signal};

/// Counts what it did; `/slow` waits until it is let go.
struct Upstream {
    address: SocketAddr,
    charges: Arc<AtomicU32>,
    let_go: Arc<tokio::sync::Notify>,
}

async fn upstream() -> Upstream {
    let (charges, let_go) = (Arc::new(AtomicU32::new(0)), Arc::new(tokio::sync::Notify::new()));
    let count = Arc::clone(&charges);
    let charge = move || {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        async move { format!("{{\"charge\":{number}}}") }
    };
    let (slow_charge, gate) = (charge.clone(), Arc::clone(&let_go));
    let slow = move || async move {
        let done = slow_charge().await;
        gate.notified().await;
        done
    };
    let failing = charge.clone();
    let fail = move || async move {
        failing().await;
        (axum::http::StatusCode::INTERNAL_SERVER_ERROR, "half-way")
    };
    let app = axum::Router::new()
        .route("/charge", post(charge.clone()))
        .route("/orders/{id}", post(charge))
        .route("/slow", post(slow))
        .route("/fail", post(fail))
        .route("/health", get(|| async { "fine" }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("sound");
    let address = listener.local_addr().expect("sound");
    tokio::spawn(async move { axum::serve(listener, app).await });
    Upstream { address, charges, let_go }
}

struct Proxy {
    process: Child,
    address: SocketAddr,
}

impl Proxy {
    fn start(home: &Home, upstream: &str, options: &[&str]) -> Self {
        let args = ["proxy", "--listen", "127.0.0.1:0", "--upstream", upstream, "--principal", "secret:authorization"];
        let mut process =
            home.command(&[&args[..], options].concat()).stderr(Stdio::piped()).spawn().expect("the proxy starts");
        let mut lines = BufReader::new(process.stderr.take().expect("stderr"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("it says where it listens");
        let address = line.split("at http://").nth(1).and_then(|rest| rest.split(',').next()).expect(&line);
        let address = address.parse().expect(&line);
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Self { process, address }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.process.kill().unwrap_or_default();
        self.process.wait().map(drop).unwrap_or_default();
    }
}

#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

fn send(to: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut stream = TcpStream::connect(to).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let mut request =
        format!("{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    headers.iter().for_each(|(name, value)| request += &format!("{name}: {value}\r\n"));
    stream.write_all(format!("{request}\r\n{body}").as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

fn post_as(to: SocketAddr, who: &str, path: &str, key: &str, body: &str) -> Answer {
    let headers = [("authorization", who), ("idempotency-key", key), ("content-type", "application/json")];
    send(to, "POST", path, &headers, body)
}

fn charge(to: SocketAddr, key: &str, body: &str) -> Answer {
    post_as(to, "alice", "/charge", key, body)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keyed_request_happens_once_through_two_proxies_on_one_store() {
    let (redis, postgres) = (Redis::start().await, Postgres::options().fsync(true).start().await);
    for store in [None, Some(redis.url()), Some(postgres.url())] {
        let weak: &[&str] = if store == Some(redis.url()) { &["--allow-weak"] } else { &[] };
        let home = store.clone().map_or_else(Home::new, Home::with_store);
        let upstream = upstream().await;
        let url = format!("http://{}", upstream.address);
        let wait = [weak, &["--in-flight", "10s"]].concat();
        let proxies = [Proxy::start(&home, &url, &wait), Proxy::start(&home, &url, &wait)];
        let racing: Vec<_> = (0..10)
            .map(|n| {
                let to = proxies[n % 2].address;
                std::thread::spawn(move || charge(to, "k-1", r#"{"amount": 5}"#))
            })
            .collect();
        let answers: Vec<_> = racing.into_iter().map(|thread| thread.join().expect("an answer")).collect();
        assert!(
            answers.iter().all(|a| (a.status, a.body.as_str()) == (200, r#"{"charge":1}"#)),
            "{store:?} {answers:?}"
        );
        let replayed = answers.iter().filter(|answer| answer.head.contains("idempotent-replayed: true")).count();
        assert_eq!((replayed, upstream.charges.load(Ordering::SeqCst)), (9, 1), "{store:?}");

        // Control: without a key, or past the proxy, each request is a charge of its own.
        (0..3).for_each(|_| drop(send(upstream.address, "POST", "/charge", &[("idempotency-key", "k-1")], "{}")));
        assert_eq!(upstream.charges.load(Ordering::SeqCst), 4, "the upstream itself knows no keys");

        let other = charge(proxies[0].address, "k-1", r#"{"amount": 6}"#);
        assert_eq!(other.status, 422, "{other:?}");
        assert!(other.head.contains("application/problem+json"));
        let bob = post_as(proxies[1].address, "bob", "/charge", "k-1", r#"{"amount": 5}"#);
        assert_eq!(bob.body, r#"{"charge":5}"#, "another principal's key is another key");
        assert_eq!(send(proxies[0].address, "GET", "/health", &[], "").body, "fine");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn proxies_of_different_services_never_answer_for_each_other() {
    let (home, orders, payments) = (Home::new(), upstream().await, upstream().await);
    let url = |upstream: &Upstream| format!("http://{}", upstream.address);
    // A charge past the proxies, so that the two services answer differently.
    assert_eq!(send(payments.address, "POST", "/charge", &[], "{}").body, r#"{"charge":1}"#);
    let ask = |to: &Upstream, options: &[&str]| charge(Proxy::start(&home, &url(to), options).address, "k", "{}").body;
    assert_eq!(ask(&orders, &[]), r#"{"charge":1}"#);
    assert_eq!(ask(&payments, &[]), r#"{"charge":2}"#, "the other service's answer, to its own caller");

    // One service, spelled differently, and replicas that were given one name: one memory.
    let spelled = Proxy::start(&home, &format!("{}/", url(&orders)), &[]);
    assert_eq!(charge(spelled.address, "k", "{}").body, r#"{"charge":1}"#);
    assert_eq!(ask(&orders, &["--name", "shop"]), r#"{"charge":2}"#, "another name is another memory");
    assert_eq!(ask(&payments, &["--name", "shop"]), r#"{"charge":2}"#);
    assert_eq!((orders.charges.load(Ordering::SeqCst), payments.charges.load(Ordering::SeqCst)), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limits_for_bodies_and_answers_can_be_set() {
    let (home, upstream) = (Home::new(), upstream().await);
    let options = ["--body-limit", "16", "--response-cap", "4", "--lock", "shop:{path.1}", "--lock-ttl", "5s"];
    let proxy = Proxy::start(&home, &format!("http://{}", upstream.address), &options);
    assert_eq!(charge(proxy.address, "large", r#"{"amount": 5000000}"#).status, 413);
    assert_eq!(upstream.charges.load(Ordering::SeqCst), 0);
    assert_eq!(charge(proxy.address, "k", "{}").body, r#"{"charge":1}"#, "the first caller gets all of it");
    let again = charge(proxy.address, "k", "{}");
    assert!(again.status >= 400 && !again.body.contains(r#""charge":1"#), "it was too large to keep: {again:?}");
    assert_eq!(upstream.charges.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_proxy_leaves_an_unknown_outcome_that_a_person_can_settle() {
    let (home, upstream) = (Home::new(), upstream().await);
    let url = format!("http://{}", upstream.address);
    let mut first = Proxy::start(&home, &url, &["--lease", "300ms"]);
    let to = first.address;
    let caller = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(to).expect("it listens");
        let head = "host: test\r\nauthorization: alice\r\nidempotency-key: k\r\ncontent-type: application/json";
        let request = format!("POST /slow HTTP/1.1\r\n{head}\r\ncontent-length: 2\r\n\r\n{{}}");
        stream.write_all(request.as_bytes()).expect("it reads");
        stream.read_to_end(&mut Vec::new()).map(drop)
    });
    eventually_sync(PATIENCE, "the upstream is at work", || upstream.charges.load(Ordering::SeqCst) == 1);
    signal(first.process.id(), "KILL");
    first.process.wait().expect("it ends");
    caller.join().expect("the caller is cut off").unwrap_or_default();
    upstream.let_go.notify_waiters();

    let second = Proxy::start(&home, &url, &["--lease", "300ms"]);
    let ask = || post_as(second.address, "alice", "/slow", "k", "{}");
    eventually_sync(PATIENCE, "the silent proxy is taken for dead", || ask().body.contains("outcome-unknown"));
    let unknown = ask();
    assert_eq!(unknown.status, 409, "{unknown:?}");
    assert_eq!(upstream.charges.load(Ordering::SeqCst), 1, "it is never run again by itself");

    let listed = home.output(&["claims", "ls", "--json"]).exits(0);
    let value: serde_json::Value = serde_json::from_str(&listed.out).expect("JSON");
    let receipt = value[0]["receipt"].as_str().expect("a receipt").to_owned();
    assert!(unknown.body.contains(&receipt), "the answer names the claim: {unknown:?}");
    let answer = home.path("answer.json");
    std::fs::write(&answer, r#"{"charge":1}"#).unwrap();
    home.output(&["claims", "settle", &receipt, "--done", answer.to_str().unwrap(), "--reason", "seen in the books"])
        .exits(0);
    let settled = ask();
    assert_eq!((settled.status, settled.body.as_str()), (200, r#"{"charge":1}"#), "{settled:?}");
    assert_eq!(upstream.charges.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_from_the_path_lets_one_request_at_a_time_through() {
    let (home, upstream) = (Home::new(), upstream().await);
    let url = format!("http://{}", upstream.address);
    let options = ["--lock", "shop:{header.x-shop}", "--lock-wait", "0", "--methods", "POST"];
    let proxy = Proxy::start(&home, &url, &options);
    let to = proxy.address;
    let shop = move |name: &'static str, path: &'static str| {
        send(to, "POST", path, &[("authorization", "alice"), ("x-shop", name)], "{}")
    };
    let slow = std::thread::spawn(move || shop("one", "/slow"));
    eventually_sync(PATIENCE, "the slow one is at work", || upstream.charges.load(Ordering::SeqCst) == 1);
    assert_eq!(shop("one", "/charge").status, 409, "the lock is taken");
    assert_eq!(shop("two", "/charge").status, 200, "another lock is free");
    eventually_sync(PATIENCE, "the slow one ends", || {
        upstream.let_go.notify_waiters();
        slow.is_finished()
    });
    assert_eq!(slow.join().expect("an answer").status, 200);
    assert_eq!(shop("one", "/charge").status, 200, "and the lock is free again");
    assert_eq!(
        send(to, "POST", "/charge", &[("authorization", "alice")], "{}").status,
        400,
        "a hole that cannot be filled"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_service_and_one_that_is_away_are_told_apart() {
    let (home, upstream) = (Home::new(), upstream().await);
    let proxy = Proxy::start(&home, &format!("http://{}", upstream.address), &[]);
    let first = post_as(proxy.address, "alice", "/fail", "k", "{}");
    assert_eq!((first.status, first.body.as_str()), (500, "half-way"), "the first caller gets what was said");
    let again = post_as(proxy.address, "alice", "/fail", "k", "{}");
    assert_eq!(again.status, 409, "{again:?}");
    assert!(again.body.contains(r#""mayHaveExecuted":true"#), "{again:?}");
    assert_eq!(upstream.charges.load(Ordering::SeqCst), 1);

    // Nobody listens there: proof that nothing ran, so the key stays free.
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
    let away = Proxy::start(&home, &format!("http://{nowhere}"), &[]);
    for _ in 0..2 {
        let answer = charge(away.address, "other", "{}");
        assert_eq!(answer.status, 503, "{answer:?}");
        assert!(answer.head.contains("retry-after"), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_is_told_to_stop_lets_requests_end() {
    let (home, upstream) = (Home::new(), upstream().await);
    let mut proxy = Proxy::start(&home, &format!("http://{}", upstream.address), &[]);
    let to = proxy.address;
    let slow = std::thread::spawn(move || post_as(to, "alice", "/slow", "k", "{}"));
    eventually_sync(PATIENCE, "the request is at work", || upstream.charges.load(Ordering::SeqCst) == 1);
    signal(proxy.process.id(), "TERM");
    eventually_sync(PATIENCE, "it accepts nothing more", || {
        TcpStream::connect_timeout(&to, Duration::from_secs(1)).is_err()
    });
    eventually_sync(PATIENCE, "the request ends", || {
        upstream.let_go.notify_waiters();
        slow.is_finished()
    });
    assert_eq!(slow.join().expect("an answer").status, 200);
    assert_eq!(proxy.process.wait().expect("it ends").code(), Some(0));
}

#[test]
fn bad_options_are_refused_before_anything_listens() {
    let home = Home::new();
    let proxy = |options: &[&str]| home.output(&[&["proxy", "--listen", "127.0.0.1:0"], options].concat());
    proxy(&["--upstream", "http://127.0.0.1:1"]).exits(2).says("--principal");
    proxy(&["--upstream", "http://127.0.0.1:1", "--principal", "nobody"]).exits(2).says("secret:NAME");
    proxy(&["--upstream", "ftp://x", "--principal", "everyone"]).exits(78).says("http://HOST");
    proxy(&["--upstream", "http://127.0.0.1:1", "--principal", "everyone", "--lock", "{path}"]).exits(2);
    proxy(&["--upstream", "http://127.0.0.1:1", "--principal", "everyone", "--keep", "9h", "--keep-key", "1h"])
        .exits(78);
    proxy(&["--upstream", "http://127.0.0.1:1", "--principal", "everyone", "--effect", "maybe"]).exits(2);
    for (option, value, range) in [
        ("--name", "", "1 to 256 bytes"),
        ("--body-limit", "65MiB", "64 MiB"),
        ("--response-cap", "16MiB", "15 MiB"),
        ("--lock-ttl", "1ms", "50ms"),
    ] {
        proxy(&["--upstream", "http://127.0.0.1:1", "--principal", "everyone", option, value]).exits(78).says(range);
    }
    proxy(&["--upstream", "http://127.0.0.1:1", "--principal", "everyone", "--body-limit", "1e6"]).exits(2).says("KiB");
    home.output(&["proxy", "--listen", "nowhere", "--upstream", "http://x", "--principal", "everyone"]).exits(2);
}
