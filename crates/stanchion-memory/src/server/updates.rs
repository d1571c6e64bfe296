//! Who is told that the graph has changed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::Memory;

/// Changes of others are told at most this often: a graph that changes all the time must not be all we talk of.
const BREATHE: Duration = Duration::from_millis(20);

/// Counts changes. While somebody listens, also those that others make.
#[derive(Debug)]
pub(super) struct Updates {
    memory: Arc<dyn Memory>,
    count: watch::Sender<u64>,
    watching: Mutex<Watching>,
}

#[derive(Debug, Default)]
struct Watching {
    listeners: usize,
    watcher: Option<AbortHandle>,
}

impl Updates {
    pub(super) fn new(memory: Arc<dyn Memory>) -> Arc<Self> {
        Arc::new(Self { memory, count: watch::Sender::new(0), watching: Mutex::default() })
    }

    /// The graph was changed through us. `told` gets the number of the change before anybody else hears of it.
    pub(super) fn changed(&self, told: impl FnOnce(u64)) {
        self.count.send_modify(|count| {
            *count += 1;
            told(*count);
        });
    }

    /// Somebody wants to hear of changes from now on.
    pub(super) fn listen(self: &Arc<Self>) -> Listener {
        let mut watching = self.watching.lock().unwrap_or_else(PoisonError::into_inner);
        watching.listeners += 1;
        if watching.watcher.is_none() {
            let (memory, count) = (Arc::clone(&self.memory), self.count.clone());
            let watcher = tokio::spawn(async move {
                loop {
                    memory.changed().await;
                    count.send_modify(|count| *count += 1);
                    tokio::time::sleep(BREATHE).await;
                }
            });
            watching.watcher = Some(watcher.abort_handle());
        }
        Listener { count: self.count.subscribe(), updates: Arc::clone(self) }
    }
}

/// Hears of changes. While there is one, the graph is watched.
#[derive(Debug)]
pub(super) struct Listener {
    count: watch::Receiver<u64>,
    updates: Arc<Updates>,
}

impl Listener {
    /// Waits for the next change; several may be one.
    pub(super) async fn next(&mut self) -> u64 {
        // The sender is ours, too: it cannot be gone.
        self.count.changed().await.ok();
        *self.count.borrow_and_update()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut watching = self.updates.watching.lock().unwrap_or_else(PoisonError::into_inner);
        watching.listeners -= 1;
        if watching.listeners == 0
            && let Some(watcher) = watching.watcher.take()
        {
            watcher.abort();
        }
    }
}
