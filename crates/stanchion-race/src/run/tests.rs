//! Each fault does what it says.

use std::path::Path;

use super::ground::Ground;
use super::history::{End, Played, Stop};
use super::round::{Mode, play};
use crate::oracle::judge;
use crate::schedule::Schedule;
use crate::spec::Spec;

/// Calls are at work for so long, which is more than a busy machine delays a fault.
fn spec(how: &str, busy_ms: u64, expect: &str) -> Spec {
    let here = std::env::current_exe().unwrap();
    let target = here.ancestors().nth(2).unwrap().join("examples/target");
    assert!(target.is_file(), "{} is missing: build the examples of stanchion-race", target.display());
    let text = format!(
        r#"
        version = 1
        name = "log"
        [target]
        kind = "mcp-stdio"
        command = ["{}", "log", "{{dir}}/log", "{how}"]
        [limits]
        seconds = 60
        call_seconds = 4
        [[call]]
        tool = "add"
        arguments = {{ id = "{{id}}", busy_ms = {busy_ms} }}
        times = 2
        faults = ["delay", "lost-reply", "duplicate", "pause", "kill"]
        [read]
        tool = "list"
        select = "/lines/*"
        [expect]
        {expect}
        "#,
        target.display()
    );
    Spec::parse(&text, "spec.toml").unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// Two calls at once, each on an instance of its own; the first meets a fault.
async fn two(spec: &Spec, fault: &str) -> Result<Played, Stop> {
    let steps = format!(r#"{{"n":0,"call":0,"instance":0,"fault":{fault}}},{{"n":1,"call":0,"instance":1}}"#);
    let json = format!(r#"{{"version":1,"seed":1,"round":0,"instances":2,"steps":[{steps}]}}"#);
    let schedule = Schedule::from_json(&json, spec).unwrap();
    let ground = Ground::new(spec, 1, Path::new("/"), &[]).await.unwrap();
    play(&ground, &schedule, Mode::Race).await
}

/// How often each call is in the log that the second instance shows.
fn lines(played: &Played) -> Vec<usize> {
    let shown = played.reads[1].as_ref().unwrap().json.as_ref().unwrap()["lines"].to_string();
    played.records.iter().map(|record| shown.matches(&record.id).count()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_does_to_its_call_what_it_says_and_nothing_to_the_other() {
    let cases = [
        (r#"{"kind":"lost-reply"}"#, 20, End::Unknown, 1..=1, 20_000),
        (r#"{"kind":"duplicate","instance":1,"after_us":10}"#, 20, End::Acknowledged, 2..=2, 20_000),
        (r#"{"kind":"delay","before_us":100000,"after_us":0}"#, 20, End::Acknowledged, 1..=1, 20_000),
        (r#"{"kind":"delay","before_us":0,"after_us":100000}"#, 20, End::Acknowledged, 1..=1, 120_000),
        (r#"{"kind":"pause","after_us":5000,"ms":1500}"#, 500, End::Acknowledged, 1..=1, 1_400_000),
        // Before or after its line is written.
        (r#"{"kind":"kill","after_us":25000,"restart_ms":1}"#, 1500, End::Unknown, 0..=1, 0),
    ];
    for (fault, busy_ms, end, times, least_us) in cases {
        let spec = spec("plain", busy_ms, "every = \"{id}\"");
        let played = two(&spec, fault).await.unwrap();
        let [first, second] = &played.records[..] else { panic!("{:?}", played.records) };
        assert_eq!(first.end, end, "{fault}: {first:?}");
        assert!(first.ended_us - first.started_us >= least_us, "{fault}: {first:?}");
        assert_eq!((second.end, second.fault), (End::Acknowledged, None), "{fault}: {second:?}");
        let lines = lines(&played);
        assert!(times.contains(&lines[0]) && lines[1] == 1, "{fault}: {lines:?}");
        assert!(judge(&spec, &played).violations.is_empty(), "{fault}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_a_killed_process_leaves_behind_is_seen_by_the_calls_that_come_after() {
    let whole = spec("locked", 10, "answers = true");
    let played = two(&whole, "null").await.unwrap();
    assert_eq!((judge(&whole, &played).violations, played.afterwards.len()), (Vec::new(), 2));
    // It is killed while it is busy, with the lock.
    let spec = spec("locked", 2500, "answers = true");
    let steps = r#"{"n":0,"call":0,"instance":0,"fault":{"kind":"kill","after_us":1000000,"restart_ms":0}}"#;
    let json = format!(r#"{{"version":1,"seed":1,"round":0,"instances":1,"steps":[{steps}]}}"#);
    let schedule = Schedule::from_json(&json, &spec).unwrap();
    let ground = Ground::new(&spec, 1, Path::new("/"), &[]).await.unwrap();
    let played = play(&ground, &schedule, Mode::Race).await.unwrap();
    let violations = judge(&spec, &played).violations;
    assert_eq!(violations.first().map(|it| it.expectation), Some("answers"), "{played:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_differ_in_every_play_and_every_call() {
    let spec = spec("plain", 0, "every = \"{id}\"");
    let ground = Ground::new(&spec, 1, Path::new("/"), &[]).await.unwrap();
    let mut all: Vec<String> =
        (0..50).flat_map(|play| (0..200).map(move |n| (play, n))).map(|(play, n)| ground.id(play, n)).collect();
    assert!(all.iter().all(|id| id.len() == 16));
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 10_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_come_from_the_seed_unless_the_target_keeps_what_earlier_runs_left() {
    let ids = async |spec: &Spec| Ground::new(spec, 1, Path::new("/"), &[]).await.unwrap().id(0, 0);
    let started = spec("plain", 0, "every = \"{id}\"");
    assert_eq!(ids(&started).await, ids(&started).await);
    let text = "version = 1\nname = \"x\"\n[target]\nkind = \"http\"\nurls = [\"http://127.0.0.1:9\"]\n[[call]]\npath = \"/\"\n[expect]\nanswers = true\n";
    let running = Spec::parse(text, "spec.toml").unwrap();
    assert_ne!(ids(&running).await, ids(&running).await);
}
