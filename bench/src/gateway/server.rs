//! The process under test: started, and gone with its descendants when dropped.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use tempfile::TempDir;

use super::spec::{Spec, Transport};
use super::tree;
use crate::Outcome;

pub(super) struct Server {
    process: Child,
    pub(super) address: SocketAddr,
    pub(super) started: Instant,
    /// Removed after the processes that work in it.
    _home: TempDir,
}

impl Server {
    pub(super) fn start(spec: &Spec) -> Outcome<Self> {
        if spec.one_core {
            stay_on_one_core()?;
        }
        let home = TempDir::with_prefix("stanchion-bench-")?;
        let address = free_address()?;
        let folder = home.path().display().to_string();
        let filled = |text: &str| text.replace("{home}", &folder).replace("{port}", &address.port().to_string());
        for (name, text) in &spec.files {
            std::fs::write(home.path().join(name), filled(text))?;
        }
        let (program, words) = spec.command.split_first().ok_or("no command")?;
        let mut command = Command::new(program);
        command.args(words.iter().map(|word| filled(word)));
        command.envs(spec.environment.iter().map(|(name, value)| (name, filled(value))));
        // What the caller's shell prefers must not be measured.
        for name in ["STANCHION_STORE", "STANCHION_CHAOS", "STANCHION_HOME"] {
            command.env_remove(name);
        }
        match spec.transport {
            Transport::Stdio => command.stdin(Stdio::piped()).stdout(Stdio::piped()),
            Transport::Http(_) => command.stdin(Stdio::null()).stdout(Stdio::null()),
        };
        let started = Instant::now();
        let process = command.spawn().map_err(|e| format!("cannot start {program}: {e}"))?;
        Ok(Self { process, address, started, _home: home })
    }

    pub(super) fn pipes(&mut self) -> Outcome<(ChildStdin, ChildStdout)> {
        let input = self.process.stdin.take().ok_or("no pipe to the server")?;
        Ok((input, self.process.stdout.take().ok_or("no pipe from the server")?))
    }

    /// Fails once the process has ended.
    pub(super) fn check(&mut self) -> Outcome {
        match self.process.try_wait()? {
            None => Ok(()),
            Some(status) => Err(format!("error: the server ended with {status}").into()),
        }
    }

    pub(super) fn pss_kib(&self) -> Outcome<u64> {
        tree::pss_kib(self.process.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Once it is collected, its number may belong to somebody else.
        if matches!(self.process.try_wait(), Ok(None)) {
            tree::kill(self.process.id());
        }
        self.process.wait().ok();
    }
}

/// Free at this moment; nobody else on this machine is expected to take it before the server does.
fn free_address() -> Outcome<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// The last core of those that we may use; what is started from here inherits it.
#[cfg(target_os = "linux")]
fn stay_on_one_core() -> Outcome {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let allowed = sched_getaffinity(None)?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu)).ok_or("no core")?;
    let mut one = CpuSet::new();
    one.set(last);
    Ok(sched_setaffinity(None, &one)?)
}

#[cfg(not(target_os = "linux"))]
fn stay_on_one_core() -> Outcome {
    Err("only Linux can be told to use one core".into())
}
