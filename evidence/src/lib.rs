//! What Stanchion promises, tried layer by layer.
//!
//! `cargo xtask evidence` runs every layer of [`LAYERS`] and writes `docs/evidence.md` from their reports.
//! One layer alone: `cargo run --release -p stanchion-evidence -- LAYER --seed 7 --seconds 60`.

#![allow(missing_docs, reason = "a public item here is public for this package's own binary and tests only")]

pub mod budget;
pub mod real;
pub mod report;

use budget::Budget;
use report::Report;

/// One way of trying the promises.
#[derive(Debug)]
pub struct Layer {
    pub name: &'static str,
    pub about: &'static str,
    pub run: fn(&Budget) -> Report,
}

/// Every layer, from the most abstract to the most real. To add one: write its module, add the line.
pub const LAYERS: &[Layer] =
    &[Layer { name: "real", about: "real processes on real engines behind the fault proxy", run: real::run }];
