//! Append-only files: one write each line, so that a kill loses a line or keeps it.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

/// The effects of all workers.
pub(super) const EFFECTS: &str = "effects.log";

#[derive(Debug)]
pub(super) struct Log(File);

impl Log {
    pub(super) fn open(path: &Path) -> Self {
        let file = OpenOptions::new().create(true).append(true).open(path);
        Self(file.unwrap_or_else(|e| panic!("cannot open {}: {e}", path.display())))
    }

    pub(super) fn line(&self, line: &str) {
        debug_assert!(!line.contains('\n'), "one line: {line:?}");
        (&self.0).write_all(format!("{line}\n").as_bytes()).expect("the log can be written");
    }
}

/// The words of each line; nothing if there is no such file yet.
pub(super) fn read(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

/// One effect: the tool did what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Effect {
    pub(super) principal: String,
    pub(super) index: usize,
    pub(super) epoch: u64,
    pub(super) worker: String,
    /// Unlike every other: it shows which effect an answer speaks of.
    pub(super) body: String,
    /// The lock it ran under, and the number it drew from its counter.
    pub(super) drawn: Option<(u64, u64)>,
}

impl Effect {
    pub(super) fn to_line(&self) -> String {
        let Self { principal, index, epoch, worker, body, drawn } = self;
        let (lock, number) = drawn.map_or(("-".to_owned(), 0), |(lock, number)| (lock.to_string(), number));
        format!("{principal} {index} {epoch} {worker} {} {body} {lock} {number}", std::process::id())
    }

    pub(super) fn read_all(folder: &Path) -> Vec<Self> {
        let parse = |words: Vec<String>| -> Option<Self> {
            let [principal, index, epoch, worker, _pid, body, lock, number] = &words[..] else { return None };
            Some(Self {
                principal: principal.clone(),
                index: index.parse().ok()?,
                epoch: epoch.parse().ok()?,
                worker: worker.clone(),
                body: body.clone(),
                drawn: lock.parse().ok().zip(number.parse().ok()),
            })
        };
        let lines = read(&folder.join(EFFECTS));
        lines.into_iter().map(|words| parse(words.clone()).unwrap_or_else(|| panic!("no effect: {words:?}"))).collect()
    }
}
