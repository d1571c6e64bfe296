//! The store is away: nothing that needs it runs, everything else does, and afterwards all is as before.

use std::time::Duration;

use serde_json::json;
use stanchion_testkit::engines::{Postgres, Redis, Server};
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, eventually};

use super::site::{BOTH, Instance, PIPE, Site, in_progress};
use super::start_or_skip;
use crate::http_client::{Got, HttpClient, ToolCall};
use crate::support::PATIENCE;

/// `bump` is locked, `append` is not.
fn instance(site: &Site) -> Instance {
    let tool = |server: &str| format!("[servers.{server}.tools.bump]\nlock = \"number:{{file}}\"\nttl = \"1s\"");
    site.instance_with(&BOTH.map(|server| site.server(server, server, &tool(server))).concat())
}

async fn nothing_runs_until_it_is_back(engine: &Server, store: String) {
    let site = Site::on(store);
    let (first, second) = (instance(&site), instance(&site));
    let append =
        |server: &str, key: &str| ToolCall::new("append", json!({"file": site.file(server), "line": key})).key(key);
    let bump = |server: &str| ToolCall::new("bump", json!({"file": site.file(&format!("{server}-number"))}));
    let number = |server: &str| std::fs::read_to_string(site.file(&format!("{server}-number"))).expect("the number");
    let count = |server: &str| ToolCall::new("count", json!({"file": site.file(server)}));
    for server in BOTH {
        assert_eq!(first.client(server).ask("1", &append(server, "before")).text(), "appended");
        assert_eq!(first.client(server).ask("2", &bump(server)).text(), "1");
    }
    engine.stop().await;
    for (server, instance) in BOTH.iter().flat_map(|server| [(*server, &first), (*server, &second)]) {
        let client = instance.client(server);
        // A new call, one that was answered before, and one that only locks.
        for call in [append(server, "away"), append(server, "before"), bump(server)] {
            let got = client.ask("3", &call);
            got.is_problem("store_down", false);
            assert_eq!(
                (&got.message()["result"]["isError"], &got.problem()["retryable"]),
                (&json!(true), &json!(true))
            );
        }
        assert_eq!(client.ask("4", &count(server)).text(), "1", "what only reads needs no store");
        let control = ToolCall::new("append", json!({"file": site.file(&format!("{server}-control")), "line": "x"}));
        assert_eq!(client.ask("5", &control).text(), "appended", "void: nothing can run at all");
        assert_eq!((site.lines(server), number(server).as_str()), (1, "1"), "no effect");
    }
    engine.restart().await;
    for server in BOTH {
        for client in [first.client(server), second.client(server)] {
            eventually(PATIENCE, "calls work again", || async {
                let got = client.ask("6", &append(server, "away"));
                let done = got.problem().is_null();
                assert!(done || in_progress(&got) || got.problem_type().as_deref() == Some("store_down"), "{got:?}");
                done
            })
            .await;
        }
        assert!(second.client(server).ask("7", &append(server, "before")).is_replay());
        assert_eq!(second.client(server).ask("8", &bump(server)).text(), "2");
        assert_eq!(site.lines(server), 2, "each key once");
    }
}

/// It goes away between the effect and the answer: the caller hears of both, and nobody repeats the call.
async fn what_cannot_be_kept_is_marked(engine: &Server, store: String) {
    let site = Site::on(store);
    let rules = "lease = \"1s\"";
    let (first, second) = (site.instance(rules), site.instance(rules));
    let call = |server: &str| {
        let go = site.file("go");
        ToolCall::new("append", json!({"file": site.file(server), "line": "x", "answerWhen": go})).key(server)
    };
    let running = BOTH.map(|server| {
        let running = first.client(server).start("1", &call(server));
        site.effect(server);
        running
    });
    engine.stop().await;
    site.touch("go");
    for running in running {
        let got = running.answer();
        let recorded = &got.message()["result"]["_meta"]["dev.stanchion/recorded"];
        assert_eq!(
            (got.text().as_str(), recorded),
            ("appended", &json!(false)),
            "it ran, and is not remembered yet: {got:?}"
        );
    }
    engine.restart().await;
    for server in BOTH {
        for client in [second.client(server), first.client(server)] {
            let got = once_decided(&client, &call(server)).await;
            assert!(got.is_replay() || got.problem_type().as_deref() == Some("outcome_unknown"), "{got:?}");
        }
        assert_eq!(site.lines(server), 1, "one effect");
    }
}

