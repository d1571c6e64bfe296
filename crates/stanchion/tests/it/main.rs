//! The binary as its users meet it, one test binary.

mod bad_input;
mod demo;
mod help;
mod lock;
mod lost;
mod run;
mod signals;
mod support;
