//! `cargo xtask bench locks|stores|guard|gateway|memory|audit|race`: brings the engines and the peers, builds for release, measures.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::engines;
use crate::shell::{Outcome, capture, cargo, say, step, which, workspace};

/// Their versions are part of the result, so they are named exactly.
const PYTHON: &[&str] = &["redis==8.1.0", "aws-lambda-powertools==3.37.0", "boto3==1.44.0"];
/// In a folder of its own, because it wants another redis-py.
const POTTERY: &[&str] = &["pottery==3.0.1"];
const NODE: &[&str] = &["redlock@5.0.0-beta.2", "ioredis@5.11.1"];

/// The bridges that the gateway is measured beside: folder, package, what must be there afterwards, how to install it.
/// Each has a folder of its own, because they want different versions of the same libraries.
const BRIDGES: [(&str, &str, &str, Install); 4] = [
    ("gateway-mcp-proxy-rs", "mcp-proxy@0.6.0", "bin/mcp-proxy", rust),
    ("gateway-mcp-proxy-py", "mcp-proxy==0.13.0", "mcp_proxy", python),
    ("gateway-fastmcp", "fastmcp==4.1.2", "fastmcp", python),
    ("gateway-supergateway", "supergateway@4.0.0", "node_modules/supergateway", node),
];

/// What the analyser is measured beside: folder, package, what must be there afterwards.
const ANALYSERS: [(&str, &str, &str); 2] =
    [("ast-grep", "ast-grep-cli==0.51.0", "bin/ast-grep"), ("semgrep", "semgrep==1.182.0", "bin/semgrep")];

type Install = fn(&Path, &[&str]) -> Outcome<String>;

pub(crate) fn run(args: &[String]) -> Outcome {
    if args.is_empty() {
        return Err(
            "what? `cargo xtask bench locks|stores|guard|gateway|memory|audit|race [--store NAME] [--seconds S] [--rounds N] [--only NAME] [--write] [--json FILE]`"
                .into(),
        );
    }
    let peers = workspace().join("target/peers");
    match args.first().map(String::as_str) {
        Some("gateway") => bring_bridges(&peers)?,
        Some("memory" | "race") => crate::peers::run(&[])?,
        Some("audit") => bring_analysers(&peers.join("audit"))?,
        _ => {
            engines::run(&[])?;
            bring_libraries(&peers)?;
        }
    }
    // One after the other: built together, the program under test would get the features of the benchmark's crates.
    let release = |words: &[&str]| capture(cargo(&["build", "--release"]).args(words));
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

fn bring_libraries(peers: &Path) -> Outcome {
    step("packages of other languages", || {
        bring("python", &peers.join("python"), PYTHON, &peers.join("python/aws_lambda_powertools"), python);
        bring("pottery", &peers.join("pottery"), POTTERY, &peers.join("pottery/pottery"), python);
        bring("node redlock", &peers.join("node"), NODE, &peers.join("node/node_modules/redlock"), node);
        Ok(())
    })?;
    step("the idempotent crate, release", || {
        build_idempotent(&peers.join("idempotent"));
        Ok(())
    })
}

fn bring_bridges(peers: &Path) -> Outcome {
    step("other bridges from stdio to HTTP", || {
        for (folder, package, proof, install) in BRIDGES {
            let folder = peers.join(folder);
            bring(package, &folder, &[package], &folder.join(proof), install);
        }
        Ok(())
    })
}

fn bring_analysers(folder: &Path) -> Outcome {
    step("other analysers", || {
        for (name, package, proof) in ANALYSERS {
            let folder = folder.join(name);
            bring(name, &folder, &[package], &folder.join(proof), python);
        }
        Ok(())
    })?;
    crate::sources::bring(folder)
}

/// It asks for a newer compiler than ours, and builds with ours all the same.
fn build_idempotent(target: &Path) {
    let mut command = cargo(&["build", "--release", "--ignore-rust-version"]);
    command.current_dir(workspace().join("bench/peers/idempotent"));
    if let Err(reason) = capture(command.arg("--target-dir").arg(target)) {
        say(&format!("    idempotent     SKIPPED: {reason}"));
    }
}

/// Installs packages by name, once. What cannot be had is said here, and again in the tables as SKIPPED.
fn bring(name: &str, folder: &Path, packages: &[&str], proof: &Path, install: Install) {
    let stamp = folder.join("installed");
    let wanted = packages.join(" ");
    if proof.exists() && std::fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
        return say(&format!("    {name:<14} {wanted}"));
    }
    let done = std::fs::create_dir_all(folder)
        .map_err(|e| e.to_string())
        .and_then(|()| install(folder, packages))
        // stanchion-audit: ignore RC302 -- half a stamp is not the wanted one, and all is installed again
        .and_then(|_| std::fs::write(&stamp, &wanted).map_err(|e| e.to_string()));
    match done {
        Ok(()) => say(&format!("    {name:<14} {wanted} (installed now)")),
        Err(reason) => say(&format!("    {name:<14} SKIPPED: {reason}")),
    }
}

/// With the versions that its authors have tested, in a build folder that cargo removes.
fn rust(folder: &Path, packages: &[&str]) -> Outcome<String> {
    let mut command = cargo(&["install", "--locked", "--quiet", "--root"]);
    capture(command.env_remove("CARGO_TARGET_DIR").arg(folder).args(packages))
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
