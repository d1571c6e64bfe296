//! Random calls, good and bad, to the official server and to ours: every answer and every graph are the same.

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use proptest::{collection, prelude::any, prop_oneof, strategy::Just};
use serde_json::{Value, json};
use stanchion_memory::{Compat, MemoryServer};
use stanchion_testkit::peers::Peers;
use stanchion_testkit::peers_or_skip;

use super::support::{Client, file_server, graph_server};

const CALLS: usize = 400;

/// Few names, so that they meet.
fn text() -> impl proptest::strategy::Strategy<Value = Value> {
    let known = ["a", "b", "c", "Ada", "ADA", "ada ", "Straße", "STRASSE", "ΣΑΣ", "σας", "\u{130}", ""];
    prop_oneof![
        8 => proptest::sample::select(known.to_vec()).prop_map(|text| json!(text)),
        1 => "\\PC{0,8}".prop_map(|text: String| json!(text)),
    ]
}

fn sometimes_wrong() -> impl proptest::strategy::Strategy<Value = Value> {
    prop_oneof![
        60 => text(),
        1 => Just(json!(null)),
        1 => any::<i64>().prop_map(|number| json!(number)),
        1 => any::<bool>().prop_map(|flag| json!(flag)),
        1 => Just(json!([])),
        1 => Just(json!({})),
    ]
}

fn texts() -> impl proptest::strategy::Strategy<Value = Value> {
    prop_oneof![
        30 => collection::vec(sometimes_wrong(), 0..4).prop_map(Value::from),
        1 => sometimes_wrong(),
    ]
}

fn object(
    one: &'static str,
    two: &'static str,
    list: &'static str,
) -> impl proptest::strategy::Strategy<Value = Value> {
    (sometimes_wrong(), sometimes_wrong(), texts(), 0..100).prop_map(move |(a, b, c, drop)| {
        let mut object = json!({ one: a, two: b, list: c });
        if drop == 0 {
            object.as_object_mut().expect("an object").remove(one);
        }
        object
    })
}

fn call<T: serde::Serialize>(tool: &'static str, member: &'static str) -> impl Fn(T) -> Value {
    move |value| json!({"name": tool, "arguments": { member: value }})
}

fn calls() -> impl proptest::strategy::Strategy<Value = Value> {
    let entities = collection::vec(object("name", "entityType", "observations"), 0..4);
    let relations = || {
        let relation = (sometimes_wrong(), sometimes_wrong(), sometimes_wrong());
        let relation = relation.prop_map(|(from, to, kind)| json!({"from": from, "to": to, "relationType": kind}));
        collection::vec(relation, 0..4)
    };
    prop_oneof![
        4 => entities.prop_map(call("create_entities", "entities")),
        3 => relations().prop_map(call("create_relations", "relations")),
        3 => collection::vec(object("entityName", "x", "contents"), 0..3).prop_map(call("add_observations", "observations")),
        1 => texts().prop_map(call("delete_entities", "entityNames")),
        1 => collection::vec(object("entityName", "x", "observations"), 0..3).prop_map(call("delete_observations", "deletions")),
        1 => relations().prop_map(call("delete_relations", "relations")),
        2 => sometimes_wrong().prop_map(call("search_nodes", "query")),
        2 => texts().prop_map(call("open_nodes", "names")),
        1 => Just(json!({"name": "read_graph"})),
    ]
}

#[tokio::test]
async fn random_calls_are_answered_alike_and_lead_to_the_same_graph() {
    let peers = peers_or_skip!();
    compare(&peers, graph_server()).await;
}

#[tokio::test]
async fn random_calls_on_a_file_lead_to_a_file_that_the_official_server_reads_alike() {
    let peers = peers_or_skip!();
    for compat in [Compat::Append, Compat::Strict] {
        let folder = tempfile::tempdir().unwrap();
        let last = compare(&peers, file_server(&folder, compat)).await;
        let read = Client::official(&peers, &folder).call("read_graph", json!({})).await;
        assert_eq!(read, last, "{compat:?}");
    }
}

/// Gives back the graph that both have at the end.
async fn compare(peers: &Peers, server: MemoryServer) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut official, mut ours) = (Client::official(peers, &folder), Client::of(server));
    // The same calls each time: a failure can be looked at.
    let mut runner = TestRunner::deterministic();
    let (mut refused, mut largest, mut graph) = (0, 0, Value::Null);
    for nth in 0..CALLS {
        let params = calls().new_tree(&mut runner).expect("a call").current();
        let theirs = official.ask("tools/call", Some(params.clone())).await;
        let mine = ours.ask("tools/call", Some(params.clone())).await;
        assert_eq!(theirs, mine, "call {nth}: {params}");
        graph = official.call("read_graph", json!({})).await;
        assert_eq!(graph, ours.call("read_graph", json!({})).await, "after call {nth}: {params}");
        refused += usize::from(mine["result"]["isError"] == true);
        largest = largest.max(graph["structuredContent"]["entities"].as_array().map_or(0, Vec::len));
    }
    assert!((20..CALLS - 100).contains(&refused), "{refused} of {CALLS} were refused: that means little");
    assert!(largest >= 5, "the graph never had more than {largest} entities");
    graph
}
