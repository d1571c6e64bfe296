//! What other people's crates may be: by licence, by name, by where they come from, and who may know whom.
//!
//! `cargo tree` and the lock file say all of it, in a second and without anything to install.

use std::collections::BTreeSet;
use std::fs;

use crate::shell::{Outcome, capture, cargo, workspace};

/// Permissive licences only: Stanchion is linked into other people's products.
const LICENCES: [&str; 11] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-3-Clause",
    "BSL-1.0",
    "CDLA-Permissive-2.0", // a list of certificates
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Nowhere in the workspace: one TLS library, rustls with ring. The second of these needs cmake as well.
const BANNED: [&str; 2] = ["openssl-sys", "aws-lc-sys"];

/// `crate` must not reach any of `never`, with all its features on.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("stanchion-audit", &["stanchion-core", "stanchion-stores", "stanchion-mcp", "stanchion-http", "tokio", "clap"]),
    (
        "stanchion-core",
        &["hyper", "redis", "tokio-postgres", "rusqlite", "rustls", "clap", "mio", "socket2", "stanchion-stores"],
    ),
    ("stanchion-stores", &["clap", "stanchion-mcp", "stanchion-http"]),
];

/// Licences, banned names, and sources other than the one registry.
pub(crate) fn allowed() -> Outcome {
    let tree = tree(&["--workspace", "--target", "all", "--edges", "normal,build,dev", "--format", "{p}|{l}"])?;
    let mut wrong = BTreeSet::new();
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let (package, licence) = line.trim_end_matches(" (*)").split_once('|').unwrap_or((line, ""));
        if !permits(licence) {
            wrong.insert(format!("{package}: licence {licence:?} is not on the list"));
        }
        if BANNED.contains(&name(package)) {
            wrong.insert(format!("{package} is banned"));
        }
    }
    let lock =
        fs::read_to_string(workspace().join("Cargo.lock")).map_err(|e| format!("cannot read Cargo.lock: {e}"))?;
    let sources = lock.lines().filter_map(|line| line.strip_prefix("source = "));
    wrong
        .extend(sources.filter(|source| !is_the_registry(source)).map(|source| format!("a crate comes from {source}")));
    verdict(wrong)
}

/// Who knows whom.
pub(crate) fn edges() -> Outcome {
    let mut wrong = BTreeSet::new();
    for (package, never) in FORBIDDEN {
        let tree = tree(&["--package", package, "--edges", "normal", "--format", "{p}"])?;
        let names: BTreeSet<&str> = tree.lines().map(name).collect();
        wrong.extend(never.iter().filter(|n| names.contains(*n)).map(|never| format!("{package} depends on {never}")));
    }
    verdict(wrong)
}

fn tree(args: &[&str]) -> Outcome<String> {
    capture(cargo(&["tree", "--locked", "--all-features", "--prefix", "none"]).args(args))
}

fn name(package: &str) -> &str {
    package.split(' ').next().unwrap_or(package)
}

fn is_the_registry(source: &str) -> bool {
    source.trim_matches('"').starts_with("registry+") && source.contains("/crates.io-index")
}

/// Every part of an AND, and one alternative of each OR, is on the list. Some old crates write `/` for OR.
fn permits(expression: &str) -> bool {
    let text = expression.replace(" / ", " OR ").replace('/', " OR ");
    text.split(" AND ").all(|part| {
        let part = part.trim().trim_start_matches('(').trim_end_matches(')');
        part.split(" OR ").any(|licence| LICENCES.contains(&licence.trim()))
    })
}

fn verdict(wrong: BTreeSet<String>) -> Outcome {
    if wrong.is_empty() { Ok(()) } else { Err(wrong.into_iter().collect::<Vec<_>>().join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alternative_is_enough_and_a_part_is_not() {
        for good in ["MIT", "GPL-3.0 OR MIT", "Apache-2.0/MIT", "(MIT OR GPL-2.0) AND Unicode-3.0"] {
            assert!(permits(good), "{good}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "AGPL-3.0 OR SSPL-1.0"] {
            assert!(!permits(bad), "{bad}");
        }
    }

    #[test]
    fn a_crate_from_elsewhere_is_seen() {
        assert!(is_the_registry("\"registry+https://github.com/rust-lang/crates.io-index\""));
        assert!(!is_the_registry("\"git+https://example.org/x\""));
        assert!(!is_the_registry("\"registry+https://example.org/index\""));
    }
}
