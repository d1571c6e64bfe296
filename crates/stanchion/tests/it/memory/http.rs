//! `memory --http`.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::Stdio;

use serde_json::json;

use super::{command, entity, names, output};
use crate::http_client::{Era, HttpClient, ToolCall};
use crate::support::{Home, Running, signal};

const TOKEN: &str = "a-token-of-32-characters-or-so--";

fn serve(home: &Home, options: &[&str]) -> (Running, SocketAddr) {
    let mut command = command(home, &[&["--http", "127.0.0.1:0"], options].concat());
    command.env("MEMORY_TOKEN", TOKEN).stderr(Stdio::piped());
    let mut process = Running(command.spawn().expect("stanchion starts"));
    let mut lines = BufReader::new(process.0.stderr.take().expect("its stderr")).lines();
    let url = lines.find_map(|line| Some(line.ok()?.split_once("serving at http://")?.1.to_owned()));
    // What it says later must find a reader.
    std::thread::spawn(move || lines.for_each(drop));
    let address = url.and_then(|url| url.strip_suffix("/mcp")?.parse().ok());
    (process, address.expect("it says where it serves"))
}

fn create(name: &str) -> ToolCall {
    ToolCall::new("create_entities", json!({"entities": [entity(name, &[])]}))
}

#[test]
fn both_eras_are_served_over_http_and_the_stop_is_clean() {
    let home = Home::new();
    let (mut process, address) = serve(&home, &[]);
    let client = HttpClient::modern(address, "/mcp");
    for (era, name) in [(Era::Modern, "Ada"), (Era::Legacy, "Brook")] {
        let got = client.of(era).ask("1", &create(name));
        assert_eq!(got.message()["result"]["structuredContent"]["entities"][0]["name"], name, "{got:?}");
    }
    assert_eq!(names(&home.path("memory.jsonl")), ["Ada", "Brook"]);
    signal(process.0.id(), "TERM");
    assert_eq!(process.0.wait().expect("it ends").code(), Some(0));
}

#[test]
fn with_a_token_nobody_calls_without_it() {
    let home = Home::new();
    let (_process, address) = serve(&home, &["--token-env", "MEMORY_TOKEN"]);
    let client = HttpClient::modern(address, "/mcp");
    for client in [client.clone(), client.with("authorization", "Bearer wrong")] {
        let got = format!("{:?}", client.start("1", &create("Eve")).answer());
        assert!(got.contains("http/1.1 401"), "{got}");
    }
    assert!(!home.path("memory.jsonl").exists(), "nothing ran");
    let good = client.with("authorization", &format!("Bearer {TOKEN}"));
    assert_eq!(good.ask("1", &create("Ada")).message()["result"]["structuredContent"]["entities"][0]["name"], "Ada");
    assert_eq!(names(&home.path("memory.jsonl")), ["Ada"]);
}

#[test]
fn other_machines_need_a_token_and_it_is_never_said() {
    let home = Home::new();
    output(&home, &["--http", "0.0.0.0:0"]).exits(78).says("--token-env").says("127.0.0.1");
    output(&home, &["--http", "127.0.0.1:0", "--token-env", "NOT_SET"]).exits(78).says("NOT_SET");
    let file = home.path("token");
    std::fs::write(&file, "short-secret\n").unwrap();
    let said = output(&home, &["--http", "127.0.0.1:0", "--token-file", file.to_str().unwrap()]);
    said.exits(78).says("16").never_says("short-secret");
    output(&home, &["--http", "127.0.0.1:0", "--token-file", "/no/such"]).exits(78).says("/no/such");
}
