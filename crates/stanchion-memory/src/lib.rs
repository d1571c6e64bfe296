#![doc = include_str!("../README.md")]

mod graph;
mod jsonl;
mod memory;

pub use graph::{
    Added, Addition, Deletion, Entity, EntityNotFound, Graph, Mutation, Outcome, Plan, Query, Relation, Selection,
};
pub use jsonl::{Damaged, from_jsonl, to_jsonl};
pub use memory::{Changed, Memory, MemoryError, Notice};
