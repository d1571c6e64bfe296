//! redis-rs on several nodes without a lock library: SET NX PX everywhere, compare and delete everywhere; on with the
//! first majority, or with all.

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, RedisResult, Script, Value};

use super::{nodes as urls, place};
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::{Client, on_runtime, run_tasks};

const RELEASE: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0";

struct Quorum {
    nodes: Vec<MultiplexedConnection>,
    /// How many answers are waited for.
    enough: usize,
    acquire: Cmd,
    release: Cmd,
}

impl Quorum {
    async fn send(&self, command: &Cmd, yes: fn(&Value) -> bool) -> Outcome {
        let ask = |node: &MultiplexedConnection| {
            let (mut node, command) = (node.clone(), command.clone());
            async move { node.send_packed_command(&command).await }
        };
        let mut answers: FuturesUnordered<_> = self.nodes.iter().map(ask).collect();
        for _ in 0..self.enough {
            let answer: RedisResult<Value> = answers.next().await.ok_or("too few nodes")?;
            if !yes(&answer?) {
                return Err("a node refused".into());
            }
        }
        if !answers.is_empty() {
            tokio::spawn(async move { while answers.next().await.is_some() {} });
        }
        Ok(())
    }
}

impl Client for Quorum {
    type Held = ();

    async fn take(&mut self) -> Outcome {
        self.send(&self.acquire, |answer| *answer == Value::Okay).await
    }

    async fn give(&mut self, (): ()) -> Outcome {
        self.send(&self.release, |answer| *answer == Value::Int(1)).await
    }
}

/// Place: the `redlock:` URL; `quorum` or `all`.
pub(super) fn run(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let script = Script::new(RELEASE);
        let mut nodes = Vec::new();
        for url in urls(job)? {
            let mut node = redis::Client::open(url)?.get_multiplexed_async_connection().await?;
            script.load_async(&mut node).await?;
            nodes.push(node);
        }
        let enough = if place(job, 1)? == "all" { nodes.len() } else { nodes.len() / 2 + 1 };
        let client = |task| {
            let (key, owner) = (job.key_of(task), format!("owner-{}-{task}", job.process));
            let (mut acquire, mut release) = (redis::cmd("SET"), redis::cmd("EVALSHA"));
            acquire.arg(&key).arg(&owner).arg("NX").arg("PX").arg(30_000);
            release.arg(script.get_hash()).arg(1).arg(&key).arg(&owner);
            Quorum { nodes: nodes.clone(), enough, acquire, release }
        };
        run_tasks(job, (0..job.tasks).map(client).collect()).await
    })
}
