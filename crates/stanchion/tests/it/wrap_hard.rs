//! `stanchion wrap` against clients that try to get past it, and at the end of things.

use std::time::Duration;

use serde_json::{Value, json};
use stanchion_testkit::engines::Redis;
use stanchion_testkit::eventually_sync;

use crate::stdio_client::{StdioClient, key, ledger, lines, problem};
use crate::support::{Home, PATIENCE, signal};

fn append(home: &Home, line: &str) -> Value {
    json!({"file": home.path("ledger"), "line": line})
}

#[test]
fn a_failure_of_any_code_is_told_again_and_not_run_again() {
    let home = Home::new();
    let mut client = StdioClient::wrapped(&home, &[]);
    for (n, code) in [-32700, -32600, -32601, -32602, -32603, -32000, 7].into_iter().enumerate() {
        let arguments = json!({"file": home.path("ledger"), "line": code.to_string(), "code": code});
        for round in 0..2 {
            let answer = client.ask(&(n * 2 + round).to_string(), "rpc_error", &arguments, &key(&code.to_string()));
            assert_eq!(answer["error"]["code"], json!(code), "{answer}");
            assert_eq!(answer["error"]["data"]["dev.stanchion/replayed"] == json!(true), round == 1, "{answer}");
        }
    }
    assert_eq!(lines(&home.path("ledger")).len(), 7);
}

