//! rusqlite with a flock in front, the raw limit of a shared embedded store: one connection per task.

use std::fs::File;
use std::time::Duration;

use rusqlite::Connection;

use super::place;
use super::stanchion::VALUE;
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::{BlockingClient, run_threads};

const PUT: &str = "INSERT INTO record VALUES (?1, ?2, 1) ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = version + 1";

struct Raw {
    db: Connection,
    queue: File,
    key: String,
}

impl BlockingClient for Raw {
    fn take(&mut self) -> Outcome {
        self.queue.lock()?;
        self.db.execute_batch("BEGIN IMMEDIATE")?;
        self.db.prepare_cached(PUT)?.execute((&self.key, &VALUE[..]))?;
        self.db.execute_batch("COMMIT")?;
        Ok(self.queue.unlock()?)
    }

    fn give(&mut self) -> Outcome {
        Ok(())
    }
}

/// Place: the file, `synchronous`.
pub(super) fn run(job: &Job) -> Outcome<Tally> {
    let (path, level) = (place(job, 0)?, place(job, 1)?);
    let open = |task| -> Outcome<Raw> {
        let queue = File::options().write(true).create(true).truncate(false).open(format!("{path}.queue"))?;
        // Processes that create one database at the same moment are told "busy" at once, whatever the timeout.
        queue.lock()?;
        let db = Connection::open(path)?;
        db.busy_timeout(Duration::from_secs(30))?;
        db.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        db.pragma_update(None, "synchronous", level)?;
        db.execute_batch(
            "CREATE TABLE IF NOT EXISTS record (key TEXT PRIMARY KEY, value BLOB, version INTEGER) WITHOUT ROWID",
        )?;
        queue.unlock()?;
        Ok(Raw { db, queue, key: job.key_of(task) })
    };
    run_threads(job, (0..job.tasks).map(open).collect::<Outcome<Vec<_>>>()?)
}
