//! A hop over Redis: PUBLISH, then a SET by who hears it.

use futures_util::StreamExt as _;
use redis::Cmd;
use redis::aio::{MultiplexedConnection, PubSub};

use super::hop::{Player, play};
use super::place;
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::on_runtime;

struct Redis {
    commands: MultiplexedConnection,
    ears: PubSub,
    publish: Cmd,
    set: Cmd,
}

impl Player for Redis {
    async fn call(&mut self) -> Outcome {
        self.commands.send_packed_command(&self.publish).await?;
        Ok(())
    }

    async fn hear(&mut self) -> Outcome {
        self.ears.on_message().next().await.map(drop).ok_or_else(|| "the subscription ended".into())
    }

    async fn write(&mut self) -> Outcome {
        self.commands.send_packed_command(&self.set).await?;
        Ok(())
    }
}

pub(super) fn run(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let server = redis::Client::open(place(job, 0)?)?;
        let commands = server.get_multiplexed_async_connection().await?;
        let mut ears = server.get_async_pubsub().await?;
        ears.subscribe(format!("{}-{}", job.key, job.process)).await?;
        let (mut publish, mut set) = (redis::cmd("PUBLISH"), redis::cmd("SET"));
        publish.arg(format!("{}-{}", job.key, 1 - job.process)).arg("next");
        set.arg(&job.key).arg("taken");
        play(job, Redis { commands, ears, publish, set }).await
    })
}
