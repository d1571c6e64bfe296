//! Programs: the time of a run from spawn to exit, and the memory of one that waits for its command.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::job::{Job, Tally};
use crate::pause::pause_thread;
use crate::worker::{BlockingClient, Window, run_threads};

struct Spawn(Vec<String>);

impl BlockingClient for Spawn {
    fn take(&mut self) -> Outcome {
        let status = command(&self.0)?.status()?;
        if status.success() { Ok(()) } else { Err(format!("{:?}: {status}", self.0).into()) }
    }

    fn give(&mut self) -> Outcome {
        Ok(())
    }
}

fn command(words: &[String]) -> Outcome<Command> {
    let (program, rest) = words.split_first().ok_or("no command")?;
    let mut command = Command::new(program);
    // The embedded default is measured, whatever the caller's shell prefers.
    command.env_remove("STANCHION_STORE").env_remove("STANCHION_CHAOS");
    command.args(rest).stdin(Stdio::null()).stdout(Stdio::null());
    Ok(command)
}

/// Place: the command.
pub(super) fn run(job: &Job) -> Outcome<Tally> {
    run_threads(job, (0..job.tasks).map(|_| Spawn(job.place.clone())).collect())
}

/// Ends the program also when the measurement fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Once it is collected, its number may belong to somebody else.
        let runs = matches!(self.0.try_wait(), Ok(None));
        if let Some(pid) = rustix::process::Pid::from_raw(self.0.id().cast_signed()).filter(|_| runs) {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        }
        self.0.wait().ok();
    }
}

/// Place: a command that starts `sleep` and waits for it. The memory is read once `sleep` runs.
pub(super) fn rss(job: &Job) -> Outcome<Tally> {
    Window::open(job)?;
    let mut running = Running(command(&job.place)?.spawn()?);
    let pid = running.0.id();
    let deadline = Instant::now() + Duration::from_secs(10);
    while !runs_sleep(pid) {
        if let Some(status) = running.0.try_wait()? {
            return Err(format!("{:?} ended: {status}", job.place).into());
        }
        if Instant::now() > deadline {
            return Err(format!("{:?} did not start `sleep` within 10 s", job.place).into());
        }
        pause_thread(Duration::from_millis(2));
    }
    // What it does right after the start belongs to an idle holder, too.
    pause_thread(Duration::from_millis(300));
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let rss_kib = line.split_whitespace().next().and_then(|word| word.parse().ok());
    Ok(Tally { tasks: vec![1], rss_kib, ..Tally::default() })
}

fn runs_sleep(pid: u32) -> bool {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    children.split_whitespace().filter_map(|child| child.parse().ok()).any(|child: u32| {
        let name = fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
        name.trim() == "sleep" || runs_sleep(child)
    })
}
