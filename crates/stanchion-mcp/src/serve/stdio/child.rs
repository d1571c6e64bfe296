//! A server that is a program: started, spoken to, ended.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use crate::lines::{Line, Lines};

/// The longest line of a child's standard error that is shown.
const SHOWN_MAX: usize = 16 << 10;
/// Its threads do little.
const STACK: usize = 256 << 10;
/// How long a killed child is waited for.
const DYING: Duration = Duration::from_secs(5);

/// What is run, and how. `Debug` shows neither arguments nor variables: either may be secret.
///
/// ```
/// let program = stanchion_mcp::serve::Program::new(["npx", "-y", "@modelcontextprotocol/server-memory"]);
/// assert_eq!(format!("{program:?}"), r#"Program { program: Some("npx"), .. }"#);
/// ```
#[derive(Clone, Default)]
pub struct Program {
    words: Vec<OsString>,
    env: BTreeMap<String, String>,
    without: Vec<String>,
    cwd: Option<PathBuf>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("program", &self.words.first()).finish_non_exhaustive()
    }
}

impl Program {
    /// A program and its arguments; no shell is involved.
    ///
    /// ```
    /// let _program = stanchion_mcp::serve::Program::new(["node", "server.mjs"]);
    /// ```
    #[must_use]
    pub fn new(words: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { words: words.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Variables for it, besides ours.
    ///
    /// ```
    /// # use stanchion_mcp::serve::Program;
    /// let _program = Program::new(["server"]).env([("LEVEL".into(), "info".into())].into());
    /// ```
    #[must_use]
    pub fn env(mut self, env: BTreeMap<String, String>) -> Self {
        self.env = env;
        self
    }

    /// Variables of ours that it does not get: secrets that are not for it.
    ///
    /// ```
    /// # use stanchion_mcp::serve::Program;
    /// let _program = Program::new(["server"]).without(["ALICE_TOKEN".into()]);
    /// ```
    #[must_use]
    pub fn without(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.without = names.into_iter().collect();
        self
    }

    /// Its working folder; ours unless set.
    ///
    /// ```
    /// # use stanchion_mcp::serve::Program;
    /// let _program = Program::new(["server"]).cwd(Some("/srv".into()));
    /// ```
    #[must_use]
    pub fn cwd(mut self, cwd: Option<PathBuf>) -> Self {
        self.cwd = cwd;
        self
    }

    fn command(&self) -> Command {
        let (name, arguments) = self.words.split_first().map_or((None, &[][..]), |(name, rest)| (Some(name), rest));
        let mut command = Command::new(name.cloned().unwrap_or_default());
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for name in &self.without {
            command.env_remove(name);
        }
        command.envs(&self.env);
        if let Some(folder) = &self.cwd {
            command.current_dir(folder);
        }
        // A group of its own: Ctrl-C is for us, who let it finish; and what it starts ends with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }
}

type Order = (Command, oneshot::Sender<io::Result<std::process::Child>>);

/// A thread that starts children. Where a child asks to die with its parent, that is the thread which started it: this one
/// lives as long as a clone of the nursery does.
///
/// ```
/// let nursery = stanchion_mcp::serve::Nursery::start()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Nursery(mpsc::Sender<Order>);

impl Nursery {
    /// Starts the thread.
    ///
    /// # If it fails
    /// The thread cannot be started.
    pub fn start() -> io::Result<Self> {
        let (orders, taken) = mpsc::channel::<Order>();
        std::thread::Builder::new().name("children".into()).stack_size(STACK).spawn(move || {
            while let Ok((mut command, told)) = taken.recv() {
                if let Err(Ok(mut unwanted)) = told.send(command.spawn()) {
                    end_now(&mut unwanted);
                }
            }
        })?;
        Ok(Self(orders))
    }

    async fn spawn(&self, command: Command) -> io::Result<std::process::Child> {
        let gone = || io::Error::other("the thread that starts children is gone");
        let (told, started) = oneshot::channel();
        self.0.send((command, told)).map_err(|_| gone())?;
        started.await.map_err(|_| gone())?
    }
}

fn end_now(child: &mut std::process::Child) {
    // It may have ended by itself.
    child.kill().unwrap_or_default();
    child.wait().ok();
}

/// How far it is with a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(super) enum Life {
    Speaking,
    /// It has closed its standard output, by ending or otherwise.
    Silent,
    Ended,
}

/// A child and its pipes.
pub(super) struct Started {
    pub(super) child: Arc<Child>,
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
}

#[derive(Debug)]
pub(super) struct Child {
    process: Mutex<Reaped>,
    life: watch::Sender<Life>,
}

#[derive(Debug)]
struct Reaped {
    process: std::process::Child,
    /// Its number is not ours any more.
    is: bool,
}

impl Child {
    /// Starts a program; what it writes to its standard error appears in ours, with its name before each line.
    ///
    /// # If it fails
    /// The program, or a thread for it, cannot be started.
    pub(super) async fn start(nursery: &Nursery, name: &str, program: &Program) -> io::Result<Started> {
        let mut process = nursery.spawn(program.command()).await?;
        let pipes = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let (life, _) = watch::channel(Life::Speaking);
        let child = Arc::new(Self { process: Mutex::new(Reaped { process, is: false }), life });
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("its pipes are missing"));
        };
        show(name.to_owned(), stderr)?;
        Ok(Started { child, stdin, stdout })
    }

