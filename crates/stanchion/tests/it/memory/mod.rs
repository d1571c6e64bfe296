//! `stanchion memory` as its users meet it: places, options, care of the file, copies, stores, HTTP.

mod care;
mod http;
mod places;
mod stores;
mod transfer;

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::stdio_client::{StdioClient, lines};
use crate::support::{Home, Said};

/// `stanchion memory OPTIONS` without anything from our own environment.
pub(crate) fn command(home: &Home, options: &[&str]) -> Command {
    let mut command = home.command(&[&["memory"], options].concat());
    command.env_remove("MEMORY_FILE_PATH");
    command
}

fn output(home: &Home, options: &[&str]) -> Said {
    Said::from(command(home, options).output().expect("stanchion starts"))
}

pub(crate) fn server(home: &Home, options: &[&str]) -> StdioClient {
    StdioClient::start(command(home, options)).initialised()
}

/// The structured content of a call that must succeed.
#[track_caller]
pub(crate) fn call(client: &mut StdioClient, tool: &str, arguments: &Value) -> Value {
    let answer = client.ask("1", tool, arguments, &Value::Null);
    assert!(answer["error"].is_null() && answer["result"]["isError"] != true, "{answer}");
    answer["result"]["structuredContent"].clone()
}

pub(crate) fn entity(name: &str, observations: &[&str]) -> Value {
    json!({"name": name, "entityType": "person", "observations": observations})
}

#[track_caller]
pub(crate) fn create(client: &mut StdioClient, name: &str) {
    let created = call(client, "create_entities", &json!({"entities": [entity(name, &["first"])]}));
    assert_eq!(created["entities"][0]["name"], name);
}

pub(crate) fn graph(client: &mut StdioClient) -> Value {
    call(client, "read_graph", &json!({}))
}

/// The names of the entities in the file, in its order.
pub(crate) fn names(path: &Path) -> Vec<String> {
    let lines = lines(path).into_iter().filter(|line| !line.trim().is_empty());
    let items = lines.map(|line| serde_json::from_str::<Value>(&line).expect("the file parses"));
    items
        .filter(|item| item["type"] == "entity")
        .map(|item| item["name"].as_str().expect("a name").to_owned())
        .collect()
}

fn line(name: &str) -> String {
    json!({"type": "entity", "name": name, "entityType": "person", "observations": []}).to_string()
}
