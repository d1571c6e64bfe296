//! Clean-up that nobody waits for, but that can be waited for before the process ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::{EnterGuard, Handle};
use tokio::sync::Notify;

/// A runtime, and a count of the clean-up on it.
#[derive(Debug, Clone)]
pub(crate) struct Background {
    runtime: Handle,
    open: Arc<Open>,
}

#[derive(Debug, Default)]
pub(crate) struct Open {
    count: AtomicUsize,
    ended: Notify,
}

impl Background {
    /// On the runtime of the caller.
    pub(crate) fn here(open: &Arc<Open>) -> Self {
        Self { runtime: Handle::current(), open: Arc::clone(open) }
    }

    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.open.count.fetch_add(1, Ordering::SeqCst);
        let one = One(Arc::clone(&self.open));
        self.runtime.spawn(async move {
            work.await;
            drop(one);
        });
    }

    pub(crate) fn enter(&self) -> EnterGuard<'_> {
        self.runtime.enter()
    }
}

impl Open {
    /// Returns when no clean-up is left.
    pub(crate) async fn settled(&self) {
        loop {
            let ended = self.ended.notified();
            if self.count.load(Ordering::SeqCst) == 0 {
                return;
            }
            ended.await;
        }
    }
}

/// Counts down also when the runtime drops the work.
struct One(Arc<Open>);

impl Drop for One {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::SeqCst);
        self.0.ended.notify_waiters();
    }
}
