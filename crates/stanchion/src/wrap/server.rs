//! The server's process.

use std::ffi::OsString;
use std::io::{PipeReader, PipeWriter};

use rustix::process::{Pid, Signal, kill_process};
use stanchion_core::{Error, ErrorKind, Result};

use super::resolve::{Unresolved, resolve};
use crate::exit::say;
use crate::run::{Ended, Signals, staged};

/// How long a server that is told to end may take.
const TERM: std::time::Duration = std::time::Duration::from_secs(5);

pub(super) enum Happened {
    Ended(Ended),
    /// It was sent to us.
    Signal(Signal),
}

pub(super) struct Server {
    process: tokio::process::Child,
    pid: Pid,
    signals: Signals,
}

/// It does not run. The code is 127 or 126 where the command is to blame.
pub(super) struct NotStarted {
    pub(super) code: u8,
    pub(super) error: Error,
}

impl From<Error> for NotStarted {
    fn from(error: Error) -> Self {
        Self { code: crate::exit::code(error.kind()), error }
    }
}

/// Our ends of its standard input and output. Its standard error is ours.
pub(super) struct Pipes {
    pub(super) input: PipeWriter,
    pub(super) output: PipeReader,
}

impl Server {
    /// Starts the command in our environment, folder and process group, as its client would.
    pub(super) fn start(command: &[OsString]) -> Result<(Self, Pipes), NotStarted> {
        let failed = |what: &'static str| move |e: std::io::Error| Error::new(ErrorKind::Unexpected, what).because(e);
        let program = command.first().cloned().unwrap_or_default();
        let (path, home) = (std::env::var_os("PATH"), std::env::home_dir());
        let found = resolve(&program, path.as_deref(), home.as_deref())
            .map_err(|Unresolved { code, error }| NotStarted { code, error })?;
        if let Some(repaired) = &found.note {
            say(repaired);
        }
        let signals = Signals::for_serving()?;
        let whole: Vec<OsString> =
            [found.program.into_os_string()].into_iter().chain(command.iter().skip(1).cloned()).collect();
        let (theirs_in, input) = std::io::pipe().map_err(failed("a pipe cannot be made"))?;
        let (output, theirs_out) = std::io::pipe().map_err(failed("a pipe cannot be made"))?;
        let mut staged = staged(&whole).map_err(failed("our own program file is not known"))?;
        staged.stdin(theirs_in).stdout(theirs_out);
        if let Some(path) = found.path {
            staged.env("PATH", path);
        }
        let process = tokio::process::Command::from(staged)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed("the server cannot be started"))?;
        let pid = process.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let pid = pid.ok_or_else(|| Error::new(ErrorKind::Unexpected, "the server has no process id"))?;
        Ok((Self { process, pid, signals }, Pipes { input, output }))
    }

    pub(super) async fn next(&mut self) -> Result<Happened> {
        tokio::select! {
            biased;
            received = self.signals.next() => Ok(Happened::Signal(received.signal())),
            status = self.process.wait() => status
                .map(|status| Happened::Ended(status.into()))
                .map_err(|e| Error::new(ErrorKind::Unexpected, "the server cannot be waited for").because(e)),
        }
    }

    /// The next signal that was sent to us, when the server has ended.
    pub(super) async fn signal(&mut self) {
        self.signals.next().await;
    }

    /// Passes a signal on. What the terminal sends, it has sent to the server as well.
    pub(super) fn send(&self, signal: Signal) {
        if [Signal::INT, Signal::QUIT, Signal::WINCH].contains(&signal) && in_foreground() {
            return;
        }
        if let Err(error) = kill_process(self.pid, signal)
            && error != rustix::io::Errno::SRCH
        {
            tracing::warn!(%error, signal = signal.as_raw(), "cannot signal the server");
        }
    }

    /// Ends it, gently first.
    pub(super) fn stop(&self) {
        kill_process(self.pid, Signal::TERM).unwrap_or_default();
        let pid = self.pid;
        tokio::spawn(async move {
            tokio::time::sleep(TERM).await;
            // Only while it is our child and not waited for, its number is its own: we end as soon as it has ended.
            kill_process(pid, Signal::KILL).unwrap_or_default();
        });
    }
}

/// Are we, and the server with us, what a terminal has in its foreground?
fn in_foreground() -> bool {
    let Ok(terminal) = std::fs::File::open("/dev/tty") else { return false };
    rustix::termios::tcgetpgrp(&terminal).is_ok_and(|group| group == rustix::process::getpgrp())
}
