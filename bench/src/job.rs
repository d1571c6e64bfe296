//! What a worker is told, and what it answers. Peers in other languages speak the same JSON.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

/// One process of one subject in one round.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Which subject, as `subjects::run` knows it.
    pub(crate) subject: String,
    /// A URL, a folder, or a command: what the subject needs.
    pub(crate) place: Vec<String>,
    /// Fresh in every round. Contended: the one key; else the beginning of one key per task.
    pub(crate) key: String,
    /// 0 is the first of `processes`.
    pub(crate) process: usize,
    pub(crate) processes: usize,
    pub(crate) tasks: usize,
    /// How long a contended lock is held.
    pub(crate) hold_us: u64,
    /// The file that shows overlaps; with it all tasks contend for one key.
    pub(crate) cell: Option<PathBuf>,
    pub(crate) warm_up_ms: u64,
    pub(crate) measured_ms: u64,
}

impl Job {
    pub(crate) fn hold(&self) -> Duration {
        Duration::from_micros(self.hold_us)
    }

    /// The key of one task.
    pub(crate) fn key_of(&self, task: usize) -> String {
        match self.cell {
            Some(_) => self.key.clone(),
            None => format!("{}-{}-{task}", self.key, self.process),
        }
    }
}

/// What a process counted inside the measured window.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    /// Operations of each task.
    pub(crate) tasks: Vec<u64>,
    /// Contended: waits for the lock. Else: whole operations. Waits that were open at the window's end are
    /// followed to their end and are in here, so starving is not hidden; they are not in `tasks`.
    pub(crate) times: Histogram,
    /// Time inside the lock and inside the window.
    pub(crate) hold_ns: u64,
    /// How often another holder was seen inside.
    pub(crate) overlaps: u64,
    /// Resident memory of the program under test, where that is the question.
    pub(crate) rss_kib: Option<u64>,
}

impl Tally {
    pub(crate) fn operations(&self) -> u64 {
        self.tasks.iter().sum()
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.tasks.extend(other.tasks);
        self.times.merge(&other.times);
        self.hold_ns += other.hold_ns;
        self.overlaps += other.overlaps;
        self.rss_kib = self.rss_kib.max(other.rss_kib);
    }
}
