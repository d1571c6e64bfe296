//! Finding the servers' programs.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::user::command_as;

/// System folders that are often missing from a user's `PATH`.
const SYSTEM: [&str; 5] = ["/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin", "/usr/share/zookeeper/bin"];

/// Why an engine cannot run on this machine at all.
///
/// ```
/// use stanchion_testkit::engines::Valkey;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// if let Err(skip) = Valkey::try_start().await {
///     skip.report(); // and leave the test
/// }
/// # }
/// ```
#[derive(Debug)]
#[must_use = "report the skip, so that it is seen"]
pub struct Skip {
    reason: String,
}

impl Skip {
    /// Something else that a test needs and this machine cannot have.
    ///
    /// ```
    /// use stanchion_testkit::engines::Skip;
    /// let skip = Skip::new("needs a second network card");
    /// assert_eq!(skip.to_string(), "needs a second network card");
    /// ```
    pub fn new(reason: impl Into<String>) -> Skip {
        Skip { reason: reason.into() }
    }

    /// Prints the skip and notes it in the file that `cargo xtask test` shows at the end (`STANCHION_SKIPS`).
    ///
    /// ```
    /// use stanchion_testkit::engines::Skip;
    /// # // Hidden, so that this example does not show up among the skips of a real run.
    /// # if std::env::var_os("STANCHION_SKIPS").is_some() { return; }
    /// Skip::new("needs a second network card").report(); // SKIPPED: main: needs a second network card
    /// ```
    pub fn report(&self) {
        let thread = std::thread::current();
        let line = format!("{}: {}", thread.name().unwrap_or("a test"), self.reason);
        eprintln!("SKIPPED: {line}");
        let Some(notes) = env::var_os("STANCHION_SKIPS") else {
            return;
        };
        let noted = fs::File::options()
            .append(true)
            .create(true)
            .open(&notes)
            .and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        if let Err(error) = noted {
            panic!("a skip that nobody can see is a lie, and {} failed: {error}", notes.display());
        }
    }
}

impl std::fmt::Display for Skip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

/// A program and the libraries that were unpacked with it.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) libraries: Option<OsString>,
}

impl Program {
    /// The words that start this program from a shell, libraries included.
    pub(super) fn words(&self) -> Vec<OsString> {
        let mut words = Vec::new();
        if let Some(libraries) = &self.libraries {
            let mut setting = OsString::from("LD_LIBRARY_PATH=");
            setting.push(libraries);
            words.extend([OsString::from("env"), setting]);
        }
        words.push(self.path.clone().into_os_string());
        words
    }

    /// A command for a run to the end (`initdb`, `--version`).
    pub(super) fn command(&self, user: Option<u32>) -> Command {
        let mut command = command_as(user, self.path.as_os_str(), &self.path);
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        command
    }

    /// A program that was installed beside this one, also when this one was found through a link.
    pub(super) fn sibling(&self, name: &str) -> Program {
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        Program { path: path.with_file_name(name), libraries: self.libraries.clone() }
    }

    /// The first thing in `--version` that looks like a version number.
    pub(super) fn version(&self) -> String {
        let output = self.command(None).arg("--version").output();
        let output = output.unwrap_or_else(|e| panic!("{} --version: {e}", self.path.display()));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.split_whitespace()
            .map(|word| word.trim_start_matches("v=").trim_start_matches('v'))
            .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
            .unwrap_or_else(|| panic!("no version in {text:?} of {}", self.path.display()))
            .to_owned()
    }
}

/// Finds `binary`, which `cargo xtask engines` knows as `engine`.
///
/// Panics when the engine is missing but could be had: a test that quietly does not run is worse than a red one.
pub(super) fn find(engine: &str, binary: &str) -> Result<Program, Skip> {
    let folder = engines_dir();
    let root = folder.join("root");
    if env::var_os("STANCHION_ENGINES_ONLY").is_none() {
        let path = env::var_os("PATH").unwrap_or_default();
        let system = env::split_paths(&path).chain(SYSTEM.map(PathBuf::from)).chain(versioned(Path::new("/")));
        if let Some(path) = first_with(system, binary) {
            return Ok(Program { path, libraries: None });
        }
    }
    let unpacked = ["usr/bin", "usr/sbin", "usr/share/zookeeper/bin"]
        .map(|part| root.join(part))
        .into_iter()
        .chain(versioned(&root));
    if let Some(path) = first_with(unpacked, binary) {
        return Ok(Program { path, libraries: libraries(&root) });
    }
    if let Ok(reason) = fs::read_to_string(folder.join("unavailable").join(engine)) {
        return Err(Skip { reason: format!("{engine}: {}", reason.trim()) });
    }
    let apt = first_with(SYSTEM.map(PathBuf::from), "apt-get");
    assert!(apt.is_none(), "no `{binary}` on this machine; run `cargo xtask engines` first");
    Err(Skip { reason: format!("{engine}: no `{binary}` on PATH, and no apt-get to bring it") })
}

fn first_with(folders: impl IntoIterator<Item = PathBuf>, binary: &str) -> Option<PathBuf> {
    folders.into_iter().map(|folder| folder.join(binary)).find(|path| path.is_file())
}

/// PostgreSQL's own folders, newest version first.
fn versioned(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = list(&root.join("usr/lib/postgresql"));
    let number = |path: &PathBuf| path.file_name().and_then(|n| n.to_str()?.parse::<u32>().ok());
    found.sort_by_key(|path| std::cmp::Reverse(number(path)));
    found.into_iter().map(|path| path.join("bin")).collect()
}

fn libraries(root: &Path) -> Option<OsString> {
    let usr = list(&root.join("usr/lib"));
    let top = list(&root.join("lib"));
    let triples = usr.into_iter().chain(top).filter(|path| path.to_string_lossy().contains("-linux-"));
    env::join_paths(triples).ok().filter(|joined| !joined.is_empty())
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// `target/engines` of the workspace under test, wherever cargo's own target folder is.
pub(super) fn engines_dir() -> PathBuf {
    if let Some(folder) = env::var_os("STANCHION_ENGINES") {
        return PathBuf::from(folder);
    }
    let package = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let is_workspace = |folder: &&Path| {
        fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|manifest| manifest.contains("[workspace]"))
    };
    match package.ancestors().find(is_workspace) {
        Some(workspace) => workspace.join("target/engines"),
        None => env::temp_dir().join("stanchion-engines"),
    }
}
