//! The official server and ours are asked the same, and say the same, except for what is stated here.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Value, json};
use stanchion_core::MemoryStore;
use stanchion_memory::{Compat, MemoryServer, SharedMemory};
use stanchion_testkit::peers::Peers;
use stanchion_testkit::peers_or_skip;

use super::support::{Client, file_server, graph_server};

type Step = (&'static str, Option<Value>);

fn call(tool: &str, arguments: Value) -> Step {
    ("tools/call", Some(json!({"name": tool, "arguments": arguments})))
}

fn entity(name: &str, observations: &[&str]) -> Value {
    json!({"name": name, "entityType": "person", "observations": observations})
}

fn tools() -> Vec<Step> {
    let odd = "tab\t quote\" back\\slash \u{1} \u{7f} \u{2028} é 😀 </script> \u{8}\u{c}\r\n";
    let knows = json!({"from": "Ada", "to": "Charles", "relationType": "knows"});
    vec![
        call("create_entities", json!({"entities": [entity("Ada", &["likes looms", odd]), entity("Ada", &["again"])]})),
        call("create_entities", json!({"entities": [entity("Ada", &[]), entity("Charles", &[]), entity(odd, &[])]})),
        call("create_entities", json!({"entities": []})),
        call(
            "create_entities",
            json!({"entities": [{"name": "x", "entityType": "", "observations": [], "more": 1}], "z": 1}),
        ),
        call(
            "create_relations",
            json!({"relations": [knows, knows, {"from": "a", "to": "b", "relationType": "c", "d": 1}]}),
        ),
        call("create_relations", json!({"relations": [knows]})),
        call(
            "add_observations",
            json!({"observations": [{"entityName": "Ada", "contents": ["n", "n", "likes looms"]}, {"entityName": "Ada", "contents": ["n", "m"]}]}),
        ),
        call(
            "add_observations",
            json!({"observations": [{"entityName": "Ada", "contents": ["lost"]}, {"entityName": "Nobody\n", "contents": []}]}),
        ),
        call("add_observations", json!({"observations": []})),
        call("read_graph", json!({})),
        call("read_graph", json!({"x": 1})),
        ("tools/call", Some(json!({"name": "read_graph"}))),
        call("search_nodes", json!({"query": "LOOM"})),
        call("search_nodes", json!({"query": ""})),
        call("search_nodes", json!({"query": "nowhere"})),
        call("open_nodes", json!({"names": ["Charles", "Nobody", "Charles"]})),
        call("open_nodes", json!({"names": []})),
        ("resources/list", None),
        ("resources/list", Some(json!({"cursor": "x"}))),
        ("resources/templates/list", None),
        ("resources/read", Some(json!({"uri": "memory://knowledge-graph"}))),
        ("resources/read", Some(json!({"uri": "MEMORY://knowledge-graph"}))),
        call(
            "delete_observations",
            json!({"deletions": [{"entityName": "Ada", "observations": ["n", "none"]}, {"entityName": "Nobody", "observations": []}]}),
        ),
        call("delete_relations", json!({"relations": [knows, {"from": "?", "to": "?", "relationType": "?"}]})),
        call("delete_entities", json!({"entityNames": ["a", "Nobody", odd]})),
        call("delete_entities", json!({"entityNames": []})),
        call("read_graph", json!({})),
        ("tools/list", None),
        ("tools/list", Some(json!({"cursor": "x"}))),
        ("ping", None),
        ("ping", Some(json!({"x": 1}))),
    ]
}

/// Every member of every tool with everything that it must not be.
fn wrong_arguments() -> Vec<Step> {
    let mut steps = Vec::new();
    let bad = [json!(null), json!(1), json!(1.5), json!(true), json!("s"), json!({}), json!([])];
    let members = [
        ("create_entities", "entities", entity("n", &["o"])),
        ("create_relations", "relations", json!({"from": "f", "to": "t", "relationType": "r"})),
        ("add_observations", "observations", json!({"entityName": "n", "contents": ["c"]})),
        ("delete_observations", "deletions", json!({"entityName": "n", "observations": ["o"]})),
        ("delete_relations", "relations", json!({"from": "f", "to": "t", "relationType": "r"})),
        ("delete_entities", "entityNames", json!("n")),
        ("open_nodes", "names", json!("n")),
    ];
    for (tool, list, item) in members {
        steps.push(call(tool, json!({})));
        steps.push(("tools/call", Some(json!({"name": tool}))));
        steps.push(call(tool, json!({"other": [item]})));
        for bad in &bad {
            steps.push(call(tool, json!({ list: bad })));
            steps.push(call(tool, json!({ list: [item, bad] })));
            steps.push(call(tool, json!({ list: [bad, {"extra": bad}, [bad]] })));
            for member in item.as_object().into_iter().flat_map(|item| item.keys()) {
                let mut changed = item.clone();
                changed[member] = bad.clone();
                steps.push(call(tool, json!({ list: [item, changed] })));
                changed[member] = json!([bad, "fine", bad]);
                steps.push(call(tool, json!({ list: [changed] })));
                changed.as_object_mut().expect("an object").remove(member);
                steps.push(call(tool, json!({ list: [changed, item, {}] })));
            }
        }
    }
    for bad in &bad {
        steps.push(call("search_nodes", json!({"query": bad})));
    }
    steps.push(call("search_nodes", json!({})));
    steps
}

fn wrong_messages() -> Vec<Step> {
    let mut steps = vec![
        ("tools/call", None),
        ("tools/call", Some(json!({}))),
        ("tools/call", Some(json!({"name": 5}))),
        ("tools/call", Some(json!({"arguments": []}))),
        call("nosuch", json!({})),
        ("tools/call", Some(json!({"name": "nosuch"}))),
        call("", json!({})),
        call("create_entities ", json!({})),
        ("tools/call", Some(json!({"name": "read_graph", "task": {"ttl": 5}}))),
        ("tools/call", Some(json!({"name": "read_graph", "task": 5}))),
        ("tools/call", Some(json!({"name": "read_graph", "task": "x", "arguments": 7}))),
        ("tools/list", Some(json!({"cursor": 5}))),
        ("resources/list", Some(json!({"cursor": {}}))),
        ("resources/templates/list", Some(json!({"cursor": null}))),
        ("resources/read", Some(json!({"uri": "memory://other"}))),
        ("resources/read", Some(json!({"uri": "memory://knowledge-graph/"}))),
        ("resources/read", Some(json!({"uri": "no uri"}))),
        ("resources/read", Some(json!({"uri": 5}))),
        ("resources/read", Some(json!({}))),
        ("resources/read", None),
        ("resources/subscribe", Some(json!({"uri": 5}))),
        ("resources/subscribe", Some(json!({"uri": "memory://other"}))),
        ("resources/subscribe", None),
        ("resources/unsubscribe", Some(json!({"uri": "memory://other"}))),
        ("resources/unsubscribe", Some(json!({}))),
        ("initialize", Some(json!({}))),
        ("initialize", Some(json!({"protocolVersion": "2025-06-18", "capabilities": 5, "clientInfo": {}}))),
    ];
    for arguments in [json!(null), json!("x"), json!([]), json!(5), json!(true)] {
        steps.push(call("create_entities", arguments.clone()));
        steps.push(call("nosuch", arguments));
    }
    for method in [
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "logging/setLevel",
        "nosuch/x",
        "tasks/list",
        "tasks/get",
        "roots/list",
        "",
    ] {
        steps.push((method, None));
        steps.push((method, Some(json!({"name": "x"}))));
    }
    steps
}

/// Where our answer is another, and that is meant. In both directions: each is looked for and must be found.
const STATED: [(&str, &str); 2] =
    [("initialize", "/result/serverInfo/version"), ("initialize", "/result/capabilities/extensions")];

/// What differs, apart from what is stated.
fn difference(method: &str, official: &Value, ours: &Value) -> Option<String> {
    let (mut official, mut ours) = (official.clone(), ours.clone());
    for (_, pointer) in STATED.iter().filter(|(of, _)| *of == method) {
        for answer in [&mut official, &mut ours] {
            let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
            if let Some(Value::Object(parent)) = answer.pointer_mut(parent) {
                parent.remove(name);
            }
        }
    }
    (official != ours).then(|| format!("official: {official:#}\nours:     {ours:#}"))
}

#[tokio::test]
async fn every_answer_is_the_official_servers() {
    let peers = peers_or_skip!();
    compare(&peers, graph_server()).await;
}

#[tokio::test]
async fn every_answer_on_a_file_is_the_official_servers() {
    let peers = peers_or_skip!();
    for compat in [Compat::Append, Compat::Strict] {
        let folder = tempfile::tempdir().unwrap();
        compare(&peers, file_server(&folder, compat)).await;
    }
}

async fn compare(peers: &Peers, server: MemoryServer) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut official = Client::official(peers, &folder);
    let server = server.keys("memory-test", || async { panic!("no call has a key") });
    let mut ours = Client::of(server);
    let hello = |version: &str| {
        let client = json!({"name": "test", "version": "1"});
        json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client})
    };
    // The official server answers before `initialize`, and so do we.
    let mut steps = vec![call("read_graph", json!({}))];
    for version in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2026-07-28", "1999-01-01", "x"] {
        steps.push(("initialize", Some(hello(version))));
    }
    steps.push(("initialize", Some(hello("2025-11-25"))));
    steps.extend(tools());
    steps.extend(wrong_arguments());
    steps.extend(wrong_messages());
    steps.extend(tools());
    assert!(steps.len() > 300, "{}", steps.len());
    let (mut stated, mut differences) = (0, Vec::new());
    for (method, params) in &steps {
        let theirs = official.ask(method, params.clone()).await;
        let mine = ours.ask(method, params.clone()).await;
        differences.extend(difference(method, &theirs, &mine).map(|what| format!("{method} {params:?}\n{what}")));
        stated += STATED.iter().filter(|(of, at)| of == method && theirs.pointer(at) != mine.pointer(at)).count();
        // A planted difference is seen.
        let mut other = mine.clone();
        other["planted"] = json!(1);
        assert!(difference(method, &theirs, &other).is_some());
    }
    assert!(
        differences.is_empty(),
        "{} of {}:\n{}",
        differences.len(),
        steps.len(),
        differences[..differences.len().min(5)].join("\n\n")
    );
    assert_eq!(stated, 2 * 8, "each stated difference is one, each time");
}

