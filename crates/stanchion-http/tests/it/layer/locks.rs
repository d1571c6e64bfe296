//! Locks named by the request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::post as route_post;
use futures_util::future::join_all;
use stanchion_core::{Acquire, CasLock, Cond, Key, Locks, MemoryStore, Page, Pass, RecordStore as _, Wait};
use stanchion_http::key::KeyRules;
use stanchion_http::layer::RoutePolicy;

use crate::web::{Runs, guard, guarded, post, route, serve};

fn by_order(wait: Wait) -> RoutePolicy {
    route().key(KeyRules::optional()).lock("order:{path.2}".parse().expect("a template"), wait)
}

/// Reads, waits for others to run, writes: loses updates unless it is alone.
fn account() -> (Router, Arc<AtomicUsize>) {
    let balance = Arc::new(AtomicUsize::new(0));
    let shared = Arc::clone(&balance);
    let handler = move || async move {
        let read = shared.load(Ordering::SeqCst);
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        shared.store(read + 1, Ordering::SeqCst);
    };
    (Router::new().route("/orders/{id}", route_post(handler)), balance)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_of_one_order_run_one_at_a_time() {
    let (app, balance) = account();
    let at = serve(app.layer(guarded(guard(&MemoryStore::new()), by_order(Wait::For(Duration::from_secs(20)))))).await;
    // Two spellings of one order.
    let all = (0..30).map(|n| post(at, if n % 2 == 0 { "/orders/7" } else { "/orders/%37" }).send());
    let answers = join_all(all).await;
    assert!(answers.iter().all(|got| got.status == 200), "{answers:?}");
    assert_eq!(balance.load(Ordering::SeqCst), 30);
}

/// The control: the same requests without the lock lose updates.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_lock_updates_are_lost() {
    let (app, balance) = account();
    let at = serve(app).await;
    join_all((0..30).map(|_| post(at, "/orders/7").send())).await;
    assert!(balance.load(Ordering::SeqCst) < 30);
}

#[tokio::test]
async fn a_busy_lock_is_409_with_a_time_and_nothing_runs() {
    let (store, runs) = (MemoryStore::new(), Runs::default());
    let counted = runs.clone();
    let handler = move |request: axum::extract::Request| async move {
        let pass = request.extensions().get::<Pass>().expect("a pass").clone();
        counted.one();
        format!("fence {}", pass.fence.is_some())
    };
    let app = Router::new().route("/orders/{id}", route_post(handler));
    let at = serve(app.layer(guarded(guard(&store), by_order(Wait::No)))).await;
    let locks = Locks::new(CasLock::new(store.clone()));
    let lease = locks.acquire(&Acquire::new(Key::new("order:7").unwrap())).await.unwrap();
    for ask in [post(at, "/orders/7"), post(at, "/orders/7").key("k")] {
        let got = ask.send().await;
        let (status, slug, json) = got.problem().expect("a problem");
        assert_eq!((status, &*slug, &json["mayHaveExecuted"]), (409, "lock-busy", &false.into()));
        assert!(got.headers.contains_key("retry-after"));
    }
    // Control: another order is free.
    assert_eq!(&post(at, "/orders/8").send().await.body[..], b"fence true");
    lease.release().await.unwrap();
    assert_eq!(&post(at, "/orders/7").key("k").send().await.body[..], b"fence true");
    assert_eq!(runs.count(), 2);
}

#[tokio::test]
async fn a_request_without_what_its_lock_is_named_by_is_refused() {
    let runs = Runs::default();
    let counted = runs.clone();
    let app = Router::new().route("/", route_post(move || async move { format!("run {}", counted.one()) }));
    let policy = route().lock("customer:{body.customer.id}".parse().unwrap(), Wait::No);
    let at = serve(app.layer(guarded(guard(&MemoryStore::new()), policy))).await;
    for body in [
        "",
        "nonsense",
        "{}",
        r#"{"customer":7}"#,
        r#"{"customer":{"id":null}}"#,
        r#"{"customer":{"id":""}}"#,
        r#"{"customer":{"id":1,"id":2}}"#,
        r#"{"customer":{"id":"a\nb"}}"#,
    ] {
        let got = post(at, "/").key("k").json(body).send().await;
        assert_eq!(got.slug(), Some((400, "lock-key-missing".into())), "{body}");
    }
    assert_eq!(runs.count(), 0);
    let good = post(at, "/").key("k").json(r#"{"customer":{"id":7}}"#).send().await;
    assert_eq!(&good.body[..], b"run 1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_whose_lock_is_lost_has_an_unknown_outcome() {
    for key in [Some("k"), None] {
        let (store, began) = (MemoryStore::new(), Arc::new(tokio::sync::Notify::new()));
        let says = Arc::clone(&began);
        let app = Router::new().route(
            "/orders/{id}",
            route_post(move || async move {
                says.notify_one();
                std::future::pending::<&str>().await
            }),
        );
        let policy = by_order(Wait::No).lock_ttl(Duration::from_millis(300)).unwrap();
        let at = serve(app.layer(guarded(guard(&store), policy))).await;
        let ask = key.map_or_else(|| post(at, "/orders/7"), |key| post(at, "/orders/7").key(key));
        let asked = tokio::spawn(ask.clone().send());
        began.notified().await;
        // Somebody removes the lock under its holder, between two of its renewals.
        stanchion_testkit::eventually(Duration::from_secs(10), "the lock is removed", || async {
            let found = store.scan("\u{1}lock/", Page::first(1)).await.unwrap();
            let [(key, record)] = &found[..] else { panic!("one lock: {found:?}") };
            store.delete(key, Cond::Version(record.version)).await.is_ok()
        })
        .await;
        let slug = asked.await.unwrap().slug();
        if key.is_none() {
            assert_eq!(slug, Some((502, "no-answer".into())));
            continue;
        }
        assert_eq!(slug, Some((409, "outcome-unknown".into())));
        assert_eq!(ask.send().await.slug(), Some((409, "outcome-unknown".into())), "and it is not run again");
    }
}
