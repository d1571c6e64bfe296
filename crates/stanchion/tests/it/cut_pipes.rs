//! The gateway and the memory server behind the fault proxy: answers are lost, requests never arrive or arrive twice, and clients ask again.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, Rates, StdioPort};

use crate::memory::{command, entity, names};
use crate::stdio_client::{key, ledger, lines};
use crate::support::{Home, PATIENCE};

/// A command as words of a shell, with what it changes of the environment.
fn words(command: &Command) -> Vec<String> {
    let mut words = vec!["env".to_owned()];
    let text = |word: &std::ffi::OsStr| word.to_str().expect("plain text").to_owned();
    let gone = command.get_envs().filter(|(_, value)| value.is_none());
    words.extend(gone.flat_map(|(name, _)| ["-u".to_owned(), text(name)]));
    let set = command.get_envs().filter_map(|(name, value)| Some(format!("{}={}", text(name), text(value?))));
    words.extend(set.chain([text(command.get_program())]).chain(command.get_args().map(text)));
    words
}

/// The command of each connection behind a proxy.
async fn behind_a_proxy(command: &Command) -> (StdioPort, FaultProxy) {
    let words = words(command);
    let port = StdioPort::start(&words.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let proxy = FaultProxy::start(port.addr(), Protocol::JsonRpc).await;
    (port, proxy)
}

struct Connection {
    to: TcpStream,
    from: Lines<BufReader<TcpStream>>,
}

impl Connection {
    /// `None` if it is cut before it is initialised.
    fn open(proxy: &FaultProxy) -> Option<Self> {
        let to = TcpStream::connect(proxy.addr()).expect("the proxy listens");
        to.set_read_timeout(Some(PATIENCE)).expect("a time");
        let from = BufReader::new(to.try_clone().expect("a second handle")).lines();
        let mut connection = Self { to, from };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        connection.request(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}))?;
        writeln!(connection.to, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#).ok()?;
        Some(connection)
    }

    /// The answer; `None` if the connection is cut.
    fn request(&mut self, request: &Value) -> Option<Value> {
        writeln!(self.to, "{request}").ok()?;
        loop {
            let answer: Value = serde_json::from_str(&self.from.next()?.ok()?).expect("every line is JSON");
            if answer["id"] == request["id"] {
                return Some(answer);
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value, meta: &Value) -> Option<Value> {
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        self.request(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
    }
}

/// Asks, on a new connection each time, until there is an answer.
fn insist(proxy: &FaultProxy, tool: &str, arguments: &Value, meta: &Value) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let answer = Connection::open(proxy).and_then(|mut connection| connection.call(tool, arguments, meta));
        match answer {
            // Of two requests with one id the second is refused, and that may be what is said first.
            Some(answer) if answer["error"]["code"] != json!(-32600) => return answer,
            _ => assert!(Instant::now() < end, "no answer to {tool}"),
        }
    }
}

/// How often a call happens whose client hears nothing the first time and asks again, or whose request comes twice.
async fn appended(fault: Fault, meta: &Value) -> usize {
    let home = Home::new();
    let (_port, proxy) =
        behind_a_proxy(&home.command(&["wrap", "--", "node", ledger().to_str().expect("a path"), "--stdio"])).await;
    proxy.set_plan(Plan::first("\"append\"", fault));
    let answer = insist(&proxy, "append", &json!({"file": home.path("ledger"), "line": "a"}), meta);
    assert!(answer["error"].is_null(), "{answer}");
    // The second of two that came on one connection is at work when the first is answered: this one comes after both.
    let counted = insist(&proxy, "append", &json!({"file": home.path("other"), "line": "b"}), &Value::Null);
    assert!(counted["error"].is_null(), "{counted}");
    let counts = proxy.counts();
    assert_eq!(counts.lost_replies + counts.duplicated, 1, "void: {counts:?}");
    lines(&home.path("ledger")).len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keyed_call_whose_answer_is_lost_or_whose_request_comes_twice_happens_once() {
    for fault in [Fault::LoseReply, Fault::Duplicate] {
        assert_eq!(appended(fault, &key("k")).await, 1, "{fault:?}");
    }
    assert_eq!(appended(Fault::LoseReply, &json!({})).await, 2, "void: without a key it happens once as well");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_memory_server_keeps_what_it_acknowledged_and_repeats_nothing_on_a_bad_line() {
    const ENTITIES: usize = 30;
    let (home, file) = (Home::new(), "memory.jsonl");
    let path = home.path(file);
    let (_port, proxy) = behind_a_proxy(&command(&home, &["--file", path.to_str().expect("a path")])).await;
    let bad = Rates { lose_reply: 0.15, lose_request: 0.1, duplicate: 0.15, ..Rates::default() };
    proxy.set_plan(Plan::seeded(1, Rates { longest_delay: Duration::from_millis(1), ..bad }));
    for n in 0..ENTITIES {
        let name = format!("n{n}");
        let answer = insist(&proxy, "create_entities", &json!({"entities": [entity(&name, &["o"])]}), &key(&name));
        let created = &answer["result"]["structuredContent"]["entities"];
        assert_eq!(created[0]["name"], json!(name), "the answer of the call that made it: {answer}");
    }
    let counts = proxy.counts();
    assert!(counts.lost_replies > 0 && counts.lost_requests > 0 && counts.duplicated > 0, "void: {counts:?}");
    assert_eq!(names(&path), (0..ENTITIES).map(|n| format!("n{n}")).collect::<Vec<_>>());
}
