//! Every step by which something on disk is changed. Tests end the process at each of them.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::Path;

/// Who changes files.
#[derive(Default)]
pub(super) struct Disk {
    /// Called before each step, and in the middle of each write.
    #[cfg(test)]
    pub(super) on_step: Option<Box<dyn Fn(&'static str) + Send + Sync>>,
    /// The control: a writer that does not say what it is about to do.
    #[cfg(test)]
    pub(super) is_silent: bool,
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Disk")
    }
}

impl Disk {
    #[cfg(test)]
    fn step(&self, what: &'static str) {
        if let Some(on_step) = &self.on_step {
            on_step(what);
        }
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "tests use it")]
    const fn step(&self, _: &'static str) {}

    /// Writes all, where the file is.
    pub(super) fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        self.step("write");
        let (first, rest) = bytes.split_at(if cfg!(test) { bytes.len() / 2 } else { 0 });
        file.write_all(first)?;
        self.step("half a write");
        file.write_all(rest)
    }

    /// Writes a few bytes at the beginning.
    pub(super) fn overwrite(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        self.step("overwrite");
        #[cfg(test)]
        if self.is_silent {
            return Ok(());
        }
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::write_all_at(file, bytes, 0);
        #[cfg(not(unix))]
        {
            let mut file = file;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(bytes)
        }
    }

    /// Copies a piece of another file.
    pub(super) fn copy(&self, mut from: &File, range: Range<u64>, mut to: &File) -> io::Result<()> {
        self.step("copy");
        from.seek(SeekFrom::Start(range.start))?;
        let length = range.end - range.start;
        // Inside the kernel, where it can.
        if io::copy(&mut from.take(length), &mut to)? < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    /// Creates a file that is not there; a private one until somebody says otherwise.
    pub(super) fn create(&self, path: &Path, private: bool) -> io::Result<File> {
        self.step("create");
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        if private {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        options.read(true).append(true).create_new(true).open(path)
    }

    pub(super) fn sync(&self, file: &File) -> io::Result<()> {
        self.step("sync");
        file.sync_data()
    }

    /// Makes a rename in this folder last.
    pub(super) fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.step("sync folder");
        // Elsewhere a folder cannot be opened, and renames are the file system's own affair.
        if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
    }

    pub(super) fn truncate(&self, file: &File, size: u64) -> io::Result<()> {
        self.step("truncate");
        file.set_len(size)
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step("rename");
        std::fs::rename(from, to)
    }

    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        self.step("remove");
        std::fs::remove_file(path)
    }
}
