//! `stanchion memory` with clients that others have written, and in the place of the official server.

#![expect(clippy::unwrap_used, reason = "help for tests: whatever is missing fails the test")]

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use stanchion_testkit::peers::Peers;
use stanchion_testkit::peers_or_skip;

use crate::memory::{call, command, entity, graph, names};
use crate::stdio_client::StdioClient;
use crate::support::{Home, Said};

/// What a client's configuration has instead of `npx -y @modelcontextprotocol/server-memory`.
fn configured(home: &Home) -> Vec<String> {
    let home = home.path("").to_str().unwrap().to_owned();
    [env!("CARGO_BIN_EXE_stanchion"), "--home", &home, "memory"].map(str::to_owned).to_vec()
}

fn script(name: &str) -> String {
    format!("{}/tests/clients/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The client creates, adds, searches, deletes, and reads the resource; what it saw, and what is in the file.
fn uses_everything(mut client: Command) {
    let home = Home::new();
    client.args(configured(&home)).env_remove("MEMORY_FILE_PATH").env_remove("STANCHION_STORE");
    let said = Said::from(client.output().expect("it starts")).exits(0);
    let report: Value = serde_json::from_str(said.out.lines().last().expect("a line")).expect("JSON");
    let mut tools: Vec<_> = report["tools"].as_array().unwrap().iter().map(|tool| tool.as_str().unwrap()).collect();
    tools.sort_unstable();
    let all = [
        "add_observations",
        "create_entities",
        "create_relations",
        "delete_entities",
        "delete_observations",
        "delete_relations",
        "open_nodes",
        "read_graph",
        "search_nodes",
    ];
    assert_eq!(tools, all);
    assert_eq!(report["found"]["entities"], json!([entity("Ada", &["first", "second"])]));
    assert_eq!(report["found"]["relations"], json!([{"from": "Ada", "to": "Brook", "relationType": "knows"}]));
    assert_eq!(report["refused"], "Entity with name Nobody not found");
    let resource: Value = serde_json::from_str(report["resource"].as_str().unwrap()).unwrap();
    assert_eq!(resource["entities"], json!([entity("Ada", &["first", "second"])]));
    assert_eq!(names(&home.path("memory.jsonl")), ["Ada"]);
}

#[test]
fn the_python_sdk_uses_the_memory() {
    let peers = peers_or_skip!();
    let mut client = Command::new(peers.python());
    client.arg(script("memory_python.py"));
    uses_everything(client);
}

#[test]
fn the_typescript_sdk_uses_the_memory() {
    let peers = peers_or_skip!();
    let mut client = Command::new(peers.node());
    client.arg(script("memory_typescript.mjs")).arg(peers.npm());
    uses_everything(client);
}

#[test]
fn the_inspector_uses_the_memory() {
    let peers = peers_or_skip!();
    let home = Home::new();
    let ask = |words: &[&str]| {
        let mut client = Command::new(peers.node22());
        client.arg(peers.inspector()).arg("--cli").args(configured(&home)).args(words);
        client.env_remove("MEMORY_FILE_PATH").env_remove("STANCHION_STORE");
        let said = Said::from(client.output().expect("it starts")).exits(0);
        serde_json::from_str::<Value>(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"))
    };
    assert_eq!(ask(&["--method", "tools/list"])["tools"].as_array().unwrap().len(), 9);
    let entities = format!("entities={}", json!([entity("Ada", &["first"])]));
    let created = ask(&["--method", "tools/call", "--tool-name", "create_entities", "--tool-arg", &entities]);
    assert_eq!(created["structuredContent"]["entities"][0]["name"], "Ada", "{created}");
    let found = ask(&["--method", "tools/call", "--tool-name", "search_nodes", "--tool-arg", "query=FIRST"]);
    assert_eq!(found["structuredContent"]["entities"][0]["name"], "Ada", "{found}");
    assert_eq!(names(&home.path("memory.jsonl")), ["Ada"]);
}

fn official(peers: &Peers, file: &Path) -> StdioClient {
    let mut command = Command::new(peers.node());
    command.arg(peers.memory_server()).env("MEMORY_FILE_PATH", file);
    StdioClient::start(command).initialised()
}

fn ours(home: &Home, file: &Path, options: &[&str]) -> StdioClient {
    let mut command = command(home, options);
    command.env("MEMORY_FILE_PATH", file);
    StdioClient::start(command).initialised()
}

/// One server after the other on one file, and both running all the time: what one wrote, the other reads.
fn in_turns(options: &[&str]) {
    let peers = peers_or_skip!();
    let home = Home::new();
    let file = home.path("shared.jsonl");
    let mut servers = [official(&peers, &file), ours(&home, &file, options)];
    for turn in 0..6 {
        let (own, other) = (format!("turn-{turn}"), format!("turn-{}", turn.max(1) - 1));
        let writer = &mut servers[turn % 2];
        call(
            writer,
            "create_entities",
            &json!({"entities": [entity(&own, &["made"]), entity("Ä\u{2028}\"\\", &["🦀"])]}),
        );
        let more = json!({"observations": [{"entityName": other, "contents": [format!("seen in {own}")]}]});
        call(writer, "add_observations", &more);
        let relation = json!({"from": own, "to": other, "relationType": "follows"});
        call(writer, "create_relations", &json!({"relations": [relation]}));
        let [theirs, mine] = &mut servers;
        assert_eq!(graph(theirs), graph(mine), "turn {turn}");
        let found = json!({"query": format!("SEEN IN {own}")});
        assert_eq!(call(theirs, "search_nodes", &found), call(mine, "search_nodes", &found));
    }
    let removed = json!({"entityNames": ["turn-2"]});
    call(&mut servers[1], "delete_entities", &removed);
    let remaining = graph(&mut servers[0]);
    assert_eq!(remaining["entities"].as_array().unwrap().len(), 6, "{remaining}");
    assert_eq!(remaining["relations"].as_array().unwrap().len(), 4, "{remaining}");
    assert_eq!(graph(&mut servers[1]), remaining);
    // Fresh processes, as after a change of the configuration in either direction.
    assert_eq!(graph(&mut official(&peers, &file)), remaining);
    assert_eq!(graph(&mut ours(&home, &file, options)), remaining);
}

#[test]
fn it_takes_turns_with_the_official_server_on_one_file() {
    in_turns(&[]);
}

#[test]
fn it_takes_turns_with_the_official_server_on_one_file_with_strict() {
    in_turns(&["--compat", "strict"]);
}

/// Five servers on one file, 200 writes each; how many of them are in the file.
fn kept(start: impl Fn() -> StdioClient, file: &Path) -> usize {
    let servers: Vec<StdioClient> = (0..5).map(|_| start()).collect();
    std::thread::scope(|scope| {
        for (n, mut client) in servers.into_iter().enumerate() {
            scope.spawn(move || {
                for write in 0..200 {
                    call(&mut client, "create_entities", &json!({"entities": [entity(&format!("{n}-{write}"), &[])]}));
                }
            });
        }
    });
    names(file).iter().collect::<std::collections::HashSet<_>>().len()
}

#[test]
fn five_processes_keep_every_acknowledged_write_where_the_official_server_loses_most() {
    let peers = peers_or_skip!();
    let home = Home::new();
    let (theirs, mine) = (home.path("official.jsonl"), home.path("ours.jsonl"));
    let lost = kept(|| official(&peers, &theirs), &theirs);
    assert!(lost < 1000, "void: the official server lost nothing");
    let kept = kept(|| ours(&home, &mine, &[]), &mine);
    eprintln!("1000 acknowledged: {lost} kept by the official server, {kept} by ours");
    assert_eq!(kept, 1000);
}
