//! Finds races in source code.

mod audit;
pub mod baseline;
pub mod catalogue;
pub mod checklist;
pub mod config;
pub mod deploy;
pub mod diff;
mod engine;
pub mod error;
pub mod finding;
pub mod format;
pub mod frontend;
pub mod hir;
mod models;
mod pipeline;
pub mod probe;
mod program;
mod resolve;
mod rules;
mod schema;
mod sql;
pub mod suppress;
mod trial;
mod walk;

pub use self::pipeline::{Audited, audit};
pub use self::trial::{Tried, try_files, try_hits};
