//! Clearing away the nodes of records that are gone, now and then.
//!
//! Only what this store has seen go is looked at: no listing of everything. A node with a fence stays for ever.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use stanchion_core::Key;
use tokio::time::Instant;

use super::cell::Cell;
use super::fault::Fault;
use super::store::Store;

/// So many are remembered; a node that is forgotten here costs some memory of the server until it is listed or used.
const MOST: usize = 10_000;
/// So many are removed in one step.
const STEP: usize = 100;

#[derive(Debug, Default)]
pub(super) struct Tidy {
    due: Mutex<Vec<(Instant, Key)>>,
    pause: Duration,
}

impl Tidy {
    pub(super) fn start(store: &Arc<Store>) -> Arc<Self> {
        let tidy = Arc::new(Self { due: Mutex::default(), pause: store.options().tidy });
        tokio::spawn(run(Arc::downgrade(&tidy), Arc::downgrade(store), tidy.pause));
        tidy
    }

    /// This was written under `key`: worth a look when it is gone.
    pub(super) fn later(&self, key: &Key, cell: &Cell) {
        if cell.fence.is_some() || (cell.value.is_some() && cell.ttl_ms == 0) {
            return;
        }
        let Some(at) = Instant::now().checked_add(Duration::from_millis(cell.ttl_ms) + self.pause) else { return };
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        if due.len() < MOST {
            due.push((at, key.clone()));
        }
    }

    fn take(&self) -> Vec<Key> {
        let now = Instant::now();
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let mut keys: Vec<Key> = due.extract_if(.., |(at, _)| *at <= now).take(STEP).map(|(_, key)| key).collect();
        keys.sort();
        keys.dedup();
        keys
    }
}

async fn run(tidy: Weak<Tidy>, store: Weak<Store>, pause: Duration) {
    loop {
        tokio::time::sleep(pause).await;
        let (Some(tidy), Some(store)) = (tidy.upgrade(), store.upgrade()) else { return };
        let keys = tidy.take();
        if !keys.is_empty()
            && let Err(fault) = clear(&store, &keys).await
        {
            // They are found again by a listing, or when they are used.
            tracing::debug!(?fault, "what is gone was not cleared away");
        }
    }
}

/// Removes the nodes that hold nothing any more, in one step with a new epoch: who has read one of them before cannot
/// take a node made later for it.
async fn clear(store: &Store, keys: &[Key]) -> Result<(), Fault> {
    let paths: Vec<String> = keys.iter().map(|key| store.names.record(key)).collect();
    let mut wanted: Vec<&str> = vec![&store.names.epoch];
    wanted.extend(paths.iter().map(String::as_str));
    let link = store.session.link().await?;
    let mut nodes = store.read_all(&link, &wanted, true).await?.into_iter();
    let (Some((_, epoch)), Some(now)) = (nodes.next().flatten(), store.clock.now_ms()) else { return Ok(()) };
    let committed = {
        let mut writer = link.client.new_multi_writer();
        writer.add_set_data(&store.names.epoch, b"", Some(epoch.version))?;
        let mut removed = 0;
        for ((key, path), node) in keys.iter().zip(&paths).zip(nodes) {
            let Ok(Some(seen)) = store.seen(key, None, node) else { continue };
            if seen.cell.fence.is_none() && !seen.is_live(now) {
                writer.add_delete(path, Some(seen.writes))?;
                removed += 1;
            }
        }
        if removed == 0 {
            return Ok(());
        }
        writer.commit()
    };
    store.session.ask(&link, committed).await.map(drop)
}
