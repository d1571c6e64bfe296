//! Claim, kernel lock and mark in one transaction: the lock is tried while the database is ours, and the claim is written
//! once, as what came of it.
//!
//! Nothing here waits. A lock that is got without its claim, because the write failed, because the process died or because
//! nobody fetched the answer, is free again; the other way round, "granted without the lock", is never written.

use std::sync::Arc;

use async_trait::async_trait;
use stanchion_core::{Begin, Begun, ErrorKind, Finish, Finished, Fused, Mode, Ran, Result, Separate};

use super::rows::{Done, Fail, Rows};
use super::store::SqliteStore;
use crate::file::FileLocks;

/// The records of a database, and the kernel locks beside it.
#[derive(Debug)]
pub(super) struct SqliteFused {
    store: SqliteStore,
    locks: Arc<FileLocks>,
    /// What has to wait, or to force the disk, is not done inside a transaction.
    separate: Separate,
}

impl SqliteFused {
    pub(super) fn new(store: &SqliteStore, locks: &Arc<FileLocks>) -> Self {
        let separate = Separate::new(Arc::new(store.clone()), Arc::clone(locks) as _);
        Self { store: store.clone(), locks: Arc::clone(locks), separate }
    }
}

#[async_trait]
impl Fused for SqliteFused {
    async fn begin(&self, begin: &Begin) -> Result<Begun> {
        // Those who share a lock take turns at its table, and may wait for that.
        if begin.lock.as_ref().is_some_and(|lock| lock.mode != Mode::Exclusive) {
            return self.separate.begin(begin).await;
        }
        self.store.begin(Step { begin: begin.clone(), locks: Arc::clone(&self.locks) }).await
    }

    async fn finish(&self, finish: &Finish) -> Result<Finished> {
        // Whoever dies between the two has released the lock as well.
        self.separate.finish(finish).await
    }
}

/// A beginning on its way to the database.
#[derive(Debug)]
pub(super) struct Step {
    begin: Begin,
    locks: Arc<FileLocks>,
}

impl Step {
    pub(super) fn size(&self) -> usize {
        self.begin.granted.len().max(self.begin.busy.len())
    }

    /// Inside a transaction.
    pub(super) fn run(&self, rows: &mut Rows<'_>) -> Done<Came> {
        let Begin { key, cond, granted, busy, lock, owner } = &self.begin;
        let found = match rows.check(key, *cond) {
            Ok(found) => found,
            Err(Fail::Refused(e)) if e.kind() == ErrorKind::Conflict => {
                return rows.get(key).map(|record| self.came(Begun::Found(record)));
            }
            Err(e) => return Err(e),
        };
        let grant = match lock.as_ref().map(|lock| self.locks.try_now(lock, *owner)) {
            None => None,
            Some(Ok(grant)) => Some(grant),
            // Whoever asks for the lock by itself is told the same; nothing was locked.
            Some(Err(refused)) if refused.ran() == Ran::No && refused.kind() != ErrorKind::Unavailable => {
                let version = rows.put_over(key, found, busy, None)?;
                return Ok(self.came(Begun::Busy { version, refused }));
            }
            Some(Err(e)) => return Err(e.into()),
        };
        // From here on the lock is given back by whoever drops this.
        let mut came = self.came(Begun::Granted { version: stanchion_core::Version::new(0), grant });
        let written = rows.put_over(key, found, granted, None)?;
        if let Some(Begun::Granted { version, .. }) = &mut came.begun {
            *version = written;
        }
        Ok(came)
    }

    fn came(&self, begun: Begun) -> Came {
        Came { begun: Some(begun), locks: Arc::clone(&self.locks) }
    }
}

/// What a beginning came to. Dropped before its caller has it, its lock is given back: the transaction failed, or the caller
/// did not wait any longer, and was told so.
#[derive(Debug)]
pub(super) struct Came {
    begun: Option<Begun>,
    locks: Arc<FileLocks>,
}

impl Came {
    /// For the caller, who has the lock from now on.
    pub(super) fn hand_over(mut self) -> Option<Begun> {
        self.begun.take()
    }
}

impl Drop for Came {
    fn drop(&mut self) {
        if let Some(Begun::Granted { grant: Some(grant), .. }) = &self.begun {
            self.locks.release_now(grant);
        }
    }
}
