//! The command on systems without Unix signals: Ctrl-C ends it, and a lost lock kills it.

use std::process::ExitStatus;

use stanchion_core::{Error, ErrorKind, Leases, Result};
use stanchion_stores::OpenedLocks;

use super::Ended;
use super::environment::environment;
use super::stage::STAGE;
use crate::cli::RunArgs;
use crate::exit;

/// The one thing that can be sent to us.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interrupt;

impl Interrupt {
    pub(super) const fn number(self) -> u8 {
        2
    }
}

#[derive(Debug)]
pub(super) enum Happened {
    Ended(Ended),
    Signal(Interrupt),
}

#[derive(Debug)]
pub(super) struct Child {
    process: tokio::process::Child,
}

impl Child {
    pub(super) fn start(args: &RunArgs, opened: &OpenedLocks, leases: &Leases) -> Result<Self> {
        let failed = |e: std::io::Error| Error::new(ErrorKind::Unexpected, "the command cannot be started").because(e);
        let mut command = tokio::process::Command::new(std::env::current_exe().map_err(failed)?);
        command.arg(STAGE).arg(std::process::id().to_string()).args(&args.command).envs(environment(opened, leases));
        let process = command.kill_on_drop(true).spawn().map_err(failed)?;
        Ok(Self { process })
    }

    pub(super) async fn next(&mut self) -> Result<Happened> {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => Ok(Happened::Signal(Interrupt)),
            status = self.process.wait() => status
                .map(|status| Happened::Ended(status.into()))
                .map_err(|e| Error::new(ErrorKind::Unexpected, "the command cannot be waited for").because(e)),
        }
    }

    /// The console has told the command, too; nothing is left to do.
    pub(super) fn forward(&mut self, _: Interrupt) -> bool {
        false
    }

    pub(super) fn resume(&mut self) {}

    pub(super) fn kill_group(&mut self) {}

    pub(super) fn terminate(&mut self) {
        self.kill();
    }

    pub(super) fn kill(&mut self) {
        if let Err(error) = self.process.start_kill() {
            tracing::warn!(%error, "cannot kill the command");
        }
    }
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::FAILED);
        Self { code, signal: None, lost: false }
    }
}

/// What ends a wait.
#[derive(Debug)]
pub(super) struct Signals;

impl Signals {
    pub(super) fn for_waiting() -> Result<Self> {
        Ok(Self)
    }

    /// Between two waits nobody listens here.
    pub(super) fn pending(&mut self) -> Option<Interrupt> {
        None
    }

    pub(super) fn forget_hangup(&mut self) {}

    pub(super) async fn next(&mut self) -> Interrupt {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Interrupt
    }
}
