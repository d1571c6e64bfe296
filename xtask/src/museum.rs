//! `cargo xtask museum`: compiles what stands behind `--cfg stanchion_museum`, and runs nothing of it.
//!
//! Cargo is told to call this program in place of rustc, which it does for the crates of this workspace only: what others wrote
//! was compiled for the checks before. (A shell script would not do: `dash` drops variables such as `CARGO_BIN_EXE_a-name`.)

use std::env;
use std::process::{Command, ExitCode};

use crate::shell::{Outcome, cargo, say};

/// Says that this program stands in for rustc.
const STAND_IN: &str = "STANCHION_MUSEUM_RUSTC";

pub(crate) fn run(args: &[String]) -> Outcome {
    if let Some(word) = args.first() {
        return Err(format!("`{word}`? It takes no arguments"));
    }
    let program = env::current_exe().map_err(|e| format!("where is this program? {e}"))?;
    let mut check = cargo(&["check", "--workspace", "--all-targets"]);
    check.env("RUSTC_WORKSPACE_WRAPPER", program).env(STAND_IN, "1");
    let status = check.status().map_err(|e| format!("cannot run cargo: {e}"))?;
    if status.success() {
        say("the museum compiles; `cargo xtask evidence --layer museum` looks for its bugs");
        return Ok(());
    }
    Err(format!("what is behind `--cfg stanchion_museum` does not compile ({status})"))
}

/// Compiles one crate with its bugs planted, if this program was called in place of rustc: the path of rustc, and its arguments.
pub(crate) fn stand_in() -> Option<ExitCode> {
    env::var_os(STAND_IN)?;
    let mut words = env::args_os().skip(1);
    let mut rustc = Command::new(words.next()?);
    let status = rustc.args(words).args(["--cfg", "stanchion_museum", "-Dwarnings"]).status();
    Some(if status.is_ok_and(|status| status.success()) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
