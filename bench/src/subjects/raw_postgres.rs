//! tokio-postgres without a lock library: a lease row, and the server's advisory locks. One connection per task.

use std::future::poll_fn;

use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client as Connection, NoTls, Statement};

use super::place;
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::{Client, on_runtime, run_tasks};

const SCHEMA: &str = "BEGIN; SELECT pg_advisory_xact_lock(7);
CREATE SEQUENCE IF NOT EXISTS bench_fence;
CREATE TABLE IF NOT EXISTS bench_lease (key text PRIMARY KEY, owner text NOT NULL, fence bigint NOT NULL,
  until timestamptz NOT NULL) WITH (fillfactor = 50);
COMMIT";
const ACQUIRE: &str =
    "INSERT INTO bench_lease AS l VALUES ($1, $2, nextval('bench_fence'), clock_timestamp() + interval '30 s')
ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, fence = nextval('bench_fence'), until = excluded.until
WHERE l.until <= clock_timestamp() RETURNING fence";
const RELEASE: &str = "UPDATE bench_lease SET until = '-infinity' WHERE key = $1 AND owner = $2";

/// Place: the URL, `synchronous_commit`.
pub(super) async fn connect(job: &Job) -> Outcome<Connection> {
    Ok(connect_listening(job).await?.0)
}

pub(super) async fn connect_listening(job: &Job) -> Outcome<(Connection, mpsc::UnboundedReceiver<()>)> {
    let (client, mut connection) = tokio_postgres::connect(place(job, 0)?, NoTls).await?;
    let (sender, heard) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
            if matches!(message, AsyncMessage::Notification(_)) && sender.send(()).is_err() {
                // Nobody listens on this connection, but it still has to be driven.
                continue;
            }
        }
    });
    client.batch_execute(&format!("SET synchronous_commit = {}", place(job, 1)?)).await?;
    Ok((client, heard))
}

struct Lease {
    client: Connection,
    acquire: Statement,
    release: Statement,
    key: String,
    owner: String,
}

impl Client for Lease {
    type Held = ();

    async fn take(&mut self) -> Outcome {
        let row = self.client.query_one(&self.acquire, &[&self.key, &self.owner]).await?;
        if row.get::<_, i64>(0) > 0 { Ok(()) } else { Err("no fence".into()) }
    }

    async fn give(&mut self, (): ()) -> Outcome {
        match self.client.execute(&self.release, &[&self.key, &self.owner]).await? {
            1 => Ok(()),
            n => Err(format!("released {n} rows").into()),
        }
    }
}

pub(super) fn lease(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let mut clients = Vec::new();
        for task in 0..job.tasks {
            let client = connect(job).await?;
            client.batch_execute(SCHEMA).await?;
            let (acquire, release) = (client.prepare(ACQUIRE).await?, client.prepare(RELEASE).await?);
            clients.push(Lease { client, acquire, release, key: job.key_of(task), owner: format!("owner-{task}") });
        }
        run_tasks(job, clients).await
    })
}

/// No lease and no fence; held until the connection ends.
struct Advisory {
    client: Connection,
    lock: Statement,
    unlock: Statement,
    key: String,
}

impl Client for Advisory {
    type Held = ();

    async fn take(&mut self) -> Outcome {
        self.client.query_one(&self.lock, &[&self.key]).await?;
        Ok(())
    }

    async fn give(&mut self, (): ()) -> Outcome {
        match self.client.query_one(&self.unlock, &[&self.key]).await?.get(0) {
            true => Ok(()),
            false => Err("the lock was not held".into()),
        }
    }
}

pub(super) fn advisory(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let mut clients = Vec::new();
        for task in 0..job.tasks {
            let client = connect(job).await?;
            let lock = client.prepare("SELECT pg_advisory_lock(hashtextextended($1, 0))::text").await?;
            let unlock = client.prepare("SELECT pg_advisory_unlock(hashtextextended($1, 0))").await?;
            clients.push(Advisory { client, lock, unlock, key: job.key_of(task) });
        }
        run_tasks(job, clients).await
    })
}
