//! Replacing a configuration without losing anybody's edit: not ours, not another stanchion's, not the client's.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use stanchion_core::pause::pause_point;
use stanchion_core::{Error, ErrorKind, Result};

use super::read;

/// More copies than this say that something goes round in circles.
const BACKUPS: u32 = 1000;

/// `.NAME.stanchion-WHAT` beside the file: on the same file system, and hidden.
pub(super) fn beside(real: &Path, what: &str) -> PathBuf {
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    real.with_file_name(format!(".{name}.stanchion-{what}"))
}

fn denied(real: &Path, what: &'static str) -> Error {
    Error::new(ErrorKind::Denied, what).with("file", real.display())
}

fn changed(real: &Path) -> Error {
    Error::new(
        ErrorKind::Conflict,
        "the file was changed by somebody else after the diff was made; nothing was written",
    )
    .with("file", real.display())
    .hint("look at the new diff: run the command again")
}

/// How the new file takes the place of the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Swap {
    /// The two change places, and what was displaced is looked at: an edit made in the last microsecond is put back.
    Exchange,
    /// The new one covers the old one, where the system has nothing better: an edit made between the last look and
    /// this is lost.
    Rename,
}

impl Swap {
    /// The best of this system.
    pub(super) const fn best() -> Self {
        if cfg!(any(target_os = "linux", target_os = "macos")) { Self::Exchange } else { Self::Rename }
    }
}

/// Replaces `expected` by `new`, and gives the path of the backup. To be called with the lock held.
///
/// # If it fails
/// `Conflict` if the file is not `expected` any more; `Denied` if something cannot be written. The file is as it was.
pub(super) async fn replace(real: &Path, expected: &[u8], new: &[u8], swap: Swap) -> Result<PathBuf> {
    let unreadable = |e: std::io::Error| denied(real, "the file cannot be read; nothing was changed").because(e);
    let meta = std::fs::metadata(real).map_err(unreadable)?;
    fit(real, &meta)?;
    let mut next = Written::create(real, new, &meta, |n| beside(real, &format!("new-{}-{n}", std::process::id())))?;
    pause_point("init.before-check").await;
    if !matches!(read::bytes(real), Ok(now) if now == expected) {
        return Err(changed(real));
    }
    let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let backup =
        Written::create(real, expected, &meta, |n| real.with_file_name(format!("{name}.stanchion-backup-{n}")))?;
    pause_point("init.before-swap").await;
    let failed = |e: std::io::Error| denied(real, "the file cannot be replaced; nothing was changed").because(e);
    let exchanged = match swap {
        Swap::Exchange => exchange(&next.path, real).map_err(failed)?,
        Swap::Rename => false,
    };
    if !exchanged {
        std::fs::rename(&next.path, real).map_err(failed)?;
        next.keep = true; // it has another name now
    } else if !matches!(std::fs::read(&next.path), Ok(displaced) if displaced == expected) {
        return Err(put_back(real, &mut next, new));
    }
    sync_folder(real);
    Ok(backup.kept())
}

/// Somebody was faster than our last look: theirs goes back where it was.
fn put_back(real: &Path, next: &mut Written, new: &[u8]) -> Error {
    next.keep = true;
    let kept = next.path.display().to_string();
    match exchange(&next.path, real) {
        Ok(true) if matches!(std::fs::read(&next.path), Ok(ours) if ours == new) => {
            next.keep = false;
            changed(real)
        }
        _ => Error::new(ErrorKind::OutcomeUnknown, "the file was changed by somebody else at the same moment")
            .with("file", real.display())
            .with("other version", kept)
            .hint("compare the two, and keep what you want"),
    }
}

/// Replacing must not change what the file is, besides its content.
fn fit(real: &Path, meta: &Metadata) -> Result<()> {
    if meta.permissions().readonly() {
        return Err(denied(real, "the file is read-only; nothing was changed").hint("chmod u+w, or edit it by hand"));
    }
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(meta) > 1 {
        return Err(denied(
            real,
            "the file has several names (hard links), which a new file would part; nothing was changed",
        )
        .hint("edit it by hand: the diff says what"));
    }
    Ok(())
}

/// A file of ours, removed when dropped unless it is kept.
struct Written {
    path: PathBuf,
    keep: bool,
}

