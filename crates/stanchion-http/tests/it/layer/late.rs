//! The handler answers after its claim got another answer: all callers are told the same.

use std::sync::Arc;

use axum::Router;
use axum::routing::post as route_post;
use http::StatusCode;
use stanchion_core::claim::{Claim, Event, Response};
use stanchion_core::{ClaimId, Cond, Effect, MemoryStore, Page, Policy, RecordStore as _, Settlement};
use stanchion_http::layer::RoutePolicy;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::web::{Ask, Got, Runs, guard, guarded, post, route, serve};

type Sent = Result<Got, Box<dyn std::error::Error + Send + Sync>>;

/// A service whose first run is on its way, and waits until it may answer.
struct Scene {
    store: MemoryStore,
    ask: Ask,
    first: JoinHandle<Sent>,
    go_on: Arc<Notify>,
}

/// Later runs answer `later`.
async fn first_runs(policy: RoutePolicy, later: StatusCode) -> Scene {
    let (store, runs) = (MemoryStore::new(), Runs::default());
    let (began, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (says, waits) = (Arc::clone(&began), Arc::clone(&go_on));
    let handler = move || async move {
        let n = runs.one();
        if n == 1 {
            says.notify_one();
            waits.notified().await;
        }
        (if n == 1 { StatusCode::OK } else { later }, format!("run {n}"))
    };
    let app = Router::new().route("/", route_post(handler));
    let at = serve(app.layer(guarded(guard(&store), policy))).await;
    let ask = post(at, "/").key("k");
    let first = tokio::spawn(ask.clone().try_send());
    began.notified().await;
    Scene { store, ask, first, go_on }
}

impl Scene {
    /// Somebody judges the first run dead, as if its process had been silent for too long.
    async fn judge(&self) -> ClaimId {
        let claims = self.store.scan(ClaimId::RECORDS, Page::first(2)).await.expect("the claims");
        let [(key, record)] = &claims[..] else { panic!("one claim: {claims:?}") };
        let lapsed = Claim::decode(&record.value).expect("a claim").step(Event::Lapse).expect("it runs");
        self.store.put(key, lapsed.encode(), Cond::Version(record.version), None).await.expect("written");
        lapsed.id()
    }

    async fn settle(&self) {
        let told = Settlement::Done(Response::new(r#"{"status":202,"headers":[]}"#, "as settled"));
        let id = self.judge().await;
        guard(&self.store).claims().settle(&id, told, "ann", "seen in the ledger").await.expect("settled");
    }

    /// The first run answers now: what its caller gets.
    async fn first_ends(self) -> Sent {
        self.go_on.notify_one();
        self.first.await.expect("no panic")
    }
}

#[tokio::test]
async fn an_answer_after_a_settlement_is_what_was_settled() {
    let scene = first_runs(route(), StatusCode::OK).await;
    scene.settle().await;
    let again = scene.ask.clone().send().await;
    assert_eq!((again.status.as_u16(), &again.body[..], again.replayed()), (202, &b"as settled"[..], true));
    let first = scene.first_ends().await.unwrap();
    assert_eq!((first.status, &first.body[..], first.replayed()), (again.status, &again.body[..], true));
}

#[tokio::test]
async fn an_answer_after_another_attempt_is_that_attempts() {
    let policy = route().policy(Policy::default().allow_weak().effect(Effect::Idempotent));
    let scene = first_runs(policy, StatusCode::OK).await;
    scene.judge().await;
    let second = scene.ask.clone().send().await;
    assert_eq!((&second.body[..], second.replayed()), (&b"run 2"[..], false), "it took over");
    let ask = scene.ask.clone();
    let first = scene.first_ends().await.unwrap();
    assert_eq!((&first.body[..], first.replayed()), (&b"run 2"[..], true));
    assert_eq!(&ask.send().await.body[..], b"run 2");
}

/// "Nothing ran" is true of the second attempt only.
#[tokio::test]
async fn an_attempt_without_effect_after_one_that_may_have_run_is_unknown() {
    let policy = route().policy(Policy::default().allow_weak().effect(Effect::Idempotent));
    let scene = first_runs(policy, StatusCode::TOO_MANY_REQUESTS).await;
    scene.judge().await;
    let second = scene.ask.clone().send().await;
    assert_eq!(second.slug(), Some((409, "outcome-unknown".into())), "{second:?}");
}

#[tokio::test]
async fn a_streamed_answer_after_a_settlement_is_not_completed() {
    for settled in [true, false] {
        let scene = first_runs(route().response_cap(0).unwrap(), StatusCode::OK).await;
        if settled {
            scene.settle().await;
        }
        let first = scene.first_ends().await;
        // Control: without the settlement it is whole.
        assert_eq!(first.is_err(), settled, "{first:?}");
    }
}
