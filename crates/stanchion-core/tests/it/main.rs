//! Integration tests of the core, one binary.

mod bad_input;
mod chaos;
mod conformance;
mod lease_machine;
mod locks;
mod model_lease_fence;
mod retry;
mod scope;
mod versioned;
