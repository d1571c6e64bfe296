//! The `idempotent` crate as a worker of stanchion-bench: `execute_or_replay` of a no-op on its Valkey store.
//!
//! Takes a job as JSON, says READY, waits for GO, prints a tally as JSON; see bench/src/job.rs.

use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};
use std::time::{Duration, Instant};

use idempotent::valkey::ValkeyStore;
use idempotent::{CachedResponse, ExecutionOutcome, IdempotencyKey, IdempotencyStore as _, Metadata};
use serde_json::{Value, json};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const ASKED: &[u8] = br#"{"order": 77, "customer": "bob", "amount": 12.50}"#;
const ANSWER: &[u8] = br#"{"invoice": 1181, "sent": true}"#;

#[derive(Default)]
struct Count {
    operations: u64,
    buckets: BTreeMap<u64, u64>,
    max_ns: u64,
}

fn bucket(ns: u64) -> u64 {
    let shift = u64::from(u64::BITS - ns.leading_zeros()).saturating_sub(7);
    shift * 64 + (ns >> shift)
}

async fn task(store: ValkeyStore, before: String, fresh: bool, start: Instant, end: Instant) -> Outcome<Count> {
    let mut count = Count::default();
    let mut number = 0_u64;
    loop {
        let asked = Instant::now();
        if asked >= end {
            return Ok(count);
        }
        number += u64::from(fresh);
        let key = IdempotencyKey::new(format!("{before}-{number}"))?;
        let outcome = store
            .claim(&key, Duration::from_secs(30))
            .fingerprint("POST /invoices", ASKED)
            .execute_or_replay(Duration::from_secs(24 * 60 * 60), |_| async {
                Ok(CachedResponse::new(200, Metadata::new(), ANSWER.to_vec().into()))
            })
            .await?;
        match outcome {
            ExecutionOutcome::Executed(_) | ExecutionOutcome::Replayed(_) => {}
            _ => return Err("an unexpected outcome".into()),
        }
        let done = Instant::now();
        if done >= start && done < end {
            let ns = u64::try_from((done - asked).as_nanos())?;
            count.operations += 1;
            *count.buckets.entry(bucket(ns)).or_default() += 1;
            count.max_ns = count.max_ns.max(ns);
        }
    }
}

async fn run(job: &Value) -> Outcome {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let number = |name: &str| job[name].as_u64().unwrap_or(0);
    let store = ValkeyStore::with_url(text(&job["place"][0])).try_build().await?;
    store.ping().await?;
    println!("READY");
    std::io::stdout().flush()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let start = Instant::now() + Duration::from_millis(number("warm_up_ms"));
    let end = start + Duration::from_millis(number("measured_ms"));
    let fresh = job["place"][1] == "fresh";
    let tasks: Vec<_> = (0..number("tasks"))
        .map(|n| tokio::spawn(task(store.clone(), format!("{}-{n}", text(&job["key"])), fresh, start, end)))
        .collect();
    let (mut operations, mut buckets, mut max_ns) = (Vec::new(), BTreeMap::<u64, u64>::new(), 0);
    for task in tasks {
        let count = task.await??;
        operations.push(count.operations);
        max_ns = max_ns.max(count.max_ns);
        count.buckets.into_iter().for_each(|(bucket, n)| *buckets.entry(bucket).or_default() += n);
    }
    let times = json!({ "counts": buckets.into_iter().collect::<Vec<_>>(), "max_ns": max_ns });
    println!("{}", json!({ "tasks": operations, "times": times, "hold_ns": 0, "overlaps": 0, "rss_kib": null }));
    Ok(())
}

fn main() -> Outcome {
    let job: Value = serde_json::from_str(&std::env::args().nth(1).ok_or("no job")?)?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run(&job))
}
