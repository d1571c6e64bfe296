//! The parent's side of a round: start the processes of one subject together, collect what they counted.

use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::job::{Job, Tally};
use crate::{Fault, Outcome};

/// What a worker is a process of.
#[derive(Debug, Clone)]
pub(crate) enum Program {
    /// This very program.
    Ours,
    /// Somebody else's.
    Other(PathBuf),
    /// An interpreter, its script, and the folder with the packages.
    Script { interpreter: &'static str, script: PathBuf, packages: PathBuf },
}

/// Generous, because an interpreter may start on a loaded machine, and because the last waiters of an unfair lock
/// may need seconds; nothing measured depends on it.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn run(program: &Program, job: &Job) -> Outcome<Tally> {
    let start = |process| Worker::start(program, &Job { process, ..job.clone() });
    let mut workers = (0..job.processes).map(start).collect::<Outcome<Vec<_>>>()?;
    for worker in &mut workers {
        match worker.line(PATIENCE)?.as_str() {
            "READY" => {}
            other => return Err(format!("a worker said {other:?} instead of READY").into()),
        }
    }
    for worker in &mut workers {
        worker.go()?;
    }
    let window = Duration::from_millis(job.warm_up_ms + job.measured_ms);
    let mut tally = Tally::default();
    for worker in &mut workers {
        tally.merge(serde_json::from_str(&worker.line(window + PATIENCE)?)?);
    }
    Ok(tally)
}

/// A process; killed when dropped.
struct Worker {
    process: Child,
    lines: Receiver<String>,
    errors: std::fs::File,
}

impl Worker {
    fn start(program: &Program, job: &Job) -> Outcome<Self> {
        let mut command = match program {
            Program::Ours => {
                let mut command = Command::new(std::env::current_exe()?);
                command.arg("worker");
                command
            }
            Program::Other(program) => Command::new(program),
            Program::Script { interpreter, script, packages } => {
                let mut command = Command::new(interpreter);
                command.arg(script).env("PYTHONPATH", packages).env("STANCHION_PEERS", packages);
                command
            }
        };
        let errors = tempfile::tempfile()?;
        command.arg(serde_json::to_string(job)?);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors.try_clone()?);
        let mut process = command.spawn().map_err(|e| format!("cannot start {:?}: {e}", command.get_program()))?;
        let output = process.stdout.take().ok_or("no output")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { process, lines, errors })
    }

    fn go(&mut self) -> Outcome {
        let input = self.process.stdin.as_mut().ok_or("no input")?;
        input.write_all(b"GO\n").and_then(|()| input.flush()).map_err(|_| self.complaint("ended before the start"))
    }

    fn line(&mut self, patience: Duration) -> Outcome<String> {
        self.lines.recv_timeout(patience).map_err(|e| match e {
            std::sync::mpsc::RecvTimeoutError::Timeout => self.complaint("said nothing for too long"),
            std::sync::mpsc::RecvTimeoutError::Disconnected => self.complaint("ended early"),
        })
    }

    /// What went wrong, with the line in which the worker says why.
    fn complaint(&mut self, what: &str) -> Fault {
        let mut text = Vec::new();
        // Without the reason the complaint still stands.
        self.errors.rewind().and_then(|()| self.errors.read_to_end(&mut text)).ok();
        let text = String::from_utf8_lossy(&text);
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        // Interpreters end with a trace, commands begin with their error.
        let named = lines.clone().find(|line| line.to_lowercase().contains("error"));
        let reason = named.or_else(|| lines.next_back()).unwrap_or("no reason given");
        format!("a worker {what}: {reason}").into()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Already gone is what we want.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
