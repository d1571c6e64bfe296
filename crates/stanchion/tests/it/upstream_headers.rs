//! What `serve` tells a server behind an address of itself: the headers of the policy, and nobody else learns them.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use stanchion_testkit::eventually_sync;

use crate::http_client::{HttpClient, ToolCall};
use crate::support::{Home, PATIENCE, Running, signal};

const AUTHORIZATION: &str = "Bearer upstream-s3cret";
const API_KEY: &str = "k3y-of-the-api";

/// Answers every call with the headers that it came with; behind TLS if there is a certificate.
const ECHO: &str = r#"
const fs = require('fs'), [pem, key] = process.argv.slice(1);
const answer = (request, response) => {
  let body = '';
  request.on('data', (part) => (body += part)).on('end', () => {
    const text = JSON.stringify({ method: request.method, headers: request.rawHeaders });
    const id = body ? JSON.parse(body).id : null;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } }));
  });
};
const tls = pem && { cert: fs.readFileSync(pem), key: fs.readFileSync(key) };
const server = tls ? require('https').createServer(tls, answer) : require('http').createServer(answer);
server.listen(0, '127.0.0.1', () => console.log(`${tls ? 'https' : 'http'}://127.0.0.1:${server.address().port}/mcp`));
"#;

fn echo(tls: &[&Path]) -> (Running, String) {
    let mut command = Command::new("node");
    command.args(["-e", ECHO, "--"]).args(tls).stdout(Stdio::piped());
    let mut process = Running(command.spawn().expect("node starts"));
    let mut url = String::new();
    BufReader::new(process.0.stdout.take().expect("stdout")).read_line(&mut url).expect("stdout");
    (process, url.trim().to_owned())
}

/// `stanchion serve`, everything it has said, and its first server.
struct Served {
    process: Running,
    said: Arc<Mutex<String>>,
    client: HttpClient,
    address: std::net::SocketAddr,
}

fn serve(home: &Home, policy: &str, env: &[(&str, &str)]) -> Served {
    let file = home.path("policy.toml");
    std::fs::write(&file, policy).expect("the policy can be written");
    let mut command = home.command(&["serve", "--listen", "127.0.0.1:0", "--policy", file.to_str().expect("UTF-8")]);
    command.envs(env.iter().copied()).stderr(Stdio::piped());
    let mut process = Running(command.spawn().expect("stanchion starts"));
    let (said, mut stderr) =
        (Arc::<Mutex<String>>::default(), BufReader::new(process.0.stderr.take().expect("stderr")));
    let (address, path) = loop {
        let mut line = String::new();
        assert_ne!(stderr.read_line(&mut line).expect("stderr"), 0, "it ended: {}", said.lock().expect("what it said"));
        said.lock().expect("what it said").push_str(&line);
        if let Some((address, path)) = line.trim().split_once(" at http://").and_then(|(_, url)| url.split_once('/')) {
            break (address.parse().expect("an address"), format!("/{path}"));
        }
    };
    let all = Arc::clone(&said);
    std::thread::spawn(move || {
        stderr
            .lines()
            .map_while(Result::ok)
            .for_each(|line| all.lock().expect("what it said").push_str(&(line + "\n")));
    });
    Served { process, said, client: HttpClient::modern(address, &path), address }
}

