//! The one-line change with clients and servers that others have written.

#![expect(clippy::unwrap_used, reason = "help for tests: whatever is missing fails the test")]

use std::process::Command;

use serde_json::{Value, json};
use stanchion_testkit::peers::Peers;
use stanchion_testkit::peers_or_skip;

use crate::conformance::gateway;
use crate::stdio_client::{StdioClient, ledger, lines};
use crate::support::{Home, PATIENCE, Said};

/// What a client starts instead of the server itself.
fn wrapped(home: &Home) -> Vec<String> {
    let ledger = ledger().to_str().expect("a path").to_owned();
    let home = home.path("").to_str().expect("a path").to_owned();
    [env!("CARGO_BIN_EXE_stanchion"), "--home", &home, "wrap", "--", "node", &ledger, "--stdio"]
        .map(str::to_owned)
        .to_vec()
}

fn clients(name: &str) -> String {
    format!("{}/tests/clients/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The client calls `append` twice under one key: one effect, the second answer is marked.
fn calls_once(home: &Home, mut client: Command) {
    let ledger = home.path("ledger");
    let said =
        Said::from(client.args([ledger.to_str().unwrap(), "the-key"]).args(wrapped(home)).output().expect("it starts"));
    let said = said.exits(0);
    let report: Value = serde_json::from_str(said.out.lines().last().expect("a line")).expect("JSON");
    assert!(report["tools"].as_array().unwrap().contains(&json!("append")), "{report}");
    assert_eq!(
        report["calls"],
        json!([{"text": "appended", "replayed": false}, {"text": "appended", "replayed": true}])
    );
    assert_eq!(lines(&ledger).len(), 1);
}

#[test]
fn the_python_sdk() {
    let peers = peers_or_skip!();
    let mut client = Command::new(peers.python());
    client.arg(clients("python_sdk.py"));
    calls_once(&Home::new(), client);
}

#[test]
fn the_typescript_sdk() {
    let peers = peers_or_skip!();
    let mut client = Command::new(peers.node());
    client.arg(clients("typescript_sdk.mjs")).arg(peers.npm());
    calls_once(&Home::new(), client);
}

/// The gateway hangs up on a call that is silent; the client comes back by itself, and gets the one answer.
#[tokio::test]
async fn the_typescript_sdk_comes_back_for_an_answer_after_it_was_hung_up_on() {
    let peers = peers_or_skip!();
    let home = Home::new();
    let (file, go) = (home.path("ledger"), home.path("go"));
    let command = format!("command = ['{}', '{}', '--stdio']", peers.node().display(), ledger().display());
    let mut gateway = gateway(&home, &format!("[servers.ledger]\n{command}\nhang_up = '200ms'\n"));
    let url = gateway.expect_line("stanchion: serving ledger at", PATIENCE).await;
    let mut client = Command::new(peers.node());
    client.arg(clients("typescript_http.mjs")).arg(peers.npm()).args([
        url.trim().as_ref(),
        file.as_os_str(),
        go.as_os_str(),
    ]);
    let said = Said::from(client.output().expect("it starts")).exits(0);
    let report: Value = serde_json::from_str(said.out.lines().last().expect("a line")).expect("JSON");
    assert_eq!(report["text"], "appended");
    assert!(report["resumed"].as_u64().unwrap() >= 2, "void: it was never hung up on: {report}");
    assert_eq!(lines(&file), ["typescript"]);
}

#[test]
fn the_inspector() {
    let peers = peers_or_skip!();
    let home = Home::new();
    let ledger = home.path("ledger");
    for replayed in [false, true] {
        let mut client = Command::new(peers.node22());
        client.arg(peers.inspector()).arg("--cli").args(wrapped(&home)).args([
            "--method",
            "tools/call",
            "--tool-name",
            "append",
            "--tool-arg",
            &format!("file={}", ledger.display()),
            "line=inspector",
            "--tool-metadata",
            "dev.stanchion/idempotencyKey=k",
        ]);
        let said = Said::from(client.output().expect("it starts")).exits(0);
        assert_eq!(said.out.contains("dev.stanchion/replayed"), replayed, "{said:?}");
        assert_eq!(lines(&ledger), ["inspector"]);
    }
}

/// Five processes of the official memory server on one file, 200 writes each; how many of them are in the file.
fn kept(peers: &Peers, guarded: bool) -> usize {
    let home = Home::new();
    let file = home.path("memory.jsonl");
    let (node, server) = (peers.node().to_str().unwrap(), peers.memory_server());
    let start = || {
        let mut command = if guarded {
            home.command(&["wrap", "--", node, server.to_str().unwrap()])
        } else {
            let mut direct = Command::new(node);
            direct.arg(&server);
            direct
        };
        command.env("MEMORY_FILE_PATH", &file);
        StdioClient::start(command).initialised()
    };
    let servers: Vec<StdioClient> = (0..5).map(|_| start()).collect();
    std::thread::scope(|scope| {
        for (n, mut client) in servers.into_iter().enumerate() {
            scope.spawn(move || {
                for write in 0..200 {
                    let entity = json!({"name": format!("{n}-{write}"), "entityType": "t", "observations": []});
                    let answer =
                        client.ask(&write.to_string(), "create_entities", &json!({"entities": [entity]}), &Value::Null);
                    assert!(answer["result"]["isError"].is_null() && answer["error"].is_null(), "{answer}");
                }
            });
        }
    });
    let names: std::collections::HashSet<String> = lines(&file)
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).expect("the file parses")["name"].to_string())
        .collect();
    names.len()
}

#[test]
fn five_official_memory_servers_keep_every_acknowledged_write() {
    let peers = peers_or_skip!();
    let alone = kept(&peers, false);
    assert!(alone < 1000, "void: nothing is lost without the gateway");
    let guarded = kept(&peers, true);
    eprintln!("1000 acknowledged: {alone} kept without the gateway, {guarded} with it");
    assert_eq!(guarded, 1000);
}
