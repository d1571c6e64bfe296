//! The shell that holds a server: it outlives the test, and ends the server with it.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::Pid;

use super::server::Spec;
use super::user::command_as;

/// Runs the server and ends it. It reads orders from the test process and, when that is gone however it ended, end of
/// file. Children are killed too: PostgreSQL's live in sessions of their own and may be stopped by a signal, so
/// neither a group kill nor their own watchfulness is enough. SIGHUP is ignored because the kernel sends it to a
/// group that lost its parent and has a stopped member, which is this very situation; the SIGCONT that follows it may
/// undo a stop of ours, which is therefore given again until it holds.
///
/// A signal only asks, and on a busy machine it takes a while: the list of children is final when the parent stands
/// still, and the data are free when the last child is gone. PostgreSQL refuses to start while one still holds the
/// shared memory. Killed, it leaves a segment of that behind; a machine has 4096 of them, and then no PostgreSQL starts
/// any more.
const WATCHER: &str = include_str!("watcher.sh");

#[derive(Debug)]
pub(super) struct Watcher {
    process: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    pub(super) server: Option<Pid>,
    /// Who holds the orders since the server was given away; never waited for, because it outlives us.
    keeper: Option<Child>,
}

impl Watcher {
    /// Starts the shell; the server itself starts by order.
    pub(super) fn start(spec: &Spec, dir: &Path) -> Watcher {
        let mut command = command_as(spec.user, "sh".as_ref(), &spec.program.path);
        command.args(["-c", WATCHER, "stanchion-engine"]).arg(dir).args(spec.program.words()).args(&spec.args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // A group of its own: signals meant for the test (Ctrl-C, a runner's time-out) must not take the watcher first.
        command.process_group(0).current_dir(dir);
        let mut process = command.spawn().unwrap_or_else(|e| panic!("cannot start sh for {}: {e}", spec.engine));
        let orders = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().expect("stdout was piped a few lines above"));
        Watcher { process, orders, answers, server: None, keeper: None }
    }

    pub(super) fn order(&mut self, order: &str) -> Option<String> {
        self.orders.as_mut()?.write_all(format!("{order}\n").as_bytes()).ok()?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).ok()?;
        Some(answer.trim().to_owned())
    }

    /// No more orders: the server runs until reading `until` ends, and `leftover` is removed with it. `false` if that
    /// was so before.
    pub(super) fn give_away(&mut self, until: File, leftover: &Path) -> bool {
        let Some(orders) = self.orders.take() else { return false };
        // It holds the watcher's orders open as we did, and nothing comes through.
        let mut keeper = Command::new("sh");
        keeper.args(["-c", "cat; rm -rf \"$1\" || rm -rf \"$1\"", "stanchion-keeper"]).arg(leftover);
        keeper.stdin(until).stdout(orders).stderr(Stdio::null()).process_group(0).current_dir("/");
        self.keeper = Some(keeper.spawn().unwrap_or_else(|e| panic!("cannot start sh to keep a server: {e}")));
        true
    }

    /// Ends the server, unless it was given away and lives on.
    pub(super) fn end(&mut self) {
        let Some(orders) = self.orders.take() else { return };
        drop(orders);
        // Wait, so that the port and the folder are free when the test goes on.
        self.process.wait().ok();
    }
}
