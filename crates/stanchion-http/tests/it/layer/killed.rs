//! The server process is killed while it works, and started again.

use std::path::Path;
use std::time::Duration;

use axum::Router;
use axum::routing::post as route_post;
use stanchion_core::{Guard, Policy};
use stanchion_testkit::eventually;
use stanchion_testkit::process::{self, Child};
use tokio::sync::mpsc;

use crate::web::{Got, guarded, post, route};

const PATIENCE: Duration = Duration::from_secs(30);

#[expect(clippy::print_stdout, reason = "the parent process reads it")]
fn say(line: &str) {
    println!("\n{line}");
}

/// A service whose every effect is a line in a file of the test. `/slow` never gets to its answer.
async fn service() {
    let dir = std::env::var("DIR").expect("a directory");
    let effect = move |name: &'static str| {
        use std::io::Write as _;
        let mut log =
            std::fs::File::options().append(true).create(true).open(Path::new(&dir).join("log")).expect("the log");
        writeln!(log, "{name}").expect("a line");
    };
    let (quick, slow) = (effect.clone(), effect);
    let app = Router::new()
        .route(
            "/quick",
            route_post(move || async move {
                quick("quick");
                "done"
            }),
        )
        .route(
            "/slow",
            route_post(move || async move {
                slow("slow");
                std::future::pending::<&str>().await
            }),
        );
    let app = match std::env::var("STORE") {
        Ok(url) => {
            let opened = stanchion_stores::open(&url).await.expect("a store");
            let guard = Guard::new(opened.records.expect("records"), opened.locks);
            let policy = Policy::default().lease(Duration::from_millis(500)).expect("a lease");
            app.layer(guarded(guard, route().policy(policy)))
        }
        Err(_) => app,
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    say(&format!("READY {}", listener.local_addr().expect("its address")));
    axum::serve(listener, app).await.expect("it serves");
}

/// Runs both stories: a quick request, and a slow one in which the process is killed, then both again in a new process.
async fn story(store: bool) -> (String, Vec<Got>) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().to_str().expect("a path").to_owned();
    let url = format!("sqlite:{path}/store.db");
    let mut variables = vec![("DIR", &*path)];
    if store {
        variables.push(("STORE", &*url));
    }
    let log = || std::fs::read_to_string(dir.path().join("log")).unwrap_or_default();
    let mut first = Child::rerun_this_test_with(&variables);
    let at = first.expect_line("READY", PATIENCE).await.parse().expect("an address");
    let mut answers = vec![post(at, "/quick").key("q").send().await];
    let asked = tokio::spawn(post(at, "/slow").key("s").try_send());
    eventually(PATIENCE, "the slow request has its effect", || async { log().contains("slow") }).await;
    first.kill();
    assert!(asked.await.expect("no panic").is_err(), "the caller sees a broken connection");

    let mut second = Child::rerun_this_test_with(&variables);
    let at = second.expect_line("READY", PATIENCE).await.parse().expect("an address");
    answers.push(post(at, "/quick").key("q").send().await);
    if store {
        // Until its lease is over, nobody can know that the first process is dead.
        let (last, mut got) = mpsc::unbounded_channel();
        eventually(PATIENCE, "the outcome is known to be unknown", || async {
            let got = post(at, "/slow").key("s").send().await;
            let settled = got.slug() != Some((409, "idempotency-key-in-progress".into()));
            last.send(got).is_ok() && settled
        })
        .await;
        while let Ok(got) = got.try_recv() {
            answers.truncate(2);
            answers.push(got);
        }
    } else {
        let asked = tokio::spawn(post(at, "/slow").key("s").try_send());
        eventually(PATIENCE, "it runs again", || async { log().matches("slow").count() == 2 }).await;
        asked.abort();
    }
    second.kill();
    (log(), answers)
}

#[tokio::test]
async fn after_a_kill_nothing_runs_twice_and_nothing_is_made_up() {
    if process::is_helper() {
        return service().await;
    }
    let (log, answers) = story(true).await;
    assert_eq!(log, "quick\nslow\n", "one effect each");
    assert_eq!((&answers[0].body[..], answers[0].replayed()), (&b"done"[..], false));
    assert_eq!((&answers[1].body[..], answers[1].replayed()), (&b"done"[..], true), "remembered by another process");
    assert_eq!(answers[2].slug(), Some((409, "outcome-unknown".into())));
}

/// The control: the same story without the layer repeats both effects.
#[tokio::test]
async fn without_the_layer_a_kill_repeats_effects() {
    if process::is_helper() {
        return service().await;
    }
    let (log, _) = story(false).await;
    assert_eq!(log, "quick\nslow\nquick\nslow\n");
}
