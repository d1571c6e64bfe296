//! A home of its own for each test, and the binary in it.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use stanchion_testkit::eventually_sync;

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Home {
    dir: tempfile::TempDir,
    store: Option<String>,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a folder for the test"), store: None }
    }

    pub(crate) fn with_store(store: impl Into<String>) -> Self {
        Self { store: Some(store.into()), ..Self::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// `stanchion` in this home, without anything from our own environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stanchion"));
        for name in [
            "STANCHION_STORE",
            "STANCHION_CHAOS",
            "STANCHION_LOCK",
            "STANCHION_LEASE_ID",
            "STANCHION_BACKEND",
            "STANCHION_HELD",
        ] {
            command.env_remove(name);
        }
        if let Some(store) = &self.store {
            command.env("STANCHION_STORE", store);
        }
        command.env("STANCHION_HOME", self.dir.path()).args(args).stdin(Stdio::null());
        command
    }

    pub(crate) fn output(&self, args: &[&str]) -> Said {
        let output = self.command(args).output().expect("stanchion starts");
        Said::from(output)
    }

    /// A command that holds the lock until it is killed or `done` is made; returns when it holds.
    pub(crate) fn hold(&self, lock: &str, options: &[&str]) -> Holding {
        let mark = self.path(&format!("held-{lock}"));
        std::fs::remove_file(&mark).unwrap_or_default();
        let script = format!(
            "echo $$ > {0}.part; mv {0}.part {0}; while [ ! -e {0}.done ]; do sleep 0.02; done",
            mark.display()
        );
        let mut args = vec!["run", "--lock", lock];
        args.extend(options);
        args.extend(["--", "sh", "-c", &script]);
        let process =
            self.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("stanchion starts");
        eventually_sync(PATIENCE, "the holder holds", || mark.exists());
        let child_pid = std::fs::read_to_string(&mark).expect("a pid").trim().to_owned();
        Holding { process: Some(process), done: self.path(&format!("held-{lock}.done")), child_pid }
    }
}

/// A process that does not outlive a test that fails.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().unwrap_or_default();
        self.0.wait().map(drop).unwrap_or_default();
    }
}

pub(crate) struct Holding {
    process: Option<Child>,
    done: PathBuf,
    pub(crate) child_pid: String,
}

impl Holding {
    pub(crate) fn pid(&self) -> u32 {
        self.process.as_ref().expect("it has not been waited for").id()
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    /// Lets the command end by itself.
    pub(crate) fn finish(self) -> Said {
        std::fs::write(&self.done, "").expect("the mark can be written");
        self.wait()
    }

    pub(crate) fn wait(mut self) -> Said {
        let process = self.process.take().expect("it has not been waited for");
        Said::from(process.wait_with_output().expect("stanchion can be waited for"))
    }

    /// Is the command itself (not stanchion) still there?
    pub(crate) fn child_lives(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child_pid)).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap_or_default();
            process.wait().map(drop).unwrap_or_default();
        }
    }
}

pub(crate) fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status().expect("kill(1)");
    assert!(status.success(), "kill -{name} {pid}");
}

/// What a command said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Said {
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.err.contains(text) || self.out.contains(text), "{text:?} is not in {self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn never_says(self, text: &str) -> Self {
        assert!(!self.err.contains(text) && !self.out.contains(text), "{text:?} is in {self:?}");
        self
    }
}
