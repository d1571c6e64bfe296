//! `cargo xtask fuzz TARGET [--seconds N] [--seed S] [--replay FILE]`: mutated inputs through whatever reads them, built for release.

use std::ffi::OsString;

use crate::shell::{Outcome, cargo, say, workspace};

struct Target {
    name: &'static str,
    about: &'static str,
    package: &'static str,
    /// Which of the package's tests are built: `--lib`, or `--test it`.
    tests: &'static [&'static str],
    test: &'static str,
}

const LIB: &[&str] = &["--lib"];
const IT: &[&str] = &["--test", "it"];

/// Every target is a test, of which a short run is part of all tests. To add one: write it with `stanchion_testkit::fuzz`, add the line.
const TARGETS: &[Target] = &[
    target(
        "audit",
        "programs, the whole way to reports",
        "stanchion-audit",
        IT,
        "fuzz::mutated_programs_break_nothing",
    ),
    target(
        "codecs",
        "the fault proxy's protocols",
        "stanchion-testkit",
        LIB,
        "fault_proxy::fuzz_tests::mutated_conversations_break_no_codec",
    ),
    target(
        "frames",
        "JSON-RPC messages",
        "stanchion-mcp",
        LIB,
        "fuzz_tests::mutated_messages_are_looked_at_and_not_changed",
    ),
    target(
        "pump",
        "what the gateway passes on",
        "stanchion-mcp",
        LIB,
        "fuzz_tests::mutated_messages_pass_the_pump_byte_for_byte",
    ),
    target(
        "policy",
        "policy files",
        "stanchion-mcp",
        LIB,
        "policy::tests::fuzz::mutated_policies_are_read_or_refused_with_a_place",
    ),
    target("urls", "store URLs", "stanchion-stores", IT, "fuzz::mutated_urls_show_no_secret_and_say_what_they_show"),
    target("jsonl", "memory files, read", "stanchion-memory", IT, "fuzz::mutated_files_are_read_without_silence"),
    target(
        "jsonl-file",
        "memory files, written",
        "stanchion-memory",
        IT,
        "fuzz::mutated_files_are_written_without_loss",
    ),
    target(
        "key",
        "the Idempotency-Key header",
        "stanchion-http",
        IT,
        "fuzz::mutated_keys_are_read_as_they_are_meant_or_refused",
    ),
    target(
        "spec",
        "race specifications",
        "stanchion-race",
        IT,
        "fuzz::mutated_specifications_are_read_or_refused_with_a_place",
    ),
    target("schedule", "race schedules", "stanchion-race", IT, "fuzz::mutated_schedules_are_read_as_they_are_written"),
];

const fn target(
    name: &'static str,
    about: &'static str,
    package: &'static str,
    tests: &'static [&'static str],
    test: &'static str,
) -> Target {
    Target { name, about, package, tests, test }
}

fn usage() -> String {
    let targets: Vec<_> = TARGETS.iter().map(|target| format!("  {:<11}{}", target.name, target.about)).collect();
    format!("what? `cargo xtask fuzz TARGET [--seconds N] [--seed S] [--replay FILE]`\n{}", targets.join("\n"))
}

pub(crate) fn run(args: &[String]) -> Outcome {
    let [what, options @ ..] = args else { return Err(usage()) };
    let Some(target) = TARGETS.iter().find(|target| target.name == what) else { return Err(usage()) };
    if options.len() % 2 != 0 {
        return Err(usage());
    }
    let kept = workspace().join("target").join(format!("fuzz-{}", target.name));
    let mut settings = vec![("STANCHION_FUZZ_SECONDS", OsString::from("60"))];
    for pair in options.chunks(2) {
        let [name, value] = pair else { return Err(usage()) };
        let number = || value.parse::<u64>().map_err(|_| format!("`{value}` is no number; {}", usage()));
        settings.push(match name.as_str() {
            "--seconds" => ("STANCHION_FUZZ_SECONDS", number()?.to_string().into()),
            "--seed" => ("STANCHION_FUZZ_SEED", number()?.to_string().into()),
            "--replay" => {
                let path = std::path::absolute(value).map_err(|e| format!("{value}: {e}"))?;
                ("STANCHION_FUZZ_REPLAY", path.into())
            }
            _ => return Err(usage()),
        });
    }
    let status = cargo(&["test", "--release", "-p", target.package])
        .args(target.tests)
        .args(["--", "--nocapture", "--exact", target.test])
        .envs(settings)
        .env("STANCHION_FUZZ_KEEP", &kept)
        .status()
        .map_err(|e| format!("cannot run cargo: {e}"))?;
    if status.success() {
        return Ok(());
    }
    say(&format!("what went wrong is in {}", kept.display()));
    Err(format!("fuzzing ended with {status}"))
}
