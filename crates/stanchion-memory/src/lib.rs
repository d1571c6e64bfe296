#![doc = include_str!("../README.md")]

mod file;
mod graph;
mod in_process;
mod jsonl;
mod memory;
#[cfg(test)]
mod samples;
mod server;
mod shared;
mod transfer;

pub use file::{Checked, Compat, FileMemory, FileOptions, check};
pub use graph::{
    Added, Addition, Deletion, Entity, EntityNotFound, Graph, Mutation, Outcome, Plan, Query, Relation, Selection,
};
pub use in_process::GraphMemory;
pub use jsonl::{Damaged, from_jsonl, to_jsonl};
pub use memory::{Changed, Memory, MemoryError, Notice};
pub use server::{MemoryServer, serve_http, serve_lines, serve_stdio};
pub use shared::SharedMemory;
pub use transfer::{Imported, export, import};
