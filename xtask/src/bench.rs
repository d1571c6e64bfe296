//! `cargo xtask bench locks|guard`: brings the engines and the peers, builds for release, measures.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::engines;
use crate::shell::{Outcome, capture, say, step, which, workspace};

/// Their versions are part of the result, so they are named exactly.
const PYTHON: &[&str] = &["redis==8.1.0", "aws-lambda-powertools==3.37.0", "boto3==1.44.0"];
const NODE: &[&str] = &["redlock@5.0.0-beta.2", "ioredis@5.11.1"];

pub(crate) fn run(args: &[String]) -> Outcome {
    if args.is_empty() {
        return Err(
            "what? `cargo xtask bench locks|guard [--seconds S] [--rounds N] [--only NAME] [--write] [--json FILE]`"
                .into(),
        );
    }
    engines::run(&[])?;
    let peers = workspace().join("target/peers");
    step("packages of other languages", || {
        bring("python", &peers.join("python"), PYTHON, &peers.join("python/aws_lambda_powertools"), python);
        bring("node redlock", &peers.join("node"), NODE, &peers.join("node/node_modules/redlock"), node);
        Ok(())
    })?;
    step("the idempotent crate, release", || {
        build_idempotent(&peers.join("idempotent"));
        Ok(())
    })?;
    // One after the other: built together, the program under test would get the features of the benchmark's crates.
    let release = |words: &[&str]| {
        capture(Command::new("cargo").current_dir(workspace()).args(["build", "--release"]).args(words))
    };
    step("stanchion, release", || release(&["-p", "stanchion"]))?;
    step("stanchion-bench, release", || release(&["-p", "stanchion-bench", "--features", "rslock"]))?;
    let program = target().join("release/stanchion-bench");
    let status = Command::new(&program)
        .args(args)
        .arg("--peers")
        .arg(&peers)
        .env("STANCHION_ENGINES", engines::folder())
        .status()
        .map_err(|e| format!("cannot run {}: {e}", program.display()))?;
    if status.success() { Ok(()) } else { Err(format!("the benchmark ended with {status}")) }
}

/// It asks for a newer compiler than ours, and builds with ours all the same.
fn build_idempotent(target: &Path) {
    let mut command = Command::new("cargo");
    command.current_dir(workspace().join("bench/peers/idempotent")).args([
        "build",
        "--release",
        "--ignore-rust-version",
    ]);
    if let Err(reason) = capture(command.arg("--target-dir").arg(target)) {
        say(&format!("    idempotent     SKIPPED: {reason}"));
    }
}

/// Installs packages by name, once. What cannot be had is said here, and again in the tables as SKIPPED.
fn bring(name: &str, folder: &Path, packages: &[&str], proof: &Path, install: fn(&Path, &[&str]) -> Outcome<String>) {
    let stamp = folder.join("installed");
    let wanted = packages.join(" ");
    if proof.is_dir() && std::fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
        return say(&format!("    {name:<14} {wanted}"));
    }
    let done = std::fs::create_dir_all(folder)
        .map_err(|e| e.to_string())
        .and_then(|()| install(folder, packages))
        .and_then(|_| std::fs::write(&stamp, &wanted).map_err(|e| e.to_string()));
    match done {
        Ok(()) => say(&format!("    {name:<14} {wanted} (installed now)")),
        Err(reason) => say(&format!("    {name:<14} SKIPPED: {reason}")),
    }
}

fn python(folder: &Path, packages: &[&str]) -> Outcome<String> {
    let python = which("python3").ok_or("no python3")?;
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet", "--upgrade", "--target"]).arg(folder);
    capture(command.args(packages))
}

fn node(folder: &Path, packages: &[&str]) -> Outcome<String> {
    which("node").ok_or("no node")?;
    let npm = which("npm").ok_or("no npm")?;
    let mut command = Command::new(npm);
    command.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]).arg(folder);
    capture(command.args(packages))
}

/// Where cargo puts what it builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), |folder| workspace().join(folder))
}
