//! The embedded locks, 32 tasks of 4 processes want one key.

use super::{HOLDS, bench, subject};
use crate::plan::{Bench, Kind, Place};
use crate::target::Target;

const OURS: [&str; 2] = ["stanchion, durability=process", "stanchion, durability=power"];
const FLOCK: &str = "bare File::lock (no fence, no queue)";
const HOP: &str = "bare File::lock, from one process to another";

const ABOUT: &str = "4 processes × 8 tasks, one `file:` lock. The limit is `File::lock` on one file by 4 processes × 8 \
threads; it keeps no order, so at 0 ms hold a thread mostly takes over from itself. *From one process to another* is two \
processes that wake each other by unlocking: what one real change of process costs.";

pub(super) fn benches() -> Vec<Bench> {
    HOLDS.map(|(name, hold_us)| one(name, hold_us)).into()
}

fn one(name: &str, hold_us: u64) -> Bench {
    let ours = |at: usize, setting| {
        subject(OURS[at], "stanchion", Place::Folder("file:", "")).setting(setting).crowd().of(FLOCK)
    };
    let subjects = vec![
        subject(FLOCK, "flock", Place::Folder("", "")).crowd(),
        subject(HOP, "flock-hop", Place::Folder("", "")).pair().of(FLOCK),
        ours(0, "process"),
        ours(1, "power"),
    ];
    let bench = bench(format!("embedded-contended-{name}"), ABOUT, Kind::HandOff, subjects);
    let mut targets = vec![
        Target::HandOff { ours: OURS[0], limit: FLOCK, most: 5.0 },
        Target::Wait { ours: OURS[0], shares: 3.0 },
        Target::Fair { ours: OURS[0], most: 1.5 },
    ];
    targets.extend(OURS.map(|ours| Target::Exclusive { ours }));
    Bench { hold_us, targets, ..bench }
}
