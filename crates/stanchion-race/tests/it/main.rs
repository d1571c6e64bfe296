//! Races against real targets, and targets that are none.

mod bad_targets;
mod http;
mod memory;
mod support;
