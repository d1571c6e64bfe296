//! The file of the call log: several processes append to it, and one of them moves it aside when it is full.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// At this size the file is moved aside; the one that was aside before is gone then.
pub(super) const ROTATE_AT: u64 = 64 << 20;

/// How long a lock is waited for that somebody holds who may be frozen.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where the older half of a log is: `calls.1.jsonl` beside `calls.jsonl`.
///
/// ```
/// use std::path::Path;
/// assert_eq!(stanchion_mcp::calls::rotated(Path::new("s/calls.jsonl")), Path::new("s/calls.1.jsonl"));
/// ```
#[must_use]
pub fn rotated(path: &Path) -> PathBuf {
    path.with_extension("1.jsonl")
}

/// Nothing is kept open between two batches: whoever moves or removes the file is noticed at the next one.
#[derive(Debug)]
pub(super) struct Appender {
    path: PathBuf,
    rotate_at: u64,
}

impl Appender {
    /// Makes the file if need be, for its user alone.
    pub(super) fn new(path: PathBuf, rotate_at: u64) -> io::Result<Self> {
        let file = options().open(&path)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        }
        drop(file);
        Ok(Self { path, rotate_at })
    }

    /// Appends whole lines with one write. `batch` begins with a line feed, which ends a line that another process
    /// was killed in, and is left out where there is none.
    ///
    /// # If it fails
    /// Nothing of the batch is in the file, unless its lock is held by a frozen process.
    pub(super) fn append(&self, batch: &[u8]) -> io::Result<()> {
        let lock = self.lock();
        let mut file = options().open(&self.path)?;
        let mut size = file.metadata()?.len();
        // Only under the lock: of two that both saw a full file, the second would move the new one over the old.
        if size >= self.rotate_at && lock.is_some() && std::fs::rename(&self.path, rotated(&self.path)).is_ok() {
            file = options().open(&self.path)?;
            size = file.metadata()?.len();
        }
        if size >= self.rotate_at.saturating_mul(2) {
            return Err(io::Error::other("the file is full and cannot be moved aside"));
        }
        let torn = size > 0 && last_byte(&mut file)? != b'\n';
        let written = file.write_all(&batch[usize::from(!torn)..]);
        if written.is_err() && lock.is_some() {
            // What was written in part would be counted as lost, and be there.
            file.set_len(size)?;
        }
        written
    }

    /// Without the lock, lines are still whole and in one of the two files, but nothing is moved aside.
    fn lock(&self) -> Option<File> {
        let file = options().open(self.path.with_extension("lock")).ok()?;
        let end = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Some(file),
                Err(TryLockError::WouldBlock) if Instant::now() < end => {
                    std::thread::park_timeout(Duration::from_millis(1));
                }
                Err(_) => return None,
            }
        }
    }
}

fn last_byte(file: &mut File) -> io::Result<u8> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last[0])
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).append(true).read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}
