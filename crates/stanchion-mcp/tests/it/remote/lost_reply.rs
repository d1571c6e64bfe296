//! The reply is lost after the effect: what another instance says to the same call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use stanchion_testkit::engines::Postgres;
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, eventually, start_or_skip};

use super::support::*;

/// Two instances with a connection each to one store. The first call's reply is lost between the first instance and the
/// client, which asks the second one again, under another id. Returns the second answer and how often the tool ran.
async fn reissued(stores: [&Store; 2], policy: &str, key: Option<&str>) -> (Got, usize) {
    let (server, effects) = Server::counting().await;
    let first = Gateway::start(stores[0], policy, &server.url()).await;
    let second = Gateway::start(stores[1], policy, &server.url()).await;
    let proxy = FaultProxy::start(first.addr, Protocol::Http).await;
    proxy.set_plan(Plan::first("POST", Fault::LoseReply));
    let lost = open(proxy.addr(), &[BOTH], &call("1", key)).await;
    assert!(lost.is_err(), "void: the reply came through");
    assert_eq!(
        (proxy.counts().lost_replies, effects.load(Ordering::SeqCst)),
        (1, 1),
        "void: nothing was lost, or nothing ran"
    );
    let got = post(second.addr, &[BOTH], &call("\"again\"", key)).await;
    (got, effects.load(Ordering::SeqCst))
}

fn is_the_first_answer(got: &Got) {
    assert_eq!((got.texts().as_str(), got.is_replay()), ("1", true), "{got:?}");
    let said: serde_json::Value = serde_json::from_str(&got.body).unwrap();
    assert_eq!(said["id"], "again");
    assert_eq!(said["result"]["_meta"]["dev.stanchion/replayed"], true);
}

#[tokio::test]
async fn a_keyed_call_is_found_again_through_another_instance() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (Store::sqlite(folder.path()).await, Store::sqlite(folder.path()).await);
    let (got, effects) = reissued([&a, &b], WRITES, Some("k")).await;
    is_the_first_answer(&got);
    assert_eq!(effects, 1);
    // The control: without a key, nobody can know that it is the same call.
    let (got, effects) = reissued([&a, &b], WRITES, None).await;
    assert_eq!((got.texts().as_str(), got.is_replay(), effects), ("2", false, 2));
}

#[tokio::test]
async fn a_keyed_call_is_found_again_on_postgresql() {
    let engine = start_or_skip!(Postgres);
    // The test's engine does not flush to disk, and says so.
    let policy = format!("{WRITES}allow_weak = true\n");
    let (a, b) = (Store::open(&engine.url()).await, Store::open(&engine.url()).await);
    let (got, effects) = reissued([&a, &b], &policy, Some("k")).await;
    is_the_first_answer(&got);
    assert_eq!(effects, 1);
    let (_, effects) = reissued([&a, &b], &policy, None).await;
    assert_eq!(effects, 2);
}

#[tokio::test]
async fn an_upstream_whose_reply_is_lost_is_not_asked_again() {
    for keyed in [Some("k"), None] {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::sqlite(folder.path()).await;
        let (server, effects) = Server::counting().await;
        let proxy = FaultProxy::start(server.addr, Protocol::Http).await;
        proxy.set_plan(Plan::first("POST", Fault::LoseReply));
        let url = format!("http://{}/mcp", proxy.addr());
        let gateway = Gateway::start(&store, LOCKED, &url).await;
        let got = post(gateway.addr, &[BOTH], &call("1", keyed)).await;
        assert_eq!((got.problem().as_deref(), got.status), (Some("outcome_unknown"), 200), "{got:?}");
        assert_eq!(proxy.counts().lost_replies, 1, "void: nothing was lost");
        assert_eq!(effects.load(Ordering::SeqCst), 1, "it was sent again, or not at all");
        // Whoever asks again with its key is told so, by any instance, and nothing is sent.
        let other = Gateway::start(&Store::sqlite(folder.path()).await, LOCKED, &url).await;
        let got = post(other.addr, &[BOTH], &call("2", keyed)).await;
        let (problem, ran) = if keyed.is_some() { (Some("outcome_unknown"), 1) } else { (None, 2) };
        assert_eq!((got.problem().as_deref(), effects.load(Ordering::SeqCst)), (problem, ran), "{got:?}");
    }
}

