//! One place for a worker: the process that is in it now, and what it is doing.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::faults::Open;
use super::profile::{FOLDER, PLAN, Plan, WHO};
use super::worker::How;
use crate::pause::PauseDir;
use crate::process::Child;

/// How long a worker may take for anything at all, on a busy machine and with a store that is away.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy)]
pub(super) struct Job {
    pub(super) seq: u64,
    /// `None`: a sweep.
    pub(super) call: Option<(usize, How)>,
    pub(super) since: Instant,
}

impl Job {
    pub(super) fn open(&self) -> Option<Open> {
        self.call.map(|(index, how)| Open { principal: how.principal(), index })
    }
}

#[derive(Debug)]
pub(super) struct Slot {
    number: usize,
    lives: u32,
    child: Child,
    pauses: PauseDir,
    ready: bool,
    since: Instant,
    pub(super) job: Option<Job>,
    pub(super) stopped_until: Option<Instant>,
}

impl Slot {
    pub(super) fn start(number: usize, plan: &Plan, folder: &Path, variables: &[(&str, &str)]) -> Self {
        let pauses = PauseDir::new();
        let child = spawn(&who(number, 0), plan, folder, &pauses, variables);
        Self { number, lives: 0, child, pauses, ready: false, since: Instant::now(), job: None, stopped_until: None }
    }

    /// The name of the process that is here now.
    pub(super) fn who(&self) -> String {
        who(self.number, self.lives)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.ready && self.job.is_none() && self.stopped_until.is_none()
    }

    pub(super) fn runs(&self) -> bool {
        self.ready && self.stopped_until.is_none()
    }

    pub(super) fn give(&mut self, job: Job) {
        let order = match job.call {
            Some((index, how)) => format!("call {} {index} {}", job.seq, how.as_str()),
            None => format!("sweep {}", job.seq),
        };
        self.child.write_line(&order);
        self.job = Some(job);
    }

    /// The answer to the job, if it has come: its kind.
    ///
    /// # Panics
    /// When the worker has ended, or is silent for too long.
    pub(super) async fn answer(&mut self) -> Option<(Job, String)> {
        if self.stopped_until.is_some() {
            return None;
        }
        while let Ok(line) = tokio::time::timeout(Duration::ZERO, self.child.next_line(PATIENCE)).await {
            let line = line.unwrap_or_else(|| panic!("worker {} has ended by itself", self.who()));
            let line = line.rsplit_once(" ... ").map_or(line.as_str(), |(_, spoken)| spoken);
            if line == "READY" {
                self.ready = true;
            }
            let Some((seq, kind)) = line.strip_prefix("ANSWER ").and_then(|rest| rest.split_once(' ')) else {
                continue;
            };
            let job = self.job.take().filter(|job| seq == job.seq.to_string());
            return Some((job.expect("the answer to the job that was given"), kind.to_owned()));
        }
        let since = self.job.map_or(self.since, |job| job.since);
        let waits = self.job.is_some() || !self.ready;
        assert!(!waits || since.elapsed() < PATIENCE, "worker {} is silent: {:?}", self.who(), self.job);
        None
    }

    pub(super) fn hold(&self, point: &str) {
        self.pauses.hold(point);
        // A worker that just saw an earlier hold may say so after its end. From here on, whoever says it is held.
        std::fs::remove_file(self.reached(point)).ok();
    }

    pub(super) fn release(&self, point: &str) {
        self.pauses.release(point);
    }

    pub(super) fn has_reached(&self, point: &str) -> bool {
        self.reached(point).exists()
    }

    fn reached(&self, point: &str) -> PathBuf {
        self.pauses.path().join(format!("{point}.reached"))
    }

    /// SIGKILL. What was under way?
    pub(super) fn kill(&mut self) -> Option<Job> {
        self.child.kill();
        self.ready = false;
        self.stopped_until = None;
        self.job.take()
    }

    /// Another process takes the place.
    pub(super) fn start_again(&mut self, plan: &Plan, folder: &Path, variables: &[(&str, &str)]) {
        self.lives += 1;
        self.since = Instant::now();
        self.child = spawn(&self.who(), plan, folder, &self.pauses, variables);
    }

    pub(super) fn stop(&mut self, until: Instant) {
        self.child.pause();
        self.stopped_until = Some(until);
    }

    /// Whether it was due, and goes on now.
    pub(super) fn resume_if_due(&mut self) -> bool {
        let due = self.stopped_until.is_some_and(|until| Instant::now() >= until);
        if due {
            self.child.resume();
            self.stopped_until = None;
            // What it had to do in the meantime does not count against it.
            self.since = Instant::now();
            if let Some(job) = &mut self.job {
                job.since = Instant::now();
            }
        }
        due
    }
}

fn who(number: usize, lives: u32) -> String {
    format!("w{number}-{lives}")
}

fn spawn(who: &str, plan: &Plan, folder: &Path, pauses: &PauseDir, variables: &[(&str, &str)]) -> Child {
    let (plan, folder) = (plan.to_text(), folder.to_str().expect("a plain path"));
    let mut all = vec![(PLAN, plan.as_str()), (FOLDER, folder), (WHO, who), pauses.variable()];
    all.extend(variables);
    Child::rerun_this_test_with(&all)
}
