//! The least a hand-off over PostgreSQL can cost: one client notifies, the other hears it and updates a row. Two
//! processes play ping-pong; an operation is one hop.

use std::time::Instant;

use super::raw_postgres::{connect, connect_listening};
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::{Window, on_runtime};

/// Place: the URL, `synchronous_commit`.
pub(super) fn run(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let client = connect(job).await?;
        let (ears, mut heard) = connect_listening(job).await?;
        ears.batch_execute(&format!("LISTEN \"{}-{}\"", job.key, job.process)).await?;
        let setup = "BEGIN; SELECT pg_advisory_xact_lock(7);
            CREATE TABLE IF NOT EXISTS bench_hop (key text PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 50); COMMIT";
        client.batch_execute(setup).await?;
        client.execute("INSERT INTO bench_hop VALUES ($1, 0) ON CONFLICT DO NOTHING", &[&job.key]).await?;
        let update = client.prepare("UPDATE bench_hop SET n = n + 1 WHERE key = $1").await?;
        let notify = client.prepare("SELECT pg_notify($1, 'next')").await?;
        let other = format!("{}-{}", job.key, 1 - job.process);

        let window = Window::open(job)?;
        let end = tokio::time::Instant::from_std(window.end);
        let (mut tally, mut hops, mut sent) = (Tally::default(), 0, Instant::now());
        if job.process == 0 {
            client.query_one(&notify, &[&other]).await?;
        }
        // The other side stops by itself, and then nobody calls any more.
        while let Ok(Some(())) = tokio::time::timeout_at(end, heard.recv()).await {
            client.execute(&update, &[&job.key]).await?;
            let done = Instant::now();
            if window.has(done) {
                hops += 1;
                tally.times.record((done - sent) / 2);
            }
            sent = done;
            client.query_one(&notify, &[&other]).await?;
        }
        tally.tasks = vec![hops];
        Ok(tally)
    })
}
