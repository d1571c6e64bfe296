//! `stanchion wrap`, as a client sees it.

use std::time::Duration;

use serde_json::{Value, json};
use stanchion_testkit::eventually_sync;

use crate::stdio_client::{StdioClient, key, ledger, lines, problem};
use crate::support::{Home, PATIENCE, signal};

fn append(home: &Home, line: &str) -> Value {
    json!({"file": home.path("ledger"), "line": line})
}

#[test]
fn a_keyed_call_happens_once_and_is_told_again_by_another_process() {
    let home = Home::new();
    let mut first = StdioClient::wrapped(&home, &[]);
    let said = first.ask("1", "append", &append(&home, "a"), &key("k"));
    assert!(said["result"]["_meta"].is_null(), "the first answer is the server's own: {said}");
    let mut second = StdioClient::wrapped(&home, &[]);
    let again = second.ask("\"other\"", "append", &append(&home, "a"), &key("k"));
    assert_eq!(again["result"]["content"], said["result"]["content"]);
    assert_eq!(again["result"]["_meta"]["dev.stanchion/replayed"], json!(true));
    let other = second.ask("2", "append", &append(&home, "b"), &key("k"));
    assert_eq!(other["error"]["code"], json!(-32602));
    assert_eq!(problem(&other)["type"], json!("idempotency_key_conflict"));
    assert_eq!(lines(&home.path("ledger")), ["a"]);
    // Without a key it runs as often as it is asked for.
    for id in ["3", "4"] {
        second.ask(id, "append", &append(&home, "c"), &Value::Null);
    }
    assert_eq!(lines(&home.path("ledger")), ["a", "c", "c"]);
}

#[test]
fn every_carrier_of_a_key_works_and_the_first_one_counts() {
    let home = Home::new();
    let mut client = StdioClient::wrapped(&home, &[]);
    let arguments = append(&home, "x");
    let frames = [
        format!(
            r#"{{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{{"name":"append","arguments":{arguments},"idempotencyKey":"sep"}}}}"#
        ),
        format!(
            r#"{{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{{"name":"append","arguments":{arguments},"_meta":{{"io.mcp-gateway/idempotency-key":"alias"}}}}}}"#
        ),
        format!(
            r#"{{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{{"name":"append","arguments":{arguments},"_meta":{{"idempotency_key":"bare"}}}}}}"#
        ),
        format!(
            r#"{{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{{"name":"append","arguments":{arguments},"idempotencyKey":"unused","_meta":{{"dev.stanchion/idempotencyKey":"best"}}}}}}"#
        ),
    ];
    let mut id = 0;
    for (n, frame) in frames.iter().enumerate() {
        for replayed in [Value::Null, json!(true)] {
            id += 1;
            client.send(&frame.replace("ID", &id.to_string()));
            let answer = client.answer(&id.to_string());
            assert_eq!(answer["result"]["_meta"]["dev.stanchion/replayed"], replayed, "carrier {n}: {answer}");
        }
    }
    assert_eq!(lines(&home.path("ledger")).len(), frames.len());
}

#[test]
fn writing_tools_of_all_processes_run_one_at_a_time() {
    let loses = |options: &[&str]| {
        let home = Home::new();
        let mut clients: Vec<_> = (0..4).map(|_| StdioClient::wrapped(&home, options)).collect();
        let arguments = json!({"file": home.path("number"), "delayMs": 5});
        for n in 0..25 {
            clients.iter_mut().for_each(|client| client.call(&n.to_string(), "bump", &arguments, &Value::Null));
        }
        for client in &mut clients {
            for n in 0..25 {
                let answer = client.answer(&n.to_string());
                assert!(answer["result"]["isError"].is_null(), "{answer}");
            }
        }
        100 - std::fs::read_to_string(home.path("number")).unwrap().parse::<i32>().unwrap()
    };
    assert!(loses(&["--no-lock"]) > 0, "void: nothing is lost without a lock");
    assert_eq!(loses(&[]), 0);
}

