//! Integration tests of the core, one binary.

mod bad_input;
mod cas_lock;
mod chaos;
mod claim;
mod conformance;
mod election;
mod fence;
mod fingerprint;
mod guard;
mod jobs;
mod lease_machine;
mod limiter;
mod locks;
mod once;
mod redlock;
mod retry;
mod scope;
mod single_flight;
mod turn;
mod versioned;
mod wire;
