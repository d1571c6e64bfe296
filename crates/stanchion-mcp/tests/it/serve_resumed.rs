//! Streams of the era with sessions that were cut, and are taken up again.

use std::time::Duration;

use http::Method;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use stanchion_mcp::serve::StdioLimits;
use stanchion_testkit::eventually;

use crate::serve_support::*;

/// A client that would rather have events.
fn events_first(client: &Client) -> Client {
    client.with("accept", "text/event-stream, application/json")
}

/// Takes a stream up again.
async fn resumed(client: &Client, id: &str) -> Live {
    client.with("last-event-id", id).open(Method::GET, "").await
}

fn progress(id: u64, steps: u64, ms: u64, store: &Store) -> String {
    let mut message = call(id, "progress", json!({"steps": steps, "ms": ms, "file": store.path("f"), "line": "x"}));
    message["params"]["_meta"]["progressToken"] = json!("mine");
    message.to_string()
}

/// A call that has its effect and waits: on a stream whose client knows where it is.
async fn waiting(client: &Client, store: &Store) -> (Live, String) {
    let before = store.lines("f");
    let arguments = json!({"file": store.path("f"), "line": "x", "answerWhen": store.path("go")});
    let mut live = events_first(client).open(Method::POST, call(7, "append", arguments).to_string()).await;
    let place = live.event().await.expect("where it is");
    assert_eq!((place.retry.as_deref(), &place.message), (Some("500"), &None), "{place:?}");
    eventually(SOON, "the call runs", || async { store.lines("f") == before + 1 }).await;
    (live, place.id.expect("an id"))
}

fn step(message: &Value) -> Option<u64> {
    message["params"]["progress"].as_u64()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_stream_is_resumed_with_all_that_was_said_meanwhile_once_and_in_order() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let session = house.session().await;
    let mut live = events_first(&session).open(Method::POST, progress(1, 20, 5, &store)).await;
    assert_eq!(live.event().await.unwrap().message, None);
    let (mut seen, mut last) = (Vec::new(), String::new());
    for _ in 0..3 {
        let event = live.event().await.unwrap();
        seen.extend(event.message.as_ref().and_then(step));
        last = event.id.unwrap();
    }
    drop(live);
    eventually(SOON, "the call has had its effect", || async { store.lines("f") == 1 }).await;
    // Control: nobody else is told what was missed.
    let other = session.call(2, "pid", json!({})).await;
    assert_eq!(other.messages.len(), 1, "{other:?}");
    let mut standing = session.open(Method::GET, "").await;
    session.call(3, "list_changed", json!({})).await;
    assert_eq!(standing.next().await.unwrap()["method"], "notifications/tools/list_changed");
    let mut again = resumed(&session, &last).await;
    assert_eq!(again.status(), 200);
    let place = again.event().await.unwrap();
    assert_eq!((place.id.as_ref(), place.message), (Some(&last), None));
    let mut ids = vec![last];
    let mut answers = Vec::new();
    while let Some(event) = again.event().await {
        let message = event.message.unwrap();
        match step(&message) {
            Some(step) => seen.push(step),
            None => answers.push(message),
        }
        ids.push(event.id.unwrap());
    }
    assert_eq!(seen, (1..=20).collect::<Vec<_>>());
    assert_eq!((answers.len(), &answers[0]["id"], store.lines("f")), (1, &json!(1), 1), "{answers:?}");
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count);
    // Everything has been told.
    let over = resumed(&session, &ids[count - 1]).await.rest().await;
    assert_eq!((over.status, over.text.as_str()), (204, ""));
}