#[test]
fn double_dispatch_is_one_call_with_dedupe() {
    let home = Home::new();
    let mut client = StdioClient::wrapped(&home, &["--dedupe", "1h"]);
    client.call("1", "append", &append(&home, "a"), &json!({"claudecode/toolUseId": "one"}));
    client.call("2", "append", &append(&home, "a"), &json!({"claudecode/toolUseId": "two"}));
    client.call("3", "append", &append(&home, "b"), &Value::Null);
    let (one, two, three) = (client.answer("1"), client.answer("2"), client.answer("3"));
    assert_eq!(one["result"]["content"], two["result"]["content"]);
    let replays = [&one, &two].iter().filter(|a| a["result"]["_meta"]["dev.stanchion/replayed"] == json!(true)).count();
    assert_eq!((replays, three["result"]["_meta"].is_null()), (1, true));
    let mut seen = lines(&home.path("ledger"));
    seen.sort();
    assert_eq!(seen, ["a", "b"]);
}

#[test]
fn bytes_survive_in_both_directions() {
    let home = Home::new();
    let mut client = StdioClient::wrapped(&home, &[]);
    // Unknown members everywhere, numbers that no float holds, odd spacing, escapes, key order: the server says what reached it.
    let odd = r#"{ "zz" : [1e400, 123456789012345678901234567890, -0.0, 1.50] ,"jsonrpc":"2.0", "id" : ID ,"method":"tools\/call","params":{"x-unknown":{"b":1,"a":2},"name":"TOOL","arguments":{"raw":true,"file":"\u002ftmp\/none","big":9007199254740993,"dup\u006C":"\ud83d\ude00"},"task" : null,"_meta":{"vendor.example/x":[ ],"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}, "tail":{} }"#;
    for (tool, id) in [("echo", "1.50"), ("echo", "\"a\\u0062\"")] {
        let frame = odd.replace("TOOL", tool).replace("ID", id);
        client.send(&frame);
        let answer = client.answer(id);
        assert_eq!(answer["result"]["content"][0]["text"], json!(frame));
    }
    // The same through the guard: `append` says nothing, so the answer's bytes are looked at below, the frame's in the echo above.
    let result = r#"{"content":[ ], "n": 123456789012345678901234567890, "f":1.0,"u":{"\u0061":null},"structuredContent":{"z":1,"a":[1.50]},"_meta":{"vendor.example/y":1e3},"later":true}"#;
    client.call("7", "answer", &json!({"result": result}), &Value::Null);
    let line = client.line("the answer to 7", |line| line.contains(r#""id":7,"#));
    assert_eq!(line, format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#));
    // Everything that is no call passes as it is, known or not.
    for frame in [
        r#"{"jsonrpc":"2.0","id":8,"method":"vendor/unknown","params":{"n":1.0}}"#,
        r#"{"jsonrpc":"2.0","id":9, "method":"resources/list" }"#,
    ] {
        client.send(frame);
    }
    assert_eq!(client.answer("8")["error"]["code"], json!(-32601));
    client.answer("9");
}

#[test]
fn a_guarded_call_reaches_its_server_byte_for_byte() {
    let home = Home::new();
    let policy = home.path("policy.toml");
    std::fs::write(&policy, "[servers.ledger.tools.echo]\neffect = \"non_idempotent\"\n[servers.ledger.tools.answer]\neffect = \"non_idempotent\"\n").unwrap();
    let mut client = StdioClient::wrapped(&home, &["--policy", policy.to_str().unwrap()]);
    let frame = r#"{"params" : {"_meta":{"dev.stanchion/idempotencyKey":"k","x":1e2}, "arguments":{"raw":true,"n":12345678901234567890123},"name":"echo"},"id":41.0,"method":"tools/call" , "jsonrpc":"2.0"}"#;
    client.send(frame);
    assert_eq!(client.answer("41.0")["result"]["content"][0]["text"], json!(frame));
    let result = r#"{"content":[],"n": 123456789012345678901234567890 , "f":1.0}"#;
    client.call("7", "answer", &json!({"result": result}), &key("r"));
    let line = client.line("the answer to 7", |line| line.contains(r#""id":7,"#));
    assert_eq!(line, format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#));
    client.call("8", "answer", &json!({"result": result}), &key("r"));
    let again = client.line("the answer to 8", |line| line.contains(r#""id":8,"#));
    assert!(again.ends_with(r#""content":[],"n": 123456789012345678901234567890 , "f":1.0}}"#), "{again}");
}

#[test]
fn a_call_of_a_killed_gateway_is_never_repeated() {
    let home = Home::new();
    let (go, policy) = (home.path("go"), home.path("policy.toml"));
    std::fs::write(&policy, "[defaults]\nlease = \"1s\"\n").unwrap();
    let options = ["--policy", policy.to_str().unwrap()];
    let arguments = json!({"file": home.path("ledger"), "line": "a", "answerWhen": go});
    let mut first = StdioClient::wrapped(&home, &options);
    first.call("1", "append", &arguments, &key("k"));
    eventually_sync(PATIENCE, "the effect has happened", || lines(&home.path("ledger")) == ["a"]);
    signal(first.pid(), "KILL");
    std::fs::write(&go, "").unwrap();
    let mut second = StdioClient::wrapped(&home, &options);
    let mut n = 10;
    // While the killed process could still be alive, its call counts as running.
    eventually_sync(Duration::from_secs(60), "the call is found to be unknown", || {
        n += 1;
        let answer = second.ask(&n.to_string(), "append", &arguments, &key("k"));
        let said = problem(&answer)["type"].as_str().unwrap_or_default().to_owned();
        assert!(["idempotency_key_in_progress", "outcome_unknown"].contains(&&*said), "{answer}");
        assert_eq!(problem(&answer)["mayHaveExecuted"], json!(true), "{answer}");
        said == "outcome_unknown"
    });
    assert_eq!(lines(&home.path("ledger")), ["a"], "one effect");
}

#[test]
fn a_call_whose_server_dies_is_unknown_and_is_not_repeated() {
    let home = Home::new();
    let mut client = StdioClient::wrapped(&home, &[]);
    let answer = client.ask("1", "crash", &append(&home, "a"), &key("k"));
    assert_eq!(problem(&answer)["type"], json!("outcome_unknown"), "{answer}");
    assert_eq!(answer["result"]["isError"], json!(true));
    assert_eq!(client.code(), Some(128 + 9), "the code of the server");
    let mut second = StdioClient::wrapped(&home, &[]);
    let again = second.ask("1", "crash", &append(&home, "a"), &key("k"));
    assert_eq!(problem(&again)["type"], json!("outcome_unknown"), "{again}");
    let receipt = problem(&again)["receipt"].as_str().expect("a receipt").to_owned();
    assert_eq!(lines(&home.path("ledger")), ["a"], "one effect");
    home.output(&["claims", "show", &receipt]).exits(0).says("unknown");
}

#[test]
fn a_call_that_lost_its_client_is_recorded_for_the_next_one() {
    let home = Home::new();
    let go = home.path("go");
    let arguments = json!({"file": home.path("ledger"), "line": "a", "answerWhen": go});
    let mut first = StdioClient::wrapped(&home, &[]);
    first.call("1", "append", &arguments, &key("k"));
    eventually_sync(PATIENCE, "the effect has happened", || lines(&home.path("ledger")) == ["a"]);
    first.close_input();
    std::fs::write(&go, "").unwrap();
    assert_eq!(first.code(), Some(0));
    let mut second = StdioClient::wrapped(&home, &[]);
    let again = second.ask("1", "append", &arguments, &key("k"));
    assert_eq!(again["result"]["_meta"]["dev.stanchion/replayed"], json!(true), "{again}");
    assert_eq!(lines(&home.path("ledger")), ["a"]);
}

#[test]
fn a_tool_that_asks_its_client_does_not_dead_lock_with_the_clients_next_call() {
    for (tool, method) in [("elicit", "elicitation/create"), ("sample", "sampling/createMessage")] {
        let home = Home::new();
        let mut client = StdioClient::wrapped(&home, &[]);
        client.call("1", tool, &append(&home, "outer"), &Value::Null);
        let asked = client.line("the server's request", |line| line.contains(method));
        let asked: Value = serde_json::from_str(&asked).unwrap();
        // Before it answers, the client calls the same server.
        let nested = client.ask("2", "append", &append(&home, "inner"), &Value::Null);
        assert_eq!(problem(&nested)["type"], json!("deadlock"), "{nested}");
        assert_eq!(problem(&nested)["mayHaveExecuted"], json!(false));
        let reply =
            json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"go": true}}});
        client.send(&reply.to_string());
        assert!(client.answer("1")["result"]["isError"].is_null());
        assert!(client.ask("3", "append", &append(&home, "inner"), &Value::Null)["result"]["isError"].is_null());
        assert_eq!(lines(&home.path("ledger")), ["outer", "inner"]);
    }
}

#[test]
fn a_cancelled_running_call_keeps_its_lock_and_the_next_one_is_told_why() {
    let home = Home::new();
    let (started, cancelled, go) = (home.path("started"), home.path("cancelled"), home.path("go"));
    let mut client = StdioClient::wrapped(&home, &["--wait", "300ms"]);
    let arguments = json!({"ms": 0, "honour": false, "started": started, "cancelled": cancelled, "answerWhen": go,
        "file": home.path("ledger"), "line": "slow"});
    client.call("1", "cancellable", &arguments, &Value::Null);
    eventually_sync(PATIENCE, "the call runs", || lines(&home.path("ledger")) == ["slow"]);
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    eventually_sync(PATIENCE, "the server was told", || cancelled.exists());
    // Another process is told as well.
    let mut other = StdioClient::wrapped(&home, &["--wait", "300ms"]);
    for client in [&mut client, &mut other] {
        let mut n = 100;
        eventually_sync(PATIENCE, "the note is there", || {
            n += 1;
            let busy = client.ask(&n.to_string(), "append", &append(&home, "next"), &Value::Null);
            let said = problem(&busy);
            assert_eq!((&said["type"], &said["mayHaveExecuted"]), (&json!("lock_busy"), &json!(false)), "{busy}");
            assert_eq!(said["holder"]["label"], json!("cancellable"), "{busy}");
            said["holder"]["note"].as_str().is_some_and(|note| note.contains("cancelled"))
        });
    }
    std::fs::write(&go, "").unwrap();
    let mut n = 200;
    eventually_sync(PATIENCE, "the lock is free", || {
        n += 1;
        other.ask(&n.to_string(), "append", &append(&home, "next"), &Value::Null)["result"]["isError"].is_null()
    });
    assert_eq!(lines(&home.path("ledger")), ["slow", "next"]);
}

#[test]
fn a_waiting_call_can_be_taken_back_and_hears_what_it_waits_for() {
    let home = Home::new();
    let go = home.path("go");
    let mut client = StdioClient::wrapped(&home, &[]);
    let arguments = json!({"file": home.path("ledger"), "line": "first", "answerWhen": go});
    client.call("1", "append", &arguments, &Value::Null);
    eventually_sync(PATIENCE, "the first call runs", || lines(&home.path("ledger")) == ["first"]);
    client.call("2", "append", &append(&home, "second"), &json!({"progressToken": "t"}));
    let progress = client.line("progress", |line| line.contains("notifications/progress"));
    let progress: Value = serde_json::from_str(&progress).unwrap();
    assert_eq!(progress["params"]["progressToken"], json!("t"));
    assert!(progress["params"]["message"].as_str().unwrap().contains("held by"), "{progress}");
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    std::fs::write(&go, "").unwrap();
    client.answer("1");
    client.ask("3", "append", &append(&home, "third"), &Value::Null);
    assert!(client.stays_silent("2", Duration::from_millis(50)));
    assert_eq!(lines(&home.path("ledger")), ["first", "third"]);
}

#[test]
fn the_server_lives_as_if_it_were_started_directly() {
    let home = Home::new();
    let script = "pwd >&2; echo \"$MARK\" >&2; read line; exit 7";
    let mut command = home.command(&["wrap", "--quiet", "--", "sh", "-c", script]);
    command.current_dir(home.path("")).env("MARK", "from-the-client");
    let mut client = StdioClient::start(command);
    client.send("{}");
    assert_eq!(client.code(), Some(7));
    let said = client.stderr();
    let folder = home.path("").canonicalize().unwrap();
    assert!(said.contains("from-the-client") && said.contains(folder.to_str().unwrap()), "{said}");

    let mut client = StdioClient::start(home.command(&[
        "wrap",
        "--",
        "sh",
        "-c",
        "trap 'exit 9' TERM; echo '{}'; while :; do sleep 0.01; done",
    ]));
    client.line("it runs", |line| line == "{}");
    signal(client.pid(), "TERM");
    assert_eq!(client.process.0.wait().unwrap().code(), Some(9));
}

#[test]
fn the_server_dies_with_a_killed_gateway() {
    let home = Home::new();
    let mut client = StdioClient::start(home.command(&[
        "wrap",
        "--",
        "sh",
        "-c",
        "echo \"{\\\"pid\\\":$$}\"; while :; do sleep 0.01; done",
    ]));
    let line = client.line("its pid", |line| line.contains("pid"));
    let pid = serde_json::from_str::<Value>(&line).unwrap()["pid"].as_u64().unwrap();
    signal(client.pid(), "KILL");
    eventually_sync(PATIENCE, "the server is gone", || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    });
}

#[test]
fn bad_messages_are_answered_and_nothing_breaks() {
    let home = Home::new();
    let mut client = StdioClient::wrapped(&home, &["--frame-limit", "20000"]);
    let rows: &[(&str, i64, &str)] = &[
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"append","arguments":{"x":NaN}}}"#,
            -32700,
            "parse_error",
        ),
        (r#"{"jsonrpc":"2.0","id":1,"meth"#, -32700, "parse_error"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"append"}}"#,
            -32700,
            "parse_error",
        ),
        (r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"append"}}"#, -32600, "invalid_request"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{"name":"append"}}"#, -32600, "invalid_request"),
    ];
    for (frame, code, kind) in rows {
        client.send(frame);
        let answer = client.answer("null");
        assert_eq!((&answer["error"]["code"], &problem(&answer)["type"]), (&json!(code), &json!(kind)), "{frame}");
    }
    let with_id = [
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call"}"#, "invalid_request"),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":7}}"#, "invalid_request"),
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"append","_meta":{"dev.stanchion/idempotencyKey":7}}}"#,
            "idempotency_key_invalid",
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"append","_meta":{"dev.stanchion/idempotencyKey":""}}}"#,
            "idempotency_key_invalid",
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"append","task":{"ttl":1}}}"#,
            "task_not_guarded",
        ),
    ];
    // The hints are asked for by the first good call, and what is refused needs none of them.
    client.ask("\"warm\"", "append", &append(&home, "warm"), &Value::Null);
    for (frame, kind) in with_id {
        client.send(frame);
        let answer = client.answer("5");
        assert_eq!(problem(&answer)["type"], json!(kind), "{frame}: {answer}");
    }
    client.send(&format!(r#"{{"jsonrpc":"2.0","id":6,"method":"ping","params":{{"x":"{}"}}}}"#, "y".repeat(30_000)));
    assert!(client.answer("null")["error"]["message"].as_str().unwrap().contains("20000"));
    // A batch of an old version of the protocol: each of its calls is guarded.
    client.send(&format!(
        r#"[{{"jsonrpc":"2.0","id":7,"method":"ping"}},{{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{{"name":"append","arguments":{},"_meta":{}}}}}]"#,
        append(&home, "batched"), key("b")
    ));
    client.answer("8");
    assert_eq!(
        client.ask("9", "append", &append(&home, "batched"), &key("b"))["result"]["_meta"]["dev.stanchion/replayed"],
        json!(true)
    );
    assert_eq!(lines(&home.path("ledger")), ["warm", "batched"]);
}

#[test]
fn a_second_call_under_the_id_of_a_running_one_is_dropped_and_said_so() {
    let home = Home::new();
    let go = home.path("go");
    let mut client = StdioClient::wrapped(&home, &[]);
    client.call("1", "append", &json!({"file": home.path("ledger"), "line": "a", "answerWhen": go}), &Value::Null);
    eventually_sync(PATIENCE, "the call runs", || lines(&home.path("ledger")) == ["a"]);
    client.call("1", "append", &append(&home, "b"), &Value::Null);
    let said = client.answer("null");
    assert!(said["error"]["message"].as_str().unwrap().contains("under way"), "{said}");
    std::fs::write(&go, "").unwrap();
    assert!(client.answer("1")["result"]["isError"].is_null());
    assert_eq!(lines(&home.path("ledger")), ["a"]);
}

#[test]
fn a_server_that_misbehaves_breaks_nothing() {
    let home = Home::new();
    let mut client = StdioClient::wrapped(&home, &["--frame-limit", "100000", "--max-hold", "500ms"]);
    // Noise and a line over the limit, then the answer.
    let flooded = client.ask("1", "flood", &json!({"lines": 100, "bytes": 200_000}), &Value::Null);
    assert_eq!(flooded["result"]["content"][0]["text"], json!("flooded"));
    // It answers twice: the first answer counts, and the second does not overtake it on its way through the guard.
    let twice = client.ask("2", "twice", &append(&home, "twice"), &key("twice"));
    assert_eq!(twice["result"]["content"][0]["text"], json!("first"));
    let again = client.ask("3", "twice", &append(&home, "twice"), &key("twice"));
    assert_eq!(twice["result"]["content"], again["result"]["content"]);
    // An answer that is too long to be read: it ran, nobody knows what it said.
    let big =
        client.ask("4", "big", &json!({"bytes": 150_000, "file": home.path("ledger"), "line": "big"}), &key("big"));
    assert_eq!(problem(&big)["type"], json!("outcome_unknown"), "{big}");
    // It never answers: the lock is given up.
    let never = client.ask("5", "never", &append(&home, "never"), &Value::Null);
    assert_eq!(problem(&never)["type"], json!("outcome_unknown"), "{never}");
    assert!(client.ask("6", "append", &append(&home, "last"), &Value::Null)["result"]["isError"].is_null());
    assert_eq!(lines(&home.path("ledger")), ["twice", "big", "never", "last"]);
    // An answer under an id that nobody has is passed on, as it would be without us; the right one counts.
    let right = client.ask("7", "wrong_id", &append(&home, "wrong"), &key("wrong"));
    assert_eq!(right["result"]["content"][0]["text"], json!("right"), "{right}");
}

#[test]
fn a_command_that_is_not_there_is_said_so() {
    let home = Home::new();
    home.output(&["wrap", "--", "there-is-no-such-server"]).exits(127).says("was not found").says("hint:");
    home.output(&["wrap"]).exits(2);
    home.output(&["wrap", "--nope", "--", "true"]).exits(2).says("unknown option '--nope'");
    home.output(&["wrap", "--dedupe", "soon", "--", "true"]).exits(2).says("--dedupe");
    home.output(&["wrap", "--policy", "none.toml", "--", "true"]).exits(78).says("none.toml");
}

#[test]
fn what_it_guards_is_said_once_and_calls_are_shown_afterwards() {
    let home = Home::new();
    let mut client = StdioClient::wrapped(&home, &["--name", "notes"]);
    client.ask("1", "append", &append(&home, "a"), &key("secret-key"));
    client.ask("2", "append", &append(&home, "a"), &key("secret-key"));
    client.ask("3", "count", &json!({"file": home.path("ledger")}), &Value::Null);
    assert_eq!(client.code(), Some(0));
    let said = client.stderr();
    assert_eq!(said.matches("guarding 'notes'").count(), 1, "{said}");
    assert!(said.contains("mcp:notes") && said.contains("stanchion.db"), "{said}");
    let tail = home.output(&["calls", "tail"]).exits(0).says("done").says("replayed").says("passed");
    tail.never_says("secret-key");
    home.output(&["calls", "stats", "--json"]).exits(0).says("\"notes\"");
    assert!(ledger().is_file());
}
