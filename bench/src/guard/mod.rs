//! The benchmarks of guarded calls, one file each.

mod postgres;
mod redis;
mod sqlite;

use crate::Outcome;
use crate::arguments::Options;
use crate::engines::Engines;
use crate::plan::Bench;
use crate::suite::{Suite, bench, subject};

pub(crate) const SUITE: Suite = Suite { name: "guard", title: "Guarded calls", benches };

fn benches(options: &Options, _: &Engines) -> Outcome<Vec<Bench>> {
    let folder = options.peers.as_deref();
    let mut benches = redis::benches(folder);
    benches.extend(postgres::benches());
    benches.extend(sqlite::benches());
    Ok(benches)
}
