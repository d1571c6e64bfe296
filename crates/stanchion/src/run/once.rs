//! `--once KEY`: whether a command has succeeded under this key, in the store's records.
//!
//! The lock `once:KEY` makes one process at a time look, run and record. A process that dies between the command's end and
//! the record leaves nothing behind, and the command runs again: at least once, until one success is recorded.

use std::sync::Arc;

use stanchion_core::{Identity, Key, Once, RecordStore, Result, Wait};

pub(super) struct OnceOnly {
    once: Once,
    key: Key,
}

impl OnceOnly {
    pub(super) fn new(records: Arc<dyn RecordStore>, key: &Key) -> Self {
        Self { once: Once::shared(records).wait(Wait::No), key: key.clone() }
    }

    pub(super) async fn is_done(&self) -> Result<bool> {
        Ok(self.once.get(&self.key).await?.is_some())
    }

    pub(super) async fn record(&self) -> Result<()> {
        let by = Identity::current().to_string();
        self.once.run(&self.key, async |_| Ok(by.into())).await.map(drop)
    }
}
