//! `cargo xtask check`: documents that name what is there, and crates that are and know only what they may.

use std::fs;

use crate::dependencies;
use crate::rules;
use crate::shell::{Outcome, step, workspace};

/// Documents whose backticked paths must exist.
const DOCUMENTS: &[&str] =
    &["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "docs/audit.md", "docs/guarantees.md", "docs/benchmarks.md"];

pub(crate) fn run(_: &[String]) -> Outcome {
    step("paths in documents", paths)?;
    step("rule pages", rules::current)?;
    step("licences, bans and sources", dependencies::allowed)?;
    step("forbidden dependencies", dependencies::edges)
}

fn paths() -> Outcome {
    let mut missing = Vec::new();
    for document in DOCUMENTS {
        let text =
            fs::read_to_string(workspace().join(document)).map_err(|e| format!("cannot read {document}: {e}"))?;
        for path in quoted(&text).filter(|word| looks_like_a_path(word)) {
            // `crates/…/versioned.rs`, `sql.rs`: a bare second name stands beside the first; only full paths are checked.
            if !workspace().join(path).exists() {
                missing.push(format!("{document}: `{path}` does not exist"));
            }
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(missing.join("\n")) }
}

/// What stands between backticks, outside of code blocks.
pub(crate) fn quoted(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|part| part.split('`').skip(1).step_by(2))
}

fn looks_like_a_path(word: &str) -> bool {
    let tops = ["crates/", "docs/", "xtask/", "bench/", "examples/", ".ci/", ".config/"];
    tops.iter().any(|top| word.starts_with(top)) && !word.contains([' ', '*', '<', '{', '…'])
}
