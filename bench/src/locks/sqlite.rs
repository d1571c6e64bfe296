//! Records of the embedded store: conditional puts.

use super::{bench, subject};
use crate::plan::{Bench, Kind, Place};

const OURS: [&str; 2] = ["stanchion, NORMAL (durability=process)", "stanchion, FULL (durability=power)"];
const RAW: [&str; 2] = ["raw rusqlite with a flock queue, NORMAL", "raw rusqlite with a flock queue, FULL"];

const ABOUT: &str = "Puts of 100 bytes, a key per task, each conditional on the version before; raw: one upsert in BEGIN \
IMMEDIATE … COMMIT behind a flock, one connection and thread per task. WAL in both.";

pub(super) fn benches() -> Vec<Bench> {
    [("sqlite-puts-1", 1, 1), ("sqlite-puts-4x8", 4, 8)]
        .map(|(name, processes, tasks)| one(name, processes, tasks))
        .into()
}

fn one(name: &str, processes: usize, tasks: usize) -> Bench {
    let raw = |at: usize, setting| subject(RAW[at], "sqlite-put", Place::Folder("", "/raw.db")).setting(setting);
    let ours =
        |at: usize, setting| subject(OURS[at], "stanchion-put", Place::Folder("sqlite:", "/store.db")).setting(setting);
    let mut subjects =
        vec![raw(0, "NORMAL"), ours(0, "process").of(RAW[0]), raw(1, "FULL"), ours(1, "power").of(RAW[1])];
    for subject in &mut subjects {
        (subject.processes, subject.tasks) = (processes, tasks);
    }
    bench(name.into(), ABOUT, Kind::Rate, subjects)
}
