//! The code that is analysed.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Outcome;

/// How much it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) files: u64,
    pub(super) lines: u64,
    pub(super) bytes: u64,
}

/// Where `cargo xtask bench audit` has put it.
pub(super) fn folder(peers: Option<&Path>) -> Outcome<PathBuf> {
    let peers = peers.ok_or("no --peers; `cargo xtask bench audit` brings the code")?;
    let folder = peers.join("audit/tree");
    Ok(folder.canonicalize().map_err(|e| format!("{}: {e}", folder.display()))?)
}

impl Size {
    pub(super) fn of(folder: &Path) -> Outcome<Self> {
        let mut size = Self::default();
        size.add(folder)?;
        Ok(size)
    }

    fn add(&mut self, folder: &Path) -> Outcome {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                self.add(&entry.path())?;
                continue;
            }
            let content = fs::read(entry.path())?;
            self.files += 1;
            self.bytes += content.len() as u64;
            self.lines += content.iter().filter(|byte| **byte == b'\n').count() as u64;
        }
        Ok(())
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, lines, bytes } = self;
        write!(f, "{files} files, {lines} lines, {} MiB", bytes >> 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lines_of_all_folders_count() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        fs::write(folder.path().join("a.py"), "a\nb\n").unwrap();
        fs::write(folder.path().join("in/b.ts"), "c\n").unwrap();
        assert_eq!(Size::of(folder.path()).unwrap(), Size { files: 2, lines: 3, bytes: 6 });
    }
}