#[tokio::test]
async fn what_the_official_server_passes_over_in_silence_is_answered() {
    let peers = peers_or_skip!();
    let folder = tempfile::tempdir().unwrap();
    let (mut official, mut ours) = (Client::official(&peers, &folder), Client::of(graph_server()));
    for line in [
        "garbage",
        "5",
        r#"[{"jsonrpc":"2.0","id":9,"method":"ping"}]"#,
        r#"{"id":7,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":8}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"s","method":"ping","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"read_graph","_meta":5}}"#,
    ] {
        official.line(line).await;
        ours.line(line).await;
        let said = (official.said_until_now().await.len(), ours.said_until_now().await.len());
        assert_eq!(said, (0, 1), "{line}");
    }
}

#[tokio::test]
async fn a_subscriber_is_told_what_the_official_server_tells_and_when() {
    let peers = peers_or_skip!();
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let shared = SharedMemory::new(Arc::new(MemoryStore::new()), SharedMemory::DEFAULT_NAME).unwrap();
    let ours = [
        graph_server(),
        file_server(&folders[0], Compat::Append),
        file_server(&folders[1], Compat::Strict),
        MemoryServer::new(Arc::new(shared)),
    ];
    let clients = std::iter::once(Client::official(&peers, &folders[2])).chain(ours.map(Client::of));
    let told = join_all(clients.map(heard)).await;
    let counts: Vec<usize> = told[0].iter().map(Vec::len).collect();
    assert_eq!(counts, [1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0]);
    for (nth, ours) in ["graph", "append", "strict", "shared"].iter().enumerate() {
        assert_eq!(told[nth + 1], told[0], "{ours}");
    }
}

