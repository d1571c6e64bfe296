//! A graph in a store, and idempotency keys.

use serde_json::{Value, json};
use stanchion_testkit::engines::Redis;
use stanchion_testkit::start_or_skip;

use super::{command, create, entity, graph, line, output, server};
use crate::stdio_client::{StdioClient, key};
use crate::support::{Home, Said};

#[test]
fn two_processes_share_a_graph_in_a_store_and_another_name_is_another_graph() {
    let home = Home::new();
    let url = format!("sqlite:{}", home.path("team.db").display());
    let mut one = server(&home, &["--store", &url]);
    let mut two = server(&home, &["--store", &url]);
    create(&mut one, "Ada");
    create(&mut two, "Brook");
    assert_eq!(graph(&mut one), graph(&mut two));
    assert_eq!(graph(&mut one)["entities"].as_array().unwrap().len(), 2);
    let mut other = server(&home, &["--store", &url, "--name", "other"]);
    assert_eq!(graph(&mut other)["entities"], json!([]));
    assert!(!home.path("memory.jsonl").exists());
    assert!(one.stderr().contains("team.db"));
    output(&home, &["check", "--store", &url]).exits(0).says("entities 2");
    output(&home, &["repair", "--store", &url]).exits(78).says("no lines to repair");
}

#[tokio::test]
async fn a_file_goes_into_a_server_of_the_team_and_back() {
    let redis = start_or_skip!(Redis);
    let (url, home) = (redis.url(), Home::new());
    let file = home.path("old.jsonl");
    std::fs::write(&file, format!("{}\n{}", line("Ada"), line("Brook"))).unwrap();
    output(&home, &["import", file.to_str().unwrap(), "--store", &url]).exits(0).says("entities 2 new");
    let mut client = server(&home, &["--store", &url]);
    create(&mut client, "Cleo");
    let back = home.path("back.jsonl");
    output(&home, &["export", "--store", &url, "-o", back.to_str().unwrap()]).exits(0);
    assert_eq!(super::names(&back), ["Ada", "Brook", "Cleo"]);
}

#[test]
fn the_stores_variable_counts_unless_a_file_is_named() {
    let home = Home::with_store("memory:");
    let mut client = server(&home, &[]);
    create(&mut client, "gone with the process");
    assert!(client.stderr().contains("in memory:"));
    let file = home.path("named.jsonl");
    create(&mut server(&home, &["--file", file.to_str().unwrap()]), "Ada");
    assert_eq!(super::names(&file), ["Ada"]);
    let mut by_variable = command(&home, &[]);
    by_variable.env("MEMORY_FILE_PATH", &file);
    create(&mut StdioClient::start(by_variable).initialised(), "Brook");
    assert_eq!(super::names(&file), ["Ada", "Brook"]);
}

#[test]
fn a_store_that_cannot_be_reached_is_no_memory() {
    let home = Home::new();
    output(&home, &["--store", "redis://127.0.0.1:1/", "check"]).exits(69);
}

/// Without a key the second call would find the deleted observation gone and add it again.
fn repeated(home: &Home, options: &[&str], meta: &Value) -> (Value, Value) {
    let mut client = server(home, options);
    create(&mut client, "Ada");
    let add = json!({"observations": [{"entityName": "Ada", "contents": ["likes tea"]}]});
    let remove = json!({"deletions": [{"entityName": "Ada", "observations": ["likes tea"]}]});
    let first = client.ask("2", "add_observations", &add, meta);
    super::call(&mut client, "delete_observations", &remove);
    drop(client);
    // Another process, as after a restart of the client.
    let mut client = server(home, options);
    let second = client.ask("3", "add_observations", &add, meta);
    assert_eq!(first["result"]["structuredContent"], second["result"]["structuredContent"], "{first} {second}");
    (second, graph(&mut client)["entities"][0]["observations"].clone())
}

#[test]
fn a_key_is_remembered_across_processes_for_a_file_and_for_a_store() {
    let (without, with) = (Home::new(), Home::new());
    let (_, control) = repeated(&without, &[], &Value::Null);
    assert_eq!(control, json!(["first", "likes tea"]), "void: without a key the call must run again");
    assert!(!without.path("stanchion.db").exists());
    let (again, observations) = repeated(&with, &[], &key("k"));
    assert_eq!(observations, json!(["first"]));
    assert_eq!(again["result"]["_meta"]["dev.stanchion/replayed"], true, "{again}");
    Said::from(with.command(&["claims", "ls", "--all"]).output().unwrap()).exits(0).says("add_observations");
    let url = format!("sqlite:{}", with.path("team.db").display());
    assert_eq!(
        repeated(&with, &["--store", &url], &key("k")).1,
        json!(["first"]),
        "another graph: the key is new there"
    );
}

#[test]
fn one_key_in_two_files_is_two_calls() {
    let home = Home::new();
    let create = json!({"entities": [entity("Ada", &[])]});
    for name in ["one.jsonl", "two.jsonl"] {
        let file = home.path(name);
        let mut client = server(&home, &["--file", file.to_str().unwrap()]);
        client.ask("1", "create_entities", &create, &key("same"));
        assert_eq!(super::names(&file), ["Ada"]);
    }
}
