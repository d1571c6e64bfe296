//! The programs that are run, and how they are talked to.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Longer than any program here takes that ends.
pub(super) const DEADLINE: Duration = Duration::from_secs(60);

/// A program to run.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    pub arguments: Vec<String>,
    pub variables: Vec<(String, String)>,
}

impl Program {
    /// This package's own worker of that name.
    pub fn worker(name: &str, arguments: &[&Path]) -> io::Result<Self> {
        let path = built("stanchion-evidence")?;
        let rest = arguments.iter().map(|one| one.display().to_string());
        let arguments = ["worker".to_owned(), name.to_owned()].into_iter().chain(rest).collect();
        Ok(Self { path, arguments, variables: Vec::new() })
    }

    /// Runs it to its end without looking at what it does; `None` if it does not end.
    pub fn run<T: Send>(&self, talk: impl FnOnce(Talk) -> T + Send) -> io::Result<Option<T>> {
        let mut child = Command::new(&self.path)
            .args(&self.arguments)
            .envs(self.variables.clone())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let pipes = Talk::with(&mut child)?;
        let (ending, ended) = mpsc::channel();
        std::thread::scope(|scope| {
            let talking = scope.spawn(move || {
                let told = talk(pipes);
                // Whoever waits for it lives longer.
                ending.send(()).ok();
                told
            });
            let in_time = ended.recv_timeout(DEADLINE).is_ok();
            if !in_time {
                child.kill()?;
            }
            child.wait()?;
            let told = talking.join().map_err(|_| io::Error::other("whoever talked to the program panicked"))?;
            Ok(in_time.then_some(told))
        })
    }
}

/// A program of this workspace, which is built beside the one that runs.
pub fn built(name: &str) -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    // A test lies one folder deeper.
    let beside = own.ancestors().skip(1).take(2).map(|folder| folder.join(name)).find(|path| path.is_file());
    let what = format!("{name} is not built: cargo build -p {name}, in the profile of this program");
    beside.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, what))
}

/// Standard input and output of a program.
#[derive(Debug)]
pub struct Talk {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Talk {
    pub(super) fn with(child: &mut Child) -> io::Result<Self> {
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (to, from) = pipes.ok_or_else(|| io::Error::other("both are pipes"))?;
        Ok(Self { to, from: BufReader::new(from) })
    }

    /// `false` if nobody reads any more.
    pub fn say(&mut self, line: &str) -> bool {
        self.to.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.to.flush()).is_ok()
    }

    /// The next whole line; `None` at the end.
    pub fn hear(&mut self) -> Option<String> {
        let mut line = String::new();
        self.from.read_line(&mut line).ok()?;
        line.ends_with('\n').then(|| line.trim_end().to_owned())
    }
}
