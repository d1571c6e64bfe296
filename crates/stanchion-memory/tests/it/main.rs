//! One test binary.

mod conformance;
mod file;
mod file_processes;
mod fuzz;
mod server;
mod shared;
mod shared_processes;
mod shared_transfer;
mod shared_turns;
