//! The binary as its users meet it, one test binary.

mod bad_input;
mod calls;
mod claims;
mod conformance;
mod demo;
mod doctor;
mod gateway_stores;
mod help;
mod http_client;
mod init;
mod lock;
mod lost;
mod memory;
mod memory_clients;
mod once_leader;
mod policy;
mod proxy;
mod real_clients;
mod run;
mod serve;
mod signals;
mod stdio_client;
mod support;
mod upstream_headers;
mod wrap;
mod wrap_hard;