/// The control of all of these: without ids there is nothing to come back with.
#[tokio::test(flavor = "multi_thread")]
async fn older_versions_see_neither_ids_nor_empty_events_and_lose_what_was_cut() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let session = house.session().await;
    for version in [Some("2025-06-18"), Some("2025-03-26"), None] {
        let older = match version {
            Some(version) => events_first(&session).with("mcp-protocol-version", version),
            None => events_first(&session).without("mcp-protocol-version"),
        };
        let got = older.send(Method::POST, progress(1, 2, 5, &store)).await;
        let lines: Vec<&str> = got.text.lines().filter(|line| !line.is_empty()).collect();
        let plain = |line: &&str| *line == "event: message" || line.starts_with("data: {");
        assert!(got.messages.len() == 3 && lines.iter().all(plain), "{version:?}: {got:?}");
        let mut standing = older.open(Method::GET, "").await;
        older.call(2, "list_changed", json!({})).await;
        let event = standing.event().await.unwrap();
        assert!(event.id.is_none() && event.retry.is_none() && event.message.is_some(), "{event:?}");
        let before = store.lines("f");
        let mut cut = older.open(Method::POST, progress(3, 3, 5, &store)).await;
        assert_eq!(cut.event().await.unwrap().message.as_ref().and_then(step), Some(1));
        drop((cut, standing));
        eventually(SOON, "the call has had its effect", || async { store.lines("f") == before + 1 }).await;
        eventually(SOON, "a new stream has nothing of it", || async {
            let mut standing = older.open(Method::GET, "").await;
            if standing.status() == 409 {
                return false;
            }
            older.call(4, "list_changed", json!({})).await;
            standing.next().await.unwrap()["method"] == "notifications/tools/list_changed"
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_stream_goes_on_until_its_answer_and_the_newest_connection_has_it() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let session = house.session().await;
    let (cut, id) = waiting(&session, &store).await;
    drop(cut);
    let mut first = resumed(&session, &id).await;
    assert_eq!(first.event().await.unwrap().id.as_ref(), Some(&id));
    let mut second = resumed(&session, &id).await;
    assert_eq!(second.event().await.unwrap().id.as_ref(), Some(&id));
    // The older one ends, and is told nothing more.
    assert!(first.event().await.is_none());
    std::fs::write(store.path("go"), "").unwrap();
    let told = second.event().await.unwrap();
    assert_eq!(told.message.unwrap()["id"], 7);
    assert!(second.event().await.is_none());
    // Its answer is kept for a while: nobody knows whether it arrived.
    let again = resumed(&session, &id).await.rest().await;
    assert_eq!((again.messages.len(), again.said(), store.lines("f")), (1, "appended", 1));
    assert_eq!(resumed(&session, &told.id.unwrap()).await.status(), 204);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_kept_or_not_ones_own_is_refused_and_never_a_gap() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup { principals: principals(), ..Setup::default() }).await;
    let client = house.client().named("alice");
    let (session, other) = (client.initialize().await, client.initialize().await);
    let (_open, id) = waiting(&session, &store).await;
    let (_other, foreign) = waiting(&other, &store).await;
    for unknown in [foreign.as_str(), "nobody", "7", &format!("{id}0"), &format!("{id}-1")] {
        let got = resumed(&session, unknown).await.rest().await;
        assert_eq!((got.status, got.code()), (400, Some(-32600)), "{unknown}: {got:?}");
        assert!(got.text.contains("cannot be had any more"), "{got:?}");
    }
    // Neither the session nor the stream exists for anybody else.
    let got = resumed(&session.named("bob"), &id).await.rest().await;
    assert_eq!(got.status, 404, "{got:?}");
    assert!(got.text.contains("may have been executed"), "{got:?}");
    // Still there, until too much is said on another stream.
    let mut chatty = events_first(&session).open(Method::POST, progress(8, 1100, 5, &store)).await;
    let (begin, first) = (chatty.event().await.unwrap().id.unwrap(), chatty.event().await.unwrap().id.unwrap());
    let mut last = String::new();
    while let Some(event) = chatty.event().await {
        last = event.id.unwrap();
    }
    for evicted in [&begin, &first] {
        let got = resumed(&session, evicted).await.rest().await;
        assert_eq!((got.status, got.code()), (400, Some(-32600)), "{got:?}");
    }
    assert_eq!(resumed(&session, &last).await.status(), 204);
    // Nothing has been said on the first one: nothing of it is lost.
    let mut again = resumed(&session, &id).await;
    assert_eq!(again.event().await.unwrap().id.as_ref(), Some(&id));
    std::fs::write(store.path("go"), "").unwrap();
    assert_eq!(again.event().await.unwrap().message.unwrap()["id"], 7);
}

/// How much memory this process has, in MiB.
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel tells it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") >> 10
}

