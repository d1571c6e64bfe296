//! Every promise in `docs/guarantees.md` names the test that shows it; a name that did not pass is an error.

use std::collections::BTreeSet;
use std::fs;

use crate::check::quoted;
use crate::shell::{Outcome, say, workspace};

/// Compares the tests that the document names with those that passed.
pub(crate) fn compare(passed: &BTreeSet<String>, skipped: &[String]) -> Outcome {
    let file = workspace().join("docs/guarantees.md");
    let text = fs::read_to_string(&file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
    let named: BTreeSet<&str> = quoted(&text).filter(|word| is_test(word)).collect();
    if named.is_empty() {
        return Err("docs/guarantees.md names no test at all".to_owned());
    }
    let was_skipped =
        |name: &&&str| skipped.iter().any(|line| line.split(": ").next().is_some_and(|test| test.ends_with(**name)));
    let (unseen, missing): (Vec<&str>, Vec<&str>) = named
        .iter()
        .filter(|name| !passed.iter().any(|test| matches(test, name)) || was_skipped(name))
        .partition(|name| was_skipped(name));
    unseen.iter().for_each(|name| say(&format!("    not shown on this machine: {name}")));
    if missing.is_empty() {
        say(&format!("    {} promises, each shown by a test that passed", named.len() - unseen.len()));
        return Ok(());
    }
    Err(format!("docs/guarantees.md names tests that did not pass: {}", missing.join(", ")))
}

/// A path of a test: lower-case words joined by `::`.
fn is_test(word: &str) -> bool {
    word.contains("::") && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_:".contains(c))
}

fn matches(test: &str, name: &str) -> bool {
    test == name || test.strip_suffix(name).is_some_and(|before| before.ends_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_count() {
        assert!(matches("redis::conformance::one_exclusive_holder", "conformance::one_exclusive_holder"));
        assert!(!matches("redis::conformance::not_one_exclusive_holder", "one_exclusive_holder"));
        assert!(is_test("redis::lost_reply") && !is_test("Locks::acquire") && !is_test("cargo xtask"));
    }
}
