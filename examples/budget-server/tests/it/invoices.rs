//! One key, one invoice: from both instances, through crashes, and never a made-up answer.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::site::{Answer, Client, PATIENCE, Site};

const CLIENTS: usize = 8;
const KEYS: usize = 40;
const LEASE: &[&str] = &["--lease-ms", "1000"];

/// All clients send the same keys at the same time. Per key: the different answers.
async fn all_at_once(site: &Site, tool: &'static str) -> Vec<BTreeSet<String>> {
    let barrier = std::sync::Arc::new(tokio::sync::Barrier::new(CLIENTS));
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let (client, barrier) = (site.client().await, std::sync::Arc::clone(&barrier));
        clients.push(tokio::spawn(async move {
            let mut answers = Vec::new();
            for key in 0..KEYS {
                barrier.wait().await;
                let invoice = json!({ "customer": "bob@example.com", "amount": 1000 + key });
                answers.push(client.call_with_key(tool, invoice, &format!("order-{key}")).await.done().to_string());
            }
            answers
        }));
    }
    let mut different = vec![BTreeSet::new(); KEYS];
    for client in clients {
        for (key, answer) in client.await.unwrap().into_iter().enumerate() {
            different[key].insert(answer);
        }
    }
    different
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_sent_to_both_instances_at_once_is_one_invoice_and_one_answer() {
    let site = Site::durable(LEASE).await;
    let answers = all_at_once(&site, "send_invoice").await;
    assert_eq!(site.invoices("send_invoice").len(), KEYS);
    for (key, different) in answers.iter().enumerate() {
        assert_eq!(different.len(), 1, "order-{key}: all answers are equal, byte by byte: {different:?}");
    }
    let listed = site.client().await.call("list_invoices", json!({ "customer": "bob@example.com" })).await.done();
    assert_eq!(listed["count"], json!(KEYS));
}

/// The control: somebody gets `{"pending":true}` as an invoice.
#[tokio::test(flavor = "multi_thread")]
async fn the_articles_keys_answer_pending() {
    let site = Site::durable(LEASE).await;
    let answers = all_at_once(&site, "article_send_invoice").await;
    let garbage = answers.iter().flatten().filter(|answer| answer.contains("pending")).count();
    assert!(garbage > 0, "the control must hand out a fake answer: {answers:?}");
}

/// Kills A at `point` in the middle of a call, and sends the same key again to B until it has a final answer.
async fn killed_at(site: &mut Site, tool: &'static str, point: &str) -> Answer {
    site.a.pauses.hold(point);
    let client = site.a.client().await;
    let first = tokio::spawn(async move { client.call_with_key(tool, invoice(), "order-1").await });
    site.a.pauses.reached(point, PATIENCE).await;
    site.a.process.kill();
    assert!(matches!(first.await.unwrap(), Answer::Unknown(_)), "the caller of A is left without an answer");
    again(&site.client().await, tool).await
}

/// Sends the key again until the answer is final.
async fn again(client: &Client, tool: &'static str) -> Answer {
    loop {
        let answer = client.call_with_key(tool, invoice(), "order-1").await;
        if !matches!(&answer, Answer::Refused(why) if why["retryable"] == json!(true)) {
            return answer;
        }
    }
}

