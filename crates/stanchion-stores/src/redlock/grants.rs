//! Which owners hold something through this client.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use stanchion_core::{BootTime, Clock as _, Key, Owner, SystemClock};

/// Grants that are neither released nor over. Those that were never released are forgotten when there are this many.
const MOST: usize = 4096;

/// The grants of this client and their ends: an attempt that an owner repeats in vain must not clean up its grant.
#[derive(Debug, Default)]
pub(super) struct Grants(Mutex<HashMap<(Owner, Key), Given>>);

#[derive(Debug)]
struct Given {
    ends: BootTime,
    /// Whether every node of the quorum has the fence, and none had a higher number.
    agreed: bool,
    /// The fence; unknown for a grant that came from elsewhere.
    number: Option<u64>,
}

impl Grants {
    fn table(&self) -> MutexGuard<'_, HashMap<(Owner, Key), Given>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, owner: Owner, key: &Key, ends: BootTime, number: u64, agreed: bool) {
        let mut table = self.table();
        if table.len() >= MOST {
            let now = SystemClock.now();
            table.retain(|_, given| given.ends > now);
        }
        table.insert((owner, key.clone()), Given { ends, agreed, number: Some(number) });
    }

    pub(super) fn prolong(&self, owner: Owner, key: &Key, ends: BootTime) {
        self.table().entry((owner, key.clone())).or_insert(Given { ends, agreed: false, number: None }).ends = ends;
    }

    /// Says whether its fence was agreed on; if nobody knows, it was not.
    pub(super) fn remove(&self, owner: Owner, key: &Key) -> bool {
        self.table().remove(&(owner, key.clone())).is_some_and(|given| given.agreed)
    }

    /// The fence of a grant that lives. An owner that asks again comes with it: a node that the first attempt did not reach
    /// then has the same number as the others, and not a higher one that all would have to agree on.
    pub(super) fn number(&self, owner: Owner, key: &Key) -> Option<u64> {
        self.table()
            .get(&(owner, key.clone()))
            .filter(|given| given.ends > SystemClock.now())
            .and_then(|given| given.number)
    }

    pub(super) fn lives(&self, owner: Owner, key: &Key) -> bool {
        self.table().get(&(owner, key.clone())).is_some_and(|given| given.ends > SystemClock.now())
    }
}
