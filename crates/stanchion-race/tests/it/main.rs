//! Races against real targets, and targets that are none; histories that are right and wrong.

mod auto;
mod bad_targets;
mod check;
mod fuzz;
mod http;
mod linear;
mod memory;
mod runs_on;
mod support;
