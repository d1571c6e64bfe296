//! A memory server under test, spoken to over its standard input and output.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::call::Request;
use crate::Outcome;

/// Longer than anything that is measured takes; a server that hangs is ended, and its line fails.
const PATIENCE: Duration = Duration::from_secs(300);

pub(super) struct Server {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    next: u64,
    /// From the start of the process to the answer to `initialize`.
    pub(super) start: Duration,
    /// Dropped: the watch ends.
    watch: Option<Sender<()>>,
}

#[derive(Deserialize)]
struct Answer<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Server {
    pub(super) fn start(mut command: Command) -> Outcome<Self> {
        // What the caller's shell prefers must not be measured.
        for name in ["STANCHION_STORE", "STANCHION_CHAOS", "STANCHION_HOME"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = Instant::now();
        let mut process = command.spawn().map_err(|e| format!("cannot start {:?}: {e}", command.get_program()))?;
        let input = process.stdin.take().ok_or("no pipe to the server")?;
        let output = BufReader::with_capacity(64 * 1024, process.stdout.take().ok_or("no pipe from the server")?);
        let watch = Some(watch(process.id()));
        let start = Duration::ZERO;
        let mut server = Self { process, input, output, line: Vec::new(), next: 0, start, watch };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "stanchion-bench", "version": "1" }
        });
        server.ask("initialize", &hello)?;
        server.start = started.elapsed();
        server.input.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(server)
    }

    /// Small talk, until the scheduler has settled on which cores client and server run: the first milliseconds, all on the
    /// core that started the server, are five times as fast as the rest.
    pub(super) fn settle(&mut self, time: Duration) -> Outcome {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.ask("ping", &json!({}))?;
        }
        Ok(())
    }

    /// One call, checked after the time is taken.
    pub(super) fn call(&mut self, request: &Request) -> Outcome<Duration> {
        let params = json!({ "name": request.call.tool(), "arguments": request.arguments() });
        let (time, result) = self.ask("tools/call", &params)?;
        request.check(&result)?;
        Ok(time)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Outcome<(Duration, String)> {
        let id = self.next;
        self.next += 1;
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}{}"#, '\n');
        let asked = Instant::now();
        self.input.write_all(message.as_bytes())?;
        loop {
            self.line.clear();
            if self.output.read_until(b'\n', &mut self.line)? == 0 {
                return Err("error: the server closed its output".into());
            }
            let time = asked.elapsed();
            let answer: Answer<'_> = serde_json::from_slice(&self.line)?;
            match (answer.id, answer.result, answer.error) {
                (_, None, None) => {}
                (Some(got), Some(result), None) if got == id => return Ok((time, result.get().to_owned())),
                (got, _, error) => return Err(format!("error: {method} {id} got {got:?}: {error:?}").into()),
            }
        }
    }

    /// Proportional memory; none of the servers starts another process.
    pub(super) fn pss_kib(&self) -> Outcome<u64> {
        let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.process.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).ok_or("no Pss in smaps_rollup")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse()?)
    }
}

/// Ends the process when its time is up.
fn watch(pid: u32) -> Sender<()> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let over = receiver.recv_timeout(PATIENCE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
        if let Some(pid) = Pid::from_raw(pid.cast_signed()).filter(|_| over) {
            kill_process(pid, Signal::KILL).ok();
        }
    });
    sender
}

impl Drop for Server {
    fn drop(&mut self) {
        // Before the process is collected: afterwards its number may belong to somebody else.
        self.watch = None;
        // Already gone is what we want.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
