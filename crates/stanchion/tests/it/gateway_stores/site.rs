//! Two instances of `stanchion serve`, one store, and the ledger behind them: once as a command, once at an address.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use stanchion_testkit::eventually_sync;

use crate::http_client::{Got, HttpClient, ToolCall};
use crate::stdio_client::{ledger, lines};
use crate::support::{Home, PATIENCE, Running, Said, signal};

/// The ledger as a command of each instance, and as one server at an address.
pub(super) const PIPE: &str = "pipe";
pub(super) const WEB: &str = "web";
pub(super) const BOTH: [&str; 2] = [PIPE, WEB];

/// Instances have nothing in common but this store.
pub(super) struct Site {
    store: String,
    files: Home,
    pub(super) web: Web,
}

impl Site {
    pub(super) fn on(store: String) -> Self {
        Self { store, files: Home::new(), web: Web::start() }
    }

    pub(super) fn embedded() -> Self {
        let mut site = Self::on(String::new());
        site.store = format!("sqlite:{}", site.file("store.db").display());
        site
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.files.path(name)
    }

    pub(super) fn touch(&self, name: &str) {
        std::fs::write(self.file(name), "").expect("the file can be made");
    }

    pub(super) fn lines(&self, name: &str) -> usize {
        lines(&self.file(name)).len()
    }

    /// A call that appends a line to the ledger of this name, and is answered when there is a file `NAME-go`.
    pub(super) fn append(&self, name: &str) -> ToolCall {
        let go = self.file(&format!("{name}-go"));
        ToolCall::new("append", json!({"file": self.file(name), "line": name, "answerWhen": go}))
    }

    /// Waits until the line is in the ledger.
    pub(super) fn effect(&self, name: &str) {
        eventually_sync(PATIENCE, "the effect has happened", || self.lines(name) > 0);
    }

    /// The two servers under these rules.
    pub(super) fn instance(&self, rules: &str) -> Instance {
        let servers = [PIPE, WEB].map(|name| self.server(name, name, rules));
        self.instance_with(&servers.concat())
    }

    /// A server of this name, of one of the two kinds, under these rules.
    pub(super) fn server(&self, name: &str, kind: &str, rules: &str) -> String {
        let ledger = ledger().display().to_string();
        match kind {
            PIPE => format!("[servers.{name}]\ncommand = [\"node\", {ledger:?}, \"--stdio\"]\n{rules}\n"),
            _ => format!("[servers.{name}]\nurl = {:?}\n{rules}\n", self.web.url()),
        }
    }

    pub(super) fn instance_with(&self, policy: &str) -> Instance {
        Instance::start(Home::with_store(&self.store), policy)
    }

    /// `stanchion` on this store, from a home of its own.
    pub(super) fn stanchion(&self, args: &[&str]) -> Said {
        Home::with_store(&self.store).output(args)
    }

    /// The state of the claim of this key, in words.
    pub(super) fn state(&self, key: &str) -> String {
        let all = self.stanchion(&["claims", "ls", "--all", "--json"]).exits(0);
        let all: Value = serde_json::from_str(&all.out).expect("JSON");
        let claim = all.as_array().expect("a list").iter().find(|claim| claim["key"] == json!(key));
        claim.map_or_else(String::new, |claim| claim["state"].as_str().expect("a state").to_owned())
    }
}

/// One `stanchion serve`.
pub(super) struct Instance {
    pub(super) process: Running,
    address: SocketAddr,
    said: Arc<Mutex<String>>,
    _home: Home,
}

