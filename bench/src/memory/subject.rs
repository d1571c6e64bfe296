//! Who is measured, and how it is started.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;

pub(super) const OFFICIAL: &str = "official server";
pub(super) const OURS: &str = "stanchion memory";
pub(super) const POWER: &str = "stanchion memory --durability power";
pub(super) const STRICT: &str = "stanchion memory --compat strict";
pub(super) const BARE: &str = "bare lock + append, over stdio";
pub(super) const IN_PROCESS: &str = "bare lock + append, in process";

/// One line of the tables.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) label: &'static str,
    /// Or why it cannot be measured.
    pub(super) how: Result<How, String>,
}

#[derive(Debug, Clone)]
pub(super) enum How {
    /// A script for node, which is told its file by `MEMORY_FILE_PATH`.
    Node(PathBuf),
    Stanchion(PathBuf, &'static [&'static str]),
    /// This program; creates entities and nothing else.
    AppendServer(PathBuf),
    /// No server at all.
    InProcess,
}

/// The package's folder below `--peers`.
const PACKAGE: &str = "mcp/npm/node_modules/@modelcontextprotocol/server-memory";

pub(super) fn all(peers: Option<&Path>) -> Outcome<Vec<Subject>> {
    let bench = std::env::current_exe()?;
    let ours = |label, words| Subject { label, how: stanchion(&bench, words) };
    Ok(vec![
        Subject { label: OFFICIAL, how: official(peers) },
        ours(OURS, &[]),
        ours(POWER, &["--durability", "power"]),
        ours(STRICT, &["--compat", "strict"]),
        Subject { label: BARE, how: Ok(How::AppendServer(bench.clone())) },
        Subject { label: IN_PROCESS, how: Ok(How::InProcess) },
    ])
}

fn official(peers: Option<&Path>) -> Result<How, String> {
    let peers = peers.ok_or("no --peers; `cargo xtask bench` brings the packages")?;
    let script = peers.join(PACKAGE).join("dist/index.js").canonicalize();
    script.map(How::Node).map_err(|_| "the official server is not installed; `cargo xtask peers` brings it".into())
}

/// The program beside this one, if it is new enough to have the verb.
fn stanchion(bench: &Path, words: &'static [&'static str]) -> Result<How, String> {
    let program = bench.with_file_name("stanchion");
    let known = Command::new(&program).args(["memory", "--help"]).output();
    match known {
        Ok(known) if known.status.success() => Ok(How::Stanchion(program, words)),
        Ok(_) => Err("the stanchion beside this program has no `memory`".into()),
        Err(e) => Err(format!("no stanchion beside this program: {e}")),
    }
}

impl How {
    /// A server on this file; `None` where there is none to start.
    pub(super) fn command(&self, file: &Path) -> Option<Command> {
        match self {
            Self::Node(script) => {
                let mut command = Command::new("node");
                command.arg(script).env("MEMORY_FILE_PATH", file);
                Some(command)
            }
            Self::Stanchion(program, words) => {
                let mut command = Command::new(program);
                command.arg("--home").arg(file.with_extension("state")).arg("memory").arg("--file").arg(file);
                command.args(*words);
                Some(command)
            }
            Self::AppendServer(program) => {
                let mut command = Command::new(program);
                command.arg("append-server").arg(file);
                Some(command)
            }
            Self::InProcess => None,
        }
    }

    /// The bare ones do nothing but append.
    pub(super) fn only_creates(&self) -> bool {
        matches!(self, Self::AppendServer(_) | Self::InProcess)
    }
}

/// What was measured, as the programs and packages themselves say.
pub(super) fn versions(peers: Option<&Path>, subjects: &[Subject]) -> Vec<String> {
    let mut versions = Vec::new();
    for subject in subjects {
        let Ok(How::Stanchion(program, [])) = &subject.how else { continue };
        let said = Command::new(program).arg("--version").output().map(|said| said.stdout).unwrap_or_default();
        versions.push(String::from_utf8_lossy(&said).trim().to_owned());
    }
    let package = |name: &str, folder: &str| -> Option<String> {
        let text = std::fs::read_to_string(peers?.join(folder).join("package.json")).ok()?;
        let package: serde_json::Value = serde_json::from_str(&text).ok()?;
        Some(format!("npm {name} {}", package["version"].as_str()?))
    };
    versions.extend(package("@modelcontextprotocol/server-memory", PACKAGE));
    versions
}