/// The values of a header, as the upstream saw them.
fn seen(echo: &str, name: &str) -> Vec<String> {
    let echo: Value = serde_json::from_str(echo).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let pairs: Vec<_> =
        echo["headers"].as_array().expect("a list").chunks(2).map(|p| (text(&p[0]), text(&p[1]))).collect();
    pairs.into_iter().filter(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
}

fn policy(home: &Home, url: &str) -> String {
    std::fs::write(home.path("key"), format!("{API_KEY}\r\n")).expect("a file");
    let key = format!("file:{}", home.path("key").display());
    format!(
        "[[principals]]\nname = \"alice\"\ntoken_env = \"ALICE_TOKEN\"\n[servers.echo]\nurl = {url:?}\n\
         headers = {{ Authorization = \"env:ECHO_AUTHORIZATION\", X-Api-Key = {key:?} }}\n"
    )
}

const ENV: [(&str, &str); 2] = [("ALICE_TOKEN", "alices-token-is-long"), ("ECHO_AUTHORIZATION", AUTHORIZATION)];

#[test]
fn they_reach_the_upstream_on_every_request_and_leave_the_callers_others_alone() {
    let (home, (_echo, url)) = (Home::new(), echo(&[]));
    let mut served = serve(&home, &policy(&home, &url), &ENV);
    let alice = served.client.with("authorization", "Bearer alices-token-is-long");
    let caller =
        alice.with("x-own", "1").with("x-own", "2").with("x-api-key", "of-the-caller").with("traceparent", "00-1");
    let caller = caller.with("connection", "x-api-key, authorization");
    for (id, call) in [("1", ToolCall::new("t", json!({}))), ("2", ToolCall::new("t", json!({})).key("k"))] {
        let echo = caller.ask(id, &call).text();
        assert_eq!(seen(&echo, "authorization"), [AUTHORIZATION]);
        assert_eq!(seen(&echo, "x-api-key"), [API_KEY]);
        assert_eq!(seen(&echo, "x-own"), ["1", "2"]);
        assert_eq!(seen(&echo, "traceparent"), ["00-1"]);
        assert_eq!(seen(&echo, "mcp-name"), ["t"]);
        assert!(!echo.contains("alices-token") && !echo.contains("of-the-caller"), "{echo}");
    }
    let request = |method: &str| {
        use std::io::{Read as _, Write as _};
        let mut socket = std::net::TcpStream::connect(served.address).expect("it listens");
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let head = format!(
            "{method} /echo HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nauthorization: Bearer alices-token-is-long\r\n\r\n",
            served.address
        );
        socket.write_all(head.as_bytes()).expect("it reads");
        let mut all = String::new();
        socket.read_to_string(&mut all).expect("text");
        all
    };
    let got = request("GET");
    assert!(got.contains(AUTHORIZATION) && got.contains(API_KEY), "GETs have them, too: {got}");
    let traced = request("TRACE");
    assert!(traced.starts_with("HTTP/1.1 405") && !traced.contains("s3cret"), "{traced}");

    signal(served.process.0.id(), "TERM");
    served.process.0.wait().expect("it ends");
    eventually_sync(PATIENCE, "it has said everything", || Arc::strong_count(&served.said) == 1);
    let said = served.said.lock().expect("what it said");
    assert!(said.contains("serving echo"), "void: nothing was heard");
    assert!(!said.contains("s3cret") && !said.contains(API_KEY), "{said}");
    let mut files: Vec<_> =
        std::fs::read_dir(home.path("")).expect("the home").map(|file| file.expect("a file").path()).collect();
    files.retain(|file| file.is_file() && file.extension().is_some_and(|kind| kind == "jsonl"));
    assert!(!files.is_empty(), "void: there is no call log");
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(&file).expect("a file")).into_owned();
        assert!(!text.contains("s3cret") && !text.contains(API_KEY), "{}", file.display());
    }
}

#[test]
fn nothing_that_speaks_of_the_policy_shows_them() {
    let home = Home::new();
    let file = home.path("p.toml");
    std::fs::write(&file, policy(&home, "http://127.0.0.1:9/mcp")).expect("the policy can be written");
    let file = file.to_str().expect("UTF-8");
    for args in [
        &["policy", "check", file][..],
        &["policy", "check", file, "--json"],
        &["policy", "explain", "echo", "t", "--policy", file],
        &["policy", "explain", "echo", "t", "--policy", file, "--json"],
    ] {
        let output = home.command(args).envs(ENV).output().expect("stanchion starts");
        let said = crate::support::Said::from(output).exits(0);
        assert!(!said.out.is_empty(), "void: nothing was said");
        said.never_says("s3cret").never_says(API_KEY);
    }
    std::fs::write(file, "[servers.echo]\nurl = \"http://x\"\nheaders = { Authorization = \"Bearer s3cret\" }\n")
        .unwrap();
    let said = home.output(&["policy", "check", file]).exits(78);
    said.says("servers.echo.headers.Authorization").says("env:NAME").never_says("s3cret");
}

