//! An open file that is locked as a whole, and the proof that it is still the one under its name.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use stanchion_core::{Error, ErrorKind, planted};

/// Which file this is, apart from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FileId(u64, u64);

impl FileId {
    #[cfg(unix)]
    pub(super) fn of(meta: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self(meta.dev(), meta.ino())
    }

    /// An open file cannot be removed or replaced there, so every answer may be the same.
    #[cfg(not(unix))]
    pub(super) fn of(_: &Metadata) -> Self {
        Self(0, 0)
    }

    #[cfg(target_os = "linux")]
    pub(super) const fn inode(self) -> u64 {
        self.1
    }
}

/// An open lock file. The lock belongs to this open file, so each holder has its own.
#[derive(Debug)]
pub(super) struct Lockfile {
    pub(super) file: File,
    id: FileId,
}

impl Lockfile {
    /// Opens or creates. The standard library sets close-on-exec: children inherit nothing by accident.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = private(OpenOptions::new().read(true).write(true).create(true).truncate(false)).open(path)?;
        let id = FileId::of(&file.metadata()?);
        Ok(Self { file, id })
    }

    /// Whether the name still leads to this file. A lock on a removed file excludes nobody: whoever comes
    /// next creates a new file and locks that one.
    pub(super) fn is_current(&self, path: &Path) -> io::Result<bool> {
        match std::fs::metadata(path) {
            _ if planted!("lock-on-renamed-file") => Ok(true),
            Ok(meta) => Ok(FileId::of(&meta) == self.id),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Whether the file has been removed or replaced: as [`is_current`](Self::is_current), cheaper, and blind
    /// to a file that was renamed.
    pub(super) fn is_gone(&self) -> bool {
        #[cfg(unix)]
        return self.file.metadata().is_ok_and(|meta| std::os::unix::fs::MetadataExt::nlink(&meta) == 0);
        #[cfg(not(unix))]
        false
    }

    /// One attempt; `false` if somebody else holds it.
    pub(super) fn try_lock(&self, alone: bool) -> io::Result<bool> {
        let tried = if alone { self.file.try_lock() } else { self.file.try_lock_shared() };
        match tried {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(e)) => Err(e),
        }
    }

    /// Waits inside the kernel, however long it takes: only for threads of our own.
    pub(super) fn lock(&self, alone: bool) -> io::Result<()> {
        loop {
            let locked = if alone { self.file.lock() } else { self.file.lock_shared() };
            match locked {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    pub(super) fn unlock(&self) {
        // Cannot fail on an open file; and closing it, which comes next at the latest, unlocks as well.
        self.file.unlock().ok();
    }
}

/// Only the user may read or write what we create.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// The directory of a store, created for the user alone.
#[derive(Debug)]
pub(super) struct Dir {
    pub(super) path: PathBuf,
    /// Force every new fence to disk.
    pub(super) sync: bool,
}

impl Dir {
    /// Creates the directory if it is not there. Its parent must be: creating a whole path would hide typos.
    pub(super) fn open(path: &Path, sync: bool) -> Result<Self, Error> {
        let shown = || path.display();
        match create_private(path) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(Error::new(ErrorKind::Invalid, "the folder above the lock folder does not exist")
                    .with("path", shown())
                    .hint("create it first, or correct the path")
                    .because(e));
            }
            Err(e) => return Err(trouble("cannot create the lock folder", path, e)),
        }
        if !path.is_dir() {
            return Err(Error::new(ErrorKind::Invalid, "the lock folder is a file")
                .with("path", shown())
                .hint("name a folder of its own for the locks"));
        }
        // Absolute, so that a later change of the working directory does not lead to other locks.
        let path = std::path::absolute(path).map_err(|e| trouble("cannot resolve the lock folder", path, e))?;
        let dir = Self { path, sync };
        dir.check_writable()?;
        Ok(dir)
    }

    fn check_writable(&self) -> Result<(), Error> {
        // A name that nobody can have prepared, and never an existing file: a link planted here must lead nowhere.
        let probe = self.path.join(format!(".probe-{:016x}", stanchion_core::Owner::random().nonce()));
        private(OpenOptions::new().write(true).create_new(true))
            .open(&probe)
            .map_err(|e| trouble("cannot write to the lock folder", &self.path, e))?;
        std::fs::remove_file(&probe).ok();
        Ok(())
    }
}

#[cfg(unix)]
fn create_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn create_private(path: &Path) -> io::Result<()> {
    std::fs::create_dir(path)
}

/// An operation on `path` that failed before it had an effect.
pub(crate) fn trouble(what: &'static str, path: &Path, e: io::Error) -> Error {
    let kind = match e.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::Denied,
        io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory | io::ErrorKind::InvalidFilename => {
            ErrorKind::Invalid
        }
        _ => ErrorKind::Unavailable,
    };
    let hint = match e.kind() {
        io::ErrorKind::NotFound => "was the folder removed? open the store again to create it",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space on this disk",
        _ if kind == ErrorKind::Denied => "give this user the right to write there, or choose another path",
        _ => "",
    };
    let error = Error::new(kind, what).with("path", path.display()).with("reason", &e);
    if hint.is_empty() { error.because(e) } else { error.hint(hint).because(e) }
}
