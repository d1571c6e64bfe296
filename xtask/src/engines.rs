//! `cargo xtask engines`: the real servers behind the tests, without changing the system.
//!
//! An engine on `PATH` is used as it is. Otherwise its distribution packages, and those libraries that the machine
//! lacks, are unpacked into `target/engines/root`. `stanchion_testkit::engines` looks in the same two places.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::packages::Apt;
use crate::shell::{Outcome, say, step, which, workspace};

struct Engine {
    /// The name that the testkit uses in `unavailable/`.
    name: &'static str,
    binary: &'static str,
    packages: &'static [&'static str],
    /// Not in every release of the distribution: tests skip visibly when the packages do not exist.
    optional: bool,
}

const ENGINES: &[Engine] = &[
    Engine { name: "redis", binary: "redis-server", packages: &["redis-server"], optional: false },
    Engine { name: "valkey", binary: "valkey-server", packages: &["valkey-server"], optional: true },
    Engine { name: "postgres", binary: "postgres", packages: &["postgresql"], optional: false },
    Engine { name: "pgbouncer", binary: "pgbouncer", packages: &["pgbouncer"], optional: false },
    Engine { name: "mariadb", binary: "mariadbd", packages: &["mariadb-server"], optional: false },
    Engine { name: "etcd", binary: "etcd", packages: &["etcd-server"], optional: false },
    Engine { name: "nats", binary: "nats-server", packages: &["nats-server"], optional: false },
    Engine { name: "zookeeper", binary: "zkServer.sh", packages: &["zookeeper"], optional: false },
    Engine { name: "consul", binary: "consul", packages: &["consul"], optional: true },
    // No server: the clocks of some of them, which a test can move. The package brings the library.
    Engine { name: "faketime", binary: "faketime", packages: &["faketime"], optional: false },
];

pub(crate) fn run(_args: &[String]) -> Outcome {
    step("engines", bring_all)
}

fn bring_all() -> Outcome {
    let folder = folder();
    let unavailable = folder.join("unavailable");
    fs::create_dir_all(&unavailable).map_err(|e| format!("cannot create {}: {e}", folder.display()))?;
    let lock = File::create(folder.join("lock")).map_err(|e| format!("cannot create the lock file: {e}"))?;
    lock.lock().map_err(|e| format!("cannot lock {}: {e}", folder.display()))?;
    let mut apt = None;
    for engine in ENGINES {
        let note = unavailable.join(engine.name);
        let place = match find(engine, &folder) {
            Some(path) => path.display().to_string(),
            // A day-old note spares every run a look at the package lists.
            None if is_fresh(&note) => format!("not available: {}", read(&note)),
            None if which("apt-get").is_none() => "no apt-get here: its tests will be skipped".to_owned(),
            None => {
                let opened = match apt.take() {
                    Some(opened) => opened,
                    None => Apt::open(&folder)?,
                };
                let apt = apt.insert(opened);
                match apt.unpack(engine.packages, &folder.join("root")) {
                    Ok(()) => unpacked(engine, &folder)?,
                    Err(reason) if engine.optional && !apt.knows(engine.packages) => {
                        let text = format!("no package {} in this release", engine.packages.join(" "));
                        // stanchion-audit: ignore RC302 -- only its age decides; what it says is shown
                        fs::write(&note, &text).map_err(|e| format!("cannot note ({reason}): {e}"))?;
                        format!("not available: {text}")
                    }
                    Err(reason) => return Err(format!("{}: {reason}", engine.name)),
                }
            }
        };
        say(&format!("    {:<10} {place}", engine.name));
    }
    Ok(())
}

/// `target/engines`, wherever cargo's own target folder is.
///
/// PostgreSQL and PgBouncer refuse to run as root, so root starts them as somebody else; who must be able to reach
/// their files. In a checkout that is closed to others the engines go to the system's temporary folder instead.
pub(crate) fn folder() -> PathBuf {
    if let Some(folder) = std::env::var_os("STANCHION_ENGINES") {
        return PathBuf::from(folder);
    }
    let folder = workspace().join("target/engines");
    if is_root() && !open_to_others(&folder) { std::env::temp_dir().join("stanchion-engines") } else { folder }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0)
}

/// May everybody enter each folder on the way that exists already?
fn open_to_others(folder: &Path) -> bool {
    let mode =
        |path: &Path| fs::metadata(path).map(|meta| std::os::unix::fs::PermissionsExt::mode(&meta.permissions()));
    folder.ancestors().filter_map(|path| mode(path).ok()).all(|mode| mode & 0o001 != 0)
}

fn unpacked(engine: &Engine, folder: &Path) -> Outcome<String> {
    let path = find(engine, folder).ok_or_else(|| format!("{}: unpacked, but no {}", engine.name, engine.binary))?;
    Ok(format!("{} (unpacked now)", path.display()))
}

fn find(engine: &Engine, folder: &Path) -> Option<PathBuf> {
    let only_ours = std::env::var_os("STANCHION_ENGINES_ONLY").is_some();
    let system = || which(engine.binary).or_else(|| versioned(Path::new("/"), engine.binary));
    let root = folder.join("root");
    (!only_ours).then(system).flatten().or_else(|| {
        let plain = ["usr/bin", "usr/sbin", "usr/share/zookeeper/bin"].map(|part| root.join(part).join(engine.binary));
        plain.into_iter().find(|path| path.is_file()).or_else(|| versioned(&root, engine.binary))
    })
}

/// PostgreSQL keeps its programs in one folder per version.
fn versioned(root: &Path, binary: &str) -> Option<PathBuf> {
    let versions = fs::read_dir(root.join("usr/lib/postgresql")).into_iter().flatten().flatten();
    versions.map(|entry| entry.path().join("bin").join(binary)).find(|path| path.is_file())
}

fn is_fresh(note: &Path) -> bool {
    const DAY: std::time::Duration = std::time::Duration::from_secs(24 * 60 * 60);
    let age = fs::metadata(note).and_then(|m| m.modified()).ok().and_then(|written| written.elapsed().ok());
    age.is_some_and(|age| age < DAY)
}

fn read(note: &Path) -> String {
    fs::read_to_string(note).unwrap_or_default().trim().to_owned()
}