impl Instance {
    fn start(home: Home, policy: &str) -> Self {
        let file = home.path("policy.toml");
        std::fs::write(&file, policy).expect("the policy can be written");
        let args = ["serve", "--listen", "127.0.0.1:0", "--policy", file.to_str().expect("a path")];
        let mut process = Running(home.command(&args).stderr(Stdio::piped()).spawn().expect("stanchion starts"));
        let stderr = BufReader::new(process.0.stderr.take().expect("stderr"));
        let said = Arc::<Mutex<String>>::default();
        let all = Arc::clone(&said);
        std::thread::spawn(move || {
            let keep = |line: String| all.lock().expect("no panic meanwhile").push_str(&(line + "\n"));
            stderr.lines().map_while(Result::ok).for_each(keep);
        });
        let mut address = None;
        eventually_sync(PATIENCE, "it says where it serves", || {
            let said = said.lock().expect("no panic meanwhile");
            let ended = process.0.try_wait().expect("it can be asked");
            assert!(ended.is_none(), "it ended, {ended:?}: {said}");
            let told = said.split_once(" at http://").and_then(|(_, rest)| rest.split_once('/'));
            address = told.map(|(address, _)| address.parse().expect("an address"));
            address.is_some()
        });
        let address = address.expect("an address");
        Self { process, address, said, _home: home }
    }

    pub(super) fn client(&self, server: &str) -> HttpClient {
        HttpClient::modern(self.address, &format!("/{server}"))
    }

    /// SIGKILL, and it is gone.
    pub(super) fn kill(&mut self) {
        self.process.0.kill().expect("it is killed");
        self.process.0.wait().expect("it is gone");
    }
}

/// A test that fails shows what the gateways had to say.
impl Drop for Instance {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("instance {}:\n{}", self.address, self.said.lock().expect("no panic meanwhile"));
        }
    }
}

/// The ledger at an address.
pub(super) struct Web {
    running: Mutex<Option<(Running, ChildStdin)>>,
    address: String,
}

impl Web {
    fn start() -> Self {
        let (running, address) = listen("0");
        Self { running: Mutex::new(Some(running)), address }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(super) fn kill(&self) {
        drop(self.running.lock().expect("no panic meanwhile").take());
    }

    /// At the same address as before.
    pub(super) fn restart(&self) {
        let (running, address) = listen(self.address.rsplit(':').next().expect("a port"));
        assert_eq!(address, self.address);
        *self.running.lock().expect("no panic meanwhile") = Some(running);
    }
}

fn listen(port: &str) -> ((Running, ChildStdin), String) {
    let mut command = Command::new("node");
    command.arg(ledger()).args(["--http", port, "--while-stdin"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = Running(command.spawn().expect("node starts"));
    let mut line = String::new();
    BufReader::new(process.0.stdout.take().expect("stdout")).read_line(&mut line).expect("stdout");
    let address = line.trim().strip_prefix("listening http://").and_then(|rest| rest.strip_suffix("/mcp"));
    let address = address.unwrap_or_else(|| panic!("it listens: {line:?}")).to_owned();
    let input = process.0.stdin.take().expect("stdin");
    ((process, input), address)
}

/// Kills the server behind this instance: the process of the command, or the one at the address.
pub(super) fn kill_upstream(site: &Site, client: &HttpClient, server: &str) {
    if server == WEB {
        return site.web.kill();
    }
    let pid = client.ask("\"pid\"", &ToolCall::new("pid", json!({}))).text();
    signal(pid.parse().expect("a pid"), "KILL");
}

/// Asks under ever new ids until the answer is something else than `idempotency_key_in_progress`.
pub(super) fn until_answered(client: &HttpClient, call: &ToolCall) -> Got {
    let (mut n, mut answer) = (1000, None);
    eventually_sync(PATIENCE, "the call is no longer in progress", || {
        n += 1;
        let got = client.ask(&n.to_string(), call);
        if in_progress(&got) {
            return false;
        }
        answer = Some(got);
        true
    });
    answer.expect("an answer")
}

/// Is it the answer that says so? If it is, it says everything that a client needs.
#[track_caller]
pub(super) fn in_progress(got: &Got) -> bool {
    if got.problem_type().as_deref() != Some("idempotency_key_in_progress") {
        return false;
    }
    got.is_problem("idempotency_key_in_progress", true);
    let problem = got.problem();
    assert_eq!(problem["retryable"], json!(true), "{got:?}");
    assert!(problem["retryAfterMs"].as_u64().is_some_and(|ms| ms > 0), "{got:?}");
    true
}
