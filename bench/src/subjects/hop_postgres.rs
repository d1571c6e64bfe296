//! A hop over PostgreSQL: NOTIFY, then an UPDATE by who hears it.

use tokio::sync::mpsc;
use tokio_postgres::{Client as Connection, Statement};

use super::hop::{Player, play};
use super::raw_postgres::{connect, connect_listening};
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::on_runtime;

struct Postgres {
    client: Connection,
    _ears: Connection,
    heard: mpsc::UnboundedReceiver<()>,
    notify: Statement,
    update: Statement,
    key: String,
    other: String,
}

impl Player for Postgres {
    async fn call(&mut self) -> Outcome {
        self.client.query_one(&self.notify, &[&self.other]).await?;
        Ok(())
    }

    async fn hear(&mut self) -> Outcome {
        self.heard.recv().await.ok_or_else(|| "the connection ended".into())
    }

    async fn write(&mut self) -> Outcome {
        self.client.execute(&self.update, &[&self.key]).await?;
        Ok(())
    }
}

/// Place: the URL, `synchronous_commit`.
pub(super) fn run(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let client = connect(job).await?;
        let (ears, heard) = connect_listening(job).await?;
        ears.batch_execute(&format!("LISTEN \"{}-{}\"", job.key, job.process)).await?;
        let setup = "BEGIN; SELECT pg_advisory_xact_lock(7);
            CREATE TABLE IF NOT EXISTS bench_hop (key text PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 50); COMMIT";
        client.batch_execute(setup).await?;
        client.execute("INSERT INTO bench_hop VALUES ($1, 0) ON CONFLICT DO NOTHING", &[&job.key]).await?;
        let update = client.prepare("UPDATE bench_hop SET n = n + 1 WHERE key = $1").await?;
        let notify = client.prepare("SELECT pg_notify($1, 'next')").await?;
        let (key, other) = (job.key.clone(), format!("{}-{}", job.key, 1 - job.process));
        play(job, Postgres { client, _ears: ears, heard, notify, update, key, other }).await
    })
}
