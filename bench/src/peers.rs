//! Other libraries, and how to find them.

use std::path::{Path, PathBuf};

use crate::crew::Program;

/// What `cargo xtask bench` installs, for the heading.
pub(crate) const PACKAGES: [&str; 6] = [
    "redis-py 8.1.0",
    "node redlock 5.0.0-beta.2",
    "ioredis 5.11.1",
    "pottery 3.0.1",
    "idempotent 2.0.0",
    "aws-lambda-powertools 3.37.0",
];

pub(crate) const RSLOCK: &str = "rslock";
pub(crate) const REDIS_PY: &str = "redis-py Lock";
pub(crate) const REDLOCK: &str = "node redlock";
pub(crate) const POTTERY: &str = "pottery Redlock";
pub(crate) const ALL: [&str; 3] = [RSLOCK, REDIS_PY, REDLOCK];

pub(crate) fn rslock() -> Result<Program, String> {
    if cfg!(feature = "rslock") { Ok(Program::Ours) } else { Err("built without the feature `rslock`".into()) }
}

pub(crate) fn redis_py(peers: Option<&Path>) -> Result<Program, String> {
    let packages = installed(peers, "python", "redis")?;
    Ok(Program::Script { interpreter: "python3", script: script("redis_py.py"), packages })
}

pub(crate) fn redlock(peers: Option<&Path>) -> Result<Program, String> {
    let packages = installed(peers, "node", "node_modules/redlock")?;
    Ok(Program::Script { interpreter: "node", script: script("redlock.mjs"), packages })
}

pub(crate) fn pottery(peers: Option<&Path>) -> Result<Program, String> {
    let packages = installed(peers, "pottery", "pottery")?;
    Ok(Program::Script { interpreter: "python3", script: script("pottery_redlock.py"), packages })
}

pub(crate) fn powertools(peers: Option<&Path>) -> Result<Program, String> {
    let packages = installed(peers, "python", "aws_lambda_powertools")?;
    Ok(Program::Script { interpreter: "python3", script: script("powertools.py"), packages })
}

/// A program of its own, because the crate asks for a newer compiler than ours.
pub(crate) fn idempotent(peers: Option<&Path>) -> Result<Program, String> {
    let program =
        peers.ok_or("no --peers; `cargo xtask bench` builds it")?.join("idempotent/release/idempotent-worker");
    if program.is_file() { Ok(Program::Other(program)) } else { Err("it could not be built".into()) }
}

fn installed(peers: Option<&Path>, language: &str, package: &str) -> Result<PathBuf, String> {
    let folder = peers.ok_or("no --peers; `cargo xtask bench` brings the packages")?.join(language);
    // Absolute, because node looks for packages from there.
    let folder = folder.canonicalize().map_err(|e| format!("{}: {e}", folder.display()))?;
    if folder.join(package).is_dir() { Ok(folder) } else { Err(format!("{package} is not installed for {language}")) }
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(name)
}
