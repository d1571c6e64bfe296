//! The subjects in Rust. Those in other languages are in `bench/peers`.

mod command;
mod flock;
mod guard;
mod hop;
mod hop_flock;
mod hop_postgres;
mod hop_redis;
mod raw_consul;
mod raw_dynamodb;
mod raw_etcd;
mod raw_guard;
mod raw_mysql;
mod raw_nats;
mod raw_postgres;
mod raw_redis;
mod raw_redlock;
mod raw_zookeeper;
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
        "mysql-lease" => raw_mysql::lease(job),
        "mysql-get-lock" => raw_mysql::get_lock(job),
        "etcd-pair" => raw_etcd::pair(job),
        "etcd-lock-service" => raw_etcd::service(job),
        "etcd-hop" => raw_etcd::hop(job),
        "zookeeper-line" => raw_zookeeper::line(job),
        "zookeeper-recipe" => raw_zookeeper::recipe(job),
        "zookeeper-hop" => raw_zookeeper::hop(job),
        "consul-pair" => raw_consul::pair(job),
        "consul-hop" => raw_consul::hop(job),
        "nats-pair" => raw_nats::pair(job),
        "nats-hop" => raw_nats::hop(job),
        "dynamodb-pair" => raw_dynamodb::pair(job),
        "redlock-nodes" => raw_redlock::run(job),
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

/// The Redis nodes of a place: one, or those of a `redlock:` URL.
fn nodes(job: &Job) -> Outcome<Vec<String>> {
    let place = place(job, 0)?;
    let Some(several) = place.strip_prefix("redlock://") else { return Ok(vec![place.to_owned()]) };
    let addresses = several.split(['/', '?']).next().unwrap_or_default();
    Ok(addresses.split(',').map(|address| format!("redis://{address}/")).collect())
}

/// `host:port` of a place.
fn address(job: &Job) -> Outcome<&str> {
    let found = place(job, 0)?.split(['?', '/', '@']).find(|part| part.contains(':') && !part.ends_with(':'));
    found.ok_or_else(|| Fault::from(format!("{}: no address", job.subject)))
}