    /// Runs `read` in a thread until the child says nothing more, then `after`; then sees the child out.
    ///
    /// # If it fails
    /// The thread cannot be started.
    pub(super) fn listen(self: &Arc<Self>, name: &str, read: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let child = Arc::clone(self);
        let thread = std::thread::Builder::new().name(format!("from {name}")).stack_size(STACK);
        thread.spawn(move || {
            read();
            child.life.send_replace(Life::Silent);
            child.see_out();
            child.life.send_replace(Life::Ended);
        })?;
        Ok(())
    }

    /// Waits for the end of the process without holding what `kill` needs.
    #[cfg(unix)]
    fn see_out(&self) {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let number = self.lock().process.id();
        if let Some(pid) = i32::try_from(number).ok().and_then(Pid::from_raw) {
            // If it cannot be waited for, it has been.
            while let Err(rustix::io::Errno::INTR) =
                waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
            {}
        }
        let mut process = self.lock();
        // What it has left running has nobody to talk to.
        signal_group(number);
        process.process.wait().ok();
        process.is = true;
    }

    #[cfg(not(unix))]
    fn see_out(&self) {
        let mut process = self.lock();
        end_now(&mut process.process);
        process.is = true;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Reaped> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn kill(&self) {
        let mut process = self.lock();
        if !process.is {
            signal_group(process.process.id());
            process.process.kill().unwrap_or_default();
        }
    }

    pub(super) fn life(&self) -> watch::Receiver<Life> {
        self.life.subscribe()
    }

    /// Waits for its end, kills it after `grace`, and waits for that. Its input must have been closed.
    pub(super) async fn end(&self, grace: Duration) {
        let mut life = self.life();
        let ended = |life: &Life| *life == Life::Ended;
        if tokio::time::timeout(grace, life.wait_for(ended)).await.is_err() {
            self.kill();
            if tokio::time::timeout(DYING, life.wait_for(ended)).await.is_err() {
                tracing::warn!("a killed server is still there");
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(unix)]
fn signal_group(number: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(group) = i32::try_from(number).ok().and_then(Pid::from_raw) {
        // Nobody may be left in it.
        kill_process_group(group, Signal::KILL).ok();
    }
}

#[cfg(not(unix))]
fn signal_group(_: u32) {}

/// A line for a person, from a server.
pub(super) fn say(name: &str, line: &str) {
    let mut out = io::stderr().lock();
    // Nobody to tell if that fails.
    writeln!(out, "[{name}] {}", line.trim_end_matches('\r')).ok();
}

fn show(name: String, from: ChildStderr) -> io::Result<()> {
    let thread = std::thread::Builder::new().name(format!("errors of {name}")).stack_size(STACK);
    thread.spawn(move || {
        let mut lines = Lines::new(from, SHOWN_MAX);
        loop {
            match lines.next() {
                Ok(Line::Whole(line)) => say(&name, &String::from_utf8_lossy(line)),
                Ok(Line::TooLong { head, bytes, .. }) => {
                    say(&name, &format!("{}… ({bytes} bytes)", String::from_utf8_lossy(head)));
                }
                Ok(Line::End) | Err(_) => return,
            }
        }
    })?;
    Ok(())
}
