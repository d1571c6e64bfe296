//! Faults at the boundaries of JSON-RPC messages, in front of two instances and behind them.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, Rates};

use super::support::*;

const CALLS: usize = 40;
/// How often a client asks for one call before it gives up, which it never should.
const ATTEMPTS: usize = 60;

/// Between clients and gateways everything may happen to a message. Behind them, nothing doubles a request: an upstream
/// that knows neither key nor fence would do it twice, and nobody promises that it does not.
const BEFORE: Rates = Rates {
    lose_reply: 0.2,
    lose_request: 0.1,
    delay: 0.1,
    delay_reply: 0.1,
    duplicate: 0.2,
    reset: 0.1,
    longest_delay: std::time::Duration::from_millis(5),
};
const BEHIND: Rates = Rates { lose_reply: 0.05, lose_request: 0.05, reset: 0.05, duplicate: 0.0, ..BEFORE };

struct Outcome {
    effects: usize,
    /// The texts of the answers; the tool gives each of its effects another one.
    answers: Vec<String>,
    unknown: usize,
}

/// Every call is asked for again, under another id and at another instance, until there is an answer.
async fn under_faults(seed: u64, keyed: bool) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let (server, effects) = Server::counting().await;
    let behind = FaultProxy::start(server.addr, Protocol::Mcp).await;
    behind.set_plan(Plan::seeded(seed, BEHIND));
    let url = format!("http://{}/mcp", behind.addr());
    let mut doors = Vec::new();
    for number in 0..2 {
        let gateway = Gateway::start(&Store::sqlite(folder.path()).await, WRITES, &url).await;
        let proxy = FaultProxy::start(gateway.addr, Protocol::Mcp).await;
        proxy.set_plan(Plan::seeded(seed + 1 + number, BEFORE));
        doors.push((gateway, proxy));
    }
    let mut outcome = Outcome { effects: 0, answers: Vec::new(), unknown: 0 };
    for number in 0..CALLS {
        let key = keyed.then(|| format!("key-{number}"));
        let mut ended = false;
        for attempt in 0..ATTEMPTS {
            let body = call(&format!("\"{number}-{attempt}\""), key.as_deref());
            let Ok(answer) = open(doors[attempt % 2].1.addr(), &[BOTH], &body).await else { continue };
            let answer = got(answer).await;
            match answer.problem().as_deref() {
                None => outcome.answers.push(answer.texts()),
                Some("outcome_unknown") => outcome.unknown += 1,
                // Another instance is at it: that is for now.
                Some(_) => continue,
            }
            ended = true;
            break;
        }
        assert!(ended, "call {number} was never answered");
    }
    for (proxy, name) in [(&behind, "behind"), (&doors[0].1, "before"), (&doors[1].1, "before")] {
        let counts = proxy.counts();
        assert!(counts.lost_replies > 0 && counts.unparsed == 0, "void: {name}: {counts:?}");
    }
    outcome.effects = effects.load(Ordering::SeqCst);
    outcome
}

#[tokio::test]
async fn a_keyed_call_happens_once_whatever_becomes_of_its_messages_and_without_a_key_it_does_not() {
    let Outcome { effects, answers, unknown } = under_faults(7, true).await;
    let different: BTreeSet<_> = answers.iter().collect();
    assert_eq!(different.len(), answers.len(), "two calls were told of one effect: {answers:?}");
    assert_eq!(answers.len() + unknown, CALLS);
    assert!((answers.len()..=CALLS).contains(&effects), "{effects} effects of {CALLS} calls, {unknown} unknown");
    assert!(answers.len() > CALLS / 2, "void: {unknown} of {CALLS} are unknown");
    let control = under_faults(7, false).await;
    assert!(control.effects > CALLS, "void: the faults do no harm: {} effects of {CALLS} calls", control.effects);
}

#[tokio::test]
async fn in_a_stream_of_events_the_answer_is_lost_and_what_came_before_it_is_not() {
    let server = Server::start(|seen| async move {
        let answer = seen.result(r#"{"content":[{"type":"text","text":"1"}]}"#);
        let progress =
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#;
        Reply::events(&[&format!("data: {progress}\n\n"), &format!("data: {answer}\n\n")])
    })
    .await;
    let proxy = FaultProxy::start(server.addr, Protocol::Mcp).await;
    proxy.set_plan(Plan::first("tools/call", Fault::LoseReply));
    let mut lost = open(proxy.addr(), &[BOTH], &call("1", None)).await.unwrap().into_body();
    let mut seen = String::new();
    while let Some(Ok(frame)) = http_body_util::BodyExt::frame(&mut lost).await {
        seen.push_str(&String::from_utf8_lossy(frame.data_ref().unwrap()));
    }
    assert!(seen.contains("notifications/progress") && !seen.contains("result"), "{seen}");
    assert_eq!(proxy.counts().lost_replies, 1);
    let whole = post(proxy.addr(), &[BOTH], &call("2", None)).await;
    assert!(whole.body.contains("notifications/progress") && whole.body.contains("result"), "{whole:?}");
}
