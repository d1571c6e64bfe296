//! async-nats without a lock library: two updates with the revision of the one before, and a hop over a watch.

use async_nats::jetstream::kv::{Store, Watch};
use async_nats::jetstream::stream::{Config, DiscardPolicy};
use futures_util::StreamExt as _;

use super::address;
use super::hop::{Player, play};
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::{Client, on_runtime, run_tasks};

async fn bucket(job: &Job) -> Outcome<Store> {
    let client = async_nats::connect(address(job)?).await?;
    let jetstream = async_nats::jetstream::new(client);
    // As `create_key_value` would make it; that one asks for the account first, whose answer it cannot read from a 2.9.
    let config = Config {
        name: "KV_bench".to_owned(),
        subjects: vec!["$KV.bench.>".to_owned()],
        max_messages_per_subject: 1,
        discard: DiscardPolicy::New,
        allow_rollup: true,
        allow_direct: true,
        deny_delete: true,
        num_replicas: 1,
        ..Config::default()
    };
    // The same from several processes is no conflict.
    jetstream.create_stream(config).await?;
    Ok(jetstream.get_key_value("bench").await?)
}

struct Pair {
    store: Store,
    key: String,
    revision: u64,
}

impl Client for Pair {
    type Held = ();

    async fn take(&mut self) -> Outcome {
        self.revision = self.store.update(&self.key, "owner".into(), self.revision).await?;
        Ok(())
    }

    async fn give(&mut self, (): ()) -> Outcome {
        self.revision = self.store.update(&self.key, "".into(), self.revision).await?;
        Ok(())
    }
}

pub(super) fn pair(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let store = bucket(job).await?;
        let client = |task| Pair { store: store.clone(), key: job.key_of(task), revision: 0 };
        run_tasks(job, (0..job.tasks).map(client).collect()).await
    })
}

struct Hop {
    store: Store,
    watch: Watch,
    key: String,
    other: String,
}

impl Player for Hop {
    async fn call(&mut self) -> Outcome {
        self.store.put(&self.other, "next".into()).await?;
        Ok(())
    }

    async fn hear(&mut self) -> Outcome {
        self.watch.next().await.ok_or("the watch ended")??;
        Ok(())
    }

    async fn write(&mut self) -> Outcome {
        self.store.put(&self.key, "taken".into()).await?;
        Ok(())
    }
}

pub(super) fn hop(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let store = bucket(job).await?;
        let watch = store.watch(format!("{}-ear-{}", job.key, job.process)).await?;
        let (key, other) = (job.key.clone(), format!("{}-ear-{}", job.key, 1 - job.process));
        play(job, Hop { store, watch, key, other }).await
    })
}
