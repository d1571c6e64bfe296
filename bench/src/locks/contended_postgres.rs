//! PostgreSQL, 32 tasks of 4 processes want one key.

use super::{HOLDS, bench, subject};
use crate::plan::{Bench, Kind, Place};
use crate::target::Target;

const OURS: [&str; 2] = ["stanchion, durability=process", "stanchion, durability=power"];
const HOP: [&str; 2] = ["raw NOTIFY → UPDATE, synchronous_commit=off", "raw NOTIFY → UPDATE, synchronous_commit=on"];
const ADVISORY: &str = "raw pg_advisory_lock (no lease, no fence)";

const ABOUT: &str = "4 processes × 8 tasks, one key. The limit is a hop between two clients: one notifies, the other hears it \
and updates a row; of the same durability as the line it is compared with.";

pub(super) fn benches() -> Vec<Bench> {
    HOLDS.map(|(name, hold_us)| one(name, hold_us)).into()
}

fn one(name: &str, hold_us: u64) -> Bench {
    let subjects = vec![
        subject(HOP[0], "postgres-hop", Place::Postgres).setting("off").pair(),
        subject(OURS[0], "stanchion", Place::Postgres).setting("process").crowd().of(HOP[0]),
        subject(HOP[1], "postgres-hop", Place::Postgres).setting("on").pair(),
        subject(OURS[1], "stanchion", Place::Postgres).setting("power").crowd().of(HOP[1]),
        subject(ADVISORY, "postgres-advisory", Place::Postgres).setting("on").crowd().of(HOP[0]),
    ];
    let bench = bench(format!("postgres-contended-{name}"), ABOUT, Kind::HandOff, subjects);
    let mut targets = vec![];
    for (ours, limit) in OURS.into_iter().zip(HOP) {
        targets.push(Target::HandOff { ours, limit, most: 3.0 });
        targets.push(Target::Wait { ours, shares: 3.0 });
        targets.push(Target::Fair { ours, most: 1.5 });
        targets.push(Target::Exclusive { ours });
    }
    Bench { hold_us, targets, ..bench }
}
