//! The binary as its users meet it, one test binary.

mod bad_input;
mod claims;
mod demo;
mod help;
mod lock;
mod lost;
mod once_leader;
mod proxy;
mod run;
mod signals;
mod support;
