#![doc = include_str!("../README.md")]

mod answer;
pub mod calls;
mod flight;
mod frame;
#[cfg(test)]
mod fuzz_tests;
mod gate;
mod hints;
mod lines;
mod outlet;
pub mod policy;
mod problem;
mod questions;
mod rule;
pub mod serve;
mod session;
pub mod splice;
pub mod stdio;
mod template;
mod tool_call;

pub use answer::{KEPT_RESULT, frame_of};
pub use flight::{Cancelled, Flight};
pub use frame::{BadFrame, Frame, Id, Kind};
pub use gate::{Answered, Caller, Gate, Guarded, Outgoing, Sent};
pub use outlet::{Outlet, Sink};
pub use problem::{Problem, ProblemKind};
pub use rule::{Fencing, KeySources, Locking, Rate, Rule};
pub use session::{Client, Session};
pub use template::ArgumentTemplate;
pub use tool_call::{KEY_NAMES, chosen_key};
