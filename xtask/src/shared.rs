//! Servers that all tests of a run share: see `engines/shared.rs` of the testkit.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{Outcome, capture};

/// The folder of this run. While it is open, shared servers live: each of them reads from the FIFO `alive`, which ends
/// when we do, however that is.
#[derive(Debug)]
pub(crate) struct Shared {
    folder: PathBuf,
    _alive: File,
}

impl Shared {
    pub(crate) fn open(folder: PathBuf) -> Outcome<Self> {
        // Left by a run of the same number that was killed before any server was started.
        fs::remove_dir_all(&folder).ok();
        fs::create_dir_all(&folder).map_err(|e| format!("cannot create {}: {e}", folder.display()))?;
        let fifo = folder.join("alive");
        capture(Command::new("mkfifo").arg(&fifo))?;
        // For reading, too: opening a FIFO for writing alone waits for a reader.
        let opened = File::options().read(true).write(true).open(&fifo);
        let alive = opened.map_err(|e| format!("cannot open {}: {e}", fifo.display()))?;
        Ok(Self { folder, _alive: alive })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn its_end_is_seen_by_those_who_read_and_leaves_no_folder() {
        let folder = std::env::temp_dir().join(format!("stanchion-xtask-shared-{}", std::process::id()));
        let shared = Shared::open(folder.clone()).unwrap();
        let mut keeper = File::open(folder.join("alive")).unwrap();
        let reading = std::thread::spawn(move || keeper.read(&mut [0]).unwrap());
        assert!(!reading.is_finished(), "nothing to read while the run goes on");
        drop(shared);
        assert_eq!(reading.join().unwrap(), 0);
        assert!(!folder.exists());
    }
}
