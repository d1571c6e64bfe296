//! Without a specification: what races is found, what does not is not, and whatever cannot be told is told.

use stanchion_race::{Auto, AutoTarget, Options, Outcome, Spec, auto};
use stanchion_testkit::peers_or_skip;

use crate::support::{must_be, run, target};

async fn on(command: &[&str], env: &[(&str, &str)]) -> Auto {
    let command = command.iter().map(ToString::to_string).collect();
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    auto(&AutoTarget { command, env, urls: Vec::new() }, &Options { seed: Some(7), ..Options::default() }).await
}

/// The notes of `examples/target`, in a new folder for every round.
async fn notes(how: &str) -> Auto {
    on(&[&target(), "notes", "{dir}/notes", how], &[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_that_are_written_back_race_and_the_specification_shows_it_again() {
    let auto = notes("racy").await;
    must_be(&auto.verdict, Outcome::Race);
    let text = auto.spec.expect("a specification");
    assert!(text.contains("tool = \"add_note\"") && text.contains("select = \"/notes/*\""), "{text}");
    assert!(text.contains("once = \"race-{id}\"") && text.contains("instances = 2"), "{text}");
    Spec::parse(&text, "made.toml").unwrap_or_else(|wrong| panic!("{wrong}"));
    must_be(&run(&text).await, Outcome::Race);
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_that_are_appended_do_not() {
    let auto = notes("sound").await;
    must_be(&auto.verdict, Outcome::NothingFound);
    assert_eq!((auto.verdict.rounds, auto.verdict.calls.acknowledged), (10, 200), "{}", auto.verdict);
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_keep_their_own_notes_are_raced_alone() {
    let auto = notes("private").await;
    must_be(&auto.verdict, Outcome::NothingFound);
    assert!(auto.spec.unwrap().contains("instances = 1"));
    assert!(auto.notes.iter().any(|note| note.contains("one process is raced")), "{:?}", auto.notes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_creates_and_is_not_raced_is_told_beside_one_that_is() {
    let auto = notes("two").await;
    must_be(&auto.verdict, Outcome::NothingFound);
    assert!(auto.spec.unwrap().contains("tool = \"add_note\""));
    let told = auto.notes.iter().find(|note| note.starts_with("create_tag: not raced: "));
    assert!(told.is_some_and(|note| note.contains("the listing is short")), "{:?}", auto.notes);
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_cannot_be_told_is_inconclusive_with_its_reason() {
    let cases = [
        ("short", "20 things created one after the other are not all shown: the listing is short"),
        ("last", "takes the place of what was there"),
        ("crash", "the target failed at add_note: it ended with exit status: 1"),
        ("garbage", "it wrote a line that is no message: a note was added"),
        ("hang", "add_note failed: no answer in 5 s"),
        ("fickle", "what is shown is not always the same"),
        ("mute", "it has no tools"),
    ];
    for (how, expected) in cases {
        let auto = notes(how).await;
        must_be(&auto.verdict, Outcome::Inconclusive);
        let reason = auto.verdict.reason.as_ref().unwrap();
        assert!(reason.contains(expected), "{how}: {reason}");
    }
    let missing = on(&["/no/such/program"], &[]).await;
    assert!(missing.verdict.reason.unwrap().contains("could not be started"));
    let other = on(&[&target(), "log", "{dir}/log", "plain"], &[]).await;
    assert!(other.verdict.reason.as_ref().unwrap().contains("its answer to tools/list is"), "{}", other.verdict);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_memory_server_races_and_ours_does_not() {
    let peers = peers_or_skip!();
    let (node, server) = (peers.node().to_str().unwrap(), peers.memory_server());
    let official = on(&[node, server.to_str().unwrap()], &[("MEMORY_FILE_PATH", "{dir}/memory.jsonl")]).await;
    must_be(&official.verdict, Outcome::Race);
    assert!(official.spec.unwrap().contains("tool = \"create_entities\""));
    let ours = on(&[&target(), "memory", "{dir}/memory.jsonl"], &[]).await;
    must_be(&ours.verdict, Outcome::NothingFound);
}

/// One address, two sessions; and nothing is sent elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_not_this_machine_is_refused() {
    let target = AutoTarget { urls: vec!["http://192.0.2.1:9/mcp".into()], ..AutoTarget::default() };
    let auto = auto(&target, &Options::default()).await;
    must_be(&auto.verdict, Outcome::Inconclusive);
    assert!(auto.verdict.reason.unwrap().contains("192.0.2.1 is not this machine"));
}
