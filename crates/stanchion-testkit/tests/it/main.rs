//! The testkit, tested with real servers.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod engines;
mod fault_proxy;
mod fault_proxy_http;
#[cfg(debug_assertions)]
mod pause;
mod process;
mod shared;
