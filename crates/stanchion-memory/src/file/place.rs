//! Where a memory file is, and the names of what lies beside it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use stanchion_core::{Error, ErrorKind, Result, planted};

use crate::Notice;

/// Links to links are followed so often, as the kernel does.
const LINKS: usize = 40;

/// A memory file and its neighbours.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The file itself, not a link to it: a replacement must not replace the link.
    pub(super) file: PathBuf,
    pub(super) folder: PathBuf,
    name: OsString,
}

impl Place {
    pub(super) fn of(path: &Path) -> Result<Self> {
        let wrong = |what: &'static str| Error::new(ErrorKind::Invalid, what).with("path", path.display());
        let mut file = path.to_owned();
        for _ in 0..LINKS {
            let Ok(target) = std::fs::read_link(&file) else { break };
            file = file.parent().map_or_else(|| target.clone(), |folder| folder.join(&target));
        }
        let name = file.file_name().ok_or_else(|| wrong("the memory file has no name"))?.to_owned();
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => wrong("the folder of the memory file does not exist")
                .hint("create it first, or correct the path")
                .because(e),
            _ => trouble("the folder of the memory file cannot be opened", folder, e),
        })?;
        if file.is_dir() {
            return Err(wrong("the memory file is a folder").hint("name a file, for example memory.jsonl in it"));
        }
        Ok(Self { file: folder.join(&name), folder, name })
    }

    /// What is said when it was there, and is not.
    pub(super) fn was_deleted(&self) -> Notice {
        let text = format!("{} was deleted by somebody else; the graph is empty", self.file.display());
        Notice { kind: "file_deleted", text }
    }

    fn beside(&self, before: &str, behind: &str) -> PathBuf {
        let mut name = OsString::from(before);
        name.push(&self.name);
        name.push(behind);
        self.folder.join(name)
    }

    /// Locks, and what was last known of the file.
    pub(super) fn state_folder(&self) -> PathBuf {
        self.beside(".", ".stanchion")
    }

    /// What was set aside.
    pub(super) fn damaged(&self) -> PathBuf {
        self.beside("", ".damaged")
    }

    /// A document as it was before it became lines: the first name that is free.
    pub(super) fn original(&self) -> PathBuf {
        let name =
            |nth: usize| self.beside("", &if nth == 1 { ".original".into() } else { format!(".original-{nth}") });
        (1..).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(1))
    }

    /// What becomes the file. Only the holder of the lock has one, so one name is enough; and what is found is nobody's.
    pub(super) fn next(&self) -> PathBuf {
        if planted!("temp-file-on-another-mount") {
            return Path::new("/dev/shm").join(&self.name);
        }
        self.beside(".", ".stanchion-next")
    }
}

/// An error of the file system in our words: what runs out, what is not allowed, and whether anything was written (it was not).
pub(super) fn trouble(what: &'static str, path: &Path, e: io::Error) -> Error {
    let (kind, hint) = match e.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            (ErrorKind::Denied, "nothing was written; allow this user to write the file and its folder")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => (
            ErrorKind::Unavailable,
            "nothing was written; the disk, or what this user may use of it, is full: make room and call again",
        ),
        _ => (ErrorKind::Unavailable, "nothing was written; look at the file and its folder, then call again"),
    };
    Error::new(kind, what).with("path", path.display()).with("reason", &e).hint(hint).because(e)
}
