//! What happens, as JSON lines for scripts: they never have to guess from an exit code.

use std::fs::File;
use std::io::Write as _;

use serde_json::{Value, json};
use stanchion_core::{Clock as _, Error, ErrorKind, Key, Leases, Released, Result, SystemClock};

use super::Ended;

#[derive(Debug)]
pub(super) struct Status {
    file: Option<File>,
    acquired_at: Option<stanchion_core::BootTime>,
}

impl Status {
    pub(super) fn open(fd: Option<u32>) -> Result<Self> {
        let file = fd
            .map(|fd| {
                File::options().append(true).open(format!("/dev/fd/{fd}")).map_err(|e| {
                    Error::new(ErrorKind::Invalid, "--status-fd is not open for writing")
                        .with("fd", fd)
                        .because(e)
                        .hint("a file or a pipe, as in: stanchion run --status-fd 3 … 3>status.jsonl")
                })
            })
            .transpose()?;
        Ok(Self { file, acquired_at: None })
    }

    fn line(&mut self, value: &Value) {
        if let Some(file) = &mut self.file
            // In one piece, so that the lines of two runs do not mix.
            && let Err(error) = file.write_all(format!("{value}\n").as_bytes())
        {
            tracing::warn!(%error, "the status reader is gone");
            self.file = None;
        }
    }

    pub(super) fn waiting(&mut self, names: &[Key]) {
        self.line(&json!({ "event": "waiting", "locks": names.iter().map(Key::as_str).collect::<Vec<_>>() }));
    }

    pub(super) fn busy(&mut self, error: &Error) {
        self.line(&json!({ "event": "busy", "message": error.to_string() }));
    }

    pub(super) fn acquired(&mut self, leases: &Leases) {
        self.acquired_at = Some(SystemClock.now());
        let locks = leases.iter().map(|lease| {
            let grant = lease.grant();
            json!({ "lock": grant.key.as_str(), "fence": grant.fence.number(), "lease_id": grant.fence.lease_id() })
        });
        self.line(&json!({ "event": "acquired", "locks": locks.collect::<Vec<_>>() }));
    }

    pub(super) fn losing(&mut self) {
        self.line(&json!({ "event": "losing" }));
    }

    pub(super) fn lost(&mut self) {
        self.line(&json!({ "event": "lost" }));
    }

    pub(super) fn child_exit(&mut self, ended: &Ended) {
        self.line(&match ended.signal {
            Some(signal) => json!({ "event": "child_exit", "signal": signal }),
            None => json!({ "event": "child_exit", "code": ended.code }),
        });
    }

    pub(super) fn released(&mut self, released: &Result<Released>) {
        let held = self.acquired_at.map(|at| u64::try_from((SystemClock.now() - at).as_millis()).unwrap_or(u64::MAX));
        self.line(&match released {
            Ok(Released::Released) => json!({ "event": "released", "held_ms": held }),
            Ok(Released::NotHeld) => json!({ "event": "not_held", "held_ms": held }),
            Err(e) => json!({ "event": "release_failed", "held_ms": held, "message": e.to_string() }),
        });
    }
}
