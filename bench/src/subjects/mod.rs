//! The subjects in Rust. Those in other languages are in `bench/peers`.

mod command;
mod flock;
mod guard;
mod hop_flock;
mod hop_postgres;
mod hop_redis;
mod raw_guard;
mod raw_postgres;
mod raw_redis;
#[cfg(feature = "rslock")]
mod rslock;
mod sqlite;
mod stanchion;

use crate::job::{Job, Tally};
use crate::{Fault, Outcome};

/// Runs one process of a subject.
pub(crate) fn run(job: &Job) -> Outcome<Tally> {
    match job.subject.as_str() {
        "stanchion" => stanchion::locks(job),
        "stanchion-put" => stanchion::puts(job),
        "redis-product-script" => raw_redis::product_script(job),
        "redis-minimal-pair" => raw_redis::minimal_pair(job),
        "redis-blpop" => raw_redis::blpop(job),
        "redis-hop" => hop_redis::run(job),
        #[cfg(feature = "rslock")]
        "rslock" => rslock::run(job),
        "postgres-lease" => raw_postgres::lease(job),
        "postgres-advisory" => raw_postgres::advisory(job),
        "postgres-hop" => hop_postgres::run(job),
        "flock" => flock::run(job),
        "flock-hop" => hop_flock::run(job),
        "sqlite-put" => sqlite::run(job),
        "command" => command::run(job),
        "command-rss" => command::rss(job),
        "stanchion-guard" => guard::guarded(job),
        "stanchion-claim" => guard::claimed(job),
        "stanchion-replay" => guard::replayed(job),
        "redis-guard-scripts" => raw_guard::redis(job),
        "redis-replay-script" => raw_guard::redis_replay(job),
        "postgres-guard-functions" => raw_guard::postgres(job),
        "sqlite-two-commits" => raw_guard::sqlite(job),
        mcp if mcp.starts_with("mcp-") => crate::gateway::work(job),
        unknown => Err(format!("no subject {unknown}").into()),
    }
}

/// A word of the job's place.
fn place(job: &Job, at: usize) -> Outcome<&str> {
    job.place.get(at).map(String::as_str).ok_or_else(|| Fault::from(format!("{}: place {at} is missing", job.subject)))
}
