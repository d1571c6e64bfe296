//! Holding tasks and processes between two steps.
//!
//! Tasks of this process: [`hold`], [`Paused`]. Other processes: [`PauseDir`]. Both act on the same
//! [`pause_point`]s; see [`stanchion_core::pause`] for the idea.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

pub use stanchion_core::pause::{Paused, hold, hold_all, pause_point};

use crate::eventually;

/// Holds other processes at pause points. Give them [`variable`](PauseDir::variable) in their environment.
///
/// ```
/// use std::process::Command;
/// use stanchion_testkit::pause::PauseDir;
///
/// let pauses = PauseDir::new();
/// pauses.hold("lease.before-renew");
/// let (name, value) = pauses.variable();
/// let mut command = Command::new("true");
/// command.env(name, value);
/// pauses.release("lease.before-renew");
/// ```
#[derive(Debug)]
pub struct PauseDir(TempDir);

impl Default for PauseDir {
    fn default() -> Self {
        PauseDir::new()
    }
}

impl PauseDir {
    /// Makes an empty folder, which holds nobody.
    ///
    /// # Panics
    /// When there is no temporary folder.
    pub fn new() -> PauseDir {
        PauseDir(tempfile::tempdir().expect("a temporary folder"))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The environment variable that connects a process to this folder.
    ///
    /// # Panics
    /// When the temporary folder's name is not Unicode.
    pub fn variable(&self) -> (&'static str, &str) {
        ("STANCHION_PAUSE_DIR", self.path().to_str().expect("a temporary folder with a plain name"))
    }

    /// Holds every process that passes the point from now on.
    ///
    /// # Panics
    /// When the folder cannot be written.
    pub fn hold(&self, name: &str) {
        fs::write(self.file(name, "hold"), b"").expect("the folder is ours");
    }

    /// Waits until a process is held at the point.
    ///
    /// # Panics
    /// When none arrives before the deadline.
    pub async fn reached(&self, name: &str, deadline: Duration) {
        let file = self.file(name, "reached");
        eventually(deadline, &format!("a process reaches {name:?}"), || async { file.exists() }).await;
    }

    /// Lets the processes at this point go on.
    ///
    /// # Panics
    /// When the folder cannot be written.
    pub fn release(&self, name: &str) {
        for kind in ["reached", "hold"] {
            match fs::remove_file(self.file(name, kind)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    panic!("cannot release {name}: {error}")
                }
                _ => {}
            }
        }
    }

    fn file(&self, name: &str, kind: &str) -> std::path::PathBuf {
        self.path().join(format!("{name}.{kind}"))
    }
}
