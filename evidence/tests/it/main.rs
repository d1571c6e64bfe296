//! A short form of each layer, for every run of the tests.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod crash;
mod gateway;
mod model_claim;
mod model_lease_fence;
mod model_redlock;
mod models;
mod museum;
mod page;
mod real;
mod schedules;
mod simulation;
