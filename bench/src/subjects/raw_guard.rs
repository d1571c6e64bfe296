//! The product's own two steps, sent by the bare clients: what is left is the round trips.

use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use redis::{Client as Server, Cmd, Script, Value};
use rusqlite::Connection;
use stanchion_core::{Identity, Owner};
use tokio_postgres::{NoTls, Statement};

use super::place;
use crate::job::{Job, Tally};
use crate::worker::{BlockingClient, Client, on_runtime, run_tasks, run_threads};
use crate::{Fault, Outcome};

macro_rules! part {
    ($file:literal) => {
        include_str!(concat!("../../../crates/stanchion-stores/src/redis/", $file))
    };
}

/// As `redis/script.rs` puts them together, so that "the same two scripts" cannot drift apart.
macro_rules! step {
    ($file:literal) => {
        concat!(
            part!("condition.lua"),
            "local function serve(KEYS, ARGV)\n",
            part!("locks.lua"),
            "end\n",
            part!("step.lua"),
            part!($file),
            part!("put.lua")
        )
    };
}

/// About as long as a stored claim.
const VALUE: [u8; 620] = [b'x'; 620];
const KEYS: [&str; 3] = ["{raw}:fences", "{raw}:index", "{raw}:locks"];
const TTL_MS: &str = "259200000";

struct Scripts {
    connection: MultiplexedConnection,
    begin: String,
    finish: String,
    lock: String,
    owner: String,
    identity: String,
    before: String,
    number: u64,
    replay: bool,
}

impl Scripts {
    fn command(&self, script: &str, key: &str, cond: &str, want: &str, ttl: &str) -> Cmd {
        let mut command = Cmd::with_capacity(24, 2048);
        command.arg("EVALSHA").arg(script).arg(4).arg(format!("{{raw}}:r:{key}")).arg(&KEYS);
        command.arg(key).arg(cond).arg(want).arg("{raw}:writes").arg(ttl).arg(&VALUE[..]);
        command
    }

    async fn send(&mut self, command: &Cmd) -> Outcome<Vec<Value>> {
        match self.connection.send_packed_command(command).await? {
            Value::Array(parts) => Ok(parts),
            other => Err(format!("a script answered {other:?}").into()),
        }
    }
}

impl Client for Scripts {
    type Held = ();

    async fn take(&mut self) -> Outcome {
        self.number += u64::from(!self.replay || self.number == 0);
        let key = format!("{}-{}", self.before, self.number);
        let mut begin = self.command(&self.begin, &key, "A", "", "");
        if !self.replay {
            begin.arg(&["A", &self.lock, &self.owner, "30000", "x", "0", "0", &self.identity]).arg(&VALUE[..]);
        }
        let begun = self.send(&begin).await?;
        let version = match (begun.as_slice(), self.replay) {
            ([Value::Int(1), Value::BulkString(version), Value::Int(_)], false) => {
                String::from_utf8_lossy(version).into_owned()
            }
            ([Value::Int(0 | 1), ..], true) => return Ok(()),
            (other, _) => return Err(format!("begin.lua answered {other:?}").into()),
        };
        let mut finish = self.command(&self.finish, &key, "V", &version, TTL_MS);
        finish.arg(&["R", &self.lock, &self.owner]);
        match self.send(&finish).await?.as_slice() {
            [Value::Int(1), _, Value::Int(1)] => Ok(()),
            other => Err(format!("finish.lua answered {other:?}").into()),
        }
    }

    async fn give(&mut self, (): ()) -> Outcome {
        Ok(())
    }
}

fn scripts(job: &Job, replay: bool) -> Outcome<Tally> {
    on_runtime(async {
        let mut connection = Server::open(place(job, 0)?)?.get_multiplexed_async_connection().await?;
        let (begin, finish) = (Script::new(step!("begin.lua")), Script::new(step!("finish.lua")));
        begin.load_async(&mut connection).await?;
        finish.load_async(&mut connection).await?;
        let client = |task| Scripts {
            connection: connection.clone(),
            begin: begin.get_hash().to_owned(),
            finish: finish.get_hash().to_owned(),
            lock: job.key_of(task),
            owner: Owner::random().to_hex(),
            identity: Identity::current().encode(),
            before: format!("{}-{}", job.key_of(task), Owner::random().to_hex()),
            number: 0,
            replay,
        };
        run_tasks(job, (0..job.tasks).map(client).collect()).await
    })
}

pub(super) fn redis(job: &Job) -> Outcome<Tally> {
    scripts(job, false)
}

pub(super) fn redis_replay(job: &Job) -> Outcome<Tally> {
    scripts(job, true)
}

