//! What is under way, counted, so that the end can wait for it.

use tokio::sync::watch;

/// How many there are.
#[derive(Debug, Clone, Default)]
pub(super) struct Running(watch::Sender<usize>);

impl Running {
    /// Counts until it is dropped.
    pub(super) fn one_more(&self) -> OneMore {
        self.0.send_modify(|count| *count += 1);
        OneMore(self.clone())
    }

    /// Waits until there is none.
    pub(super) async fn none(&self) {
        // The sender is ours: it cannot be gone.
        self.0.subscribe().wait_for(|count| *count == 0).await.ok();
    }
}

#[derive(Debug)]
pub(super) struct OneMore(Running);

impl Drop for OneMore {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}
