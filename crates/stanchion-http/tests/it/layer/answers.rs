//! What a handler's answer means for its key.

use axum::Router;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post as route_post;
use http::StatusCode;
use stanchion_core::{CasLock, Chaos, ChaosStore, Guard, Limiter, RecordStore};
use stanchion_core::{Idempotency, Locks, MemoryStore, Pass};
use stanchion_http::layer::{Meaning, RoutePolicy};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::web::{Got, Runs, guard, guarded, post, route, serve};

/// Answers the first run with `status`, later ones with 200.
async fn first_says(status: u16, policy: RoutePolicy, said: Option<Meaning>) -> (SocketAddr, Runs) {
    let runs = Runs::default();
    let counted = runs.clone();
    let handler = move || async move {
        let n = counted.one();
        let status = if n == 1 { StatusCode::from_u16(status).unwrap_or_default() } else { StatusCode::OK };
        let mut response: Response = (status, format!("run {n}")).into_response();
        said.map(|meaning| response.extensions_mut().insert(meaning));
        response
    };
    let app = Router::new().route("/", route_post(handler));
    (serve(app.layer(guarded(guard(&MemoryStore::new()), policy))).await, runs)
}

enum Then {
    Replayed,
    RunsAgain,
    Unknown,
}

#[tokio::test]
async fn each_status_has_its_meaning_and_policies_and_handlers_can_change_it() {
    use Meaning::{Final, NothingRan, Unknown};
    let table = [
        (200, route(), None, Then::Replayed),
        (302, route(), None, Then::Replayed),
        (400, route(), None, Then::Replayed),
        (401, route(), None, Then::RunsAgain),
        (408, route(), None, Then::Unknown),
        (425, route(), None, Then::RunsAgain),
        (429, route(), None, Then::RunsAgain),
        (500, route(), None, Then::Unknown),
        (502, route(), None, Then::Unknown),
        (503, route(), None, Then::Unknown),
        (503, route().on_status(503..=503, NothingRan), None, Then::RunsAgain),
        (500, route().on_status(500..=599, Final), None, Then::Replayed),
        (429, route().on_status(429..=429, Final), None, Then::Replayed),
        (429, route().on_status(400..=499, Unknown), None, Then::Unknown),
        (500, route(), Some(NothingRan), Then::RunsAgain),
        (500, route(), Some(Final), Then::Replayed),
        (200, route(), Some(Unknown), Then::Unknown),
    ];
    for (status, policy, said, then) in table {
        let (at, runs) = first_says(status, policy, said).await;
        let first = post(at, "/").key("k").send().await;
        assert_eq!(
            (first.status.as_u16(), &first.body[..]),
            (status, &b"run 1"[..]),
            "the first caller sees it as it is"
        );
        let again = post(at, "/").key("k").send().await;
        match then {
            Then::Replayed => {
                assert_eq!((again.status.as_u16(), &again.body[..]), (status, &b"run 1"[..]));
                assert!(again.replayed() && runs.count() == 1, "{status} {said:?}");
            }
            Then::RunsAgain => {
                assert_eq!(
                    (&again.body[..], again.replayed(), runs.count()),
                    (&b"run 2"[..], false, 2),
                    "{status} {said:?}"
                );
            }
            Then::Unknown => unknown(&again, &runs, status),
        }
    }
}

fn unknown(got: &Got, runs: &Runs, status: u16) {
    let (code, slug, json) = got.problem().expect("a problem");
    assert_eq!((code, &*slug, runs.count()), (409, "outcome-unknown", 1), "{status}");
    assert_eq!((&json["mayHaveExecuted"], &json["retryable"]), (&true.into(), &false.into()));
    assert!(!got.headers.contains_key("retry-after"));
    assert_eq!(json["receipt"].as_str().map(str::len), Some(64), "an operator can find it");
}

#[tokio::test]
async fn a_panic_leaves_the_outcome_unknown() {
    let runs = Runs::default();
    let counted = runs.clone();
    let handler = move || async move {
        counted.one();
        panic!("on purpose");
        #[expect(unreachable_code, reason = "it gives the handler a type")]
        ""
    };
    let app = Router::new().route("/", route_post(handler));
    let at = serve(app.layer(guarded(guard(&MemoryStore::new()), route()))).await;
    for _ in 0..2 {
        unknown(&post(at, "/").key("k").send().await, &runs, 500);
    }
}

