//! Small helpers that every subcommand uses.

use std::env;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// What a subcommand ends with; the text is for the reader of the terminal.
pub(crate) type Outcome<T = ()> = Result<T, String>;

/// One line on standard output. A closed pipe (`| head`) is the reader's choice, not an error.
pub(crate) fn say(line: &str) {
    writeln!(std::io::stdout(), "{line}").ok();
}

/// Runs one step under a heading and says how long it took.
pub(crate) fn step<T>(heading: &str, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    say(&format!("==> {heading}"));
    let start = Instant::now();
    let result = work();
    let verdict = if result.is_ok() { "done" } else { "FAILED" };
    say(&format!("    {verdict} in {:.1} s: {heading}", start.elapsed().as_secs_f32()));
    result
}

/// The folder with the workspace's `Cargo.toml`.
pub(crate) fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Cargo in the workspace, as if called by hand. What `cargo run` tells this program about itself is news to the build scripts
/// of some packages (ring's), and all that stands upon those would be built anew at each change between the two ways.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let ours = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(ours)) {
        command.env_remove(name);
    }
    command.args(args).current_dir(workspace());
    command
}

/// Runs a command to its end and returns its standard output; on failure, all that it said.
pub(crate) fn capture(command: &mut Command) -> Outcome<String> {
    let output = command.output().map_err(|e| format!("cannot run {command:?}: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?} failed ({}):\n{}{}", output.status, text.trim_end(), errors.trim_end()))
}

/// The first folder of `PATH`, or of the folders often missing from it, that holds `program`.
pub(crate) fn which(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin"].map(PathBuf::from);
    env::split_paths(&path).chain(system).map(|folder| folder.join(program)).find(|file| file.is_file())
}
