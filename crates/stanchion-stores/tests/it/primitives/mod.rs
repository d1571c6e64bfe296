//! The smaller primitives on real engines, with processes that are killed and stopped.

#[macro_use]
mod engine;

mod election;
mod jobs;
mod limiter;
mod once;
mod single_flight;
mod talk;
