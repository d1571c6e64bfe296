//! What a person changed by hand, in `audit.jsonl` of the state folder: one JSON line before the change, one after it.

use std::fmt;
use std::fs::File;
use std::io::Write as _;

use serde_json::{Value, json};
use stanchion_core::{Error, ErrorKind, Identity, Ran, Result};

use crate::cli::Cli;
use crate::exit::say;
use crate::store;

/// A change that has been announced, and has to be told the end of.
pub(crate) struct Audit {
    file: File,
    line: Value,
}

impl Audit {
    /// Writes down what is about to be done. What cannot be written down does not happen.
    pub(crate) fn intend(cli: &Cli, by: &By, mut line: Value) -> Result<Self> {
        let path = store::home(&cli.store)?.join("audit.jsonl");
        let refuse = |e: std::io::Error| {
            Error::new(ErrorKind::Denied, "the audit file cannot be written; nothing was changed")
                .with("file", path.display())
                .because(e)
        };
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&path).map_err(refuse)?;
        line["by"] = by.to_json();
        let mut audit = Self { file, line };
        audit.write("intent", None).map_err(refuse)?;
        Ok(audit)
    }

    /// Writes down what became of it: `done` gives the word for a success.
    pub(crate) fn tell<T>(mut self, end: &Result<T>, done: impl FnOnce(&T) -> &'static str) {
        let outcome = match end {
            Ok(value) => done(value),
            Err(e) if e.ran() == Ran::No => "nothing_changed",
            Err(_) => "unknown",
        };
        if let Err(e) = end {
            self.line["error"] = json!(e.to_string());
        }
        if let Err(error) = self.write("outcome", Some(outcome)) {
            say(&format!("stanchion: warning: the audit line of the outcome ({outcome}) was not written: {error}"));
        }
    }

    fn write(&mut self, step: &str, outcome: Option<&str>) -> std::io::Result<()> {
        self.line["step"] = json!(step);
        self.line["at"] = json!(wall_clock_s());
        if let Some(outcome) = outcome {
            self.line["outcome"] = json!(outcome);
        }
        // In one piece, so that the lines of two changes do not mix.
        self.file.write_all(format!("{}\n", self.line).as_bytes())?;
        self.file.sync_data()
    }
}

/// Who makes a change, as far as the system knows.
pub(crate) struct By {
    uid: Option<u32>,
    user: Option<String>,
    /// What `sudo` says, and so only as good as the environment.
    sudo_user: Option<String>,
    process: Identity,
}

impl By {
    pub(crate) fn current() -> Self {
        let uid = uid();
        let sudo_user = std::env::var("SUDO_USER").ok().filter(|user| !user.is_empty());
        Self { uid, user: uid.and_then(store::user_name), sudo_user, process: Identity::current() }
    }

    fn to_json(&self) -> Value {
        let mut by = json!({ "user": self.user, "uid": self.uid, "host": self.process.host, "pid": self.process.pid });
        if let Some(sudo_user) = &self.sudo_user {
            by["sudo_user"] = json!(sudo_user);
        }
        by
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.user, self.uid) {
            (Some(user), _) => write!(f, "{user} ")?,
            (None, Some(uid)) => write!(f, "uid {uid} ")?,
            (None, None) => {}
        }
        if let Some(sudo_user) = &self.sudo_user {
            write!(f, "(sudo: {sudo_user}) ")?;
        }
        write!(f, "on {}", self.process)
    }
}

#[cfg(unix)]
fn uid() -> Option<u32> {
    Some(rustix::process::getuid().as_raw())
}

#[cfg(not(unix))]
fn uid() -> Option<u32> {
    None
}

/// For a person who reads the audit later; nothing is decided by it.
fn wall_clock_s() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "shown, never compared")]
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