/// What one reader takes for a call and another does not must not get past the guard.
#[test]
fn no_spelling_gets_a_call_past_the_guard() {
    let home = Home::new();
    let mut client = StdioClient::wrapped(&home, &[]);
    client.ask("\"warm\"", "append", &append(&home, "warm"), &Value::Null);
    let params = json!({"name": "append", "arguments": append(&home, "smuggled"), "_meta": key("k")});
    let call = format!(r#"{{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{params}}}"#);
    let smuggled = [
        // Readers that split at a carriage return find a call in the middle.
        format!("{{\"x\":\r{call}\r}}"),
        call.replace(r#""tools/call""#, r#"["tools/call"]"#),
        call.replace(r#""method""#, r#""Method""#),
        call.replace(r#""method":"#, r#""method":"ping","METHOD":"#),
        call.replace(r#""tools/call""#, r#""tools/call\u0000""#),
        call.replace(r#""name":"#, r#""name":"count","Name":"#),
        format!(r#"[["ID","tools/call",{params}]]"#),
    ];
    let send = |client: &mut StdioClient| {
        for (n, frame) in smuggled.iter().enumerate() {
            for round in 0..2 {
                client.send(&frame.replace("ID", &(n * 2 + round).to_string()));
            }
        }
    };
    // The control: the server alone runs what it is sent, also what is hidden in another message.
    let mut direct = std::process::Command::new("node");
    direct.arg(ledger()).arg("--stdio");
    let mut direct = StdioClient::start(direct).initialised();
    send(&mut direct);
    direct.code();
    let alone = lines(&home.path("ledger")).len() - 1;
    assert!(alone > 1, "void: the server alone runs {alone} of them");
    std::fs::write(home.path("ledger"), "warm\n").unwrap();
    send(&mut client);
    // A call under the same key after all of them: the first that runs, or a replay of one that was guarded.
    client.send(&call.replace("ID", "1000"));
    client.answer("1000");
    assert_eq!(lines(&home.path("ledger")), ["warm", "smuggled"]);
}

#[test]
fn a_fence_of_the_callers_own_does_not_reach_the_server() {
    let home = Home::new();
    let policy = home.path("policy.toml");
    let rules = "[servers.ledger.tools.echo]\neffect = \"non_idempotent\"\nfence = \"meta\"\n\
                 [servers.ledger.tools.pid]\neffect = \"read_only\"\nfence = \"meta\"\n";
    std::fs::write(&policy, rules).unwrap();
    let mut client = StdioClient::wrapped(&home, &["--policy", policy.to_str().unwrap()]);
    let forged = json!({"dev.stanchion/fence": "forged"});
    let echoed = client.ask("1", "echo", &json!({}), &forged);
    let text = echoed["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("dev.stanchion/fence") && !text.contains("forged"), "{text}");
    client.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","_meta":{"dev.stanchion/fence":"a","dev.stanchion/fence":"forged"}}}"#);
    assert_eq!(problem(&client.answer("2"))["type"], json!("invalid_request"));
    // Without a lock there is no fence to give, and the caller's is not passed.
    assert_eq!(problem(&client.ask("3", "pid", &json!({}), &forged))["type"], json!("invalid_request"));
}

#[test]
fn a_crash_does_not_block_a_deduplicated_call_for_longer_than_its_window() {
    let home = Home::new();
    let mut first = StdioClient::wrapped(&home, &["--dedupe", "300ms"]);
    let unknown = first.ask("1", "crash", &append(&home, "a"), &Value::Null);
    assert_eq!(problem(&unknown)["type"], json!("outcome_unknown"), "{unknown}");
    first.code();
    eventually_sync(PATIENCE, "the window is over, and the same call is another one", || {
        let mut next = StdioClient::wrapped(&home, &["--dedupe", "300ms"]);
        next.ask("1", "crash", &append(&home, "a"), &Value::Null);
        lines(&home.path("ledger")).len() == 2
    });
}

#[test]
fn an_answer_that_comes_too_late_is_kept_for_repetitions() {
    let home = Home::new();
    let go = home.path("go");
    let arguments = json!({"file": home.path("ledger"), "line": "a", "answerWhen": go});
    let mut client = StdioClient::wrapped(&home, &["--max-hold", "200ms"]);
    let given_up = client.ask("1", "append", &arguments, &key("k"));
    assert_eq!(problem(&given_up)["type"], json!("outcome_unknown"), "{given_up}");
    // Its id is not free: an answer may still come under it.
    client.call("1", "append", &append(&home, "b"), &Value::Null);
    assert!(client.answer("null")["error"]["message"].as_str().unwrap().contains("under way"));
    std::fs::write(&go, "").unwrap();
    let mut n = 10;
    eventually_sync(PATIENCE, "the late answer has settled the call", || {
        n += 1;
        let again = client.ask(&n.to_string(), "append", &arguments, &key("k"));
        again["result"]["_meta"]["dev.stanchion/replayed"] == json!(true)
    });
    assert!(client.stays_silent("1", Duration::from_millis(50)), "the client has had its answer");
    assert_eq!(lines(&home.path("ledger")), ["a"]);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a slow client is the point: slower than anything is waited for at the end"
)]
fn everything_the_server_has_said_reaches_a_client_that_reads_slowly() {
    let home = Home::new();
    let script = "i=0; while [ $i -lt 400 ]; do printf '{\"n\":%d,\"x\":\"%01000d\"}\\n' $i 0; i=$((i+1)); done";
    let mut child = home
        .command(&["wrap", "--quiet", "--", "sh", "-c", script])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(6));
    let mut all = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut all).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(all.lines().count(), 400);
}

#[test]
fn a_server_that_does_not_read_was_never_sent_anything() {
    let home = Home::new();
    let script = r#"read line; echo '{"jsonrpc":"2.0","id":"hello","result":{"capabilities":{}}}'; exec 0<&-; while :; do sleep 0.05; done"#;
    let mut client = StdioClient::start(home.command(&["wrap", "--", "sh", "-c", script])).initialised();
    let mut n = 0;
    eventually_sync(PATIENCE, "the closed pipe is seen", || {
        n += 1;
        let answer = client.ask(&n.to_string(), "write", &json!({}), &Value::Null);
        let said = problem(&answer);
        assert_eq!(said["mayHaveExecuted"], json!(false), "{answer}");
        said["type"] == json!("upstream_failed")
    });
}

#[tokio::test]
async fn a_gateway_whose_store_is_away_can_still_be_ended() {
    let redis = Redis::options().aof(true).start().await;
    let home = Home::with_store(redis.url());
    let go = home.path("go");
    let mut client = StdioClient::wrapped(&home, &[]);
    client.call("1", "append", &json!({"file": home.path("ledger"), "line": "a", "answerWhen": go}), &key("k"));
    eventually_sync(PATIENCE, "the effect has happened", || lines(&home.path("ledger")) == ["a"]);
    redis.kill();
    std::fs::write(&go, "").unwrap();
    client.close_input();
    signal(client.pid(), "TERM");
    let mut ended = None;
    eventually_sync(Duration::from_secs(40), "it ends", || {
        ended = client.process.0.try_wait().unwrap();
        ended.is_some()
    });
}