fn invoice() -> Value {
    json!({ "customer": "bob@example.com", "amount": 500 })
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_effect_the_outcome_is_unknown_and_stays_so() {
    let mut site = Site::durable(LEASE).await;
    let answer = killed_at(&mut site, "send_invoice", "budget.before-effect").await;
    assert!(matches!(&answer, Answer::Unknown(why) if why.contains("receipt")), "{answer:?}");
    let once_more = again(&site.client().await, "send_invoice").await;
    assert!(matches!(once_more, Answer::Unknown(_)), "it is never run blindly: {once_more:?}");
    assert_eq!(site.invoices("send_invoice").len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_effect_the_invoice_is_not_sent_again() {
    let mut site = Site::durable(LEASE).await;
    let answer = killed_at(&mut site, "send_invoice", "budget.after-effect").await;
    assert!(matches!(&answer, Answer::Unknown(why) if why.contains("receipt")), "{answer:?}");
    assert_eq!(site.invoices("send_invoice").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_answer_the_retry_gets_the_stored_one() {
    let mut site = Site::durable(LEASE).await;
    let answer = killed_at(&mut site, "send_invoice", "budget.before-answer").await.done();
    assert_eq!(site.invoices("send_invoice"), [answer["invoiceId"].as_str().unwrap()]);
    assert!(site.client().await.is_replayed("send_invoice", invoice(), "order-1").await, "and it is marked as such");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_runs_on_when_its_caller_goes_away() {
    let site = Site::durable(LEASE).await;
    site.a.pauses.hold("budget.before-effect");
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "send_invoice", "arguments": invoice(), "_meta": { "dev.stanchion/idempotencyKey": "order-1" } } });
    let body = body.to_string();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut caller = tokio::net::TcpStream::connect(&site.a.address).await.unwrap();
    caller.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    site.a.pauses.reached("budget.before-effect", PATIENCE).await;
    drop(caller);
    site.a.pauses.release("budget.before-effect");
    let answer = again(&site.b.client().await, "send_invoice").await.done();
    assert_eq!(site.invoices("send_invoice"), [answer["invoiceId"].as_str().unwrap()]);
}

/// The control of all three: an answer without an invoice, as a success, for ever.
#[tokio::test(flavor = "multi_thread")]
async fn the_articles_retry_after_a_crash_is_a_made_up_success() {
    for (point, sent) in [("budget.before-effect", 0), ("budget.after-effect", 1)] {
        let mut site = Site::durable(LEASE).await;
        let answer = killed_at(&mut site, "article_send_invoice", point).await.done();
        assert_eq!(answer, json!({ "pending": true }), "the control must make up an answer");
        assert_eq!(site.invoices("article_send_invoice").len(), sent);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_that_fails_after_the_invoice_does_not_send_a_second_one() {
    let site = Site::durable(LEASE).await;
    let client = site.client().await;
    let unreachable = json!({ "customer": "bob@nowhere.invalid", "amount": 500 });
    let first = client.call_with_key("send_invoice", unreachable.clone(), "order-1").await.done();
    assert_eq!(first["sent"], json!(false), "the invoice exists, and the answer says what is missing");
    let second = client.call_with_key("send_invoice", unreachable.clone(), "order-1").await.done();
    assert_eq!((first, site.invoices("send_invoice").len()), (second, 1));
    // The control: the key is deleted with the failure, and the retry sends again.
    for _ in 0..2 {
        client.call_with_key("article_send_invoice", unreachable.clone(), "order-2").await.refused();
    }
    assert_eq!(site.invoices("article_send_invoice").len(), 2, "the control must send two invoices");
}

/// Half-way through the race A is killed. Every caller retries with its key until it has a final answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_race_in_which_an_instance_dies_sends_no_invoice_twice() {
    let mut site = Site::durable(LEASE).await;
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        let client = site.client().await;
        clients.push(tokio::spawn(async move {
            let (mut done, mut unknown) = (Vec::new(), 0);
            for key in 0..KEYS {
                let invoice = json!({ "customer": format!("c{number}-{key}@example.com"), "amount": 500 });
                let name = format!("order-{number}-{key}");
                loop {
                    match client.call_with_key("send_invoice", invoice.clone(), &name).await {
                        Answer::Done(value) => break done.push(value["invoiceId"].as_str().unwrap().to_owned()),
                        Answer::Unknown(why) if why.contains("receipt") => break unknown += 1,
                        // The connection broke, or the first try is still believed to run: ask again.
                        Answer::Unknown(_) => {}
                        Answer::Refused(why) => assert_eq!(why["retryable"], json!(true), "{why}"),
                    }
                }
            }
            (done, unknown)
        }));
    }
    let halfway = || async { site.invoices("send_invoice").len() >= CLIENTS * KEYS / 2 };
    stanchion_testkit::eventually(PATIENCE, "half of the invoices are sent", halfway).await;
    site.a.process.kill();
    let (mut done, mut unknown) = (BTreeSet::new(), 0);
    for client in clients {
        let (answers, nobody_knows) = client.await.unwrap();
        done.extend(answers);
        unknown += nobody_knows;
    }
    assert_eq!(done.len() + unknown, CLIENTS * KEYS, "every key has one answer of its own");
    assert!(unknown <= CLIENTS, "no more than died with A: {unknown}");
    let sent = site.invoices("send_invoice");
    let different: BTreeSet<_> = sent.iter().cloned().collect();
    assert_eq!(different.len(), sent.len());
    assert!(done.is_subset(&different), "an answer without an invoice");
    assert!(sent.len() <= CLIENTS * KEYS, "an invoice without a key of its own");
    assert!(sent.len() - done.len() <= unknown, "{} sent, {} answered, {unknown} unknown", sent.len(), done.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_keys_and_other_payloads_are_refused() {
    let site = Site::durable(LEASE).await;
    let client = site.client().await;
    for key in [json!(""), json!("k".repeat(300)), json!("a\nb"), json!(7), json!(["a", "b"]), json!(null)] {
        let answer = client.send("send_invoice", invoice(), Some(key.clone())).await;
        assert!(matches!(answer, Answer::Refused(_)), "{key}: {answer:?}");
    }
    assert_eq!(site.invoices("send_invoice").len(), 0);
    let first = client.call_with_key("send_invoice", invoice(), "order-é").await.done();
    let other = json!({ "customer": "eve@example.com", "amount": 500 });
    let said = client.call_with_key("send_invoice", other, "order-é").await;
    assert!(matches!(&said, Answer::Refused(why) if why["retryable"] == json!(false)), "{said:?}");
    assert_eq!(client.call_with_key("send_invoice", invoice(), "order-é").await.done(), first);
    assert_eq!(site.invoices("send_invoice").len(), 1);
    // Without a key each call is meant.
    client.call("send_invoice", invoice()).await.done();
    client.call("send_invoice", invoice()).await.done();
    assert_eq!(site.invoices("send_invoice").len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_may_forget_is_not_trusted_with_an_invoice() {
    let site = Site::start(LEASE).await;
    let said = site.client().await.call_with_key("send_invoice", invoice(), "order-1").await.refused();
    assert!(said.contains("can forget") && said.contains("fsync=off"), "{said}");
    assert_eq!(site.invoices("send_invoice").len(), 0);
}
