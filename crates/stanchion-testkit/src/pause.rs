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
use crate::eventually::eventually_sync;

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
    /// ```
    /// # use stanchion_testkit::pause::PauseDir;
    /// let pauses = PauseDir::new();
    /// assert_eq!(std::fs::read_dir(pauses.path()).unwrap().count(), 0);
    /// ```
    ///
    /// # Panics
    /// When there is no temporary folder.
    pub fn new() -> PauseDir {
        PauseDir(tempfile::tempdir().expect("a temporary folder"))
    }

    /// The folder.
    ///
    /// ```
    /// # use stanchion_testkit::pause::PauseDir;
    /// let pauses = PauseDir::new();
    /// pauses.hold("lease.before-renew");
    /// assert!(pauses.path().join("lease.before-renew.hold").exists());
    /// ```
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The environment variable that connects a process to this folder.
    ///
    /// ```
    /// # use stanchion_testkit::pause::PauseDir;
    /// let pauses = PauseDir::new();
    /// assert_eq!(pauses.variable(), ("STANCHION_PAUSE_DIR", pauses.path().to_str().unwrap()));
    /// ```
    ///
    /// # Panics
    /// When the temporary folder's name is not Unicode.
    pub fn variable(&self) -> (&'static str, &str) {
        ("STANCHION_PAUSE_DIR", self.path().to_str().expect("a temporary folder with a plain name"))
    }

    /// Holds every process that passes the point from now on.
    ///
    /// ```
    /// # use stanchion_testkit::pause::PauseDir;
    /// let pauses = PauseDir::new();
    /// pauses.hold("lease.before-renew");
    /// assert!(pauses.path().join("lease.before-renew.hold").exists()); // what a process looks for
    /// ```
    ///
    /// # Panics
    /// When the folder cannot be written.
    pub fn hold(&self, name: &str) {
        fs::write(self.file(name, "hold"), b"").expect("the folder is ours");
    }

    /// Waits until a process is held at the point.
    ///
    /// ```
    /// # use std::{process::Command, time::Duration};
    /// # use stanchion_testkit::{pause::PauseDir, process::Child};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let pauses = PauseDir::new();
    /// pauses.hold("job");
    /// // Stands for a program that calls `pause_point("job")`.
    /// let program = r#"cd "$STANCHION_PAUSE_DIR"; >job.reached; while [ -e job.hold ]; do sleep 0.01; done"#;
    /// let mut held = Child::spawn(Command::new("sh").args(["-c", program]).envs([pauses.variable()]));
    /// pauses.reached("job", Duration::from_secs(10)).await;
    /// # pauses.release("job");
    /// # assert!(held.wait(Duration::from_secs(10)).await.success());
    /// # }
    /// ```
    ///
    /// # Panics
    /// When none arrives before the deadline.
    pub async fn reached(&self, name: &str, deadline: Duration) {
        let file = self.file(name, "reached");
        eventually(deadline, &format!("a process reaches {name:?}"), || async { file.exists() }).await;
    }

    /// Lets the processes at this point go on.
    ///
    /// ```
    /// # use stanchion_testkit::pause::PauseDir;
    /// let pauses = PauseDir::new();
    /// pauses.hold("lease.before-renew");
    /// pauses.release("lease.before-renew");
    /// assert_eq!(std::fs::read_dir(pauses.path()).unwrap().count(), 0);
    /// ```
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

/// A stop signal is only on its way when `kill` returns: waits until every thread of the process stands.
pub(crate) fn wait_until_still(pid: u32) {
    let tasks = format!("/proc/{pid}/task");
    let stands = |task: std::fs::DirEntry| {
        // The name in brackets may hold anything; the state follows the last one.
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['T', 'Z', 'X']))
    };
    eventually_sync(Duration::from_secs(10), "the stopped process stands still", || {
        std::fs::read_dir(&tasks).into_iter().flatten().flatten().all(stands)
    });
}
