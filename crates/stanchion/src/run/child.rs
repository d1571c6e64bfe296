//! The command: its environment, its signals, its end.

use std::io::IsTerminal as _;
use std::process::ExitStatus;
use std::task::{Context, Poll, Waker};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use stanchion_core::{Error, ErrorKind, Leases, Result};
use stanchion_stores::OpenedLocks;
use tokio::signal::unix::{self, SignalKind};

use super::Ended;
use super::environment::environment;
use super::stage::STAGE;
use crate::cli::RunArgs;
use crate::exit::{self, say};

#[derive(Debug)]
pub(super) enum Happened {
    Ended(Ended),
    Signal(Received),
}

#[derive(Debug)]
pub(super) struct Child {
    process: tokio::process::Child,
    pid: Pid,
    /// In a group of its own the whole tree can be reached. On a terminal it stays in ours: a background
    /// group could not read from the terminal.
    own_group: bool,
    signals: Signals,
    interrupts: u32,
}

impl Child {
    /// Starts the command. Whether it exists shows in its exit code, 127 or 126.
    pub(super) fn start(args: &RunArgs, opened: &OpenedLocks, leases: &Leases) -> Result<Self> {
        let failed = |what: &'static str| move |e: std::io::Error| Error::new(ErrorKind::Unexpected, what).because(e);
        let signals = Signals::for_running()?;
        let own_group = !std::io::stdin().is_terminal();
        let mut command = staged(&args.command).map_err(failed("our own program file is not known"))?;
        command.envs(environment(opened, leases));
        if own_group {
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
        }
        // Closed again on our side when the command has started; on its side they live as long as it does.
        let inherited = match &opened.files {
            Some(files) => leases.iter().map(|lease| files.inheritable(lease.grant())).collect::<Result<Vec<_>>>()?,
            None => Vec::new(),
        };
        let process =
            tokio::process::Command::from(command).spawn().map_err(failed("the command cannot be started"))?;
        drop(inherited);
        let pid = process.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let pid = pid.ok_or_else(|| Error::new(ErrorKind::Unexpected, "the command has no process id"))?;
        Ok(Self { process, pid, own_group, signals, interrupts: 0 })
    }

    /// The command's end, or a signal that was sent to us.
    pub(super) async fn next(&mut self) -> Result<Happened> {
        tokio::select! {
            biased;
            signal = self.signals.next() => Ok(Happened::Signal(signal)),
            status = self.process.wait() => status
                .map(|status| Happened::Ended(status.into()))
                .map_err(|e| Error::new(ErrorKind::Unexpected, "the command cannot be waited for").because(e)),
        }
    }

    /// Does with a signal what the sender meant for the command. Yes, if the command stands still now and waits
    /// to be resumed.
    pub(super) fn forward(&mut self, Received(signal): Received) -> bool {
        if signal == Signal::INT {
            self.interrupts += 1;
        }
        // What the terminal sends, it has sent to the command as well while that is in our group.
        let from_terminal = [Signal::INT, Signal::QUIT, Signal::WINCH].contains(&signal);
        match signal {
            Signal::INT if self.interrupts > 1 => self.kill(),
            Signal::TSTP => self.stop(),
            _ if from_terminal && !self.own_group => {}
            _ => self.send(signal),
        }
        signal == Signal::TSTP
    }

    /// Ctrl-Z: stops the command and us. Returns when we have been continued; the command has not.
    fn stop(&self) {
        self.send(Signal::STOP);
        say("stanchion: stopped; the lock is not renewed until you continue");
        if let Err(error) = kill_process(rustix::process::getpid(), Signal::STOP) {
            tracing::warn!(%error, "cannot stop");
        }
    }

    /// Continues a stopped command. A killed one needs that, too, to die.
    pub(super) fn resume(&mut self) {
        self.send(Signal::CONT);
    }

    pub(super) fn terminate(&mut self) {
        self.send(Signal::TERM);
    }

    pub(super) fn kill(&mut self) {
        self.send(Signal::KILL);
    }

