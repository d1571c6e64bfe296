//! Several instances, several tenants, and the end of an instance.

use std::collections::BTreeSet;
use std::time::Duration;

use http::Method;
use serde_json::json;
use stanchion_testkit::eventually;

use crate::serve_support::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_calls_with_one_key_through_two_instances_are_one() {
    let store = Store::fresh().await;
    let houses = [House::start(&store, Setup::default()).await, House::start(&store, Setup::default()).await];
    let arguments = |line: &str| json!({"file": store.path("f"), "line": line, "delayMs": 20});
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..100_u64 {
        let client = houses[usize::from(n % 2 == 0)].client().with("idempotency-key", "one");
        let message = modern_call(json!(n), "append", arguments("x"));
        calls.spawn(async move { client.post_modern(&message).await });
    }
    let first: Vec<Got> = calls.join_all().await;
    assert_eq!((first.len(), store.lines("f")), (100, 1));
    let done =
        first.iter().filter(|got| got.problem().is_none()).inspect(|got| assert_eq!(got.said(), "appended")).count();
    let busy = first.iter().filter(|got| got.problem() == Some("idempotency_key_in_progress")).count();
    assert_eq!(done + busy, 100, "{first:?}");
    assert!(done >= 1);
    // Asked again, all get the same bytes, whoever they ask.
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..100_u64 {
        let client = houses[usize::from(n % 2 == 1)].client().with("idempotency-key", "one");
        let message = modern_call(json!("same"), "append", arguments("x"));
        calls.spawn(async move { client.post_modern(&message).await });
    }
    let again: Vec<Got> = calls.join_all().await;
    let texts: BTreeSet<&str> = again.iter().map(|got| got.text.as_str()).collect();
    assert!(again.iter().all(Got::is_replay), "{again:?}");
    assert_eq!((texts.len(), store.lines("f")), (1, 1), "{texts:?}");
    // Control: without a key, each of them is a call.
    for n in 0..3_u64 {
        houses[0].client().post_modern(&modern_call(json!(n), "append", arguments("x"))).await.said();
    }
    assert_eq!(store.lines("f"), 4, "void: calls without a key are counted wrongly");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tenants_with_the_same_key_never_see_each_others_answers() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup { principals: principals(), ..Setup::default() }).await;
    let ask = async |name: &str, session: bool, arguments: serde_json::Value| {
        let client = house.client().named(name).with("idempotency-key", "same");
        if session {
            client.initialize().await.call(1, "bump", arguments).await
        } else {
            client.post_modern(&modern_call(json!(1), "bump", arguments)).await
        }
    };
    let arguments = json!({"file": store.path("n")});
    let alice = ask("alice", false, arguments.clone()).await;
    let bob = ask("bob", false, arguments.clone()).await;
    assert_eq!((alice.said(), bob.said()), ("1", "2"));
    // The principal counts, not the era it speaks.
    for (name, said) in [("bob", "2"), ("alice", "1")] {
        for session in [true, false] {
            let again = ask(name, session, arguments.clone()).await;
            assert_eq!((again.said(), again.is_replay()), (said, true), "{name}");
        }
    }
    assert_eq!(std::fs::read_to_string(store.path("n")).unwrap(), "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_stops_answers_what_runs_and_ends_its_servers() {
    let store = Store::fresh().await;
    let mut house = House::start(&store, Setup::default()).await;
    let (session, client) = (house.session().await, house.client());
    let own = session.call(1, "pid", json!({})).await.said().to_owned();
    let shared = client.post_modern(&modern_call(json!(1), "pid", json!({}))).await.said().to_owned();
    let mut standing = session.open(Method::GET, "").await;
    let arguments = |n: u8| json!({"file": store.path("f"), "line": "x", "answerWhen": store.path("go"), "n": n});
    let running = [
        {
            let (session, message) = (session.clone(), call(2, "append", arguments(1)));
            tokio::spawn(async move { session.post(&message).await })
        },
        {
            let (client, message) = (client.clone(), modern_call(json!(2), "append", arguments(2)));
            tokio::spawn(async move { client.post_modern(&message).await })
        },
    ];
    eventually(SOON, "both calls run", || async { store.lines("f") == 2 }).await;
    house.stop();
    // Streams that would never end are ended; nobody new comes in.
    assert!(standing.next().await.is_none());
    eventually(SOON, "nobody new comes in", || async { tokio::net::TcpStream::connect(house.addr).await.is_err() })
        .await;
    assert!(lives(&own) && lives(&shared), "the servers were ended before their calls");
    std::fs::write(store.path("go"), "").unwrap();
    for call in running {
        assert_eq!(call.await.unwrap().said(), "appended");
    }
    house.stopped().await.unwrap();
    assert!(!lives(&own) && !lives(&shared), "a server outlived its gateway");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_does_not_end_is_not_waited_for_for_ever() {
    let store = Store::fresh().await;
    let mut house = House::start(&store, Setup { drain: Duration::from_millis(300), ..Setup::default() }).await;
    let session = house.session().await.with("idempotency-key", "k");
    let message = call(2, "never", json!({"file": store.path("f"), "line": "x"}));
    let asking = session.clone();
    let running = tokio::spawn(async move { asking.post(&message).await });
    eventually(SOON, "the call runs", || async { store.lines("f") == 1 }).await;
    house.stop();
    let told = running.await.unwrap();
    assert_eq!(told.problem(), Some("outcome_unknown"), "{told:?}");
    house.stopped().await.unwrap();
    // Another instance knows that, too: it is not repeated.
    let other = House::start(&store, Setup::default()).await;
    let message = call(3, "never", json!({"file": store.path("f"), "line": "x"}));
    let again = other.session().await.with("idempotency-key", "k").post(&message).await;
    assert_eq!((again.problem(), store.lines("f")), (Some("outcome_unknown"), 1), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_stops_waits_for_the_keyed_call_of_a_session_that_has_said_goodbye() {
    let store = Store::fresh().await;
    let mut house = House::start(&store, Setup::default()).await;
    let session = house.session().await.with("idempotency-key", "k");
    let go = store.path("go");
    let message = call(2, "append", json!({"file": store.path("f"), "line": "x", "answerWhen": go}));
    let (asking, asked) = (session.clone(), message.clone());
    let running = tokio::spawn(async move { asking.post(&asked).await });
    eventually(SOON, "the call runs", || async { store.lines("f") == 1 }).await;
    assert_eq!(session.send(Method::DELETE, "").await.status, 204);
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    house.stop();
    eventually(SOON, "nobody new comes in", || async { tokio::net::TcpStream::connect(house.addr).await.is_err() })
        .await;
    std::fs::write(&go, "").unwrap();
    house.stopped().await.unwrap();
    let other = House::start(&store, Setup::default()).await;
    let again = other.session().await.with("idempotency-key", "k").post(&message).await;
    assert_eq!((again.is_replay(), store.lines("f")), (true, 1), "{again:?}");
}
