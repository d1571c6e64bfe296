//! One stanchion at a time edits a configuration.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use stanchion_core::pause::pause_point;
use stanchion_core::{Error, ErrorKind, Result};

/// How long another one may take: it only reads and writes one file.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// Held until dropped. The kernel lets go of it if we die.
#[derive(Debug)]
pub(super) struct EditLock {
    file: File,
    path: PathBuf,
}

/// The lock beside `real`.
///
/// # If it fails
/// `Contended` if another stanchion keeps it; `Denied` if the folder cannot be written. Nothing was changed.
pub(super) async fn lock(real: &Path) -> Result<EditLock> {
    let path = super::write::beside(real, "lock");
    let denied = |e: std::io::Error| {
        Error::new(ErrorKind::Denied, "the folder of the file cannot be written; nothing was changed")
            .with("file", real.display())
            .because(e)
            .hint("look at the rights of the folder")
    };
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(denied)?;
        match file.try_lock() {
            Ok(()) if is_at(&file, &path) => return Ok(EditLock { file, path }),
            // Its last holder removed it between our open and our lock: this locks nothing.
            Ok(()) => continue,
            Err(TryLockError::Error(e)) => return Err(denied(e)),
            Err(TryLockError::WouldBlock) if tokio::time::Instant::now() >= deadline => {
                return Err(Error::new(ErrorKind::Contended, "another stanchion edits this file; nothing was changed")
                    .with("file", real.display())
                    .hint("try again"));
            }
            Err(TryLockError::WouldBlock) => {
                pause_point("init.lock-busy").await;
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let id = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
    matches!((file.metadata().map(id), std::fs::symlink_metadata(path).map(id)), (Ok(a), Ok(b)) if a == b)
}

/// An open file cannot be removed by another process here.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

impl Drop for EditLock {
    fn drop(&mut self) {
        // While it is still held: who opened it before looks again.
        if cfg!(unix) {
            std::fs::remove_file(&self.path).unwrap_or_default();
        }
        self.file.unlock().unwrap_or_default();
    }
}
