//! Measurements against the raw statements, each pair in turns on one server. They fail on a gross loss only, because
//! other programs share the machine; the numbers are printed.
//!
//! `cargo test --release -p stanchion-stores --test it postgres::speed -- --ignored --nocapture --test-threads 1`

use std::sync::Arc;
use std::time::{Duration, Instant};

use stanchion_core::{LockBackend, Owner};
use stanchion_testkit::engines::Postgres;
use tokio_postgres::AsyncMessage;
use tokio_postgres::types::Type;

use super::{PATIENCE, open, plain, request, waiting};

const ROUNDS: u32 = 5;

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

const TAKE: &str =
    "INSERT INTO raw AS r (key, owner, fence, until) VALUES ($1, $2, 1, clock_timestamp() + interval '30 s')
    ON CONFLICT (key) DO UPDATE SET owner = $2, fence = r.fence + 1, until = excluded.until
    WHERE r.until <= clock_timestamp() RETURNING fence";
const GIVE: &str = "UPDATE raw SET until = '-infinity' WHERE key = $1 AND owner = $2";

/// Unnamed statements, as a pooler wants them.
async fn raw_cycles(client: &tokio_postgres::Client, count: u32) -> Duration {
    let start = Instant::now();
    for _ in 0..count {
        let owner = Owner::random().to_hex();
        client.query_typed(TAKE, &[(&"k", Type::TEXT), (&owner, Type::TEXT)]).await.unwrap();
        client.execute_typed(GIVE, &[(&"k", Type::TEXT), (&owner, Type::TEXT)]).await.unwrap();
    }
    start.elapsed() / count
}

async fn prepared_cycles(client: &tokio_postgres::Client, count: u32) -> Duration {
    let (take, give) = (client.prepare(TAKE).await.unwrap(), client.prepare(GIVE).await.unwrap());
    let start = Instant::now();
    for _ in 0..count {
        let owner = Owner::random().to_hex();
        client.query_one(&take, &[&"k", &owner]).await.unwrap();
        client.execute(&give, &[&"k", &owner]).await.unwrap();
    }
    start.elapsed() / count
}

async fn our_cycles(locks: &Arc<dyn LockBackend>, count: u32) -> Duration {
    let req = request("k");
    let start = Instant::now();
    for _ in 0..count {
        let grant = locks.try_acquire(&req, Owner::random()).await.unwrap();
        locks.release(&grant).await.unwrap();
    }
    start.elapsed() / count
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn an_uncontended_lease_costs_what_a_lease_row_costs() {
    let server = Postgres::options().fsync(true).start().await;
    let client = plain(&server.url()).await;
    let table =
        "CREATE TABLE raw (key text PRIMARY KEY, owner text, fence bigint, until timestamptz) WITH (fillfactor = 50)";
    client.batch_execute(table).await.unwrap();
    for (durability, commit, count) in [("process", "off", 3000), ("power", "on", 500)] {
        client.batch_execute(&format!("SET synchronous_commit = {commit}")).await.unwrap();
        let locks = open(&format!("{}?durability={durability}", server.url())).await.locks;
        let (mut raw, mut prepared, mut ours) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            raw.push(raw_cycles(&client, count).await);
            prepared.push(prepared_cycles(&client, count).await);
            ours.push(our_cycles(&locks, count).await);
        }
        let (raw, prepared, ours) = (median(raw), median(prepared), median(ours));
        let ratio = raw.as_secs_f64() / ours.as_secs_f64();
        println!("{durability}: raw {raw:?} (prepared {prepared:?}), ours {ours:?} per cycle, ratio {ratio:.2}");
        assert!(ratio > 0.5, "twice the raw cost is too much");
    }
}

/// One notification, answered by an update, there and back again.
async fn raw_hand_offs(url: &str, count: u32) -> Duration {
    let (client, mut connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
            if matches!(message, AsyncMessage::Notification(_)) {
                tell.send(()).unwrap();
            }
        }
    });
    client.batch_execute("LISTEN raw; SET synchronous_commit = off").await.unwrap();
    let (sender, worker) = (plain(url).await, plain(url).await);
    for client in [&sender, &worker] {
        client.batch_execute("SET synchronous_commit = off").await.unwrap();
    }
    let notify = sender
        .prepare("WITH u AS (UPDATE hand SET n = n + 1 RETURNING n) SELECT pg_notify('raw', n::text) FROM u")
        .await
        .unwrap();
    let update = worker.prepare("UPDATE hand SET n = n + 1").await.unwrap();
    let start = Instant::now();
    for _ in 0..count {
        sender.query(&notify, &[]).await.unwrap();
        told.recv().await.unwrap();
        worker.execute(&update, &[]).await.unwrap();
    }
    start.elapsed() / count
}

async fn our_hand_offs(url: &str, count: u32) -> Duration {
    let (a, b) = (open(url).await.locks, open(url).await.locks);
    let (mut from, mut to) = (a, b);
    let mut grant = from.try_acquire(&request("hand"), Owner::random()).await.unwrap();
    let mut spent = Duration::ZERO;
    for i in 0..count + 2 {
        let (req, owner) = (waiting("hand"), Owner::random());
        to.try_acquire(&req, owner).await.unwrap_err();
        let start = Instant::now();
        from.release(&grant).await.unwrap();
        grant = loop {
            to.wait(&req, owner, tokio::time::Instant::now() + PATIENCE).await.unwrap();
            if let Ok(grant) = to.try_acquire(&req, owner).await {
                break grant;
            }
        };
        // The first two open the connections that listen.
        if i >= 2 {
            spent += start.elapsed();
        }
        std::mem::swap(&mut from, &mut to);
    }
    from.release(&grant).await.unwrap();
    spent / count
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn a_hand_off_costs_a_notification_and_an_update() {
    let server = Postgres::start().await;
    let url = server.url();
    plain(&url).await.batch_execute("CREATE TABLE hand (n int); INSERT INTO hand VALUES (0)").await.unwrap();
    let (mut raw, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        raw.push(raw_hand_offs(&url, 500).await);
        ours.push(our_hand_offs(&url, 500).await);
    }
    let (raw, ours) = (median(raw), median(ours));
    let ratio = ours.as_secs_f64() / raw.as_secs_f64();
    println!("hand-off: raw {raw:?}, ours {ours:?}, {ratio:.2} times");
    assert!(ratio < 6.0, "six times the raw cost is too much");
}
