//! Tests of the HTTP crate, one binary.

mod key;
mod layer;
mod problem;
mod proxy;
mod template;
mod web;
mod webhook;
