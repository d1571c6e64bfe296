//! One report at a time under one name, and the name is free again when it is made.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use stanchion_testkit::eventually;

use crate::site::{Client, PATIENCE, Site};

const CLIENTS: usize = 8;
const CALLS: usize = 60;
const KINDS: [&str; 3] = ["daily", "weekly", "monthly"];

fn report(kind: &str) -> Value {
    json!({ "project": "apollo", "kind": kind })
}

async fn reports(client: &Client) -> Value {
    client.call("list_reports", json!({})).await.done()
}

/// How many reports of this kind were made.
async fn made(client: &Client, kind: &str) -> usize {
    reports(client).await["made"].as_array().unwrap().iter().filter(|report| report["kind"] == kind).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_callers_queue_one_report_and_later_another_one() {
    let site = Site::start(&[]).await;
    for instance in [&site.a, &site.b] {
        instance.pauses.hold("budget.report");
    }
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        let client = site.client().await;
        clients.push(tokio::spawn(async move {
            let mut answers = Vec::new();
            for call in 0..CALLS {
                let kind = (number + call) % KINDS.len();
                answers.push((kind, client.call("enqueue_report", report(KINDS[kind])).await.done()));
            }
            answers
        }));
    }
    let (mut ids, mut new) = ([(); KINDS.len()].map(|()| BTreeSet::new()), 0);
    for client in clients {
        for (kind, answer) in client.await.unwrap() {
            ids[kind].insert(answer["jobId"].as_str().unwrap().to_owned());
            new += usize::from(answer["deduplicated"] == json!(false));
        }
    }
    assert_eq!(new, KINDS.len(), "one call per kind queued it");
    assert!(ids.iter().all(|ids| ids.len() == 1), "and all others were told which job it is: {ids:?}");

    for instance in [&site.a, &site.b] {
        instance.pauses.release("budget.report");
    }
    let client = site.client().await;
    for kind in KINDS {
        eventually(PATIENCE, "the report is made", || async { made(&client, kind).await == 1 }).await;
    }
    let again = client.call("enqueue_report", report("daily")).await.done();
    assert_eq!(again["deduplicated"], json!(false), "the name is free again");
    assert!(!ids[0].contains(again["jobId"].as_str().unwrap()));
    eventually(PATIENCE, "the second report is made", || async { made(&client, "daily").await == 2 }).await;
    assert_eq!((made(&client, "weekly").await, made(&client, "monthly").await), (1, 1), "exactly once each");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_whose_maker_was_killed_is_made_once_by_the_other() {
    let mut site = Site::start(&["--lease-ms", "500"]).await;
    // B may not take it first.
    site.b.process.pause();
    site.a.pauses.hold("budget.report");
    let client = site.a.client().await;
    let job = client.call("enqueue_report", report("daily")).await.done();
    site.a.pauses.reached("budget.report", PATIENCE).await;
    site.a.process.kill();
    site.b.process.resume();
    let client = site.b.client().await;
    eventually(PATIENCE, "B makes the report", || async { made(&client, "daily").await == 1 }).await;
    assert_eq!(reports(&client).await["made"][0]["jobId"], job["jobId"]);
    let open = || async { reports(&client).await["open"].as_array().unwrap().len() };
    eventually(PATIENCE, "nothing is left to do", || async { open().await == 0 }).await;
    assert_eq!(made(&client, "daily").await, 1);
}

/// The control: asked for again after it was made, the article's report is never made again, and nobody is told.
#[tokio::test(flavor = "multi_thread")]
async fn the_articles_name_is_blocked_for_ever() {
    let site = Site::start(&[]).await;
    let client = site.client().await;
    let article = || async { reports(&client).await["article"].clone() };
    client.call("article_enqueue_report", report("daily")).await.done();
    let once = json!([{ "name": r#"["apollo","daily"]"#, "state": "done", "made": 1 }]);
    eventually(PATIENCE, "the first report is made", || async { article().await == once }).await;
    for _ in 0..10 {
        let answer = client.call("article_enqueue_report", report("daily")).await.done();
        assert_eq!(answer, json!({ "enqueued": true }), "it says yes each time");
    }
    // A new job of another name passes: the worker is alive, and has looked since.
    client.call("article_enqueue_report", report("weekly")).await.done();
    let weekly = || async { article().await[0]["state"] == json!("done") && article().await[1] == once[0] };
    eventually(PATIENCE, "the control makes no second report", weekly).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_names_are_refused_and_odd_ones_kept_apart() {
    let site = Site::start(&[]).await;
    let client = site.client().await;
    for bad in [json!({ "project": "", "kind": "daily" }), json!({ "project": "a", "kind": "x\u{7}" }), json!({})] {
        client.call("enqueue_report", bad.clone()).await.refused();
        client.call("article_enqueue_report", bad).await.refused();
    }
    let (one, other) = (json!({ "project": "a", "kind": "b\",\"c" }), json!({ "project": "a\",\"b", "kind": "c" }));
    let one = client.call("enqueue_report", one).await.done();
    let other = client.call("enqueue_report", other).await.done();
    assert_ne!(one["jobId"], other["jobId"]);
}
