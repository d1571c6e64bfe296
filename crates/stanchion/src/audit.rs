//! What a person changed by hand, one JSON line each, in `audit.jsonl` of the state folder.

use std::fs::File;
use std::io::Write as _;

use serde_json::{Value, json};
use stanchion_core::{Error, ErrorKind, Identity, Result};

use crate::cli::Cli;
use crate::exit::say;
use crate::store;

/// Opened before anything is done: what cannot be written down does not happen.
pub(crate) struct Audit(File);

impl Audit {
    pub(crate) fn open(cli: &Cli) -> Result<Self> {
        let path = store::home(&cli.store)?.join("audit.jsonl");
        std::fs::OpenOptions::new().create(true).append(true).open(&path).map(Self).map_err(|e| {
            Error::new(ErrorKind::Denied, "the audit file cannot be written; nothing was changed")
                .with("file", path.display())
                .because(e)
        })
    }

    /// Adds when and by whom.
    pub(crate) fn write(&mut self, mut line: Value) {
        line["at"] = json!(wall_clock_s());
        line["by"] = json!(Identity::current().to_string());
        if let Err(error) = self.0.write_all(format!("{line}\n").as_bytes()) {
            say(&format!("stanchion: warning: it is done, but the audit line was not written: {error}"));
        }
    }
}

/// For a person who reads the audit later; nothing is decided by it.
fn wall_clock_s() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "shown, never compared")]
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
