//! `std::fs::File::lock` and nothing else: one thread and one open file per task.

use std::fs::File;
use std::path::Path;

use super::place;
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::{BlockingClient, run_threads};

struct Flock(File);

impl BlockingClient for Flock {
    fn take(&mut self) -> Outcome {
        Ok(self.0.lock()?)
    }

    fn give(&mut self) -> Outcome {
        Ok(self.0.unlock()?)
    }
}

/// Place: the folder.
pub(super) fn run(job: &Job) -> Outcome<Tally> {
    let folder = Path::new(place(job, 0)?);
    let open = |task| -> Outcome<Flock> {
        let path = folder.join(job.key_of(task));
        Ok(Flock(File::options().write(true).create(true).truncate(false).open(path)?))
    };
    run_threads(job, (0..job.tasks).map(open).collect::<Outcome<Vec<_>>>()?)
}
