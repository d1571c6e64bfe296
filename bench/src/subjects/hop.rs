//! The least a hand-off can cost on an engine: one client calls, the other hears it and writes. Two processes play
//! ping-pong; an operation is one hop.

use std::time::Instant;

use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::Window;

/// One player.
pub(super) trait Player {
    /// Calls the other side.
    async fn call(&mut self) -> Outcome;
    /// Waits until the other side calls.
    async fn hear(&mut self) -> Outcome;
    /// The write that taking a lock would be.
    async fn write(&mut self) -> Outcome;
}

pub(super) async fn play(job: &Job, mut player: impl Player) -> Outcome<Tally> {
    let window = Window::open(job)?;
    let end = tokio::time::Instant::from_std(window.end);
    let (mut tally, mut hops, mut sent) = (Tally::default(), 0, Instant::now());
    if job.process == 0 {
        player.call().await?;
    }
    // The other side stops by itself, and then nobody calls any more.
    while let Ok(heard) = tokio::time::timeout_at(end, player.hear()).await {
        heard?;
        player.write().await?;
        let done = Instant::now();
        if window.has(done) {
            hops += 1;
            tally.times.record((done - sent) / 2);
        }
        sent = done;
        player.call().await?;
    }
    tally.tasks = vec![hops];
    Ok(tally)
}
