//! Which owners hold something through this client.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use stanchion_core::{BootTime, Clock as _, Owner, SystemClock};

/// Grants that are neither released nor over. Those that were never released are forgotten when there are this many.
const MOST: usize = 4096;

/// The grants of this client and their ends: an attempt that an owner repeats in vain must not clean up its grant.
#[derive(Debug, Default)]
pub(super) struct Grants(Mutex<HashMap<u64, Given>>);

#[derive(Debug)]
struct Given {
    ends: BootTime,
    /// Whether every node of the quorum has the fence, and none had a higher number.
    agreed: bool,
}

impl Grants {
    fn table(&self) -> MutexGuard<'_, HashMap<u64, Given>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, owner: Owner, ends: BootTime, agreed: bool) {
        let mut table = self.table();
        if table.len() >= MOST {
            let now = SystemClock.now();
            table.retain(|_, given| given.ends > now);
        }
        table.insert(owner.nonce(), Given { ends, agreed });
    }

    pub(super) fn prolong(&self, owner: Owner, ends: BootTime) {
        self.table().entry(owner.nonce()).or_insert(Given { ends, agreed: false }).ends = ends;
    }

    /// Says whether its fence was agreed on; if nobody knows, it was not.
    pub(super) fn remove(&self, owner: Owner) -> bool {
        self.table().remove(&owner.nonce()).is_some_and(|given| given.agreed)
    }

    pub(super) fn lives(&self, owner: Owner) -> bool {
        self.table().get(&owner.nonce()).is_some_and(|given| given.ends > SystemClock.now())
    }
}