#[tokio::test]
async fn only_chosen_headers_are_replayed() {
    let handler = || async {
        let headers =
            [("content-type", "text/x"), ("set-cookie", "session=secret"), ("x-charge", "7"), ("etag", "\"1\"")];
        (headers, "done")
    };
    let app = Router::new().route("/", route_post(handler));
    let by_default = serve(app.clone().layer(guarded(guard(&MemoryStore::new()), route()))).await;
    let chosen = route().keep_headers([http::HeaderName::from_static("x-charge")]);
    let chosen = serve(app.layer(guarded(guard(&MemoryStore::new()), chosen))).await;
    let has = |got: &Got, name: &str| got.headers.contains_key(name);
    for (at, kept, lost) in [(by_default, ["content-type", "etag"], "x-charge"), (chosen, ["x-charge"; 2], "etag")] {
        let first = post(at, "/").key("k").send().await;
        assert!(has(&first, "set-cookie") && has(&first, "x-charge") && has(&first, "etag"));
        let again = post(at, "/").key("k").send().await;
        assert!(again.replayed() && kept.iter().all(|name| has(&again, name)), "{again:?}");
        assert!(!has(&again, "set-cookie") && !has(&again, lost), "{again:?}");
    }
}

#[tokio::test]
async fn the_handler_sees_its_pass() {
    let handler = |request: axum::extract::Request| async move {
        let pass = request.extensions().get::<Pass>().expect("a pass").clone();
        format!("{} {}", pass.epoch, pass.downstream_key.unwrap_or_default())
    };
    let app = Router::new().route("/", route_post(handler));
    let at = serve(app.layer(guarded(guard(&MemoryStore::new()), route()))).await;
    let got = post(at, "/").key("k").send().await;
    assert!(got.body.starts_with(b"1 stn-"), "{got:?}");
}

async fn counted(guard: Guard, policy: RoutePolicy) -> (SocketAddr, Runs) {
    let runs = Runs::default();
    let count = runs.clone();
    let app = Router::new().route("/", route_post(move || async move { format!("run {}", count.one()) }));
    (serve(app.layer(guarded(guard, policy))).await, runs)
}

#[tokio::test]
async fn a_store_that_is_down_is_503_and_nothing_runs() {
    let store = MemoryStore::new();
    let chaos: Chaos = "error=1".parse().unwrap();
    let down = ChaosStore::new(Arc::new(store.clone()) as Arc<dyn RecordStore>, chaos);
    let (at, runs) = counted(Guard::new(Arc::new(down), Arc::new(CasLock::new(store))), route()).await;
    let got = post(at, "/").key("k").send().await;
    assert_eq!((got.slug(), runs.count()), (Some((503, "store-down".into())), 0));
    assert!(got.headers.contains_key("retry-after"));
}

#[tokio::test]
async fn too_many_requests_are_429_and_say_when_to_come_back() {
    let store = MemoryStore::new();
    let rate = Limiter::new(store.clone(), 2, Duration::from_secs(3600)).unwrap();
    let (at, runs) = counted(guard(&store).rate(rate), route()).await;
    for key in ["a", "b"] {
        assert_eq!(post(at, "/").key(key).send().await.status, 200);
    }
    let got = post(at, "/").key("c").send().await;
    assert_eq!((got.slug(), runs.count()), (Some((429, "rate-limited".into())), 2));
    let after: u64 = got.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((3500..=3600).contains(&after), "{after}");
}

#[tokio::test]
async fn a_weak_store_is_refused_unless_the_policy_accepts_it() {
    let policy = route().policy(stanchion_core::Policy::default());
    let (at, runs) = counted(guard(&MemoryStore::new()), policy).await;
    let got = post(at, "/").key("k").send().await;
    let (status, slug, json) = got.problem().expect("a problem");
    assert_eq!((status, &*slug, runs.count()), (500, "internal", 0));
    assert_eq!(json["mayHaveExecuted"], false);
}

#[tokio::test]
async fn a_redacted_answer_is_not_made_up() {
    let store = MemoryStore::new();
    let locks = Arc::new(CasLock::new(store.clone()));
    let claims = Idempotency::new(Arc::new(store), locks.clone()).redact(|response| response.head.clear());
    let (at, runs) = counted(Guard::with(claims, Locks::shared(locks)), route()).await;
    assert_eq!(&post(at, "/").key("k").send().await.body[..], b"run 1");
    let again = post(at, "/").key("k").send().await;
    assert_eq!((again.slug(), runs.count()), (Some((410, "response-not-retained".into())), 1));
}

#[tokio::test]
async fn a_damaged_record_is_500_and_nothing_runs() {
    let store = MemoryStore::new();
    let (at, runs) = counted(guard(&store), route()).await;
    assert_eq!(&post(at, "/").key("k").send().await.body[..], b"run 1");
    let claims = store.scan(stanchion_core::ClaimId::RECORDS, stanchion_core::Page::first(2)).await.unwrap();
    let [(key, record)] = &claims[..] else { panic!("one claim: {claims:?}") };
    store.put(key, "nonsense".into(), stanchion_core::Cond::Version(record.version), None).await.unwrap();
    let again = post(at, "/").key("k").send().await;
    let (status, slug, json) = again.problem().expect("a problem");
    assert_eq!((status, &*slug, runs.count()), (500, "internal", 1));
    assert_eq!(json["mayHaveExecuted"], true, "it did, before the damage");
}