struct Functions {
    client: Arc<tokio_postgres::Client>,
    begin: Statement,
    finish: Statement,
    lock: String,
    owner: String,
    identity: String,
    before: String,
    number: u64,
}

impl Client for Functions {
    type Held = ();

    async fn take(&mut self) -> Outcome {
        self.number += 1;
        let key = format!("{}-{}", self.before, self.number);
        let nothing: Option<i64> = None;
        let value = &VALUE[..];
        let begun = self
            .client
            .query_one(
                &self.begin,
                &[
                    &key,
                    &0_i32,
                    &nothing,
                    &nothing,
                    &nothing,
                    &key,
                    &value,
                    &value,
                    &self.lock,
                    &self.owner,
                    &1_i32,
                    &0_i32,
                    &30_000_i64,
                    &self.identity,
                    &0_i64,
                ],
            )
            .await?;
        let begun = text(&begun)?;
        let version: i64 = match begun.split(' ').collect::<Vec<_>>()[..] {
            ["g", version, _] => version.parse()?,
            _ => return Err(format!("fused_begin answered {begun}").into()),
        };
        let ttl = 259_200_000_i64;
        let finish = self
            .client
            .query_one(
                &self.finish,
                &[&key, &1_i32, &version, &nothing, &nothing, &key, &value, &ttl, &self.lock, &self.owner, &1_i32],
            )
            .await?;
        let finish = text(&finish)?;
        if finish.starts_with("r ") { Ok(()) } else { Err(format!("fused_finish answered {finish}").into()) }
    }

    async fn give(&mut self, (): ()) -> Outcome {
        Ok(())
    }
}

fn text(row: &tokio_postgres::Row) -> Outcome<String> {
    Ok(String::from_utf8_lossy(row.try_get::<_, &[u8]>(0)?).into_owned())
}

/// As many connections as our own pool has, each pipelined.
pub(super) fn postgres(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        // Makes the schema, as any first use does.
        drop(stanchion_stores::open(place(job, 0)?).await?);
        let mut connections = Vec::new();
        for _ in 0..job.tasks.min(4) {
            let (client, connection) = tokio_postgres::connect(place(job, 0)?, NoTls).await?;
            tokio::spawn(connection);
            let numbered = |count: usize| (1..=count).map(|i| format!("${i}")).collect::<Vec<_>>().join(", ");
            let begin = client.prepare(&format!("SELECT stanchion.fused_begin({})", numbered(15))).await?;
            let finish = client.prepare(&format!("SELECT stanchion.fused_finish({})", numbered(11))).await?;
            connections.push((Arc::new(client), begin, finish));
        }
        let client = |task: usize| {
            let (client, begin, finish) = connections[task % connections.len()].clone();
            Functions {
                client,
                begin,
                finish,
                lock: job.key_of(task),
                owner: Owner::random().to_hex(),
                identity: Identity::current().encode(),
                before: format!("{}-{}", job.key_of(task), Owner::random().to_hex()),
                number: 0,
            }
        };
        run_tasks(job, (0..job.tasks).map(client).collect()).await
    })
}

struct Commits {
    db: Connection,
    value: [u8; 620],
    number: u64,
    key: String,
    fresh: bool,
}

impl Commits {
    /// Another value each time: what is the same is not written at all.
    fn commit(&mut self) -> Outcome {
        self.number += 1;
        self.value[..8].copy_from_slice(&self.number.to_be_bytes());
        self.db.execute_batch("BEGIN IMMEDIATE")?;
        self.db
            .prepare_cached(
                "INSERT INTO record VALUES ('k', ?1) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            )?
            .execute([&self.value[..]])?;
        Ok(self.db.execute_batch("COMMIT")?)
    }
}

impl BlockingClient for Commits {
    fn take(&mut self) -> Outcome {
        if self.fresh {
            self.key = Owner::random().to_hex();
        }
        self.commit()?;
        self.commit()
    }

    fn give(&mut self) -> Outcome {
        Ok(())
    }
}

/// Place: the file, `synchronous` (with `fresh ` before it: under a new key each time). Two commits are what claim and outcome cost at least.
pub(super) fn sqlite(job: &Job) -> Outcome<Tally> {
    let db = Connection::open(place(job, 0)?)?;
    db.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    let setting = place(job, 1)?;
    let (fresh, level) = setting.strip_prefix("fresh ").map_or((false, setting), |level| (true, level));
    db.pragma_update(None, "synchronous", level)?;
    db.execute_batch("CREATE TABLE IF NOT EXISTS record (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID")
        .map_err(Fault::from)?;
    run_threads(job, vec![Commits { db, value: VALUE, number: 0, key: "k".into(), fresh }])
}
