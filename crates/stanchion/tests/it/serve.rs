//! `stanchion serve` as a process, with real servers behind it and real kills.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use stanchion_testkit::eventually_sync;

use crate::support::{Home, PATIENCE, Running, signal};

const LEDGER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../stanchion-mcp/tests/servers/ledger.mjs");
const MODERN: &str = "2026-07-28";

fn policy(home: &Home, more: &str) -> String {
    let path = home.path("policy.toml");
    let text = format!("{more}\n[servers.ledger]\ncommand = [\"node\", {LEDGER:?}, \"--stdio\"]\n");
    std::fs::write(&path, text).expect("the policy can be written");
    path.display().to_string()
}

/// One instance, and what it says.
struct Instance {
    process: Running,
    addr: SocketAddr,
    said: std::sync::Arc<std::sync::Mutex<String>>,
}

impl Instance {
    fn start(home: &Home, policy: &str, options: &[&str], env: &[(&str, &str)]) -> Self {
        let mut args = vec!["serve", "--listen", "127.0.0.1:0", "--policy", policy];
        args.extend(options);
        let mut command = home.command(&args);
        command.envs(env.iter().copied()).stderr(Stdio::piped());
        let mut process = Running(command.spawn().expect("stanchion starts"));
        let mut lines = BufReader::new(process.0.stderr.take().expect("its stderr"));
        let said = std::sync::Arc::<std::sync::Mutex<String>>::default();
        let mut addr = None;
        while addr.is_none() {
            let mut line = String::new();
            assert_ne!(
                lines.read_line(&mut line).expect("its stderr"),
                0,
                "it ended: {}",
                said.lock().expect("not poisoned")
            );
            let url = line.split_once("serving ledger at http://").map(|(_, rest)| rest.trim().to_owned());
            addr = url.and_then(|url| url.strip_suffix("/ledger")?.parse().ok());
            said.lock().expect("not poisoned").push_str(&line);
        }
        let all = std::sync::Arc::clone(&said);
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                all.lock().expect("not poisoned").push_str(&format!("{line}\n"));
            }
        });
        Self { process, addr: addr.expect("an address"), said }
    }

    fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Option<(u16, String, String)> {
        request(self.addr, method, path, headers, body)
    }

    fn call(
        &self,
        key: Option<&str>,
        token: Option<&str>,
        tool: &str,
        arguments: Value,
    ) -> Option<(u16, String, Value)> {
        call(self.addr, key, token, tool, &arguments)
    }
}

/// `None` if the connection broke before an answer.
fn request(
    addr: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Option<(u16, String, String)> {
    let mut socket = TcpStream::connect(addr).ok()?;
    socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    let mut head =
        format!("{method} {path} HTTP/1.1\r\nhost: {addr}\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    socket.write_all(format!("{head}\r\n{body}").as_bytes()).ok()?;
    let mut all = String::new();
    socket.read_to_string(&mut all).ok()?;
    let (head, body) = all.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, head.to_ascii_lowercase(), body.to_owned()))
}

