//! Specifications, and where the targets of the tests are.

#![expect(clippy::unwrap_used, reason = "help for tests: whatever is missing fails the test")]

use std::path::PathBuf;

use stanchion_race::{Options, Outcome, Spec, Verdict, race};

/// `examples/target.rs`, which `cargo test` and `cargo nextest` build beside the tests.
pub(crate) fn target() -> String {
    let here = std::env::current_exe().unwrap();
    let file: PathBuf = here.ancestors().nth(2).unwrap().join("examples/target");
    assert!(file.is_file(), "{} is missing: build the examples of stanchion-race", file.display());
    file.to_str().unwrap().to_owned()
}

pub(crate) fn spec(text: &str) -> Spec {
    Spec::parse(text, "spec.toml").unwrap_or_else(|wrong| panic!("{wrong}\n{text}"))
}

pub(crate) async fn run(text: &str) -> Verdict {
    race(&spec(text), &Options::default()).await
}

/// Fails with the whole verdict.
#[track_caller]
pub(crate) fn must_be(verdict: &Verdict, outcome: Outcome) {
    assert_eq!(verdict.outcome, outcome, "{verdict}");
}

/// A memory server that keeps its file in the folder of the round.
pub(crate) fn memory_spec(command: &str, instances: usize, times: usize, rounds: usize, faults: &str) -> String {
    format!(
        r#"
        version = 1
        name = "memory"
        seed = 17
        [target]
        kind = "mcp-stdio"
        command = [{command}]
        env = {{ HOME = "{{dir}}", MEMORY_FILE_PATH = "{{dir}}/memory.jsonl" }}
        instances = {instances}
        start_seconds = 60
        [limits]
        calls = 100000
        seconds = 120
        rounds = {rounds}
        [[setup]]
        tool = "create_entities"
        arguments = {{ entities = [{{ name = "first", entityType = "t", observations = [] }}] }}
        [[call]]
        tool = "create_entities"
        arguments = {{ entities = [{{ name = "{{id}}", entityType = "t", observations = [] }}] }}
        times = {times}
        faults = [{faults}]
        [read]
        tool = "read_graph"
        select = "/entities/*/name"
        [expect]
        every = "{{id}}"
        unique = true
        [[teardown]]
        tool = "delete_entities"
        arguments = {{ entityNames = ["first"] }}
        "#
    )
}
