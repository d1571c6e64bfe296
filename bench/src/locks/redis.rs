//! Redis, nobody contends: acquire + release of one key per task.

use std::path::Path;

use super::{bench, subject};
use crate::peers;
use crate::plan::{Bench, Kind, Place};
use crate::target::Target;

const OURS: &str = "stanchion";
const RAW: &str = "raw redis-rs, the same script";
const MINIMAL: &str = "raw redis-rs, minimal scripts";

const ABOUT: &str = "Acquire + release on one Redis, a key per task. *Stanchion* goes through `Locks`: fence, renewal, \
metrics. *The same script* is Stanchion's own `locks.lua`, one EVALSHA per step with prepared arguments on one multiplexed \
connection; *minimal scripts* is SET NX PX + INCR for a fence, and compare-and-delete. The peers mint no fence; redis-py \
runs its asyncio client when there are several tasks.";

pub(super) fn benches(folder: Option<&Path>) -> Vec<Bench> {
    [1, 64].map(|tasks| one(tasks, folder)).into()
}

fn one(tasks: usize, folder: Option<&Path>) -> Bench {
    let subjects = vec![
        subject(RAW, "redis-product-script", Place::Redis),
        subject(OURS, "stanchion", Place::Redis).setting("process").of(RAW),
        subject(MINIMAL, "redis-minimal-pair", Place::Redis).of(RAW),
        subject(peers::RSLOCK, "rslock", Place::Redis).by(peers::rslock()).of(RAW),
        subject(peers::REDIS_PY, "redis-py", Place::Redis).by(peers::redis_py(folder)).of(RAW),
        subject(peers::REDLOCK, "redlock", Place::Redis).by(peers::redlock(folder)).of(RAW),
    ];
    let subjects = subjects.into_iter().map(|s| s.tasks(tasks)).collect();
    let mut bench = bench(format!("redis-{tasks}"), ABOUT, Kind::Rate, subjects);
    bench.targets = vec![Target::RateOf { ours: OURS, limit: RAW, least: 0.9 }];
    bench.targets.extend(peers::ALL.map(|peer| Target::Ahead { ours: OURS, peer }));
    bench
}
