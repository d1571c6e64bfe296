//! The guard on real engines, with processes that are killed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

pub(crate) mod kill;
mod late;
