//! Who is told that the graph has changed.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::Memory;

/// Changes of others are told at most this often: a graph that changes all the time must not be all we talk of.
const BREATHE: Duration = Duration::from_millis(20);
/// So long a change of our own is looked for before it is told: it may have changed nothing, and then there is nothing to see.
const LOOK: Duration = Duration::from_millis(50);
/// The pause after a fault of ours.
const FAULT: Duration = Duration::from_secs(1);

/// Counts changes. While somebody listens, also those that others make.
///
/// [`Memory::changed`] tells of our own changes, too. Each is told once: who makes one has the watcher look before it is told, so
/// that what is seen later is another's. And what the watcher sees while one of ours is being made is told together with that one.
/// A telling always comes after the look that it stands for, so nothing goes untold.
#[derive(Debug)]
pub(super) struct Updates {
    memory: Arc<dyn Memory>,
    count: watch::Sender<u64>,
    watching: Mutex<Watching>,
}

#[derive(Debug, Default)]
struct Watching {
    listeners: usize,
    watcher: Option<Watcher>,
    /// So many changes of our own are being made.
    own: usize,
    /// The watcher has seen something that is told with the next of our own.
    unsaid: bool,
}

#[derive(Debug)]
struct Watcher {
    task: AbortHandle,
    /// Asks it to look at once, and to say when it has.
    look: mpsc::UnboundedSender<oneshot::Sender<()>>,
}

impl Updates {
    pub(super) fn new(memory: Arc<dyn Memory>) -> Arc<Self> {
        Arc::new(Self { memory, count: watch::Sender::new(0), watching: Mutex::default() })
    }

    fn watching(&self) -> MutexGuard<'_, Watching> {
        self.watching.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A change is about to be made through us.
    pub(super) fn begin(self: &Arc<Self>) -> Own {
        self.watching().own += 1;
        Own(Arc::clone(self))
    }

    fn seen(&self) {
        let mut watching = self.watching();
        match watching.own {
            0 => self.count.send_modify(|count| *count += 1),
            _ => watching.unsaid = true,
        }
    }

    /// Somebody wants to hear of changes from now on.
    pub(super) fn listen(self: &Arc<Self>) -> Listener {
        let mut watching = self.watching();
        watching.listeners += 1;
        watching.watcher.get_or_insert_with(|| {
            let (look, asked) = mpsc::unbounded_channel();
            // It must not keep what keeps it.
            let task = tokio::spawn(watch(Arc::clone(&self.memory), Arc::downgrade(self), asked));
            Watcher { task: task.abort_handle(), look }
        });
        Listener { count: self.count.subscribe(), updates: Arc::clone(self) }
    }
}

async fn watch(
    memory: Arc<dyn Memory>,
    updates: Weak<Updates>,
    mut asked: mpsc::UnboundedReceiver<oneshot::Sender<()>>,
) {
    let mut rested = Instant::now();
    loop {
        let (is_seen, asking) = tokio::select! {
            biased;
            Some(first) = asked.recv() => {
                let mut all = vec![first];
                while let Ok(another) = asked.try_recv() {
                    all.push(another);
                }
                (tokio::time::timeout(LOOK, changed(&*memory)).await.is_ok(), all)
            }
            () = async { tokio::time::sleep_until(rested).await; changed(&*memory).await } => {
                rested = Instant::now() + BREATHE;
                (true, Vec::new())
            }
        };
        let Some(updates) = updates.upgrade() else { return };
        if is_seen {
            updates.seen();
        }
        // They tell of it now.
        for one in asking {
            one.send(()).ok();
        }
    }
}

/// A fault of ours in there must not end the watching.
async fn changed(memory: &dyn Memory) {
    while AssertUnwindSafe(memory.changed()).catch_unwind().await.is_err() {
        tracing::error!("looking for changes broke off by a fault of ours");
        tokio::time::sleep(FAULT).await;
    }
}

/// A change of our own, while it is being made.
#[derive(Debug)]
#[must_use]
pub(super) struct Own(Arc<Updates>);

impl Own {
    /// It has happened, and is told. `told` gets its number before anybody else hears of it.
    pub(super) async fn happened(self, told: impl FnOnce(u64)) {
        let looked = self.0.watching().watcher.as_ref().and_then(|watcher| {
            let (say, looked) = oneshot::channel();
            watcher.look.send(say).ok().map(|()| looked)
        });
        if let Some(looked) = looked {
            // A watcher that has gone has seen nothing.
            looked.await.ok();
        }
        let mut watching = self.0.watching();
        watching.unsaid = false;
        self.0.count.send_modify(|count| {
            *count += 1;
            told(*count);
        });
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let mut watching = self.0.watching();
        watching.own -= 1;
        // Ours has not happened: what was seen was another's.
        if std::mem::take(&mut watching.unsaid) {
            self.0.count.send_modify(|count| *count += 1);
        }
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
        let mut watching = self.updates.watching();
        watching.listeners -= 1;
        if watching.listeners == 0
            && let Some(watcher) = watching.watcher.take()
        {
            watcher.task.abort();
        }
    }
}
