//! Which owners hold something through this client.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use stanchion_core::{BootTime, Clock as _, Owner, SystemClock};

/// Grants that are neither released nor over. Those that were never released are forgotten when there are this many.
const MOST: usize = 4096;

/// The grants of this client and their ends: an attempt that an owner repeats in vain must not clean up its grant.
#[derive(Debug, Default)]
pub(super) struct Grants(Mutex<HashMap<u64, BootTime>>);

impl Grants {
    fn table(&self) -> MutexGuard<'_, HashMap<u64, BootTime>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, owner: Owner, ends: BootTime) {
        let mut table = self.table();
        if table.len() >= MOST {
            let now = SystemClock.now();
            table.retain(|_, ends| *ends > now);
        }
        table.insert(owner.nonce(), ends);
    }

    pub(super) fn remove(&self, owner: Owner) {
        self.table().remove(&owner.nonce());
    }

    pub(super) fn lives(&self, owner: Owner) -> bool {
        self.table().get(&owner.nonce()).is_some_and(|ends| *ends > SystemClock.now())
    }
}