/// Whoever asks for a large answer again and again, and does not read, makes no copies of it; and it is not kept for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_answer_that_is_told_again_and_again_is_there_once_and_gone_once_it_was_told() {
    const LARGE: usize = 20 << 20;
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let session = house.session().await;
    let arguments = json!({"file": store.path("f"), "line": "x", "bytes": LARGE, "answerWhen": store.path("go")});
    let mut live = events_first(&session).open(Method::POST, call(1, "big", arguments).to_string()).await;
    let id = live.event().await.unwrap().id.unwrap();
    drop(live);
    eventually(SOON, "the call runs", || async { store.lines("f") == 1 }).await;
    let mut oldest = resumed(&session, &id).await;
    assert!(oldest.event().await.unwrap().message.is_none());
    std::fs::write(store.path("go"), "").unwrap();
    oldest.response.body_mut().frame().await.expect("the beginning of the answer").unwrap();
    let before = memory();
    let mut idle = Vec::new();
    for _ in 0..24 {
        let live = resumed(&session, &id).await;
        assert_eq!(live.status(), 200);
        idle.push(live);
    }
    let grown = memory().saturating_sub(before);
    assert!(grown < 4 * (LARGE >> 20), "{grown} MiB more");
    let mut newest = resumed(&session, &id).await;
    let got = newest.event().await.and(newest.event().await).unwrap();
    let text = got.message.unwrap()["result"]["content"][0]["text"].as_str().unwrap().len();
    assert_eq!((text, newest.event().await.is_none()), (LARGE, true));
    // All others have ended before they had it.
    assert!(oldest.event().await.is_none());
    for mut live in idle {
        assert!(live.event().await.unwrap().message.is_none());
        assert!(live.event().await.is_none());
    }
    eventually(SOON, "it is not kept any more", || async { resumed(&session, &id).await.status() == 400 }).await;
    assert_eq!(resumed(&session, &got.id.unwrap()).await.status(), 400);
}

/// Control: the same session forgets what its client was told, in the test of what is not kept.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_a_call_that_was_hung_up_on_outlasts_whatever_others_say() {
    let store = Store::fresh().await;
    let limits = StdioLimits::default().hang_up(Some(Duration::from_millis(500)));
    let house = House::start(&store, Setup { limits, ..Setup::default() }).await;
    let session = house.session().await;
    let (mut live, id) = waiting(&session, &store).await;
    assert!(live.event().await.is_none(), "it was not hung up on");
    std::fs::write(store.path("go"), "").unwrap();
    // Another stream says more than is kept: by then the answer has come.
    let mut chatty = events_first(&session).open(Method::POST, progress(8, 1300, 0, &store)).await;
    let begin = chatty.event().await.unwrap().id.unwrap();
    let mut said = 0;
    while let Some(event) = chatty.event().await {
        said += usize::from(event.message.is_some());
    }
    assert_eq!(said, 1301);
    assert_eq!(resumed(&session, &begin).await.status(), 400, "void: there was room for everything");
    let back = resumed(&session, &id).await.rest().await;
    assert_eq!((back.status, back.said(), store.lines("f")), (200, "appended", 2), "{back:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_standing_stream_is_resumed_as_well() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let session = house.session().await;
    let mut standing = session.open(Method::GET, "").await;
    let place = standing.event().await.unwrap();
    for id in [1, 2] {
        assert_eq!(session.call(id, "list_changed", json!({})).await.messages.len(), 1);
    }
    drop(standing);
    let mut again = resumed(&session, &place.id.unwrap()).await;
    assert_eq!(again.event().await.unwrap().message, None);
    let mut last = String::new();
    for _ in 0..2 {
        let event = again.event().await.unwrap();
        assert_eq!(event.message.unwrap()["method"], "notifications/tools/list_changed");
        last = event.id.unwrap();
    }
    // It is the one standing stream again, and goes on.
    assert_eq!(session.send(Method::GET, "").await.status, 409);
    assert_eq!(session.call(3, "list_changed", json!({})).await.messages.len(), 1);
    assert_ne!(again.event().await.unwrap().id, Some(last));
}

