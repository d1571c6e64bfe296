//! What a policy file says, what is wrong with it, and what others may know of it.

mod fuzz;
mod headers;
mod problems;
mod ready;
mod resolution;
mod schema;

use super::{PolicyError, PolicyFile};

fn parse(text: &str) -> Result<PolicyFile, PolicyError> {
    PolicyFile::parse(text, "p.toml")
}
