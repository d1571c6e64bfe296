//! Redis, 32 tasks of 4 processes want one key.

use std::path::Path;

use super::{HOLDS, bench, subject};
use crate::peers;
use crate::plan::{Bench, Kind, Place};
use crate::target::Target;

const OURS: &str = "stanchion";
const HOP: &str = "raw PUBLISH → SET";
const TOKEN: &str = "raw BLPOP token (no lease, no fence)";

const ABOUT: &str = "4 processes × 8 tasks, one key. The limit is a hop between two clients: one publishes, the other hears \
it and does a SET. The peers wait by polling with their own delays (rslock 200 ms, redis-py 100 ms, redlock 200 ± 100 ms) \
and without an end.";

pub(super) fn benches(folder: Option<&Path>) -> Vec<Bench> {
    HOLDS.map(|(name, hold_us)| one(name, hold_us, folder)).into()
}

fn one(name: &str, hold_us: u64, folder: Option<&Path>) -> Bench {
    let subjects = vec![
        subject(HOP, "redis-hop", Place::Redis).pair(),
        subject(OURS, "stanchion", Place::Redis).setting("process").crowd().of(HOP),
        subject(TOKEN, "redis-blpop", Place::Redis).crowd().of(HOP),
        subject(peers::RSLOCK, "rslock", Place::Redis).by(peers::rslock()).crowd().of(HOP),
        subject(peers::REDIS_PY, "redis-py", Place::Redis).by(peers::redis_py(folder)).crowd().of(HOP),
        subject(peers::REDLOCK, "redlock", Place::Redis).by(peers::redlock(folder)).crowd().of(HOP),
    ];
    let bench = bench(format!("redis-contended-{name}"), ABOUT, Kind::HandOff, subjects);
    let targets = vec![
        Target::HandOff { ours: OURS, limit: HOP, most: 3.0 },
        Target::Wait { ours: OURS, shares: 3.0 },
        Target::Fair { ours: OURS, most: 1.5 },
        Target::Exclusive { ours: OURS },
    ];
    Bench { hold_us, targets, ..bench }
}
