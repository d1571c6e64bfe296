//! `cargo xtask fuzz audit [--seconds N] [--seed S] [--replay FOLDER]`: mutated programs through the analyser, built for release.

use std::ffi::OsString;
use std::process::Command;

use crate::shell::{Outcome, say, workspace};

const USAGE: &str = "what? `cargo xtask fuzz audit [--seconds N] [--seed S] [--replay FOLDER]`";

pub(crate) fn run(args: &[String]) -> Outcome {
    let [what, options @ ..] = args else { return Err(USAGE.into()) };
    if what != "audit" || options.len() % 2 != 0 {
        return Err(USAGE.into());
    }
    let kept = workspace().join("target/fuzz-audit");
    let mut settings = vec![("STANCHION_FUZZ_SECONDS", OsString::from("60"))];
    for pair in options.chunks(2) {
        let [name, value] = pair else { return Err(USAGE.into()) };
        let number = || value.parse::<u64>().map_err(|_| format!("`{value}` is no number; {USAGE}"));
        settings.push(match name.as_str() {
            "--seconds" => ("STANCHION_FUZZ_SECONDS", number()?.to_string().into()),
            "--seed" => ("STANCHION_FUZZ_SEED", number()?.to_string().into()),
            "--replay" => {
                let folder = std::path::absolute(value).map_err(|e| format!("{value}: {e}"))?;
                ("STANCHION_FUZZ_REPLAY", folder.into())
            }
            _ => return Err(USAGE.into()),
        });
    }
    let status = Command::new("cargo")
        .current_dir(workspace())
        .args(["test", "--release", "-p", "stanchion-audit", "--test", "it", "--", "--nocapture", "--exact"])
        .arg("fuzz::mutated_programs_break_nothing")
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
