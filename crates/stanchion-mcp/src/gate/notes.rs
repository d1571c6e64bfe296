//! Why a lock is still held: left beside it for those who wait, in this process or in another.

use std::time::Duration;

use stanchion_core::text::duration;
use stanchion_core::{Cond, Key, Page};

use super::{Gate, Guarded};

/// A note outlives a killed gateway by this much at most.
const KEPT: Duration = Duration::from_secs(10 * 60);

impl Gate {
    /// Says why the locks of a running call are still held. It only informs: if the store is away, it is not said.
    pub(crate) async fn leave_note(&self, locks: &[Key], why: &str) {
        for lock in locks {
            let Some(key) = note_key(lock) else { continue };
            let cond = match self.records.get(&key).await {
                Ok(Some(record)) => Cond::Version(record.version),
                Ok(None) => Cond::Absent,
                Err(_) => continue,
            };
            if let Err(error) = self.records.put(&key, why.to_owned().into(), cond, Some(KEPT)).await {
                tracing::debug!(%error, "a note could not be left");
            }
        }
    }

    /// Takes the notes away: the locks are free.
    pub(crate) async fn drop_note(&self, locks: &[Key]) {
        for lock in locks {
            let Some(key) = note_key(lock) else { continue };
            if let Ok(Some(record)) = self.records.get(&key).await
                && let Err(error) = self.records.delete(&key, Cond::Version(record.version)).await
            {
                tracing::debug!(%error, "a note could not be taken away");
            }
        }
    }

    /// What was left for those who wait for this call's locks.
    pub(super) async fn note(&self, guarded: &Guarded) -> Option<String> {
        for lock in guarded.locks() {
            if let Some(key) = note_key(lock)
                && let Ok(Some(record)) = self.records.get(&key).await
            {
                return Some(String::from_utf8_lossy(&record.value).into_owned());
            }
        }
        None
    }

    /// What a call waits for, in words.
    pub(super) async fn waiting_for(&self, guarded: &Guarded) -> String {
        for lock in guarded.locks() {
            let page = Page::first(1);
            let Ok(found) = self.locks.backend().list(lock.as_str(), page).await else { continue };
            let Some(holder) = found.iter().filter(|info| info.key == *lock).find_map(|info| info.holders.first())
            else {
                continue;
            };
            let since = holder.held_for.map(|time| format!(" for {}", duration(time))).unwrap_or_default();
            let note = self.note(guarded).await.map(|note| format!("; {note}")).unwrap_or_default();
            return format!("waiting for the lock {lock}, held by {}{since}{note}", holder.identity);
        }
        "waiting for its turn".to_owned()
    }
}

fn note_key(lock: &Key) -> Option<Key> {
    Key::new(format!("note:{lock}")).ok()
}
