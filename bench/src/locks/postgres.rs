//! PostgreSQL, nobody contends: a lease row per task.

use super::{bench, subject};
use crate::plan::{Bench, Kind, Place};
use crate::target::Target;

const OURS: [&str; 2] = ["stanchion, durability=process", "stanchion, durability=power"];
const RAW: [&str; 2] = ["raw lease row, synchronous_commit=off", "raw lease row, synchronous_commit=on"];
const ADVISORY: &str = "raw pg_advisory_lock (no lease, no fence)";

const ABOUT: &str = "Acquire + release on PostgreSQL with fsync, a key per task. The raw lease row is one INSERT … ON CONFLICT \
DO UPDATE with a fence from a sequence and one UPDATE, prepared, on one connection per task: the limit of the same \
durability. Stanchion goes through `Locks` and its own small pool.";

pub(super) fn benches() -> Vec<Bench> {
    [1, 32].map(one).into()
}

fn one(tasks: usize) -> Bench {
    let subjects = vec![
        subject(RAW[0], "postgres-lease", Place::Postgres).setting("off"),
        subject(OURS[0], "stanchion", Place::Postgres).setting("process").of(RAW[0]),
        subject(RAW[1], "postgres-lease", Place::Postgres).setting("on"),
        subject(OURS[1], "stanchion", Place::Postgres).setting("power").of(RAW[1]),
        subject(ADVISORY, "postgres-advisory", Place::Postgres).setting("on").of(RAW[0]),
    ];
    let subjects = subjects.into_iter().map(|s| s.tasks(tasks)).collect();
    let bench = bench(format!("postgres-{tasks}"), ABOUT, Kind::Rate, subjects);
    let targets = (0..2).map(|at| Target::RateOf { ours: OURS[at], limit: RAW[at], least: 0.9 }).collect();
    Bench { targets, ..bench }
}
