//! `list`: which locks of the folder are held, without disturbing those who hold or want them.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use stanchion_core::{Key, LockInfo, Page, Result};

use super::held::{Files, may_live};
use super::lockfile::{Dir, Lockfile, trouble};
use super::name;
use super::slip::{BLOCK, Slip, Use, read_at};

pub(super) fn list(dir: &Arc<Dir>, prefix: &str, page: &Page) -> Result<Vec<LockInfo>> {
    let fail = |e| trouble("cannot list the lock folder", &dir.path, e);
    let mut keys = Vec::new();
    for entry in std::fs::read_dir(&dir.path).map_err(fail)? {
        let name = entry.map_err(fail)?.file_name();
        let Some(stem) = name.to_str().and_then(|name| name.strip_suffix(".lock")) else { continue };
        let key = match name::is_hashed(stem) {
            true => key_inside(&dir.path.join(&name)),
            false => name::key_of(stem),
        };
        keys.extend(
            key.filter(|key| key.as_str().starts_with(prefix) && page.after.as_ref().is_none_or(|after| key > after)),
        );
    }
    keys.sort_unstable();
    let (locked, mut infos) = (locked_inodes(), Vec::new());
    for key in keys {
        if infos.len() >= page.limit {
            break;
        }
        infos.extend(inspect(Files::new(Arc::clone(dir), key), &locked)?);
    }
    Ok(infos)
}

/// `None` if nobody holds or waits.
fn inspect(files: Files, locked: &HashSet<u64>) -> Result<Option<LockInfo>> {
    let mut info = LockInfo::new(files.key.clone());
    // The file can be gone since the listing; then nobody holds it.
    let Ok(file) = File::open(&files.path) else { return Ok(None) };
    let signed = files.holders(&file);
    if !signed.is_empty() && is_locked(&file, &files, locked) {
        let alive = |holder: &stanchion_core::Holder| may_live(&holder.identity);
        // A lock that a child inherited is held although the one who signed is gone: better its name than none.
        let any_alive = signed.iter().any(alive);
        info.holders = signed.into_iter().filter(|holder| !any_alive || alive(holder)).collect();
    }
    info.waiters = files.queue.waiters()?;
    Ok((!info.holders.is_empty() || !info.waiters.is_empty()).then_some(info))
}

/// Whether anybody holds the file. The kernel's table answers for most; what is not in it may be a lock
/// of another container, so it is tried. A lock that is got this way belonged to a dead process, whose
/// name is erased, so the next look will not have to try.
fn is_locked(file: &File, files: &Files, locked: &HashSet<u64>) -> bool {
    #[cfg(target_os = "linux")]
    if file.metadata().is_ok_and(|meta| locked.contains(&super::lockfile::FileId::of(&meta).inode())) {
        return true;
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, locked);
    let Ok(lock) = Lockfile::open(&files.path) else { return true };
    match lock.try_lock(true) {
        Ok(true) => {
            if let Ok(Ok(Some(head))) = Slip::read(&lock.file, 0)
                && head.usage != Use::Free
            {
                Slip::free(head.fence).write(&lock.file, 0).ok();
            }
            false
        }
        Ok(false) | Err(_) => true,
    }
}

/// The inodes with a `flock` on them. Devices are left out: on some file systems the table names another
/// one than `stat` does, and an accidental match only means a name shown for a dead holder's lock.
#[cfg(target_os = "linux")]
fn locked_inodes() -> HashSet<u64> {
    let table = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    table
        .lines()
        .filter(|line| line.contains("FLOCK") && !line.contains("->"))
        .filter_map(|line| {
            line.split_whitespace().find(|word| word.matches(':').count() == 2)?.rsplit(':').next()?.parse().ok()
        })
        .collect()
}

#[cfg(not(target_os = "linux"))]
fn locked_inodes() -> HashSet<u64> {
    HashSet::new()
}

fn key_inside(path: &Path) -> Option<Key> {
    let mut bytes = [0; 3 * BLOCK];
    let read = read_at(&File::open(path).ok()?, &mut bytes, BLOCK as u64).ok()?;
    let text = bytes[..read].split(|b| *b == 0).next()?;
    Key::new(std::str::from_utf8(text).ok()?).ok()
}
