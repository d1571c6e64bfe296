//! What Stanchion promises, tried layer by layer.
//!
//! `cargo xtask evidence` runs every layer of [`LAYERS`] and writes `docs/evidence.md` from their reports.
//! One layer alone: `cargo run --profile evidence -p stanchion-evidence -- LAYER --seed 7 --seconds 60`.

#![allow(missing_docs, reason = "a public item here is public for this package's own binary and tests only")]

pub mod budget;
pub mod command;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod crash;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
#[path = "crash/elsewhere.rs"]
pub mod crash;
pub mod document;
pub mod gateway;
pub mod models;
pub mod museum;
pub mod real;
pub mod report;
pub mod schedules;
pub mod simulation;
pub mod worker;

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
pub const LAYERS: &[Layer] = &[
    Layer {
        name: "models",
        about: "every order of everything that can happen to a few clients, over the real sans-IO cores",
        run: models::run,
    },
    Layer {
        name: "simulation",
        about: "seeded worlds of clients, engines, networks and clocks around the sans-IO cores, with every fault of the matrix",
        run: simulation::run,
    },
    Layer {
        name: "schedules",
        about: "the real async code in every order of its steps, with callers that are dropped at any await",
        run: schedules::run,
    },
    Layer {
        name: "gateway",
        about: "the real gateway code between simulated pipes, servers and ways to a store, under kills and losses",
        run: gateway::run,
    },
    Layer { name: "real", about: "real processes on real engines behind the fault proxy", run: real::run },
    Layer { name: "crash", about: "a kill or a failing disk at every write, rename, sync and lock", run: crash::run },
    Layer { name: "museum", about: "planted bugs: each must be found, and nothing without them", run: museum::run },
];
