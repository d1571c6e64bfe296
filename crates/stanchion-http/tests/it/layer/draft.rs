//! Every row of the IETF draft's table of behaviour, in the order of its text.

use axum::Router;
use axum::extract::Path;
use axum::routing::post as route_post;
use http::{Method, StatusCode};
use stanchion_core::MemoryStore;
use std::net::SocketAddr;

use crate::web::{Got, Runs, guard, guarded, post, route, serve};

/// `/charges` answers 201 with the number of the run, `/answers/N` that status. GET counts as well.
async fn service() -> (SocketAddr, Runs) {
    let runs = Runs::default();
    let (a, b, c) = (runs.clone(), runs.clone(), runs.clone());
    let charge =
        move || async move { (StatusCode::CREATED, [("location", "/charges/1")], format!("charge {}", a.one())) };
    let read = move || async move { format!("read {}", c.one()) };
    let answer = move |Path(status): Path<u16>| async move {
        b.one();
        (StatusCode::from_u16(status).unwrap_or_default(), format!("said {status}"))
    };
    let app = Router::new()
        .route("/charges", route_post(charge).get(read))
        .route("/answers/{status}", route_post(answer))
        .layer(guarded(guard(&MemoryStore::new()), route()));
    (serve(app).await, runs)
}

fn said(got: &Got) -> (u16, &str, bool) {
    (got.status.as_u16(), std::str::from_utf8(&got.body).unwrap_or_default(), got.replayed())
}

#[tokio::test]
async fn a_first_request_is_processed_and_a_retry_gets_the_same_answer() {
    let (at, runs) = service().await;
    let first = post(at, "/charges").key(r#""8e03978e-40d5-43dd-bc93-6894a57f9324""#).send().await;
    assert_eq!(said(&first), (201, "charge 1", false));
    for _ in 0..3 {
        let again = post(at, "/charges").key(r#""8e03978e-40d5-43dd-bc93-6894a57f9324""#).send().await;
        assert_eq!(said(&again), (201, "charge 1", true));
        assert_eq!(again.headers["location"], "/charges/1");
    }
    assert_eq!(runs.count(), 1);
    // Control: another key is another request.
    assert_eq!(said(&post(at, "/charges").key("other").send().await), (201, "charge 2", false));
}

#[tokio::test]
async fn an_error_of_the_first_request_is_replayed_as_well() {
    let (at, runs) = service().await;
    for status in [400, 403, 404, 409, 422] {
        let path = format!("/answers/{status}");
        let first = post(at, &path).key("k").send().await;
        let again = post(at, &path).key("k").send().await;
        assert_eq!(said(&first), (status, &*format!("said {status}"), false));
        assert_eq!(said(&again), (status, &*format!("said {status}"), true));
    }
    assert_eq!(runs.count(), 5);
}

#[tokio::test]
async fn a_missing_key_is_400() {
    let (at, runs) = service().await;
    let got = post(at, "/charges").send().await;
    assert_eq!(got.slug(), Some((400, "idempotency-key-missing".into())));
    assert_eq!(runs.count(), 0);
}

#[tokio::test]
async fn a_key_reused_with_another_payload_is_422() {
    let (at, runs) = service().await;
    let first = post(at, "/charges?a=1").key("k").json(r#"{"amount": 1, "to": "bob"}"#);
    assert_eq!(said(&first.clone().send().await), (201, "charge 1", false));
    for other in [
        post(at, "/charges?a=1").key("k").json(r#"{"amount": 2, "to": "bob"}"#),
        post(at, "/charges?a=2").key("k").json(r#"{"amount": 1, "to": "bob"}"#),
        post(at, "/charges").key("k").json(r#"{"amount": 1, "to": "bob"}"#),
        post(at, "/charges?a=1").key("k").body(r#"{"amount": 1, "to": "bob"}"#),
        post(at, "/charges?a=1").key("k"),
    ] {
        let got = other.send().await;
        assert_eq!(got.slug(), Some((422, "idempotency-key-reused".into())));
        assert!(!String::from_utf8_lossy(&got.body).contains("charge"), "the stored answer is not shown");
    }
    // The same payload in another spelling is the same payload.
    let respelled = post(at, "/charges?a=1").key("k").json(r#"{"to":"b\u006fb","amount":1.0}"#);
    assert_eq!(said(&respelled.send().await), (201, "charge 1", true));
    assert_eq!(runs.count(), 1);
}

#[tokio::test]
async fn an_expired_key_is_412() {
    let (at, runs) = service().await;
    // A UUID of version 7 from 2022.
    let got = post(at, "/charges").key("017f22e2-79b0-7cc3-98c4-dc0c0c07398f").send().await;
    let (status, slug, json) = got.problem().expect("a problem");
    assert_eq!((status, &*slug, &json["retryable"]), (412, "idempotency-key-expired", &false.into()));
    assert_eq!(json["mayHaveExecuted"], true, "perhaps it ran, long ago");
    assert_eq!(runs.count(), 0);
}

#[tokio::test]
async fn quoted_and_bare_keys_with_and_without_parameters_are_one() {
    let (at, runs) = service().await;
    let first = post(at, "/charges").key("k-1").send().await;
    for spelling in [r#""k-1""#, r#""k-1";v=2"#, " k-1 "] {
        assert_eq!(said(&post(at, "/charges").key(spelling).send().await), (201, "charge 1", true), "{spelling}");
    }
    assert_eq!((said(&first), runs.count()), ((201, "charge 1", false), 1));
}

#[tokio::test]
async fn a_key_belongs_to_its_caller_method_and_path() {
    let (at, runs) = service().await;
    let alice = post(at, "/charges").key("k").send().await;
    let bob = post(at, "/charges").key("k").user("bob").send().await;
    let path = post(at, "/answers/200").key("k").send().await;
    assert_eq!(said(&alice), (201, "charge 1", false));
    assert_eq!(said(&bob), (201, "charge 2", false), "bob's request runs, and he sees his own answer");
    assert_eq!(said(&path), (200, "said 200", false));
    assert_eq!(said(&post(at, "/charges").key("k").user("bob").send().await), (201, "charge 2", true));
    assert_eq!(runs.count(), 3);
}

#[tokio::test]
async fn safe_methods_are_not_touched() {
    let (at, runs) = service().await;
    for n in 1..=3 {
        let got = post(at, "/charges").method(Method::GET).key("k").send().await;
        assert_eq!(said(&got), (200, &*format!("read {n}"), false));
    }
    // Not even by a bad key.
    assert_eq!(post(at, "/charges").method(Method::GET).key("").send().await.status, 200);
    assert_eq!(runs.count(), 4);
}
