//! The least a hand-off between processes by `File::lock` can cost: two processes wake each other in turn.
//!
//! Three files, so that nobody can take over from itself. Who holds two unlocks the older one, on which the other
//! waits, and waits for the third, which the other holds.

use std::fs::File;
use std::path::Path;
use std::time::Instant;

use super::place;
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::Window;

/// Place: the folder.
pub(super) fn run(job: &Job) -> Outcome<Tally> {
    let folder = Path::new(place(job, 0)?);
    let open = |name| File::options().write(true).create(true).truncate(false).open(folder.join(name));
    let files = [open("a")?, open("b")?, open("c")?];
    // The first process begins with a and c, the second with b and waits for a.
    let (mut old, mut new, mut third) = if job.process == 0 { (0, 2, 1) } else { (2, 1, 0) };
    files[new].lock()?;
    if job.process == 0 {
        files[old].lock()?;
    }
    let window = Window::open(job)?;
    let (mut tally, mut hops, mut before) = (Tally::default(), 0, Instant::now());
    let mut begin = job.process == 1;
    while Instant::now() < window.end {
        if !std::mem::take(&mut begin) {
            files[old].unlock()?;
        }
        files[third].lock()?;
        (old, new, third) = (new, third, old);
        let now = Instant::now();
        if window.has(now) {
            hops += 1;
            tally.times.record((now - before) / 2);
        }
        before = now;
    }
    // Both files close here, so the other side is never left waiting.
    tally.tasks = vec![hops];
    Ok(tally)
}
