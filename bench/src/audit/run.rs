//! One run of one subject.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::subject::How;
use super::tree::Size;
use crate::Outcome;
use crate::pause::pause_thread;

/// What was measured.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) wall: Duration,
    /// Resident memory of all its processes together, in MiB.
    pub(super) memory: f64,
    pub(super) files: u64,
    pub(super) findings: u64,
}

/// A subject that hangs must not hold up the others.
const LONGEST: Duration = Duration::from_secs(900);

impl Run {
    pub(super) fn of(how: &How, tree: &Path) -> Outcome<Self> {
        // Files, not pipes: nobody has to read while it runs.
        let (mut out, mut errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let mut command = how.command(tree);
        command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(errors.try_clone()?).process_group(0);
        let started = Instant::now();
        let mut child = command.spawn()?;
        let mut memory = 0_u64;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            memory = memory.max(resident(child.id()));
            if started.elapsed() > LONGEST {
                child.kill()?;
                child.wait()?;
                return Err(format!("not done after {} s", LONGEST.as_secs()).into());
            }
            pause_thread(Duration::from_millis(10));
        };
        let wall = started.elapsed();
        let (out, errors) = (content(&mut out)?, content(&mut errors)?);
        let errors = String::from_utf8_lossy(&errors);
        // Findings are no failure; what it wrote decides.
        let counted = how.counted(&out, &errors);
        let (files, findings) = counted.map_err(|e| format!("{status}: {e}: {}", tail(&errors)))?;
        #[expect(clippy::cast_precision_loss, reason = "memory of a machine")]
        let memory = memory as f64 / 1024.0;
        Ok(Self { wall, memory, files, findings })
    }

    pub(super) fn rate(&self, size: Size) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "lines of code")]
        let lines = size.lines as f64;
        lines / self.wall.as_secs_f64()
    }
}

fn content(file: &mut File) -> Outcome<Vec<u8>> {
    let mut all = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut all)?;
    Ok(all)
}

fn tail(text: &str) -> String {
    let from = text.char_indices().rev().nth(400).map_or(0, |(at, _)| at);
    text[from..].replace('\n', " ")
}

/// KiB of all processes of this group; of its leader the most that it ever had.
fn resident(group: u32) -> u64 {
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    let of = |pid: u32| -> Option<u64> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // After the name, which may hold anything: state, parent, group.
        let its = stat.rsplit_once(") ")?.1.split(' ').nth(2)?.parse::<u32>().ok()?;
        let field = if pid == group { "VmHWM:" } else { "VmRSS:" };
        let status = (its == group).then(|| fs::read_to_string(format!("/proc/{pid}/status")).ok())??;
        status.lines().find_map(|line| line.strip_prefix(field))?.split_whitespace().next()?.parse().ok()
    };
    pids.filter_map(of).sum()
}
