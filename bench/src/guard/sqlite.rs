//! The embedded store: a no-op under a fresh key, against two raw commits.

use super::{bench, subject};
use crate::plan::{Bench, Kind, Place};
use crate::target::Target;

const OURS: [&str; 2] = ["stanchion, key (durability=process)", "stanchion, key (durability=power)"];
const LOCKED: [&str; 2] = ["stanchion, key and lock (process)", "stanchion, key and lock (power)"];
const RAW: [&str; 2] = ["two raw commits, NORMAL", "two raw commits, FULL"];
const FRESH: [&str; 2] = ["two raw commits of a fresh row, NORMAL", "two raw commits of a fresh row, FULL"];

const ABOUT: &str = "One guarded no-op with a fresh key on the embedded store; the second line adds a kernel lock of its own, with its \
fence. Raw: two upserts of 600 bytes into one and the same row, each in BEGIN IMMEDIATE … COMMIT, one connection, WAL; *of a fresh row*: the \
first inserts under a random key, as a claim does, the second updates it.";

pub(super) fn benches() -> Vec<Bench> {
    let place = || Place::Folder("sqlite:", "/store.db");
    let mut subjects = Vec::new();
    for (at, (raw, durability)) in [("NORMAL", "process"), ("FULL", "power")].into_iter().enumerate() {
        subjects.push(subject(RAW[at], "sqlite-two-commits", Place::Folder("", "/raw.db")).setting(raw));
        let fresh = if at == 0 { "fresh NORMAL" } else { "fresh FULL" };
        subjects
            .push(subject(FRESH[at], "sqlite-two-commits", Place::Folder("", "/fresh.db")).setting(fresh).of(RAW[at]));
        subjects.push(subject(OURS[at], "stanchion-claim", place()).setting(durability).of(RAW[at]));
        subjects.push(subject(LOCKED[at], "stanchion-guard", place()).setting(durability).of(RAW[at]));
    }
    let mut bench = bench("guard-sqlite".into(), ABOUT, Kind::Rate, subjects);
    bench.targets = [OURS[0], LOCKED[0]].map(|ours| Target::RateOf { ours, limit: RAW[0], least: 0.5 }).into();
    vec![bench]
}
