//! PostgreSQL: a no-op under a fresh key and a lock.

use super::{bench, subject};
use crate::plan::{Bench, Kind, Place};
use crate::target::Target;

const OURS: &str = "stanchion, key and lock";
const RAW: &str = "raw tokio-postgres, the same two functions";

const ABOUT: &str = "One guarded no-op with a fresh key and a lock per task, fsync on: both trips are durable commits. *The same two \
functions* is `fused_begin` and `fused_finish` with values of the same size, prepared, on as many connections as Stanchion's pool has \
(four), each pipelined.";

pub(super) fn benches() -> Vec<Bench> {
    [(1, 0.9), (64, 0.7)].map(|(tasks, least)| one(tasks, least)).into()
}

fn one(tasks: usize, least: f64) -> Bench {
    let subjects = vec![
        subject(RAW, "postgres-guard-functions", Place::Postgres),
        subject(OURS, "stanchion-guard", Place::Postgres).setting("process").of(RAW),
    ];
    let subjects = subjects.into_iter().map(|s| s.tasks(tasks)).collect();
    let mut bench = bench(format!("guard-postgres-{tasks}"), ABOUT, Kind::Rate, subjects);
    bench.targets = vec![Target::RateOf { ours: OURS, limit: RAW, least }];
    bench
}
