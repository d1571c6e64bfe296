//! A process and its descendants: their memory, and their end.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use crate::Outcome;

/// The process and everything below it.
pub(super) fn members(root: u32) -> Vec<u32> {
    let mut members = vec![root];
    let mut at = 0;
    while let Some(pid) = members.get(at) {
        members.extend(children(*pid));
        at += 1;
    }
    members
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>()).collect()
}

/// Proportional memory of the tree without the echo server, which is the same program behind every subject.
pub(super) fn pss_kib(root: u32) -> Outcome<u64> {
    let ours = std::env::current_exe()?;
    let mut sum = 0;
    for pid in members(root).into_iter().filter(|pid| !is_echo_server(*pid, &ours)) {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).ok_or("no Pss in smaps_rollup")?;
        let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
        sum += kib;
    }
    Ok(sum)
}

fn is_echo_server(pid: u32, ours: &Path) -> bool {
    let same = fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == ours);
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    same && words.split(|byte| *byte == 0).nth(1) == Some(b"echo-server")
}

/// Ends the tree. The list is taken first: what loses its parent would not be found afterwards.
pub(super) fn kill(root: u32) {
    for pid in members(root).into_iter().filter_map(|pid| Pid::from_raw(pid.cast_signed())) {
        // Already gone is what we want.
        kill_process(pid, Signal::KILL).ok();
    }
}
