//! How many requests run.

use tokio::sync::watch;

#[derive(Debug, Default)]
pub(super) struct Tally(watch::Sender<usize>);

impl Tally {
    pub(super) fn one(&self) -> One {
        self.0.send_modify(|count| *count += 1);
        One(self.0.clone())
    }

    pub(super) async fn zero(&self) {
        // It fails only when the sender is gone, and that is we.
        self.0.subscribe().wait_for(|count| *count == 0).await.ok();
    }
}

/// Counts down also when its task is dropped.
pub(super) struct One(watch::Sender<usize>);

impl Drop for One {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
