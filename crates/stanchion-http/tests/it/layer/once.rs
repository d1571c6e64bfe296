//! Many requests with one key at the same time.

use std::sync::Arc;

use axum::Router;
use axum::routing::post as route_post;
use futures_util::future::join_all;
use stanchion_core::{InFlight, MemoryStore, Policy};
use tokio::sync::{Semaphore, mpsc};

use crate::web::{Runs, guard, guarded, post, route, serve};

/// A handler that says when it runs, and answers when it may.
fn gated(runs: &Runs) -> (Router, mpsc::UnboundedReceiver<usize>, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let (began, begun) = mpsc::unbounded_channel();
    let (runs, open) = (runs.clone(), Arc::clone(&gate));
    let handler = move || async move {
        let n = runs.one();
        began.send(n).ok();
        open.acquire().await.expect("the gate stays").forget();
        format!("run {n}")
    };
    (Router::new().route("/", route_post(handler)), begun, gate)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_ten_parallel_requests_one_runs_and_the_others_are_told_to_wait() {
    let runs = Runs::default();
    let (app, _begun, gate) = gated(&runs);
    let at = serve(app.layer(guarded(guard(&MemoryStore::new()), route()))).await;
    let (answers, mut arrived) = mpsc::unbounded_channel();
    for _ in 0..10 {
        let answers = answers.clone();
        tokio::spawn(async move { answers.send(post(at, "/").key("k").send().await) });
    }
    // The first one runs until we let it: so nine have to be refused.
    for _ in 0..9 {
        let got = arrived.recv().await.expect("an answer");
        let (status, slug, json) = got.problem().expect("a problem");
        assert_eq!((status, &*slug), (409, "idempotency-key-in-progress"));
        assert!(got.headers.contains_key("retry-after") && json["retryable"] == true, "{json}");
    }
    gate.add_permits(1);
    let got = arrived.recv().await.expect("an answer");
    assert_eq!((&got.body[..], got.replayed(), runs.count()), (&b"run 1"[..], false, 1));
    let late = post(at, "/").key("k").send().await;
    assert_eq!((&late.body[..], late.replayed(), runs.count()), (&b"run 1"[..], true, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_ten_parallel_requests_that_attach_one_runs_and_all_get_its_answer() {
    let runs = Runs::default();
    let (app, mut begun, gate) = gated(&runs);
    let policy = Policy::default().allow_weak().in_flight(InFlight::Attach);
    let at = serve(app.layer(guarded(guard(&MemoryStore::new()), route().policy(policy)))).await;
    let ten = join_all((0..10).map(|_| tokio::spawn(post(at, "/").key("k").send())));
    let release = async {
        begun.recv().await.expect("it began");
        gate.add_permits(10);
    };
    let (answers, ()) = tokio::join!(ten, release);
    let answers: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
    assert!(answers.iter().all(|got| &got.body[..] == b"run 1"), "{answers:?}");
    assert_eq!(answers.iter().filter(|got| !got.replayed()).count(), 1, "one of them is the original");
    assert_eq!(runs.count(), 1);
}

/// The control: what the same ten requests do without the layer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_layer_ten_requests_run_ten_times() {
    let runs = Runs::default();
    let (app, _begun, gate) = gated(&runs);
    gate.add_permits(10);
    let at = serve(app).await;
    join_all((0..10).map(|_| tokio::spawn(post(at, "/").key("k").send()))).await;
    assert_eq!(runs.count(), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_instances_with_one_store_run_it_once() {
    let (store, runs) = (MemoryStore::new(), Runs::default());
    let (app, _begun, gate) = gated(&runs);
    gate.add_permits(10);
    let policy = Policy::default().allow_weak().in_flight(InFlight::Attach);
    let instance = || serve(app.clone().layer(guarded(guard(&store), route().policy(policy.clone()))));
    let (a, b) = (instance().await, instance().await);
    let answers = join_all((0..10).map(|n| post(if n % 2 == 0 { a } else { b }, "/").key("k").send())).await;
    assert!(answers.iter().all(|got| &got.body[..] == b"run 1"), "{answers:?}");
    assert_eq!(runs.count(), 1);
}
