//! The official memory server before and after: five processes on one file, as five clients start them.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::Round;
use crate::exit::say;

const PACKAGE: &str = "@modelcontextprotocol/server-memory@2026.8.31";
const PROCESSES: u64 = 5;
const CALLS: u64 = 200;
/// How long the package may take to be fetched.
const FETCH: Duration = Duration::from_secs(60);

/// How five clients start a memory server.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way<'a> {
    /// The official one, directly.
    Alone(&'a [String]),
    /// With `stanchion wrap` before it.
    Wrapped(&'a [String]),
    /// `stanchion memory` in its place.
    Ours,
}

/// What starts the server; `None` where it cannot be started, with the reason said.
pub(super) fn server(asked: &[String], quiet: bool) -> Option<Vec<String>> {
    let command = match asked {
        [] => ["npx", "-y", PACKAGE].map(str::to_owned).to_vec(),
        given => given.to_vec(),
    };
    let not_shown = |why: &str| {
        if !quiet {
            say(&format!("  the official memory server is not shown: {why}"));
        }
        None
    };
    if which(&command[0]).is_none() {
        return not_shown(&format!("there is no {}", command[0]));
    }
    // The first start may fetch the package; five at once would fetch it five times.
    let probe = std::env::temp_dir().join("stanchion-demo-probe.jsonl");
    match within(FETCH, command.clone(), move |command| {
        Server::start(Way::Alone(&command), &probe, Path::new("")).and_then(Server::end)
    }) {
        Some(Ok(())) => Some(command),
        Some(Err(e)) => not_shown(&e.to_string()),
        None => not_shown("it did not start within a minute"),
    }
}

fn which(program: &str) -> Option<std::path::PathBuf> {
    if program.contains('/') {
        return Path::new(program).is_file().then(|| program.into());
    }
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(program)).find(|path| path.is_file())
}

fn within<T: Send + 'static>(
    time: Duration,
    command: Vec<String>,
    work: impl FnOnce(Vec<String>) -> T + Send + 'static,
) -> Option<T> {
    let (done, result) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(work(command)));
    result.recv_timeout(time).ok()
}

/// One round: every process writes 200 entities of its own, one after the other.
pub(super) fn race(way: Way<'_>, dir: &Path, name: &'static str) -> std::io::Result<Round> {
    let (file, guarded) = match way {
        Way::Alone(_) => (dir.join("alone.jsonl"), false),
        Way::Wrapped(_) => (dir.join("wrapped.jsonl"), true),
        Way::Ours => (dir.join("ours.jsonl"), true),
    };
    let home = dir.join("home");
    let servers = (0..PROCESSES).map(|_| Server::start(way, &file, &home));
    let servers = servers.collect::<std::io::Result<Vec<_>>>()?;
    let acknowledged = std::thread::scope(|scope| {
        let writers = servers.into_iter().enumerate().map(|(n, server)| scope.spawn(move || server.write(n)));
        let writers: Vec<_> = writers.collect();
        writers
            .into_iter()
            .map(|writer| writer.join().unwrap_or_else(|_| Err(std::io::Error::other("a writer failed"))))
            .sum::<std::io::Result<u64>>()
    })?;
    let text = std::fs::read_to_string(&file)?;
    let names: HashSet<String> = text
        .lines()
        .filter_map(|line| Some(serde_json::from_str::<Value>(line).ok()?["name"].as_str()?.to_owned()))
        .collect();
    Ok(Round { name, guarded, acknowledged, in_file: names.len() as u64 })
}

/// One process of the server, and its only client.
struct Server {
    process: Child,
    /// `None` once it was told that nothing more comes.
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Server {
    fn start(way: Way<'_>, file: &Path, home: &Path) -> std::io::Result<Self> {
        let ours = || {
            let mut ours = Command::new(std::env::current_exe()?);
            ours.env("STANCHION_HOME", home).env_remove("STANCHION_STORE");
            Ok::<_, std::io::Error>(ours)
        };
        let mut start = match way {
            Way::Alone(command) => Command::new(&command[0]),
            Way::Wrapped(command) => {
                let mut wrap = ours()?;
                wrap.args(["wrap", "--quiet", "--name", "demo-memory", "--"]).arg(&command[0]);
                wrap
            }
            Way::Ours => {
                let mut memory = ours()?;
                memory.args(["memory", "--quiet"]);
                memory
            }
        };
        if let Way::Alone(command) | Way::Wrapped(command) = way {
            start.args(&command[1..]);
        }
        start.env("MEMORY_FILE_PATH", file);
        let mut process = start.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(std::io::Error::other("a server has no pipes"));
        };
        let mut server = Self { process, input: Some(input), lines: BufReader::new(output).lines() };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "stanchion demo", "version": "1"}});
        server.ask(0, "initialize", &hello)?;
        server.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        Ok(server)
    }

    fn send(&mut self, message: &str) -> std::io::Result<()> {
        self.input.as_mut().map_or(Ok(()), |input| writeln!(input, "{message}"))
    }

    fn ask(&mut self, id: u64, method: &str, params: &Value) -> std::io::Result<Value> {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string())?;
        for line in self.lines.by_ref() {
            let message: Value = serde_json::from_str(&line?)?;
            if message["id"] == json!(id) && message.get("method").is_none() {
                return Ok(message);
            }
        }
        Err(std::io::Error::other("the server ended"))
    }

    /// How many of its writes were acknowledged.
    fn write(mut self, n: usize) -> std::io::Result<u64> {
        let mut acknowledged = 0;
        for call in 1..=CALLS {
            let entity = json!({"name": format!("{n}-{call}"), "entityType": "demo", "observations": []});
            let params = json!({"name": "create_entities", "arguments": {"entities": [entity]}});
            let answer = self.ask(call, "tools/call", &params)?;
            let failed = answer["result"]["isError"] == json!(true) || answer.get("error").is_some();
            acknowledged += u64::from(!failed);
        }
        self.end().map(|()| acknowledged)
    }

    fn end(mut self) -> std::io::Result<()> {
        self.input = None;
        self.process.wait().map(drop)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.input.is_some() {
            self.process.kill().unwrap_or_default();
            self.process.wait().map(drop).unwrap_or_default();
        }
    }
}