impl Written {
    /// A new file with the rights of the old one, on the disk when this returns. Never one that is there already: it
    /// may be what is left of somebody's configuration.
    fn create(real: &Path, content: &[u8], like: &Metadata, name: impl Fn(u32) -> PathBuf) -> Result<Self> {
        let failed = |e: std::io::Error| {
            denied(real, "no file can be written beside it; nothing was changed")
                .because(e)
                .hint("look at the rights of the folder, and at the free space")
        };
        for path in (1..=BACKUPS).map(name) {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = match options.open(&path) {
                Ok(file) => file,
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(e) => return Err(failed(e)),
            };
            let written = Self { path, keep: false };
            file.write_all(content).map_err(failed)?;
            owner(&file, like).map_err(|e| {
                denied(real, "the file belongs to somebody else, and a new one would not; nothing was changed")
                    .because(e)
            })?;
            file.set_permissions(like.permissions()).map_err(failed)?;
            file.sync_all().map_err(failed)?;
            return Ok(written);
        }
        Err(denied(real, "there are 1000 backups of this file; nothing was changed")
            .hint("remove those you do not need"))
    }

    fn kept(mut self) -> PathBuf {
        self.keep = true;
        std::mem::take(&mut self.path)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        if !self.keep {
            std::fs::remove_file(&self.path).unwrap_or_default();
        }
    }
}

#[cfg(unix)]
fn owner(file: &File, like: &Metadata) -> std::io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let now = file.metadata()?;
    if (now.uid(), now.gid()) == (like.uid(), like.gid()) {
        return Ok(());
    }
    std::os::unix::fs::fchown(file, Some(like.uid()), Some(like.gid()))
}

#[cfg(not(unix))]
fn owner(_: &File, _: &Metadata) -> std::io::Result<()> {
    Ok(())
}

/// Lets the two change places; `false` if this system or file system cannot.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(a: &Path, b: &Path) -> std::io::Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn exchange(_: &Path, _: &Path) -> std::io::Result<bool> {
    Ok(false)
}

/// The change itself is done; this only makes it outlast a power cut.
fn sync_folder(real: &Path) {
    if cfg!(unix)
        && let Some(folder) = real.parent()
    {
        File::open(folder).and_then(|folder| folder.sync_all()).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stanchion_core::ErrorKind;
    use stanchion_core::pause::hold;

    use super::{Swap, replace};
    use crate::init::lock::lock;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// Two edits of one file, each of which adds a letter. The first is held after its last look until the second is
    /// done, or has to wait. Returns what is in the file in the end, and how the first ended.
    async fn two(swap: Swap, locked: bool) -> (String, Option<ErrorKind>) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().canonicalize().expect("a folder").join("f");
        std::fs::write(&file, "").expect("a file");
        let edit = |letter: &'static str| {
            let file = file.clone();
            async move {
                let _held = if locked { Some(lock(&file).await?) } else { None };
                let now = std::fs::read(&file).expect("the file");
                let new = [now.as_slice(), letter.as_bytes()].concat();
                replace(&file, &now, &new, swap).await
            }
        };
        let (pause, busy) = (hold("init.before-swap"), hold("init.lock-busy"));
        let first = tokio::spawn(edit("a"));
        pause.reached(PATIENCE).await;
        let second = tokio::spawn(edit("b"));
        if locked {
            busy.reached(PATIENCE).await;
            pause.release();
            busy.release();
            second.await.expect("no panic").expect("the second writes");
        } else {
            second.await.expect("no panic").expect("the second writes");
            pause.release();
        }
        let first = first.await.expect("no panic").err().map(|e| e.kind());
        (std::fs::read_to_string(&file).expect("the file"), first)
    }

    // One test, because the names of pause points belong to the process.
    #[tokio::test]
    async fn two_edits_are_both_kept_or_one_is_refused_and_the_control_loses_one() {
        assert_eq!(two(Swap::Exchange, true).await, ("ab".to_owned(), None), "one after the other");
        assert_eq!(two(Swap::Rename, true).await, ("ab".to_owned(), None), "the lock alone is enough");
        if Swap::best() == Swap::Exchange {
            let refused = ("b".to_owned(), Some(ErrorKind::Conflict));
            assert_eq!(two(Swap::Exchange, false).await, refused, "what was displaced is put back");
        }
        assert_eq!(two(Swap::Rename, false).await, ("a".to_owned(), None), "the control: an edit is lost, silently");
    }
}
