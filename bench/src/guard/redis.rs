//! Redis: a no-op under a fresh key and a lock, and its replay.

use std::path::Path;

use super::{bench, subject};
use crate::peers;
use crate::plan::{Bench, Kind, Place};
use crate::target::Target;

const OURS: &str = "stanchion, key and lock";
const RAW: &str = "raw redis-rs, the same two scripts";
const KEYED: &str = "stanchion, key only";
const IDEMPOTENT: &str = "idempotent 2.0.0 (key only)";
const POWERTOOLS: &str = "Powertools for Python (key only)";

const ABOUT: &str = "One guarded no-op with a fresh key and a lock per task. *Stanchion* goes through `Guard::call`: digest, \
fingerprint, claim, lock with fence, mark, record, release. *The same two scripts* is `begin.lua` and `finish.lua` with values of \
the same size, sent by redis-rs on one multiplexed connection. The peers take no lock and mark nothing as sent.";

const REPLAY: &str = "The stored answer of one key per task. Raw: `begin.lua` once, which finds the record.";

pub(super) fn benches(folder: Option<&Path>) -> Vec<Bench> {
    vec![fresh(1, 0.9, folder), fresh(64, 0.7, folder), replay(1, folder), replay(64, folder)]
}

fn fresh(tasks: usize, least: f64, folder: Option<&Path>) -> Bench {
    let mut subjects = vec![
        subject(RAW, "redis-guard-scripts", Place::Redis),
        subject(OURS, "stanchion-guard", Place::Redis).setting("process").of(RAW),
        subject(KEYED, "stanchion-claim", Place::Redis).setting("process").of(RAW),
        subject(IDEMPOTENT, "idempotent", Place::Redis).by(peers::idempotent(folder)).setting("fresh").of(RAW),
    ];
    if tasks == 1 {
        subjects.push(
            subject(POWERTOOLS, "powertools", Place::Redis).by(peers::powertools(folder)).setting("fresh").of(RAW),
        );
    }
    let subjects = subjects.into_iter().map(|s| s.tasks(tasks)).collect();
    let mut bench = bench(format!("guard-redis-{tasks}"), ABOUT, Kind::Rate, subjects);
    bench.targets =
        vec![Target::RateOf { ours: OURS, limit: RAW, least }, Target::Ahead { ours: OURS, peer: IDEMPOTENT }];
    if tasks == 1 {
        bench.targets.push(Target::Ahead { ours: OURS, peer: POWERTOOLS });
    }
    bench
}

fn replay(tasks: usize, folder: Option<&Path>) -> Bench {
    let subjects = vec![
        subject(RAW, "redis-replay-script", Place::Redis),
        subject(OURS, "stanchion-replay", Place::Redis).setting("process").of(RAW),
        subject(IDEMPOTENT, "idempotent", Place::Redis).by(peers::idempotent(folder)).setting("replay").of(RAW),
    ];
    let subjects = subjects.into_iter().map(|s| s.tasks(tasks)).collect();
    let mut bench = bench(format!("guard-redis-replay-{tasks}"), REPLAY, Kind::Rate, subjects);
    bench.targets = vec![Target::Ahead { ours: OURS, peer: IDEMPOTENT }];
    bench
}