/// Polling: nothing between us and the client sees a request that takes long.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_stream_is_hung_up_and_the_client_comes_back_until_it_is_answered() {
    let store = Store::fresh().await;
    let limits = StdioLimits::default().hang_up(Some(Duration::from_millis(100)));
    let house = House::start(&store, Setup { limits, ..Setup::default() }).await;
    let session = house.session().await;
    let arguments = json!({"file": store.path("f"), "line": "x", "answerWhen": store.path("go")});
    let message = call(1, "append", arguments.clone()).to_string();
    // Older clients cannot come back: they are not hung up on, though this one waits longer than the other.
    let older = session.with("mcp-protocol-version", "2025-06-18");
    let patient = tokio::spawn(async move { older.call(2, "append", arguments).await });
    eventually(SOON, "it runs", || async { store.lines("f") == 1 }).await;
    // One that takes JSON first is hung up on as well.
    let mut live = session.open(Method::POST, message).await;
    let mut last = live.event().await.unwrap().id.unwrap();
    assert!(live.event().await.is_none());
    let mut polls = 0;
    let answer = 'polling: loop {
        if polls == 3 {
            std::fs::write(store.path("go"), "").unwrap();
        }
        polls += 1;
        let mut live = resumed(&session, &last).await;
        while let Some(event) = live.event().await {
            last = event.id.unwrap();
            if let Some(message) = event.message {
                assert!(live.event().await.is_none());
                break 'polling message;
            }
        }
    };
    assert_eq!((&answer["id"], store.lines("f")), (&json!(1), 2), "{answer}");
    assert!(polls > 3, "it was never hung up on");
    let patient = patient.await.unwrap();
    assert_eq!((patient.is_stream, patient.said()), (false, "appended"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_which_only_cut_streams_are_left_ends_when_it_is_idle() {
    let store = Store::fresh().await;
    // Longer than a busy machine needs from one call to the next: who is slow here must not be taken for gone.
    let limits = StdioLimits::default().session_idle(Duration::from_secs(3));
    let house = House::start(&store, Setup { limits, ..Setup::default() }).await;
    let mut lives_on = Vec::new();
    for n in 0..2 {
        let session = house.session().await;
        let pid = session.call(1, "pid", json!({})).await.said().to_owned();
        let arguments = json!({"file": store.path("f"), "line": "x", "ms": 600_000});
        let mut live = events_first(&session).open(Method::POST, call(2, "slow", arguments).to_string()).await;
        assert!(live.event().await.unwrap().id.is_some());
        eventually(SOON, "it runs", || async { store.lines("f") == n + 1 }).await;
        lives_on.push((pid, live));
    }
    let (ends, live) = lives_on.remove(0);
    drop(live);
    eventually(SOON, "the session has ended", || async { !lives(&ends) }).await;
    assert!(lives(&lives_on[0].0), "void: the other one, whose client is there, has ended too");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_stops_does_not_wait_for_clients_that_are_not_there() {
    let store = Store::fresh().await;
    let house = House::start(&store, Setup::default()).await;
    let session = house.session().await;
    // Teaches the gate which tools only read, so that `slow` is passed on at once.
    session.call(1, "count", json!({"file": store.path("f")})).await;
    let arguments = json!({"file": store.path("f"), "line": "x", "ms": 600_000});
    let mut live = events_first(&session).open(Method::POST, call(2, "slow", arguments).to_string()).await;
    assert!(live.event().await.unwrap().id.is_some());
    eventually(SOON, "it runs", || async { store.lines("f") == 1 }).await;
    drop(live);
    let began = std::time::Instant::now();
    house.stopped().await.unwrap();
    assert!(began.elapsed() < SOON / 2, "it waited for {:?}", began.elapsed());
}