fn call(
    addr: SocketAddr,
    key: Option<&str>,
    token: Option<&str>,
    tool: &str,
    arguments: &Value,
) -> Option<(u16, String, Value)> {
    let meta =
        json!({"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    headers.extend(key.map(|key| ("idempotency-key", key)));
    headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
    let (status, head, body) = request(addr, "POST", "/ledger", &headers, &body)?;
    Some((status, head, serde_json::from_str(&body).unwrap_or(Value::Null)))
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"))
}

fn lines(file: &Path) -> usize {
    std::fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn its_servers_die_with_it_and_a_lost_answer_is_found_by_another_instance() {
    let home = Home::new();
    let policy = policy(&home, "[defaults]\nlease = \"1s\"\n");
    let (first, second) = (Instance::start(&home, &policy, &[], &[]), Instance::start(&home, &policy, &[], &[]));
    let server = text(&first.call(None, None, "pid", json!({})).unwrap().2).to_owned();
    let (file, go) = (home.path("effects"), home.path("go"));
    let arguments = json!({"file": file, "line": "x", "answerWhen": go});
    // Killed between the effect and the answer: nobody can know, and nobody repeats it.
    let (addr, asked) = (first.addr, arguments.clone());
    let running = std::thread::spawn(move || call(addr, Some("k"), None, "append", &asked));
    eventually_sync(PATIENCE, "the call has had its effect", || lines(&file) == 1);
    signal(first.process.0.id(), "KILL");
    assert!(running.join().unwrap().is_none(), "void: it was answered");
    eventually_sync(PATIENCE, "its server has died with it", || !lives(&server));
    std::fs::write(&go, "").unwrap();
    let kind = || {
        let (_, _, answer) = second.call(Some("k"), None, "append", arguments.clone()).unwrap();
        answer["result"]["_meta"]["dev.stanchion/error"]["type"].as_str().map(str::to_owned)
    };
    eventually_sync(PATIENCE, "the call is known as unknown", || kind().as_deref() == Some("outcome_unknown"));
    assert_eq!(lines(&file), 1);
    // One that was answered is answered the same by the other.
    let third = Instance::start(&home, &policy, &[], &[]);
    let arguments = json!({"file": home.path("n")});
    let (_, _, bumped) = third.call(Some("b"), None, "bump", arguments.clone()).unwrap();
    signal(third.process.0.id(), "KILL");
    let (_, head, again) = second.call(Some("b"), None, "bump", arguments).unwrap();
    assert_eq!((text(&bumped), text(&again)), ("1", "1"));
    assert!(head.contains("idempotent-replayed: true"), "{head}");
}

#[test]
fn a_hundred_calls_with_one_key_through_two_processes_are_one() {
    let home = Home::new();
    let policy = policy(&home, "");
    let instances = [Instance::start(&home, &policy, &[], &[]), Instance::start(&home, &policy, &[], &[])];
    let file = home.path("effects");
    let arguments = json!({"file": file, "line": "x", "delayMs": 20});
    let round = || -> Vec<(u16, String, Value)> {
        let calls: Vec<_> = (0..100)
            .map(|n| {
                let (addr, arguments) = (instances[n % 2].addr, arguments.clone());
                std::thread::spawn(move || call(addr, Some("one"), None, "append", &arguments).expect("an answer"))
            })
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    };
    for (_, _, answer) in round() {
        let in_progress = answer["error"]["data"]["type"] == "idempotency_key_in_progress";
        assert!(in_progress || text(&answer) == "appended", "{answer}");
    }
    let again: std::collections::BTreeSet<String> =
        round().into_iter().map(|(_, _, answer)| answer.to_string()).collect();
    assert_eq!((again.len(), lines(&file)), (1, 1), "{again:?}");
}

#[test]
fn tokens_name_tenants_and_are_no_affair_of_the_servers() {
    let home = Home::new();
    let principals =
        "[[principals]]\nname = \"alice\"\ntoken_env = \"ALICE_TOKEN\"\n[[principals]]\nname = \"bob\"\ntoken_file = ";
    std::fs::write(home.path("bob"), "bobs-token-is-long\n").unwrap();
    let policy = policy(&home, &format!("{principals}{:?}\n", home.path("bob").display().to_string()));
    let store = format!("sqlite:{}", home.path("own.db").display());
    let instance =
        Instance::start(&home, &policy, &[], &[("ALICE_TOKEN", "alices-token-is-long"), ("STANCHION_STORE", &store)]);
    let arguments = json!({"file": home.path("n")});
    let bump = |token: &str| instance.call(Some("same"), Some(token), "bump", arguments.clone()).unwrap();
    assert_eq!(text(&bump("alices-token-is-long").2), "1");
    assert_eq!(text(&bump("bobs-token-is-long").2), "2");
    assert_eq!(text(&bump("alices-token-is-long").2), "1");
    assert_eq!(bump("a-token-that-is-unknown").0, 401);
    let pid = text(&instance.call(None, Some("alices-token-is-long"), "pid", json!({})).unwrap().2).to_owned();
    let env = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
    let env = String::from_utf8_lossy(&env).into_owned();
    assert!(env.contains("PATH="), "void: its environment cannot be read");
    for ours in ["STANCHION_HOME", "STANCHION_STORE", "STANCHION_CHAOS"] {
        assert!(!env.contains(ours), "the server was given {ours}");
    }
    assert!(!env.contains("alices-token"), "the server was given a token");
    assert!(!instance.said.lock().expect("not poisoned").contains("token-is-long"));
    let unset = home.output(&["serve", "--listen", "127.0.0.1:0", "--policy", &policy]);
    unset.exits(78).says("ALICE_TOKEN");
}

#[test]
fn it_counts_says_how_it_is_and_ends_in_good_order() {
    let home = Home::new();
    let policy = policy(&home, "");
    let mut instance = Instance::start(&home, &policy, &["--drain", "20s"], &[]);
    let server = text(&instance.call(None, None, "pid", json!({})).unwrap().2).to_owned();
    let (status, _, ready) = instance.request("GET", "/readyz", &[], "").unwrap();
    assert_eq!((status, ready.contains(r#""ledger":true"#)), (200, true), "{ready}");
    let (_, _, counted) = instance.request("GET", "/metrics", &[], "").unwrap();
    assert!(counted.contains(r#"stanchion_serve_requests_total{server="ledger",status="200"} 1"#), "{counted}");
    let go = home.path("go");
    let arguments = json!({"file": home.path("f"), "line": "x", "answerWhen": go});
    let addr = instance.addr;
    let running = std::thread::spawn(move || call(addr, None, None, "append", &arguments));
    eventually_sync(PATIENCE, "the call runs", || lines(&home.path("f")) == 1);
    signal(instance.process.0.id(), "TERM");
    eventually_sync(PATIENCE, "nobody new comes in", || TcpStream::connect(addr).is_err());
    std::fs::write(&go, "").unwrap();
    assert_eq!(text(&running.join().unwrap().expect("an answer").2), "appended");
    assert_eq!(instance.process.0.wait().unwrap().code(), Some(0));
    assert!(!lives(&server));
    let tail = home.output(&["calls", "tail", "--json"]).exits(0);
    assert!(tail.out.contains(r#""tool":"append""#), "{tail:?}");
}

#[test]
fn wrong_settings_are_told_before_anything_is_served() {
    let home = Home::new();
    let policy = policy(&home, "");
    let empty = home.path("empty.toml");
    std::fs::write(&empty, "[servers.a]\n").unwrap();
    let empty = empty.display().to_string();
    let serve = |args: &[&str]| home.output(&[&["serve"], args].concat());
    serve(&["--listen", "127.0.0.1:0", "--policy", "no-such-file"]).exits(78).says("no-such-file");
    serve(&["--listen", "127.0.0.1:0", "--policy", &empty]).exits(78).says("no server to serve");
    serve(&["--listen", "0.0.0.0:0", "--policy", &policy]).exits(78).says("--allow-anonymous");
    serve(&["--listen", "nowhere", "--policy", &policy]).exits(2);
    assert!(Command::new("node").arg("--version").output().is_ok(), "void: no node");
}
