//! HTTP upstreams, against real servers and over real connections.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

mod answers;
mod bytes;
#[cfg(unix)]
mod killed;
mod leaving;
mod lost_reply;
mod past_us;
mod questions;
mod recorded_first;
mod resumed;
mod stopping;
mod support;
#[cfg(unix)]
mod tls;
mod wire;