#[test]
fn what_is_missing_or_cannot_be_sent_is_told_at_the_start_by_name() {
    let home = Home::new();
    let policy = home.path("policy.toml");
    let start = |keys: &str, value: Option<&str>| {
        let text = format!("[servers.crm]\nurl = \"https://127.0.0.1:9/mcp\"\n{keys}\n");
        std::fs::write(&policy, text).expect("the policy can be written");
        let mut command =
            home.command(&["serve", "--listen", "127.0.0.1:0", "--policy", policy.to_str().expect("UTF-8")]);
        command.env_remove("CRM").envs(value.map(|value| ("CRM", value)));
        crate::support::Said::from(command.output().expect("stanchion starts"))
            .exits(78)
            .says("crm")
            .never_says("s3cret")
    };
    let variable = "headers = { X-Api-Key = \"env:CRM\" }";
    start(variable, None).says("variable is not set").says("x-api-key").says("CRM");
    for value in ["", "  ", "s3cret\nx: y", "s3cret\n", "s3crét", &"s3cret".repeat(2000)] {
        start(variable, Some(value)).says("cannot be sent").says("x-api-key");
    }
    let path = home.path("secret");
    let file = format!("headers = {{ X-Api-Key = {:?} }}", format!("file:{}", path.display()));
    start(&file, None).says("file cannot be read").says("x-api-key");
    for value in ["\n", "s3cret\n\n", "s3cret\nmore"] {
        std::fs::write(&path, value).expect("a file");
        start(&file, None).says("cannot be sent").says("x-api-key");
    }
    std::fs::write(&path, "s3cret".repeat(2000)).expect("a file");
    start(&file, None).says("file cannot be read").says("x-api-key");
    let ca = home.path("ca.pem");
    let trusting = format!("ca = {:?}", ca.display().to_string());
    start(&trusting, None).says("certificates cannot be read").says("ca.pem");
    std::fs::write(&ca, "s3cret").expect("a file");
    start(&trusting, None).says("no certificate in it");
}

#[test]
fn other_servers_are_not_given_their_variables() {
    let ledger = concat!(env!("CARGO_MANIFEST_DIR"), "/../stanchion-mcp/tests/servers/ledger.mjs");
    let home = Home::new();
    let policy = format!(
        "[servers.a]\ncommand = [\"node\", {ledger:?}, \"--stdio\"]\n[servers.b]\nurl = \"http://127.0.0.1:9/mcp\"\n\
         headers = {{ Authorization = \"env:ECHO_AUTHORIZATION\" }}\n"
    );
    let served = serve(&home, &policy, &ENV);
    let pid = served.client.ask("1", &ToolCall::new("pid", json!({}))).text();
    let env = std::fs::read(format!("/proc/{pid}/environ")).expect("its environment");
    let env = String::from_utf8_lossy(&env).into_owned();
    assert!(env.contains("ALICE_TOKEN"), "void: its environment is not ours");
    assert!(!env.contains("s3cret"), "the server was given a header's value");
}

#[test]
fn a_private_ca_is_trusted_besides_the_systems_and_only_where_it_is_named() {
    let home = Home::new();
    let make = |name: &str| {
        let [key, pem] = ["key", "pem"].map(|kind| home.path(&format!("{name}.{kind}")));
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
            .args(["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"])
            .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
            .arg(&key)
            .arg("-out")
            .arg(&pem)
            .output()
            .expect("openssl makes the test's certificates");
        assert!(made.status.success(), "{made:?}");
        (pem, key)
    };
    let ((private, key), (system, system_key)) = (make("private"), make("system"));
    let (_private, private_url) = echo(&[&private, &key]);
    let (_system, system_url) = echo(&[&system, &system_key]);
    let ca = format!("ca = {:?}", private.display().to_string());
    let env = [("SSL_CERT_FILE", system.to_str().expect("UTF-8")), ("ECHO_AUTHORIZATION", AUTHORIZATION)];
    for (url, ca, trusted) in
        [(&private_url, ca.as_str(), true), (&private_url, "", false), (&system_url, ca.as_str(), true)]
    {
        let headers = "headers = { Authorization = \"env:ECHO_AUTHORIZATION\" }";
        let served = serve(&home, &format!("[servers.echo]\nurl = {url:?}\n{headers}\n{ca}\n"), &env);
        let got = served.client.ask("1", &ToolCall::new("t", json!({})));
        if trusted {
            assert_eq!(seen(&got.text(), "authorization"), [AUTHORIZATION]);
        } else {
            got.is_problem("upstream_failed", false);
        }
    }
}
