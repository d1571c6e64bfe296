//! The crate `rslock`, with its own defaults but for one: it never gives up.

use rslock::{Lock, LockManager};
use std::time::Duration;

use super::nodes;
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::{Client, on_runtime, run_tasks};

struct Peer {
    manager: LockManager,
    key: Vec<u8>,
}

impl Client for Peer {
    type Held = Lock;

    async fn take(&mut self) -> Outcome<Lock> {
        Ok(self.manager.lock(self.key.as_slice(), Duration::from_secs(30)).await?)
    }

    async fn give(&mut self, lock: Lock) -> Outcome {
        self.manager.unlock(&lock).await;
        Ok(())
    }
}

pub(super) fn run(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let mut manager = LockManager::new(nodes(job)?);
        // Its own delay of up to 200 ms; without an end, because a contended task must not fail.
        manager.set_retry(u32::MAX, Duration::from_millis(200));
        let clients: Vec<_> =
            (0..job.tasks).map(|task| Peer { manager: manager.clone(), key: job.key_of(task).into_bytes() }).collect();
        // It connects at the first request.
        let mut first = Peer { manager, key: format!("{}-connect-{}", job.key, job.process).into_bytes() };
        let lock = first.take().await?;
        first.give(lock).await?;
        run_tasks(job, clients).await
    })
}
