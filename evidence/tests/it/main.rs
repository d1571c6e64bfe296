//! A short form of each layer, for every run of the tests.

mod museum;
mod simulation;
//! The short form of every layer, one binary.
mod model_claim;
mod model_lease_fence;
mod model_redlock;
mod models;
mod schedules;
//! A short form of each layer.
mod real;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod crash;
