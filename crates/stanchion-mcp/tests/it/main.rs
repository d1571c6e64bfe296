//! Tests of the gateway.

mod errors;
mod remote;
mod serve_door;
mod serve_many;
mod serve_resumed;
mod serve_sessions;
mod serve_shared;
mod serve_support;
