//! What Stanchion's tests stand on: private real servers, a fault proxy, helper processes and patient waiting.
//!
//! | need | use |
//! |---|---|
//! | a real Redis, Valkey, PostgreSQL or PgBouncer | [`engines`] |
//! | the same one for many tests | [`engines::Shared`] |
//! | a real MCP server, client or conformance suite | [`peers`] |
//! | a network that loses replies at a chosen moment | [`FaultProxy`] |
//! | the same between a client and a server on pipes | [`StdioPort`] |
//! | another process to kill or freeze | [`process::Child`] |
//! | to wait for something | [`eventually`](fn@eventually), [`eventually_sync`] |
//! | to hold a task between two steps | [`pause`] |
//! | to read mutated inputs | [`fuzz`] |
//! | to kill guarded calls anywhere, and judge what is left | [`kill_harness`] |
//!
//! Everything here panics with a reason instead of returning errors: it is made for tests.

pub mod conformance;
pub mod engines;
mod eventually;
mod fault_proxy;
pub mod fuzz;
pub mod kill_harness;
pub mod pause;
pub mod peers;
pub mod process;
mod stdio_port;

pub use eventually::{eventually, eventually_sync};
pub use fault_proxy::{Counts, Fault, FaultProxy, Message, Plan, Protocol, Rates};
pub use pause::pause_point;
pub use stdio_port::StdioPort;