#[tokio::test]
async fn a_keyed_call_runs_on_when_its_caller_goes_and_is_found_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let (effects, go) = (Arc::new(AtomicUsize::new(0)), Arc::new(tokio::sync::Semaphore::new(0)));
    let (count, gate) = (Arc::clone(&effects), Arc::clone(&go));
    let server = Server::start(move |seen| {
        let (count, gate) = (Arc::clone(&count), Arc::clone(&gate));
        async move {
            gate.acquire().await.unwrap().forget();
            counted(&seen, &count)
        }
    })
    .await;
    let policy = format!("{WRITES}in_flight = \"attach\"\n");
    let first = Gateway::start(&Store::sqlite(folder.path()).await, &policy, &server.url()).await;
    let second = Gateway::start(&Store::sqlite(folder.path()).await, &policy, &server.url()).await;
    let asking = tokio::spawn(open_owned(first.addr, call("1", Some("k"))));
    eventually(SOON, "the call is at the upstream", || async { server.calls().len() == 1 }).await;
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled(), "void: the caller did not go");
    let again = tokio::spawn(open_owned(second.addr, call("2", Some("k"))));
    go.add_permits(2);
    let got = got(again.await.unwrap()).await;
    assert_eq!((got.texts().as_str(), got.is_replay()), ("1", true), "{got:?}");
    assert_eq!((effects.load(Ordering::SeqCst), server.calls().len()), (1, 1));
    first.remote_is_idle().await;
}

pub(super) async fn open_owned(addr: std::net::SocketAddr, body: String) -> http::Response<hyper::body::Incoming> {
    open(addr, &[BOTH], &body).await.unwrap()
}

impl Gateway {
    async fn remote_is_idle(&self) {
        use stanchion_mcp::serve::Endpoint as _;
        self.remote.shut_down(Duration::from_secs(20)).await;
        assert!(!self.remote.is_ready().await);
        assert_eq!(post(self.addr, &[BOTH], &call("3", None)).await.status, 503);
    }
}

#[tokio::test]
async fn a_hundred_calls_with_one_key_through_two_instances_are_one() {
    let folder = tempfile::tempdir().unwrap();
    let (server, effects) = Server::counting().await;
    let first = Gateway::start(&Store::sqlite(folder.path()).await, WRITES, &server.url()).await;
    let second = Gateway::start(&Store::sqlite(folder.path()).await, WRITES, &server.url()).await;
    let calls = (0..100).map(|n| {
        let addr = if n % 2 == 0 { first.addr } else { second.addr };
        tokio::spawn(async move { post(addr, &[BOTH], &call(&n.to_string(), Some("k"))).await })
    });
    for got in futures_util::future::join_all(calls.collect::<Vec<_>>()).await {
        let got = got.unwrap();
        let refused = got.problem();
        assert!(refused.as_deref() == Some("idempotency_key_in_progress") || got.texts() == "1", "{got:?}");
    }
    assert_eq!(effects.load(Ordering::SeqCst), 1);
    let mut answers = std::collections::BTreeSet::new();
    for n in 0..100 {
        let addr = if n % 2 == 0 { first.addr } else { second.addr };
        answers.insert(post(addr, &[BOTH], &call("\"x\"", Some("k"))).await.body);
    }
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(effects.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn two_tenants_with_one_key_never_see_each_others_answers() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::sqlite(folder.path()).await;
    let (server, effects) = Server::counting().await;
    let gateway = Gateway::start(&store, WRITES, &server.url()).await;
    let as_tenant = |name: &'static str| post_as(gateway.addr, name);
    let (alice, bob) = (as_tenant("alice").await, as_tenant("bob").await);
    assert_eq!((alice.texts().as_str(), bob.texts().as_str()), ("1", "2"));
    assert!(!alice.is_replay() && !bob.is_replay());
    let (alice, bob) = (as_tenant("alice").await, as_tenant("bob").await);
    assert_eq!((alice.texts().as_str(), bob.texts().as_str()), ("1", "2"));
    assert!(alice.is_replay() && bob.is_replay());
    assert_eq!(effects.load(Ordering::SeqCst), 2);
}

async fn post_as(addr: std::net::SocketAddr, name: &str) -> Got {
    post(addr, &[BOTH, ("x-principal", name)], &call("1", Some("k"))).await
}