/// It is there and says nothing.
async fn a_store_that_hangs_is_away(engine: &Server, store: String) {
    let site = Site::on(store);
    let instance = instance(&site);
    let append = |server: &str| ToolCall::new("append", json!({"file": site.file(server), "line": "x"})).key(server);
    let bump = |server: &str| ToolCall::new("bump", json!({"file": site.file(&format!("{server}-number"))}));
    BOTH.iter().for_each(|server| assert_eq!(instance.client(server).ask("1", &bump(server)).text(), "1"));
    engine.pause();
    for server in BOTH {
        let client = instance.client(server);
        let running = [append(server), bump(server)].map(|call| client.start("2", &call));
        running.into_iter().for_each(|call| call.answer().is_problem("store_down", false));
        assert_eq!(site.lines(server), 0, "no effect");
    }
    engine.resume();
    for server in BOTH {
        eventually(PATIENCE, "calls work again", || async {
            instance.client(server).ask("3", &bump(server)).problem().is_null()
        })
        .await;
    }
}

/// The first answer that says what became of the call.
async fn once_decided(client: &HttpClient, call: &ToolCall) -> Got {
    let mut last = None;
    eventually(PATIENCE, "the fate of the call is known", || {
        let got = client.ask("\"later\"", call);
        let undecided = in_progress(&got) || got.problem_type().as_deref() == Some("store_down");
        last = Some(got);
        async move { !undecided }
    })
    .await;
    last.expect("an answer")
}

/// The request that begins a call reaches the store after the gateway has given it up and told its caller that nothing
/// ran. That stays true: the call has no unknown outcome, and can be made.
#[tokio::test]
async fn a_beginning_that_arrives_late_is_taken_back() {
    let postgres = start_or_skip!(Postgres::options().fsync(true));
    let proxy = FaultProxy::start(postgres.addr(), Protocol::Postgres).await;
    let site = Site::on(format!("{}?sslmode=disable&timeout=500ms", postgres.url_at(proxy.port())));
    let instance = site.instance("lease = \"1s\"");
    let call = |key: &str| ToolCall::new("append", json!({"file": site.file(key), "line": "x"})).key(key);
    assert_eq!(instance.client(PIPE).ask("1", &call("warm")).text(), "appended");
    proxy.set_plan(Plan::first("fused_begin", Fault::Delay(Duration::from_secs(2))));
    instance.client(PIPE).ask("2", &call("late")).is_problem("store_down", false);
    eventually(PATIENCE, "the beginning has arrived", || async { !site.state("late").is_empty() }).await;
    let got = once_decided(&instance.client(PIPE), &call("late")).await;
    assert!(got.problem().is_null(), "nothing was sent, and the caller was told so: {got:?}");
    assert_eq!(site.lines("late"), 1);
}

/// Each of them with each engine.
macro_rules! on_both_engines {
    ($($scenario:ident($redis:literal, $postgres:literal))*) => {
        mod redis {
            use super::*;
            $(#[tokio::test]
            async fn $scenario() {
                let engine = start_or_skip!(Redis::options().aof(true));
                super::$scenario(&engine, format!("{}{}", engine.url(), $redis)).await;
            })*
        }

        mod postgres {
            use super::*;
            $(#[tokio::test]
            async fn $scenario() {
                let engine = start_or_skip!(Postgres::options().fsync(true));
                super::$scenario(&engine, format!("{}{}", engine.url(), $postgres)).await;
            })*
        }
    };
}

on_both_engines! {
    nothing_runs_until_it_is_back("", "")
    what_cannot_be_kept_is_marked("", "")
    a_store_that_hangs_is_away("?timeout=500ms&connect_timeout=500ms", "?timeout=500ms")
}
