//! The least a hand-off over Redis can cost: one client publishes, the other hears it and does a SET. Two processes
//! play ping-pong; an operation is one hop.

use std::time::Instant;

use futures_util::StreamExt as _;
use redis::Client as Server;

use super::place;
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::{Window, on_runtime};

pub(super) fn run(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let server = Server::open(place(job, 0)?)?;
        let mut commands = server.get_multiplexed_async_connection().await?;
        let mut ears = server.get_async_pubsub().await?;
        ears.subscribe(format!("{}-{}", job.key, job.process)).await?;
        let mut heard = ears.on_message();
        let (mut publish, mut set) = (redis::cmd("PUBLISH"), redis::cmd("SET"));
        publish.arg(format!("{}-{}", job.key, 1 - job.process)).arg("next");
        set.arg(&job.key).arg("taken");

        let window = Window::open(job)?;
        let end = tokio::time::Instant::from_std(window.end);
        let (mut tally, mut hops, mut sent) = (Tally::default(), 0, Instant::now());
        if job.process == 0 {
            commands.send_packed_command(&publish).await?;
        }
        // The other side stops by itself, and then nobody calls any more.
        while let Ok(Some(_)) = tokio::time::timeout_at(end, heard.next()).await {
            commands.send_packed_command(&set).await?;
            let done = Instant::now();
            if window.has(done) {
                hops += 1;
                tally.times.record((done - sent) / 2);
            }
            sent = done;
            commands.send_packed_command(&publish).await?;
        }
        tally.tasks = vec![hops];
        Ok(tally)
    })
}
