//! `cargo xtask peers`: real MCP servers, clients and the conformance suite, for the gateway's tests.
//!
//! `xtask/peers` names every package with its exact version; they go to `target/peers/mcp`, where
//! `stanchion_testkit::peers` looks for them. No package's own install script is run: none is needed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{Outcome, capture, say, step, which, workspace};

pub(crate) fn run(_args: &[String]) -> Outcome {
    step("peers", bring_all)
}

/// `target/peers/mcp`, wherever cargo's own target folder is.
pub(crate) fn folder() -> PathBuf {
    std::env::var_os("STANCHION_PEERS").map_or_else(|| workspace().join("target/peers/mcp"), PathBuf::from)
}

fn bring_all() -> Outcome {
    let folder = folder();
    fs::create_dir_all(&folder).map_err(|e| format!("cannot create {}: {e}", folder.display()))?;
    let lock = File::create(folder.join("lock")).map_err(|e| format!("cannot create the lock file: {e}"))?;
    lock.lock().map_err(|e| format!("cannot lock {}: {e}", folder.display()))?;
    bring("npm", &["package.json", "package-lock.json"], &folder, npm)?;
    bring("python", &["requirements.txt"], &folder, python)
}

/// Installs one language's packages, unless these very lists have been installed to the end before.
fn bring(name: &str, lists: &[&str], folder: &Path, install: fn(&Path) -> Outcome) -> Outcome {
    let place = folder.join(name);
    let stamp = place.join("installed");
    let wanted = lists.iter().map(|list| read(list)).collect::<Outcome<String>>()?;
    if fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
        say(&format!("    {name:<10} {}", place.display()));
        return Ok(());
    }
    let error = |e| format!("cannot prepare {}: {e}", place.display());
    if place.exists() {
        fs::remove_dir_all(&place).map_err(error)?;
    }
    fs::create_dir_all(&place).map_err(error)?;
    for list in lists {
        fs::copy(lists_folder().join(list), place.join(list)).map_err(error)?;
    }
    install(&place).map_err(|reason| format!("{name}: {reason}"))?;
    // stanchion-audit: ignore RC302 -- half a stamp is not the wanted one, and all is installed again
    fs::write(&stamp, &wanted).map_err(error)?;
    say(&format!("    {name:<10} {} (installed now)", place.display()));
    Ok(())
}

fn lists_folder() -> PathBuf {
    workspace().join("xtask/peers")
}

fn read(list: &str) -> Outcome<String> {
    let path = lists_folder().join(list);
    fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

fn npm(place: &Path) -> Outcome {
    const MISSING: &str = "not on PATH, and the gateway's tests need it: install Node.js 20 or newer with npm";
    which("node").ok_or(format!("`node` is {MISSING}"))?;
    let npm = which("npm").ok_or(format!("`npm` is {MISSING}"))?;
    let mut command = Command::new(npm);
    command.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    capture(command.current_dir(place)).map(drop)
}

fn python(place: &Path) -> Outcome {
    let python = which("python3")
        .ok_or("`python3` is not on PATH, and the gateway's tests need it: install Python 3.10 or newer")?;
    capture(Command::new(python).args(["-m", "venv"]).arg(place))
        .map_err(|e| format!("no virtual environment; on Debian and Ubuntu, install `python3-venv`\n{e}"))?;
    let mut pip = Command::new(place.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "-r"]);
    capture(pip.arg(place.join("requirements.txt"))).map(drop)
}
