//! Takes out of the line whose deadline has passed while its process lives.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::line::Line;
use crate::line::Deadlines;

/// How soon an entry that could not be deleted is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// Runs until the store is dropped. An entry stays on the list until it is certainly gone.
pub(super) async fn run(deadlines: Arc<Deadlines>, line: Weak<Line>) {
    let mut leaving = Vec::new();
    loop {
        if leaving.is_empty() {
            leaving = deadlines.due().await;
        } else if let Ok(more) = tokio::time::timeout(AGAIN, deadlines.due()).await {
            leaving.extend(more);
        }
        let Some(line) = line.upgrade() else { return };
        let mut left = Vec::new();
        for (key, owner) in leaving {
            // Without a place it has left by itself.
            let Some(place) = line.place(owner) else { continue };
            if let Err(error) = line.leave(&key, owner, &place).await {
                tracing::debug!(%key, %error, "an entry whose deadline has passed could not be deleted yet");
                left.push((key, owner));
            }
        }
        leaving = left;
    }
}
