//! What the numbers were taken on. No date: the same machine should give the same text.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::engines::Engines;
use crate::peers::PACKAGES;

/// The heading of a report.
pub(crate) fn describe(engines: &Engines, seconds: f64, rounds: u32) -> String {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let model = field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.into());
    let memory = field("/proc/meminfo", "MemTotal").and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    let memory = memory.map_or_else(String::new, |kib| format!(", {} GiB", kib / 1024 / 1024));
    let kernel = rustix::system::uname();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("?");
    let mut engines = engines.started();
    engines.extend(["python3", "node"].iter().filter_map(|program| version(program)));
    format!(
        "Machine: {cores} cores ({model}){memory}; {} {}; load {load} at the end. {}.\n\
         Engines: {}. Libraries: {}.\n\
         Each round runs every subject once; {rounds} rounds of {seconds} s, after a warm-up.\n",
        kernel.sysname().to_string_lossy(),
        kernel.release().to_string_lossy(),
        version("rustc").unwrap_or_else(|| "rustc: unknown".into()),
        engines.join(", "),
        libraries().join(", "),
    )
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// What a program says about itself, with its name.
fn version(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let text = text.split(" (").next()?.to_owned();
    Some(text.strip_prefix('v').map_or_else(|| text.clone(), |number| format!("{program} {number}")))
}

/// From the lock file that this program was built with, and the packages that `cargo xtask bench` asks for.
fn libraries() -> Vec<String> {
    let lock = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock")).unwrap_or_default();
    let of = |name: &str| {
        let entry = lock.split("[[package]]").find(|entry| entry.contains(&format!("\nname = \"{name}\"\n")))?;
        let version = entry.lines().find_map(|line| line.strip_prefix("version = "))?;
        Some(format!("{name} {}", version.trim_matches('"')))
    };
    let crates = ["stanchion-core", "redis", "rslock", "tokio-postgres", "rusqlite", "libsqlite3-sys", "tokio"];
    let named = PACKAGES.iter().map(|text| (*text).to_owned());
    crates.into_iter().filter_map(of).chain(named).collect()
}