/// What a subscriber hears before the answer to each of its changes, and after it.
async fn heard(mut client: Client) -> Vec<Vec<Value>> {
    let changes = [
        call("create_entities", json!({"entities": [entity("Ada", &[])]})),
        // Not even when nothing changes does the official server keep it to itself.
        call("create_entities", json!({"entities": [entity("Ada", &[])]})),
        call("add_observations", json!({"observations": [{"entityName": "nobody", "contents": []}]})),
        call("read_graph", json!({})),
        call("delete_entities", json!({"entityNames": ["Ada"]})),
    ];
    client.initialize().await;
    let uri = Some(json!({"uri": "memory://knowledge-graph"}));
    let mut heard = Vec::new();
    client.ask("resources/subscribe", uri.clone()).await;
    for (method, params) in &changes {
        client.ask(method, params.clone()).await;
        heard.push(std::mem::take(&mut client.notified));
        heard.push(client.said_unasked().await);
    }
    client.ask("resources/unsubscribe", uri).await;
    client.ask(changes[0].0, changes[0].1.clone()).await;
    heard.push(client.said_unasked().await);
    heard
}

#[tokio::test]
async fn half_a_character_is_stored_as_the_official_server_stores_it_except_that_it_is_a_replacement() {
    let peers = peers_or_skip!();
    let folder = tempfile::tempdir().unwrap();
    let entity = r#"{"name":"Ada","entityType":"t","observations":["cut \ud83d","whole \ud83d\ude00"]}"#;
    let params = format!(r#"{{"name":"create_entities","arguments":{{"entities":[{entity}]}}}}"#);
    let line = format!(r#"{{"jsonrpc":"2.0","id":"half","method":"tools/call","params":{params}}}"#);
    let mut said = Vec::new();
    for mut client in [Client::official(&peers, &folder), Client::of(graph_server())] {
        client.line(&line).await;
        said.push(client.next_line().await.unwrap());
    }
    assert!(serde_json::from_str::<Value>(&said[0]).is_err(), "it is half a character there: {}", said[0]);
    let [official, ours] =
        [said[0].replace(r#"cut \ud83d"#, "cut \u{fffd}").replace(r#"cut \\ud83d"#, "cut \u{fffd}"), said[1].clone()]
            .map(|line| serde_json::from_str::<Value>(&line).unwrap());
    assert_eq!(ours, official);
    assert_eq!(ours["id"], "half");
    let observations = &ours["result"]["structuredContent"]["entities"][0]["observations"];
    assert_eq!(*observations, json!(["cut \u{fffd}", "whole 😀"]));
}