    /// Kills what the ended command has left behind, where it has a group of its own. The group's number stays
    /// taken while somebody is in it.
    pub(super) fn kill_group(&mut self) {
        if self.own_group {
            self.send(Signal::KILL);
        }
    }

    fn send(&self, signal: Signal) {
        let sent = if self.own_group { kill_process_group(self.pid, signal) } else { kill_process(self.pid, signal) };
        // It may have ended this very moment, which is what most signals want anyway.
        if let Err(error) = sent
            && error != rustix::io::Errno::SRCH
        {
            tracing::warn!(%error, signal = signal.as_raw(), "cannot signal the command");
        }
    }
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        let signal = status.signal();
        let code = signal.map_or_else(|| status.code().unwrap_or(i32::from(exit::FAILED)), |signal| 128 + signal);
        Self { code: u8::try_from(code).unwrap_or(exit::FAILED), signal, lost: false }
    }
}

/// The command, by way of the second stage, which makes it die with the thread that starts it.
pub(crate) fn staged(command: &[std::ffi::OsString]) -> std::io::Result<std::process::Command> {
    let mut staged = std::process::Command::new(own_program()?);
    staged.arg(STAGE).arg(std::process::id().to_string()).args(command);
    Ok(staged)
}

/// The program that runs, even if its file has been replaced meanwhile by another version.
fn own_program() -> std::io::Result<std::path::PathBuf> {
    let running = std::path::Path::new("/proc/self/exe");
    if running.exists() { Ok(running.to_owned()) } else { std::env::current_exe() }
}

/// A signal that was sent to us.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received(Signal);

impl Received {
    pub(crate) const fn signal(self) -> Signal {
        self.0
    }

    pub(crate) fn number(self) -> u8 {
        u8::try_from(self.0.as_raw()).unwrap_or(0)
    }
}

/// Signals sent to us, as a stream.
#[derive(Debug)]
pub(crate) struct Signals(Vec<(Signal, unix::Signal)>);

impl Signals {
    /// Those that end a wait.
    pub(crate) fn for_waiting() -> Result<Self> {
        Self::listen(&[Signal::INT, Signal::TERM, Signal::HUP])
    }

    /// Those that are passed on to a server. Stopping is left to the terminal, which stops the server as well.
    pub(crate) fn for_serving() -> Result<Self> {
        Self::listen(&[Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2, Signal::WINCH])
    }

    fn for_running() -> Result<Self> {
        Self::listen(&[
            Signal::INT,
            Signal::TERM,
            Signal::HUP,
            Signal::QUIT,
            Signal::USR1,
            Signal::USR2,
            Signal::WINCH,
            Signal::TSTP,
        ])
    }

    fn listen(signals: &[Signal]) -> Result<Self> {
        let ignored = ignored_signals();
        // `nohup` means what it says: what our parent told us to ignore stays ignored, by the command as well.
        let wanted = signals.iter().filter(|signal| ignored & (1 << (signal.as_raw() - 1)) == 0);
        let listen = |signal: &Signal| Ok((*signal, unix::signal(SignalKind::from_raw(signal.as_raw()))?));
        let streams: std::io::Result<Vec<_>> = wanted.map(listen).collect();
        streams.map(Self).map_err(|e| Error::new(ErrorKind::Unexpected, "signals cannot be received").because(e))
    }

    pub(crate) async fn next(&mut self) -> Received {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    /// One that has come already.
    pub(super) fn pending(&mut self) -> Option<Received> {
        match self.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(signal) => Some(signal),
            Poll::Pending => None,
        }
    }

    /// To a running command a hangup says "read your configuration again"; it is not meant to end us.
    pub(super) fn forget_hangup(&mut self) {
        for (_, stream) in self.0.iter_mut().filter(|(signal, _)| *signal == Signal::HUP) {
            while let Poll::Ready(Some(())) = stream.poll_recv(&mut Context::from_waker(Waker::noop())) {}
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Received> {
        for (signal, stream) in &mut self.0 {
            if let Poll::Ready(Some(())) = stream.poll_recv(cx) {
                return Poll::Ready(Received(*signal));
            }
        }
        Poll::Pending
    }
}

/// The mask of ignored signals, where the system shows it.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
