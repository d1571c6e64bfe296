//! Targets over HTTP: a counter that loses increments, and a shop that charges twice.

use std::sync::{Arc, Mutex};

use stanchion_race::{AutoTarget, Options, Outcome, Schedule, auto, race};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{must_be, run, spec, target};

fn counter(how: &str, instances: usize, faults: &str) -> String {
    let target = target();
    format!(
        r#"
        version = 1
        name = "counter"
        seed = 5
        [target]
        kind = "http"
        command = ["{target}", "counter", "{{port}}", "{{dir}}/value", "{how}"]
        urls = ["http://127.0.0.1:{{port}}"]
        instances = {instances}
        [limits]
        rounds = 5
        seconds = 60
        [[call]]
        method = "POST"
        path = "/"
        times = 20
        faults = [{faults}]
        [read]
        path = "/"
        [expect]
        sum = {{ select = "/value", is = "before+acknowledged" }}
        "#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counter_that_reads_and_then_writes_loses_increments() {
    let verdict = run(&counter("racy", 1, "")).await;
    must_be(&verdict, Outcome::Race);
    assert_eq!(verdict.minimal.as_ref().unwrap().calls, 2, "{verdict}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counter_that_takes_turns_loses_none_and_one_for_each_process_does() {
    let alone = run(&counter("sound", 1, r#""delay", "lost-reply", "reset""#)).await;
    must_be(&alone, Outcome::NothingFound);
    assert!(alone.faults.contains_key("reset") && alone.faults.contains_key("lost-reply"), "{alone}");
    let two = run(&counter("sound", 2, "")).await;
    must_be(&two, Outcome::Race);
    assert_eq!(two.minimal.as_ref().unwrap().instances, 2, "one instance is sound\n{two}");
}

/// With fewer calls a fixed number would be broken on any server.
#[tokio::test(flavor = "multi_thread")]
async fn under_a_fixed_sum_no_call_is_dropped_and_the_saved_schedule_holds_on_a_sound_server() {
    let text =
        |how| counter(how, 2, "").replace("\"before+acknowledged\"", "20").replace("instances = 2", "instances = 1");
    let verdict = run(&text("racy")).await;
    must_be(&verdict, Outcome::Race);
    let minimal = verdict.minimal.as_ref().unwrap();
    assert_eq!((minimal.calls, minimal.fixed), (20, Some("sum")), "{verdict}");
    let sound = spec(&text("sound"));
    let schedule = Schedule::from_json(&minimal.schedule.to_json(), &sound).unwrap();
    must_be(&race(&sound, &Options { schedule: Some(schedule), ..Options::default() }).await, Outcome::NothingFound);
}

#[derive(Default)]
struct Sessions {
    begun: Vec<String>,
    ended: Vec<String>,
}

/// A server of this process that speaks as much MCP over HTTP as is needed, and remembers its sessions.
async fn with_sessions(sessions: Arc<Mutex<Sessions>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(answer(socket, Arc::clone(&sessions)));
        }
    });
    format!("http://{address}/mcp")
}

async fn answer(socket: TcpStream, sessions: Arc<Mutex<Sessions>>) -> std::io::Result<()> {
    let mut socket = BufReader::new(socket);
    let (mut head, mut length, mut session) = (String::new(), 0, String::new());
    while !head.ends_with("\r\n\r\n") {
        if socket.read_line(&mut head).await? == 0 {
            return Ok(());
        }
    }
    for (name, value) in head.lines().filter_map(|line| line.split_once(": ")) {
        match name {
            "content-length" => length = value.parse().unwrap_or(0),
            "mcp-session-id" => value.clone_into(&mut session),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await?;
    let asked: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let result = match asked["method"].as_str() {
        Some("initialize") => {
            let begun = &mut sessions.lock().expect("nobody panics with it").begun;
            session = format!("session-{}", begun.len());
            begun.push(session.clone());
            r#"{"protocolVersion":"2025-06-18","capabilities":{}}"#
        }
        Some("tools/list") => r#"{"tools":[]}"#,
        _ => r#"{"content":[]}"#,
    };
    if head.starts_with("DELETE /mcp ") {
        sessions.lock().expect("nobody panics with it").ended.push(session.clone());
    }
    let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", asked["id"]);
    let head = format!("content-type: application/json\r\nmcp-session-id: {session}\r\nconnection: close");
    let answer = format!("HTTP/1.1 200 OK\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    socket.write_all(answer.as_bytes()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_session_that_is_begun_with_a_server_that_runs_on_is_ended() {
    let sessions = Arc::new(Mutex::new(Sessions::default()));
    let url = with_sessions(Arc::clone(&sessions)).await;
    let text = format!(
        "version = 1\nname = \"x\"\n[target]\nkind = \"mcp-http\"\nurls = [\"{url}\", \"{url}\"]\n[limits]\nrounds = 3\n[[call]]\n\
         tool = \"x\"\nfaults = [\"lost-reply\", \"duplicate\"]\n[expect]\nanswers = true\n"
    );
    let all = || {
        let mut all = sessions.lock().unwrap();
        all.ended.sort_by_key(|name| (name.len(), name.clone()));
        (all.begun.clone(), all.ended.clone())
    };
    must_be(&run(&text).await, Outcome::NothingFound);
    let (begun, ended) = all();
    assert_eq!((begun.len(), &begun), (7, &ended), "one of the control, two of each round");
    let target = AutoTarget { urls: vec![url], ..AutoTarget::default() };
    must_be(&auto(&target, &Options::default()).await.verdict, Outcome::Inconclusive);
    let (begun, ended) = all();
    assert_eq!((begun.len(), &begun), (9, &ended));
}

fn shop(how: &str) -> String {
    let target = target();
    format!(
        r#"
        version = 1
        name = "shop"
        seed = 3
        [target]
        kind = "http"
        command = ["{target}", "shop", "{{port}}", "{{upstream}}", "{how}"]
        urls = ["http://127.0.0.1:{{port}}"]
        [limits]
        rounds = 5
        seconds = 60
        [upstream]
        status = 201
        body = {{ ok = true }}
        faults = ["lost-reply"]
        [faults]
        chance = 0.3
        [[call]]
        method = "POST"
        path = "/orders"
        body = {{ item = "{{id}}" }}
        times = 10
        [expect]
        effects = "once"
        "#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shop_that_asks_again_without_a_key_charges_twice() {
    let verdict = run(&shop("retry")).await;
    must_be(&verdict, Outcome::Race);
    assert_eq!(verdict.found.as_ref().unwrap().violations[0].expectation, "effects", "{verdict}");
    let minimal = verdict.minimal.as_ref().unwrap();
    assert!(minimal.upstream.contains_key("lost-reply"), "{verdict}");
    assert!(verdict.to_string().contains(" lost-reply at the recorder:"), "{verdict}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shop_that_gives_up_after_one_try_charges_once() {
    let verdict = run(&shop("once")).await;
    must_be(&verdict, Outcome::NothingFound);
    assert!(verdict.faults.contains_key("upstream") && verdict.calls.failed > 0, "{verdict}");
}
