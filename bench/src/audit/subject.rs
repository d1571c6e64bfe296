//! Who is measured, and how it is started.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Outcome;

pub(super) const OURS: &str = "stanchion audit";
pub(super) const AST_GREP: &str = "ast-grep";
pub(super) const SEMGREP: &str = "semgrep";
const SEMGREP_PATTERNS: &str = "semgrep, the patterns only";

/// Its rules: those that ast-grep has as well, and those that make them comparable with ours.
const PATTERNS: &[&str] = &["semgrep.yml"];
const COMPARABLE: &[&str] = &["semgrep.yml", "semgrep-more.yml"];

/// One line of the table.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) label: &'static str,
    /// Or why it cannot be measured.
    pub(super) how: Result<How, String>,
}

/// A program, with the folder that its Python packages are in.
#[derive(Debug, Clone)]
pub(super) enum How {
    Stanchion(PathBuf),
    AstGrep(PathBuf),
    Semgrep(PathBuf, PathBuf, &'static [&'static str]),
}

pub(super) fn all(peers: Option<&Path>) -> Outcome<Vec<Subject>> {
    let bench = std::env::current_exe()?;
    let peer = |folder: &str, program: &str| -> Result<(PathBuf, PathBuf), String> {
        let folder = peers.ok_or("no --peers; `cargo xtask bench audit` brings the packages")?.join(folder);
        let folder = folder.canonicalize().map_err(|e| format!("{}: {e}", folder.display()))?;
        let program = folder.join("bin").join(program);
        if program.is_file() { Ok((program, folder)) } else { Err(format!("{} is not there", program.display())) }
    };
    let semgrep = |label, rules| {
        let how = peer("audit/semgrep", "semgrep").map(|(program, folder)| How::Semgrep(program, folder, rules));
        Subject { label, how }
    };
    Ok(vec![
        Subject { label: OURS, how: stanchion(&bench) },
        Subject { label: AST_GREP, how: peer("audit/ast-grep", "ast-grep").map(|(program, _)| How::AstGrep(program)) },
        semgrep(SEMGREP_PATTERNS, PATTERNS),
        semgrep(SEMGREP, COMPARABLE),
    ])
}

/// The program beside this one, if it is new enough to have the verb.
fn stanchion(bench: &Path) -> Result<How, String> {
    let program = bench.with_file_name("stanchion");
    match Command::new(&program).args(["audit", "--help"]).output() {
        Ok(known) if known.status.success() => Ok(How::Stanchion(program)),
        Ok(_) => Err("the stanchion beside this program has no `audit`".into()),
        Err(e) => Err(format!("no stanchion beside this program: {e}")),
    }
}

fn rules(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/audit").join(name)
}

impl Subject {
    /// What it says its version is.
    pub(super) fn version(&self) -> Option<String> {
        let output = self.how.as_ref().ok()?.program().arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let number = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
        Some(format!("{} {number}", self.label))
    }
}

impl How {
    fn program(&self) -> Command {
        match self {
            Self::Stanchion(program) | Self::AstGrep(program) => Command::new(program),
            Self::Semgrep(program, packages, _) => {
                let mut command = Command::new(program);
                let path = std::env::var_os("PATH").unwrap_or_default();
                let folders = [packages.join("bin")].into_iter().chain(std::env::split_paths(&path));
                // It starts other programs of its own.
                command.env("PYTHONPATH", packages).env("PATH", std::env::join_paths(folders).unwrap_or(path));
                command
            }
        }
    }

    /// Analyses the tree and writes what it found as JSON.
    pub(super) fn command(&self, tree: &Path) -> Command {
        let mut command = self.program();
        match self {
            Self::Stanchion(_) => command.args(["audit", "--json", "."]).current_dir(tree),
            Self::AstGrep(_) => command
                .args(["scan", "--json=stream", "--inspect=summary", "--config"])
                .arg(rules("sgconfig.yml"))
                .arg(".")
                .current_dir(tree),
            Self::Semgrep(_, _, files) => command
                .args(["scan", "--json", "--quiet", "--metrics=off", "--disable-version-check", "--no-git-ignore"])
                .args(["--oss-only", "--max-target-bytes=0", "--x-ignore-semgrepignore-files"])
                .args(files.iter().flat_map(|file| ["--config".into(), rules(file)]))
                .arg(".")
                .current_dir(tree),
        };
        command
    }

    /// How many files it has looked at, and how many findings there are, by what it wrote.
    pub(super) fn counted(&self, out: &[u8], errors: &str) -> Outcome<(u64, u64)> {
        let length = |value: &Value| value.as_array().map(|list| list.len() as u64);
        match self {
            Self::Stanchion(_) => {
                let all: Value = serde_json::from_slice(out)?;
                let files = all.get("files").or_else(|| all.pointer("/summary/files")).and_then(Value::as_u64);
                Ok((files.ok_or("no number of files")?, length(&all["findings"]).ok_or("no findings")?))
            }
            // `sg: summary|file: scannedFileCount=2,skippedFileCount=0`
            Self::AstGrep(_) => {
                let after = errors.split("scannedFileCount=").nth(1).ok_or("no summary")?;
                let files = after.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default().parse()?;
                Ok((files, out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count() as u64))
            }
            Self::Semgrep(..) => {
                let all: Value = serde_json::from_slice(out)?;
                let files = all.pointer("/paths/scanned").and_then(length).ok_or("no files")?;
                Ok((files, length(&all["results"]).ok_or("no results")?))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_has_looked_at_is_read_from_what_it_writes() {
        let none = PathBuf::new;
        let ours = How::Stanchion(none());
        assert_eq!(ours.counted(br#"{"files": 3, "findings": [{}]}"#, "").unwrap(), (3, 1));
        let summary = "sg: summary|rule: ruleCount=16\nsg: summary|file: scannedFileCount=12,skippedFileCount=1\n";
        assert_eq!(How::AstGrep(none()).counted(b"{}\n{}\n", summary).unwrap(), (12, 2));
        let semgrep = How::Semgrep(none(), none(), COMPARABLE);
        assert_eq!(semgrep.counted(br#"{"results": [], "paths": {"scanned": ["a", "b"]}}"#, "").unwrap(), (2, 0));
        semgrep.counted(b"{}", "").unwrap_err();
    }
}
