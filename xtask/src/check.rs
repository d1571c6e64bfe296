//! `cargo xtask check`: documents that name what is there, and crates that know only whom they may.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::shell::{Outcome, capture, step, workspace};

/// Documents whose backticked paths must exist.
const DOCUMENTS: &[&str] =
    &["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "docs/guarantees.md", "docs/benchmarks.md"];

/// `crate` must not reach any of `never`, with all its features on.
const FORBIDDEN: &[(&str, &[&str])] = &[
    (
        "stanchion-core",
        &["hyper", "redis", "tokio-postgres", "rusqlite", "rustls", "clap", "mio", "socket2", "stanchion-stores"],
    ),
    ("stanchion-stores", &["clap", "stanchion-mcp", "stanchion-http", "openssl-sys", "aws-lc-sys"]),
];

pub(crate) fn run(_: &[String]) -> Outcome {
    step("paths in documents", paths)?;
    step("forbidden dependencies", dependencies)
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

fn dependencies() -> Outcome {
    let mut found = Vec::new();
    for (name, never) in FORBIDDEN {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args([
            "tree",
            "--edges",
            "normal",
            "--all-features",
            "--prefix",
            "none",
            "--format",
            "{p}",
            "--package",
            name,
        ]);
        let tree = capture(command.current_dir(workspace()))?;
        let names: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
        found.extend(
            never.iter().filter(|never| names.contains(*never)).map(|never| format!("{name} depends on {never}")),
        );
    }
    if found.is_empty() { Ok(()) } else { Err(found.join("\n")) }
}
