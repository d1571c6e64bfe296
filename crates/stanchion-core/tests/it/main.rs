//! Integration tests of the core, one binary.

mod conformance;
mod model_lease_fence;
