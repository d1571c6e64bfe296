//! `cargo xtask fuzz audit [--seconds N] [--seed S]`: mutated programs through the analyser, built for release.

use std::process::Command;

use crate::shell::{Outcome, say, workspace};

const USAGE: &str = "what? `cargo xtask fuzz audit [--seconds N] [--seed S]`";

pub(crate) fn run(args: &[String]) -> Outcome {
    let [what, options @ ..] = args else { return Err(USAGE.into()) };
    if what != "audit" || options.len() % 2 != 0 {
        return Err(USAGE.into());
    }
    let (mut seconds, mut seed) = (60, 7);
    for pair in options.chunks(2) {
        let number = |text: &String| text.parse::<u64>().map_err(|_| format!("`{text}` is no number; {USAGE}"));
        match pair {
            [name, value] if name == "--seconds" => seconds = number(value)?,
            [name, value] if name == "--seed" => seed = number(value)?,
            _ => return Err(USAGE.into()),
        }
    }
    let kept = workspace().join("target/fuzz-audit");
    let status = Command::new("cargo")
        .current_dir(workspace())
        .args(["test", "--release", "-p", "stanchion-audit", "--test", "it", "--", "--nocapture", "--exact"])
        .arg("fuzz::mutated_programs_break_nothing")
        .env("STANCHION_FUZZ_SECONDS", seconds.to_string())
        .env("STANCHION_FUZZ_SEED", seed.to_string())
        .env("STANCHION_FUZZ_KEEP", &kept)
        .status()
        .map_err(|e| format!("cannot run cargo: {e}"))?;
    if status.success() {
        return Ok(());
    }
    say(&format!("what went wrong is in {}", kept.display()));
    Err(format!("fuzzing ended with {status}"))
}
