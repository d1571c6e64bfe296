//! `serve`: Streamable HTTP in front of many servers, each at its own path.

mod endpoint;
mod front;
mod key;
mod remote;
mod stdio;

pub use endpoint::{Body, Endpoint, Request, Visitor, full};
pub use front::{ANONYMOUS, Principal, Serve};
pub use key::idempotency_key;
pub use remote::Remote;
pub use stdio::{Nursery, Program, StdioEndpoint, StdioLimits};
