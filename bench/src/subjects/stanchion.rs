//! Stanchion through its front door: `stanchion_stores::open_with` and `Locks`.

use std::sync::Arc;

use bytes::Bytes;
use stanchion_core::{Acquire, Cond, Key, Lease, Locks, RecordStore, Released, Version, Wait};
use stanchion_stores::{OpenOptions, open_locks, open_with};

use super::place;
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::{Client, on_runtime, run_tasks};

/// As in the raw subjects.
pub(super) const VALUE: [u8; 100] = [b'x'; 100];

struct Ours {
    locks: Locks,
    request: Acquire,
}

impl Client for Ours {
    type Held = Lease;

    async fn take(&mut self) -> Outcome<Lease> {
        Ok(self.locks.acquire(&self.request).await?)
    }

    async fn give(&mut self, lease: Lease) -> Outcome {
        match lease.release().await? {
            Released::Released => Ok(()),
            Released::NotHeld => Err("a lock was lost while it was held".into()),
        }
    }
}

/// Place: the URL, the durability. One `Locks` for all tasks, as the docs advise.
pub(super) fn locks(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let opened = open_locks(place(job, 0)?, options(job)?).await?;
        let locks = Locks::shared(opened.locks);
        let mut clients = Vec::new();
        for task in 0..job.tasks {
            let mut request = Acquire::new(Key::new(job.key_of(task))?);
            if job.cell.is_some() {
                request = request.wait(Wait::Forever);
            }
            clients.push(Ours { locks: locks.clone(), request });
        }
        run_tasks(job, clients).await
    })
}

struct Puts {
    records: Arc<dyn RecordStore>,
    key: Key,
    version: Option<Version>,
}

impl Client for Puts {
    type Held = ();

    async fn take(&mut self) -> Outcome {
        let cond = self.version.map_or(Cond::Absent, Cond::Version);
        self.version = Some(self.records.put(&self.key, Bytes::from_static(&VALUE), cond, None).await?);
        Ok(())
    }

    async fn give(&mut self, (): ()) -> Outcome {
        Ok(())
    }
}

/// Place: the URL, the durability. Conditional puts of 100 bytes, one key per task.
pub(super) fn puts(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let opened = open_with(place(job, 0)?, options(job)?).await?;
        let records = opened.records.ok_or("the store has no records")?;
        let client = |task| -> Outcome<Puts> {
            Ok(Puts { records: Arc::clone(&records), key: Key::new(job.key_of(task))?, version: None })
        };
        let clients = (0..job.tasks).map(client).collect::<Outcome<Vec<_>>>()?;
        run_tasks(job, clients).await
    })
}

fn options(job: &Job) -> Outcome<OpenOptions> {
    Ok(OpenOptions::default().durability(place(job, 1)?.parse()?))
}
