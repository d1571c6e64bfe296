//! The official memory server loses what it acknowledged; ours does not.

use stanchion_race::{Options, Outcome, Schedule, race};
use stanchion_testkit::peers_or_skip;

use crate::support::{memory_spec, must_be, run, spec, target};

fn official(peers: &stanchion_testkit::peers::Peers) -> String {
    format!("\"{}\", \"{}\"", peers.node().display(), peers.memory_server().display())
}

fn ours() -> String {
    format!("\"{}\", \"memory\", \"{{dir}}/memory.jsonl\"", target())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_server_is_found_to_race_in_its_first_round_and_two_calls_on_one_instance_show_it() {
    let peers = peers_or_skip!();
    let verdict = run(&memory_spec(&official(&peers), 2, 20, 3, "")).await;
    must_be(&verdict, Outcome::Race);
    let found = verdict.found.as_ref().unwrap();
    assert_eq!((found.round, found.calls.acknowledged), (0, 20), "{verdict}");
    assert_eq!(found.violations[0].expectation, "every");
    let minimal = verdict.minimal.as_ref().unwrap();
    assert_eq!((minimal.calls, minimal.instances, minimal.faults), (2, 1, 0), "{verdict}");
    let text = verdict.to_string();
    assert!(
        text.contains("20 acknowledged, ") && text.contains(" lost · minimal: 2 calls, 1 instance · replay: --seed 17"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_smallest_schedule_shows_the_race_again_from_its_file() {
    let peers = peers_or_skip!();
    let spec = spec(&memory_spec(&official(&peers), 2, 20, 3, ""));
    let minimal = race(&spec, &Options::default()).await.minimal.expect("a race");
    let again = Schedule::from_json(&minimal.schedule.to_json(), &spec).unwrap();
    assert_eq!(again, minimal.schedule);
    let verdict = race(&spec, &Options { schedule: Some(again), ..Options::default() }).await;
    must_be(&verdict, Outcome::Race);
    assert_eq!(verdict.found.unwrap().calls.acknowledged, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn our_memory_server_keeps_everything_that_it_acknowledged() {
    let verdict = run(&memory_spec(&ours(), 3, 50, 10, "")).await;
    must_be(&verdict, Outcome::NothingFound);
    assert_eq!((verdict.rounds, verdict.calls.acknowledged), (10, 500), "{verdict}");
}

#[tokio::test(flavor = "multi_thread")]
async fn our_memory_server_keeps_it_under_every_fault_that_pipes_have() {
    let faults = r#""delay", "lost-reply", "duplicate", "pause", "kill""#;
    let text = memory_spec(&ours(), 2, 30, 10, faults).replace("[read]", "[faults]\npause_ms = 50\n[read]");
    let verdict = run(&text).await;
    must_be(&verdict, Outcome::NothingFound);
    for fault in ["delay", "lost-reply", "duplicate", "pause", "kill"] {
        assert!(verdict.faults.contains_key(fault), "void: no {fault} happened\n{verdict}");
    }
    assert!(verdict.calls.unknown > 0, "{verdict}");
}

/// The same over HTTP: every instance has a session of its own.
#[tokio::test(flavor = "multi_thread")]
async fn our_memory_server_keeps_it_over_http_with_connections_that_are_cut() {
    let command = format!("\"{}\", \"memory-http\", \"{{port}}\", \"{{dir}}/memory.jsonl\"", target());
    let text = memory_spec(&command, 2, 30, 6, r#""delay", "lost-reply", "duplicate", "reset""#);
    let text = text.replace("\"mcp-stdio\"", "\"mcp-http\"\nurls = [\"http://127.0.0.1:{port}/mcp\"]");
    let verdict = run(&text).await;
    must_be(&verdict, Outcome::NothingFound);
    assert!(verdict.faults.contains_key("reset") && verdict.calls.unknown > 0, "{verdict}");
    assert!(verdict.calls.acknowledged > 100, "{verdict}");
}
