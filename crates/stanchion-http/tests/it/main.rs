//! Tests of the HTTP crate, one binary.

mod fuzz;
mod key;
mod layer;
mod problem;
mod proxy;
mod template;
mod web;
mod webhook;
