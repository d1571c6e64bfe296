//! `claims ls|show|settle|sweep`: an unknown outcome is something a person can act on.

use std::path::Path;

use stanchion_core::claim::Response;
use stanchion_core::{Call, CallKey, Fingerprint, Guard, Policy, Reply, Scope};
use stanchion_testkit::process;

use crate::support::{Home, PATIENCE};

fn call(key: &str) -> Call {
    Call::new(Scope::new("alice", "billing", "send_invoice").expect("sound"), Policy::default())
        .key(CallKey::new(key).expect("sound"), Fingerprint::of_json("{}").expect("sound"))
}

async fn guard(home: &Path) -> Guard {
    let store = format!("sqlite:{}", home.join("stanchion.db").display());
    let opened = stanchion_stores::open(&store).await.expect("sound");
    Guard::new(opened.records.expect("sound"), opened.locks)
}

/// Leaves claims behind: one done, one unknown. Returns the receipt of the unknown one.
async fn leave_behind(home: &Path) -> String {
    let guard = guard(home).await;
    let done = Reply::Done(Response::new("", r#"{"invoice":1}"#));
    guard.call(&call("paid"), |_| async { done }).await.expect("sound");
    let unknown = guard.call(&call("doubt"), |_| async { Reply::Unknown("the gateway timed out".into()) }).await;
    unknown.expect("sound").receipt.expect("sound").to_string()
}

#[tokio::test]
async fn a_listing_shows_what_needs_somebody_and_the_rest_on_demand() {
    let home = Home::new();
    home.output(&["claims", "ls"]).exits(0).says("no claim needs anybody");
    let receipt = leave_behind(&home.path("")).await;
    home.output(&["claims", "ls"]).exits(0).says(&receipt[..12]).says("unknown").never_says("paid");
    home.output(&["claims", "ls", "--all"]).exits(0).says("unknown").says("paid");
    home.output(&["claims", "ls", "--state", "done"]).exits(0).says("paid").never_says("doubt");
    home.output(&["claims", "ls", "--state", "gone"]).exits(2).says("possible values");
    let said = home.output(&["claims", "ls", "--json"]).exits(0);
    let value: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!((&value[0]["key"], &value[0]["receipt"]), (&"doubt".into(), &receipt.as_str().into()));
    assert_eq!(value[0]["reason"], "the gateway timed out");
}

#[tokio::test]
async fn an_unknown_call_is_settled_as_done_and_repetitions_get_that_answer() {
    let home = Home::new();
    let receipt = leave_behind(&home.path("")).await;
    let short = &receipt[..12];
    home.output(&["claims", "show", short]).exits(0).says("the gateway timed out").says("claims settle");
    let by_key = ["--key", "doubt", "--principal", "alice", "--server", "billing", "--tool", "send_invoice"];
    home.output(&[&["claims", "show"], &by_key[..]].concat()).exits(0).says(&receipt);

    let answer = home.path("answer.json");
    std::fs::write(&answer, "not json").unwrap();
    let settle = |extra: &[&str]| home.output(&[&["claims", "settle", short], extra].concat());
    settle(&["--reason", "x"]).exits(2);
    settle(&["--done", answer.to_str().unwrap(), "--reason", "x"]).exits(78).says("not JSON");
    settle(&["--done", "/nowhere", "--reason", "x"]).exits(78).says("cannot be read");
    std::fs::write(&answer, r#"{"invoice":7}"#).unwrap();
    settle(&["--done", answer.to_str().unwrap(), "--reason", " "]).exits(78).says("needs a reason");
    settle(&["--done", answer.to_str().unwrap(), "--reason", "it is in the ledger"]).exits(0).says("settled");
    settle(&["--done", answer.to_str().unwrap(), "--reason", "again"])
        .exits(77)
        .says("only a claim whose outcome is unknown");

    let again =
        guard(&home.path("")).await.call(&call("doubt"), |_| async { panic!("never run again") }).await.unwrap();
    let Reply::Done(response) = again.reply else { panic!("it is done: {again:?}") };
    assert_eq!(response.bytes().unwrap(), r#"{"invoice":7}"#);
    home.output(&["claims", "show", short, "--answer"]).exits(0).says("it is in the ledger").says(r#"{"invoice":7}"#);
    let audit = std::fs::read_to_string(home.path("audit.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> =
        audit.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let told: Vec<_> = lines.iter().map(|line| (line["step"].as_str(), line["outcome"].as_str())).collect();
    let (intent, end) = (Some("intent"), Some("outcome"));
    // The last is the second attempt, which came too late.
    assert_eq!(told, [(intent, None), (end, Some("done")), (intent, None), (end, Some("nothing_changed"))]);
    for line in &lines {
        assert_eq!((&line["event"], &line["receipt"]), (&"claim_settle".into(), &receipt.as_str().into()));
        assert_eq!(line["verdict"], "done");
        assert_eq!(line["by"]["uid"], rustix::process::getuid().as_raw());
        assert!(line["by"]["pid"].is_u64() && line["by"]["host"].is_string(), "{line}");
    }
}

#[tokio::test]
async fn not_executed_is_refused_while_the_owner_lives_and_believed_when_it_is_gone() {
    if process::is_helper() {
        let folder = std::env::var("TEST_FOLDER").expect("the test's folder");
        println!("READY {}", leave_behind(folder.as_ref()).await);
        return std::future::pending().await;
    }
    let home = Home::new();
    let folder = home.path("");
    let mut owner = process::Child::rerun_this_test_with(&[("TEST_FOLDER", folder.to_str().expect("utf-8"))]);
    let receipt = owner.expect_line("READY", PATIENCE).await;
    let settle = ["claims", "settle", &receipt[..12], "--not-executed", "--reason", "not in the ledger"];
    home.output(&settle).exits(78).says(&owner.pid().to_string());
    home.output(&[&settle[..], &["--silent-for", "30s"]].concat()).exits(78).says(&owner.pid().to_string());
    for short in ["0s", "29s"] {
        home.output(&[&settle[..], &["--silent-for", short]].concat()).exits(2).says("30s");
    }
    let audit = std::fs::read_to_string(home.path("audit.jsonl")).unwrap();
    assert_eq!(audit.matches(r#""outcome":"nothing_changed""#).count(), 2, "{audit}");
    owner.kill();
    home.output(&settle).exits(0).says("is free");
    let ran = guard(&folder).await.call(&call("doubt"), |_| async { Reply::Done(Response::new("", "now")) }).await;
    assert!(!ran.unwrap().replayed);
}

#[tokio::test]
async fn what_a_stranger_wrote_cannot_steer_the_terminal() {
    let home = Home::new();
    let hostile = "\u{1b}[2Jfine\nclaim is settled";
    let guard = guard(&home.path("")).await;
    guard.call(&call("a"), |_| async { Reply::Done(Response::new("", hostile)) }).await.unwrap();
    guard.call(&call("b"), |_| async { Reply::Unknown(hostile.into()) }).await.unwrap();
    let by =
        |key| ["claims", "show", "--principal", "alice", "--server", "billing", "--tool", "send_invoice", "--key", key];
    for key in ["a", "b"] {
        let shown = home.output(&[&by(key)[..], &["--answer"]].concat()).exits(0).says("fine");
        assert!(!shown.out.contains('\u{1b}') && !shown.out.contains("\nclaim is settled"), "{shown:?}");
    }
    let shown = home.output(&[&by("a")[..], &["--answer", "--json"]].concat()).exits(0);
    let value: serde_json::Value = serde_json::from_str(&shown.out).expect("JSON");
    assert_eq!(value["answer"], hostile, "programs get what was stored");
}

#[tokio::test]
async fn bad_receipts_get_a_clear_answer() {
    let home = Home::new();
    leave_behind(&home.path("")).await;
    home.output(&["claims", "show", "xyz"]).exits(78).says("hex digits");
    home.output(&["claims", "show", "00000000000000"]).exits(77).says("no such claim");
    home.output(&["claims", "show"]).exits(2);
    home.output(&["claims", "show", "--key", "doubt"]).exits(2);
    home.output(&["--store", "memory:", "claims", "ls"]).exits(0).says("no claim");
    let files = format!("file:{}", home.path("locks").display());
    home.output(&["--store", &files, "claims", "ls"]).exits(78).says("keeps no records");
}

#[tokio::test]
async fn a_sweep_says_what_it_did() {
    let home = Home::new();
    leave_behind(&home.path("")).await;
    home.output(&["claims", "sweep"]).exits(0).says("2 claims looked at").says("1 need somebody");
    let said = home.output(&["claims", "sweep", "--json"]).exits(0);
    let value: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!((value["looked_at"].as_u64(), value["need_attention"].as_u64()), (Some(2), Some(1)));
}
