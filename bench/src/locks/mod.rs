//! The benchmarks of locks, one file each.

mod command_line;
mod contended_embedded;
mod contended_postgres;
mod contended_redis;
mod embedded;
mod postgres;
mod redis;
mod sqlite;
pub(crate) mod stores;

use crate::Outcome;
use crate::arguments::Options;
use crate::engines::Engines;
use crate::plan::Bench;
use crate::suite::{Suite, bench, subject};

/// The holds of the contended benchmarks, with their names.
const HOLDS: [(&str, u64); 2] = [("0ms", 0), ("1ms", 1000)];

pub(crate) const SUITE: Suite = Suite { name: "locks", title: "Locks", benches };

fn benches(options: &Options, engines: &Engines) -> Outcome<Vec<Bench>> {
    let folder = options.peers.as_deref();
    let mut benches = Vec::new();
    benches.extend(redis::benches(folder));
    benches.extend(contended_redis::benches(folder));
    benches.extend(postgres::benches());
    benches.extend(contended_postgres::benches());
    benches.extend(embedded::benches());
    benches.extend(contended_embedded::benches());
    benches.extend(sqlite::benches());
    benches.extend(command_line::benches(engines)?);
    Ok(benches)
}
