//! The embedded locks, nobody contends: acquire + release in one process.

use super::{bench, subject};
use crate::plan::{Bench, Kind, Place};
use crate::target::Target;

const OURS: [&str; 2] = ["stanchion, durability=process", "stanchion, durability=power"];
const FLOCK: &str = "bare File::lock (no fence, no queue)";

const ABOUT: &str = "Acquire + release of `file:` locks by one task of one process, through `Locks`; the fence is on disk at \
durability=power.";

pub(super) fn benches() -> Vec<Bench> {
    let ours =
        |at: usize, setting| subject(OURS[at], "stanchion", Place::Folder("file:", "")).setting(setting).of(FLOCK);
    let subjects = vec![subject(FLOCK, "flock", Place::Folder("", "")), ours(0, "process"), ours(1, "power")];
    let bench = bench("embedded-1".into(), ABOUT, Kind::Rate, subjects);
    vec![Bench { targets: vec![Target::Rate { ours: OURS[0], least: 50_000.0 }], ..bench }]
}
