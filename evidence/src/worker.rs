//! Programs that layers start, kill and start again: `stanchion-evidence worker NAME ARGUMENTS…`.

use std::process::ExitCode;

#[derive(Debug)]
pub struct Worker {
    pub name: &'static str,
    pub run: fn(&[String]) -> ExitCode,
}

/// Every worker, by layer.
const WORKERS: &[&[Worker]] = &[crate::crash::WORKERS];

/// What this process is, if it was started as a worker.
pub fn asked() -> Option<ExitCode> {
    if crate::real::is_worker() {
        return Some(crate::real::work());
    }
    let arguments: Vec<String> = std::env::args().collect();
    let [_, word, name, rest @ ..] = arguments.as_slice() else { return None };
    let worker = WORKERS.iter().copied().flatten().find(|worker| word == "worker" && worker.name == name)?;
    Some((worker.run)(rest))
}
