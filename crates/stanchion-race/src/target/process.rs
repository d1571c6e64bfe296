//! One started process and everything it starts in its turn.

use std::io;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use super::said::{KEPT, told};
use crate::spec::{Target, Vars};

/// Of our own environment only these are handed on.
const INHERITED: [&str; 5] = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT"];

/// How long an end may take that was asked for.
const LEAVES: Duration = Duration::from_secs(1);
/// How long an end may take that is about to come.
const SOON: Duration = Duration::from_millis(300);

/// A process in a group of its own. Dropping it kills the group.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    said: Arc<Mutex<Vec<u8>>>,
    listening: Option<JoinHandle<()>>,
    cut_short: Arc<AtomicBool>,
}

impl Process {
    pub(super) fn start(target: &Target, vars: &Vars, cut_short: &Arc<AtomicBool>) -> io::Result<Self> {
        let mut words = target.command.iter().map(|word| word.fill(vars));
        let program = words.next().unwrap_or_default();
        let mut command = Command::new(program);
        command.args(words).current_dir(target.cwd.fill(vars));
        if !target.is_inherited {
            command.env_clear();
        }
        command.envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.envs(target.env.iter().map(|(name, value)| (name, value.fill(vars))));
        let is_stdio = !target.kind.is_http();
        let pipe = || if is_stdio { Stdio::piped() } else { Stdio::null() };
        command.stdin(pipe()).stdout(pipe()).stderr(Stdio::piped()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let said = Arc::new(Mutex::new(Vec::new()));
        let listening = child.stderr.take().map(|stderr| tokio::spawn(keep_last(stderr, Arc::clone(&said))));
        Ok(Self { child, said, listening, cut_short: Arc::clone(cut_short) })
    }

    pub(super) fn pipes(&mut self) -> Option<(ChildStdin, ChildStdout)> {
        self.child.stdin.take().zip(self.child.stdout.take())
    }

    /// How it ended, and what it complained about last; `None` while it runs.
    pub(crate) fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        Some(format!("it ended with {status}{}", self.last_words()))
    }

    /// How a process ends that is about to, with all that it said; `None` if it goes on.
    pub(super) async fn ends_soon(&mut self) -> Option<String> {
        tokio::time::timeout(SOON, self.child.wait()).await.ok()?.ok()?;
        if let Some(listening) = self.listening.take() {
            // What it started may hold its standard error open.
            tokio::time::timeout(SOON, listening).await.ok();
        }
        self.ended()
    }

    pub(crate) fn last_words(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        told(&String::from_utf8_lossy(&said)).map_or(String::new(), |told| format!("; it said: {told}"))
    }

    /// Waits for its end after that of its input, and asks for it once. What still runs then is killed when it is dropped.
    pub(super) async fn leave(&mut self) {
        #[cfg(unix)]
        let group = self.group();
        if tokio::time::timeout(LEAVES, self.child.wait()).await.is_err() {
            #[cfg(unix)]
            signal(group, rustix::process::Signal::TERM);
            if tokio::time::timeout(LEAVES, self.child.wait()).await.is_err() {
                tracing::debug!("a process ends neither with its input nor when it is asked to");
                return;
            }
        }
        // What it has started must not outlive it.
        #[cfg(unix)]
        signal(group, rustix::process::Signal::KILL);
    }

    /// Waits for the end of a process that was killed.
    pub(super) async fn reap(&mut self) {
        if tokio::time::timeout(Duration::from_secs(10), self.child.wait()).await.is_err() {
            tracing::warn!("a killed process does not end");
        }
    }

    #[cfg(unix)]
    fn group(&self) -> Option<rustix::process::Pid> {
        self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw)
    }

    #[cfg(unix)]
    pub(super) fn kill(&mut self) {
        signal(self.group(), rustix::process::Signal::KILL);
    }

    #[cfg(not(unix))]
    pub(super) fn kill(&mut self) {
        self.child.start_kill().ok();
    }

    /// Stops it, or lets it go on. Elsewhere than on Unix nothing happens.
    pub(super) fn stop(&self, on: bool) {
        #[cfg(unix)]
        signal(self.group(), if on { rustix::process::Signal::STOP } else { rustix::process::Signal::CONT });
        #[cfg(not(unix))]
        tracing::warn!(on, "processes cannot be stopped here");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Whoever is killed has no code.
        if !self.child.try_wait().is_ok_and(|status| status.is_some_and(|status| status.code().is_some())) {
            self.cut_short.store(true, Ordering::Relaxed);
        }
        self.kill();
    }
}

/// To all of a group; the group may be gone.
#[cfg(unix)]
fn signal(group: Option<rustix::process::Pid>, signal: rustix::process::Signal) {
    if let Some(error) = group.and_then(|group| rustix::process::kill_process_group(group, signal).err()) {
        tracing::debug!(%error, "a process could not be signalled");
    }
}

async fn keep_last(mut from: impl AsyncRead + Unpin, kept: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = vec![0; 4096];
    while let Ok(read @ 1..) = from.read(&mut chunk).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(chunk.get(..read).unwrap_or_default());
        let excess = kept.len().saturating_sub(KEPT);
        kept.drain(..excess);
    }
}
