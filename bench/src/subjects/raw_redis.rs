//! redis-rs without a lock library: what one round trip per step can do at best.

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client as Server, Cmd, Script, Value};
use stanchion_core::{Identity, Owner};

use super::place;
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::{Client, on_runtime, run_tasks};

/// The product's own script, so that "the same two scripts" cannot drift apart.
const PRODUCT: &str = include_str!("../../../crates/stanchion-stores/src/redis/locks.lua");
const ACQUIRE: &str = "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return redis.call('INCR', KEYS[2])
end
return 0";
const RELEASE: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0";

/// Two commands that are prepared once: nothing but the round trips is left.
struct Pair {
    connection: MultiplexedConnection,
    acquire: Cmd,
    release: Cmd,
}

impl Client for Pair {
    type Held = ();

    async fn take(&mut self) -> Outcome {
        positive(&self.connection.send_packed_command(&self.acquire).await?)
    }

    async fn give(&mut self, (): ()) -> Outcome {
        positive(&self.connection.send_packed_command(&self.release).await?)
    }
}

fn positive(answer: &Value) -> Outcome {
    match answer {
        Value::Int(n) if *n > 0 => Ok(()),
        Value::Array(answers) if matches!(answers.as_slice(), [Value::Int(n)] if *n > 0) => Ok(()),
        other => Err(format!("a script refused: {other:?}").into()),
    }
}

fn evalsha(script: &Script, keys: &[&str], args: &[&str]) -> Cmd {
    let mut command = redis::cmd("EVALSHA");
    command.arg(script.get_hash()).arg(keys.len()).arg(keys).arg(args);
    command
}

async fn connect(job: &Job) -> Outcome<MultiplexedConnection> {
    Ok(Server::open(place(job, 0)?)?.get_multiplexed_async_connection().await?)
}

/// Stanchion's script, one operation per EVALSHA, on one multiplexed connection.
pub(super) fn product_script(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let mut connection = connect(job).await?;
        let script = Script::new(PRODUCT);
        script.load_async(&mut connection).await?;
        let identity = Identity::current().encode();
        let client = |task| {
            let (key, owner, hash) = (job.key_of(task), Owner::random().to_hex(), "{raw}:locks");
            let acquire = ["A", &key, &owner, "30000", "x", "0", "0", &identity];
            Pair {
                connection: connection.clone(),
                acquire: evalsha(&script, &[hash], &acquire),
                release: evalsha(&script, &[hash], &["R", &key, &owner]),
            }
        };
        let clients = (0..job.tasks).map(client).collect();
        run_tasks(job, clients).await
    })
}

/// The least that mints a fence: SET NX PX + INCR, compare and delete.
pub(super) fn minimal_pair(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let mut connection = connect(job).await?;
        let (acquire, release) = (Script::new(ACQUIRE), Script::new(RELEASE));
        acquire.load_async(&mut connection).await?;
        release.load_async(&mut connection).await?;
        let client = |task| {
            let (key, owner) = (job.key_of(task), Owner::random().to_hex());
            Pair {
                connection: connection.clone(),
                acquire: evalsha(&acquire, &[&key, "raw:fence"], &[&owner, "30000"]),
                release: evalsha(&release, &[&key], &[&owner]),
            }
        };
        let clients = (0..job.tasks).map(client).collect();
        run_tasks(job, clients).await
    })
}

/// A token in a list. No lease and no fence: a holder that dies takes the token with it.
struct Token {
    connection: MultiplexedConnection,
    take: Cmd,
    give: Cmd,
}

impl Client for Token {
    type Held = ();

    async fn take(&mut self) -> Outcome {
        match self.connection.send_packed_command(&self.take).await? {
            Value::Array(_) => Ok(()),
            other => Err(format!("no token: {other:?}").into()),
        }
    }

    async fn give(&mut self, (): ()) -> Outcome {
        self.connection.send_packed_command(&self.give).await?;
        Ok(())
    }
}

pub(super) fn blpop(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let server = Server::open(place(job, 0)?)?;
        let mut clients = Vec::new();
        for _ in 0..job.tasks {
            // A blocked command blocks its connection.
            let patient = AsyncConnectionConfig::new().set_response_timeout(None);
            let connection = server.get_multiplexed_async_connection_with_config(&patient).await?;
            let (mut take, mut give) = (redis::cmd("BLPOP"), redis::cmd("RPUSH"));
            take.arg(&job.key).arg(0);
            give.arg(&job.key).arg("token");
            clients.push(Token { connection, take, give });
        }
        if let Some(first) = clients.first_mut().filter(|_| job.process == 0) {
            first.give(()).await?;
        }
        run_tasks(job, clients).await
    })
}
